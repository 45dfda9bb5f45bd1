"""Conditions on a record's row: whether it must not be contacted, for searches. Every `?` is the time of the search.

They cover what `sql/lookup.py` does, except entries that are stored as hashes: those are of erased persons, who have no record.
"""

from __future__ import annotations

from collections.abc import Callable

from touchbase.do_not_contact.addresses import MAX_PARENTS
from touchbase.do_not_contact.models import DOMAIN, EMAIL, LINKEDIN_URL

Parent = Callable[[str], str]
"""An expression for a domain -> one for its parent domain."""


def _sqlite_parent(domain: str) -> str:
    return f"substr({domain}, instr({domain}, '.') + 1)"


def _postgres_parent(domain: str) -> str:
    return f"substring({domain} FROM strpos({domain}, '.') + 1)"


def _covering(domain: str, parent: Parent) -> list[str]:
    """Return expressions for a domain and its parents; the last ones may repeat, or be a top-level domain alone, which no entry is."""
    found = [domain]
    for _ in range(MAX_PARENTS):
        found.append(parent(found[-1]))
    return found


def _listed(kind: str, values: list[str], now: str) -> str:
    one = f"IN ({', '.join(values)})"
    alive = f"(s.until_us IS NULL OR s.until_us > {now})"
    own = f"s.client = t.client AND s.kind = '{kind}' AND s.value {one} AND s.reason IS NOT NULL AND {alive}"
    shared = f"s.kind = '{kind}' AND s.value {one} AND {alive}"
    return f"EXISTS (SELECT 1 FROM suppression s WHERE {own}) OR EXISTS (SELECT 1 FROM installation_suppression s WHERE {shared})"


def contact_condition(email_domain: str, parent: Parent, now: str) -> str:
    """Return the condition on a contact `t`: its addresses, the domain of its e-mail address, or that of its company are listed."""
    company = "(SELECT c.domain FROM company c WHERE c.client = t.client AND c.id = t.company_id)"
    domains = [*_covering(email_domain, parent), company]
    parts = [_listed(EMAIL, ["t.email_key"], now), _listed(LINKEDIN_URL, ["t.linkedin_key"], now), _listed(DOMAIN, domains, now)]
    return f"({' OR '.join(parts)})"


def company_condition(parent: Parent, now: str) -> str:
    """Return the condition on a company `t`: its domain is listed."""
    return f"({_listed(DOMAIN, _covering('t.domain', parent), now)})"


CONTACT_SUPPRESSED_SQLITE = contact_condition("substr(t.email_key, instr(t.email_key, '@') + 1)", _sqlite_parent, "?")
CONTACT_SUPPRESSED_POSTGRES = contact_condition("substring(t.email_key FROM '[^@]*$')", _postgres_parent, "CAST(? AS bigint)")
COMPANY_SUPPRESSED_SQLITE = company_condition(_sqlite_parent, "?")
COMPANY_SUPPRESSED_POSTGRES = company_condition(_postgres_parent, "CAST(? AS bigint)")
