"""Similarity: how likely two records are one, from 0 to 1, and the reasons.

Texts are compared with rapidfuzz, without case and accents' order. The weights are chosen by hand: equal names at one domain give 0.95,
equal names alone 0.7, a typing error in a name costs a tenth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from touchbase.common.plain_text import LEGAL_FORM
from touchbase.records.models import Company, Contact

SAME_NAME, SIMILAR_NAME = "same_name", "similar_name"
SAME_DOMAIN, SIMILAR_ADDRESS = "same_domain", "similar_address"
SAME_COMPANY, OTHER_LINKEDIN = "same_company", "other_linkedin"
NAMED_TOGETHER = "named_together"
REASONS = (SAME_NAME, SIMILAR_NAME, SAME_DOMAIN, SIMILAR_ADDRESS, SAME_COMPANY, OTHER_LINKEDIN, NAMED_TOGETHER)
TOGETHER = 0.8
"""The least score of two contacts that one webhook names."""
SIMILAR = 0.8
"""The least similarity of two texts that is a reason."""
_NO_WORD = re.compile(r"[\W_]+")


@dataclass(slots=True)
class Similarity:
    """The score of a pair, and its reasons."""

    score: float
    reasons: list[str] = field(default_factory=list)


def similarity(first: Contact | Company, second: Contact | Company) -> Similarity:
    """Compare two records of one kind."""
    if isinstance(first, Contact) and isinstance(second, Contact):
        return _contacts(first, second)
    assert isinstance(first, Company)
    assert isinstance(second, Company)
    return _companies(first, second)


def _contacts(first: Contact, second: Contact) -> Similarity:
    result = Similarity(0.0)
    name = _name(result, f"{first.first_name or ''} {first.last_name or ''}", f"{second.first_name or ''} {second.last_name or ''}")
    address = _address(result, first.email_key, second.email_key)
    if first.company_id is not None and first.company_id == second.company_id:
        result.reasons.append(SAME_COMPANY)
    together = SAME_DOMAIN in result.reasons or SAME_COMPANY in result.reasons
    if name is None:
        result.score = 0.85 * address if SAME_DOMAIN in result.reasons else 0.5 * address
    else:
        result.score = 0.7 * name + (0.25 * name if together else 0.0) + 0.05 * address
    if first.linkedin_key and second.linkedin_key:  # two LinkedIn profiles are seldom one person
        result.reasons.append(OTHER_LINKEDIN)
        result.score *= 0.6
    result.score = round(result.score, 2)
    return result


def _companies(first: Company, second: Company) -> Similarity:
    result = Similarity(0.0)
    name = _name(result, LEGAL_FORM.sub("", (first.name or "").casefold()), LEGAL_FORM.sub("", (second.name or "").casefold()))
    if not first.domain or not second.domain:  # of one of them only the name is known
        result.score = round(0.9 * (name or 0.0), 2)
        return result
    from rapidfuzz import fuzz

    labels = fuzz.ratio(_label(first.domain), _label(second.domain)) / 100
    if labels == 1.0:
        result.reasons.append(SAME_DOMAIN)
    elif labels >= SIMILAR:
        result.reasons.append(SIMILAR_ADDRESS)
    result.score = round(0.75 * labels if name is None else 0.7 * name + 0.3 * labels, 2)
    return result


def _name(result: Similarity, left: str, right: str) -> float | None:
    """Return the similarity of two names, in any order of their words; None if one is blank."""
    from rapidfuzz import fuzz

    first, second = (" ".join(_NO_WORD.sub(" ", text.casefold()).split()) for text in (left, right))
    if not first or not second:
        return None
    ratio: float = fuzz.token_sort_ratio(first, second) / 100
    if ratio == 1.0:
        result.reasons.append(SAME_NAME)
    elif ratio >= SIMILAR:
        result.reasons.append(SIMILAR_NAME)
    return ratio


def _address(result: Similarity, first: str | None, second: str | None) -> float:
    if first is None or second is None:
        return 0.0
    from rapidfuzz import fuzz

    (local, _, domain), (local2, _, domain2) = first.rpartition("@"), second.rpartition("@")
    ratio: float = fuzz.ratio(_NO_WORD.sub("", local), _NO_WORD.sub("", local2)) / 100
    if domain == domain2:
        result.reasons.append(SAME_DOMAIN)
    if ratio >= SIMILAR:
        result.reasons.append(SIMILAR_ADDRESS)
    return ratio


def _label(domain: str) -> str:
    """Return the part of a domain that names the company: the longest one before the last."""
    return max(domain.split(".")[:-1] or [domain], key=len)
