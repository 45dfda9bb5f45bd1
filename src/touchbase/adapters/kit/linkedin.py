"""A LinkedIn URL in a record whose CRM has no standard field for it: in a custom field, or among profiles."""

from __future__ import annotations

import re
from collections.abc import Callable

from touchbase.adapters.kit.crm_values import Record, linkedin_from

LINKEDIN = "linkedin address"
"""The property in which an adapter stores the URL, listed last in its `RecordShape`."""
_NON_LETTERS = re.compile(r"[\W_]+")
_OF_OTHERS = re.compile(r"owner|sender|assignee|assigned|manager|referr|sales.?rep|(?<![a-z])(?:sdr|csm)(?![a-z])", re.IGNORECASE)


def with_linkedin(record: Record, *others: Record) -> dict[str, object]:
    """Return the record with the LinkedIn URL found in it, or in one of the others, under any name that means LinkedIn.

    A URL found in the record itself is moved, so that it does not become a custom field too.
    """
    own = _named(record)
    profile = own or next(filter(None, map(_named, others)), None)
    if profile is None:
        return dict(record)
    return {name: value for name, value in record.items() if own is None or name != own[0]} | {LINKEDIN: profile[1]}


def with_linkedin_of_fields(record: Record, is_own: Callable[[str], bool]) -> dict[str, object]:
    """Return the record with the first LinkedIn URL of a custom field (`is_own`) moved, so that it does not become a custom field too.

    For CRMs that identify custom fields by numbers or hashes: only the value decides, which must be exactly a profile's URL.
    """
    for name, value in record.items():
        if is_own(name) and (profile := linkedin_from(value)) is not None:
            return {key: own_value for key, own_value in record.items() if key != name} | {LINKEDIN: profile}
    return dict(record)


def _named(record: Record) -> tuple[str, str] | None:
    """Return the first property named like `x_studio_linkedin`, `LinkedIn URL` or `linked_in`; not a colleague's (`owner_linkedin`)."""
    names = " ".join(record)
    # Fast path: most records have no name with a `k`, so none can mean LinkedIn.
    if "k" not in names.lower() or "linkedin" not in _NON_LETTERS.sub("", names).lower():
        return None
    for name, value in record.items():
        says_linkedin = "linkedin" in _NON_LETTERS.sub("", name).lower() and _OF_OTHERS.search(name) is None
        if says_linkedin and (profile := linkedin_from(value)) is not None:
            return name, profile
    return None
