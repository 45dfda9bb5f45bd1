"""Similarity: how likely two records are one, from 0 to 1, and the reasons.

Texts are compared with rapidfuzz, without case and accents' order. The weights are chosen by hand: equal names at one domain give 0.95,
equal names alone 0.7, a typing error in a name costs a tenth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from touchbase.records.models import Company, Contact

SAME_NAME, SIMILAR_NAME = "same_name", "similar_name"
SAME_DOMAIN, SIMILAR_ADDRESS = "same_domain", "similar_address"
SAME_COMPANY, OTHER_LINKEDIN = "same_company", "other_linkedin"
REASONS = (SAME_NAME, SIMILAR_NAME, SAME_DOMAIN, SIMILAR_ADDRESS, SAME_COMPANY, OTHER_LINKEDIN)
SIMILAR = 0.8
"""The least similarity of two texts that is a reason."""
_LEGAL_FORM = re.compile(
    r"\b(inc|incorporated|llc|ltd|limited|gmbh|ag|kg|ug|bv|nv|sa|sas|sarl|srl|spa|oy|ab|as|aps|plc|corp|corporation|co|company|pty)\b\.?"
)
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(slots=True)
class Similarity:
    """The score of a pair, and its reasons."""

    score: float
    reasons: list[str] = field(default_factory=list)


def similarity(one: Contact | Company, other: Contact | Company) -> Similarity:
    """Compare two records of one kind."""
    if isinstance(one, Contact) and isinstance(other, Contact):
        return _contacts(one, other)
    assert isinstance(one, Company)
    assert isinstance(other, Company)
    return _companies(one, other)


def _contacts(one: Contact, other: Contact) -> Similarity:
    found = Similarity(0.0)
    name = _name(found, f"{one.first_name or ''} {one.last_name or ''}", f"{other.first_name or ''} {other.last_name or ''}")
    address = _address(found, one.email_key, other.email_key)
    if one.company_id is not None and one.company_id == other.company_id:
        found.reasons.append(SAME_COMPANY)
    together = SAME_DOMAIN in found.reasons or SAME_COMPANY in found.reasons
    if name is None:
        found.score = 0.85 * address if SAME_DOMAIN in found.reasons else 0.5 * address
    else:
        found.score = 0.7 * name + (0.25 * name if together else 0.0) + 0.05 * address
    if one.linkedin_key and other.linkedin_key:  # two LinkedIn profiles are seldom one person
        found.reasons.append(OTHER_LINKEDIN)
        found.score *= 0.6
    found.score = round(found.score, 2)
    return found


def _companies(one: Company, other: Company) -> Similarity:
    found = Similarity(0.0)
    name = _name(found, _LEGAL_FORM.sub("", (one.name or "").casefold()), _LEGAL_FORM.sub("", (other.name or "").casefold()))
    labels = fuzz.ratio(_label(one.domain), _label(other.domain)) / 100
    if labels == 1.0:
        found.reasons.append(SAME_DOMAIN)
    elif labels >= SIMILAR:
        found.reasons.append(SIMILAR_ADDRESS)
    found.score = round(0.75 * labels if name is None else 0.7 * name + 0.3 * labels, 2)
    return found


def _name(found: Similarity, one: str, other: str) -> float | None:
    """Return the similarity of two names, in any order of their words; None if one is blank."""
    first, second = (" ".join(_NO_WORD.sub(" ", each.casefold()).split()) for each in (one, other))
    if not first or not second:
        return None
    ratio: float = fuzz.token_sort_ratio(first, second) / 100
    if ratio == 1.0:
        found.reasons.append(SAME_NAME)
    elif ratio >= SIMILAR:
        found.reasons.append(SIMILAR_NAME)
    return ratio


def _address(found: Similarity, one: str | None, other: str | None) -> float:
    if one is None or other is None:
        return 0.0
    (local, _, domain), (local2, _, domain2) = one.rpartition("@"), other.rpartition("@")
    ratio: float = fuzz.ratio(_NO_WORD.sub("", local), _NO_WORD.sub("", local2)) / 100
    if domain == domain2:
        found.reasons.append(SAME_DOMAIN)
    if ratio >= SIMILAR:
        found.reasons.append(SIMILAR_ADDRESS)
    return ratio


def _label(domain: str) -> str:
    """Return the part of a domain that names the company: the longest one before the last."""
    return max(domain.split(".")[:-1] or [domain], key=len)
