"""Normal forms of listed addresses, and the entries that cover an address.

A domain's entry covers its subdomains, and all e-mail addresses at them.
"""

from __future__ import annotations

from collections.abc import Iterable

from touchbase.common import normalize
from touchbase.common.field_limits import InvalidText, why_not_storable
from touchbase.do_not_contact.models import DOMAIN, EMAIL, LINKEDIN_URL
from touchbase.erasure_marks import EMAIL as EMAIL_REF
from touchbase.erasure_marks import LINKEDIN as LINKEDIN_REF
from touchbase.history.identity_links import Ref

MAX_PARENTS = 6
"""Parent domains that are looked up for one domain; names with more labels are not in use."""
Address = tuple[str, str]
"""Kind, and value in normal form."""
KIND_OF_REF = {EMAIL_REF: EMAIL, LINKEDIN_REF: LINKEDIN_URL}
"""The kind of an address by the type of its link."""


def normal_form(kind: str, value: str) -> str:
    """Return the normal form of an address. Raises `InvalidText` with the reason and the next step."""
    if (why := why_not_storable(value)) is not None:
        raise InvalidText("unusable_text", why)
    if kind == EMAIL:
        return normalize.email_key(value.strip())
    if kind == DOMAIN:
        return normalize.company_domain(value)
    key = normalize.linkedin_key(value)
    if key is None or not key.startswith("linkedin.com/"):
        raise InvalidText(LINKEDIN_URL, "is not a LinkedIn address: send one such as https://www.linkedin.com/in/jane-doe")
    return key


def kind_of(value: str) -> str:
    """Return the kind of an address that is given without one."""
    if "linkedin.com/" in value.lower():
        return LINKEDIN_URL
    return EMAIL if "@" in value else DOMAIN


def covering_domains(domain: str) -> list[str]:
    """Return the domains whose entries cover a domain: itself and its parents, without a top-level domain alone."""
    domains = [domain]
    for _ in range(MAX_PARENTS):
        domain = domain.partition(".")[2]
        if "." not in domain:
            break
        domains.append(domain)
    return domains


def ref_of(address: Address) -> Ref | None:
    """Return the identity of an address; None for a domain, which identifies no person."""
    kind, value = address
    return None if kind == DOMAIN else ("", EMAIL_REF if kind == EMAIL else LINKEDIN_REF, value)


def addresses_of_refs(refs: Iterable[Ref]) -> list[Address]:
    """Return the addresses among these identities."""
    return [(KIND_OF_REF[kind], value) for tool, kind, value in refs if not tool and kind in KIND_OF_REF]
