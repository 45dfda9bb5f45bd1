"""The domain of a business e-mail address: its registrable domain, unless that is of a mail service.

The lists are read by the first use, which takes some 100 ms and 4 MB; a process that never links contacts does not read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from publicsuffixlist import PublicSuffixList

from touchbase.common.normalize import find_company_domain

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
    # Top-level names that do not exist have no companies: an address with one is mistyped, or of an inner network.
    return Lists(PublicSuffixList(accept_unknown=False), _mail_services())


SOCIAL = frozenset(
    {
        "linkedin.com", "lnkd.in", "facebook.com", "fb.com", "twitter.com", "x.com", "instagram.com", "youtube.com", "youtu.be",
        "tiktok.com", "pinterest.com",
        "xing.com", "medium.com", "t.me", "wa.me", "linktr.ee", "crunchbase.com", "angel.co", "wellfound.com", "yelp.com",
        "glassdoor.com", "goo.gl", "bit.ly", "maps.google.com", "sites.google.com", "wikipedia.org",
    }
)  # fmt: skip
"""Sites that have pages of companies and people; an address there is the page's, and not a company's domain."""


@cache
def _mail_services() -> frozenset[str]:
    folder = files("touchbase.company_links") / "data"
    lines = (line for name in MAIL_SERVICES for line in (folder / name).read_text("utf-8").splitlines())
    return frozenset(line for line in lines if line and not line.startswith("#"))


def no_company_domain(text: str) -> str | None:
    """Return why an address is no company's domain: it is of a mail service or a social network; None for any other text."""
    domain = find_company_domain(text)
    if domain is None:
        return None
    if any(domain == site or domain.endswith(f".{site}") for site in SOCIAL):
        return f"is a page at {domain}, which is no company's domain"
    return f"{domain} is a mail service, and no company's domain" if domain in _mail_services() else None


def business_domain(email_key: str) -> str | None:
    """Return the registrable domain of an e-mail address in normal form; None for a mail service and for other text."""
    host = email_key.rpartition("@")[2]
    domains = lists()
    domain = domains.suffixes.privatesuffix(host)
    if domain is None or domain in domains.mail_services or host in domains.mail_services:
        return None
    return domain
