"""The domain of a business e-mail address: its registrable domain, unless that is of a mail service.

The lists are read by the first use, which takes some 100 ms and 4 MB; a process that never links contacts does not read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from publicsuffixlist import PublicSuffixList

MAIL_SERVICES = ("free_mail.txt", "disposable_mail.txt", "more_mail.txt")
"""Files of `data/`, each with its source and licence at its beginning."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists of domains that are no company's."""

    suffixes: PublicSuffixList
    mail_services: frozenset[str]


@cache
def lists() -> Lists:
    """Return the lists; the first call reads them."""
    folder = files("touchbase.company_links") / "data"
    lines = (line for name in MAIL_SERVICES for line in (folder / name).read_text("utf-8").splitlines())
    # Top-level names that do not exist have no companies: an address with one is mistyped, or of an inner network.
    return Lists(PublicSuffixList(accept_unknown=False), frozenset(line for line in lines if line and not line.startswith("#")))


def business_domain(email_key: str) -> str | None:
    """Return the registrable domain of an e-mail address in normal form; None for a mail service and for other text."""
    host = email_key.rpartition("@")[2]
    domains = lists()
    domain = domains.suffixes.privatesuffix(host)
    if domain is None or domain in domains.mail_services or host in domains.mail_services:
        return None
    return domain
