"""A LinkedIn address in a record whose CRM keeps no place for one: under a name that its users have made, or among profiles."""

from __future__ import annotations

import re

from touchbase.adapters.kit.crm_values import Record, link

LINKEDIN = "linkedin address"
"""The property under which an adapter keeps what it has found, for its `Shape` to name last."""
_NO_LETTERS = re.compile(r"[\W_]+")
_OF_OTHERS = re.compile(r"owner|sender|assignee|assigned|manager|referr|sales.?rep|(?<![a-z])(?:sdr|csm)(?![a-z])", re.IGNORECASE)


def with_linkedin(record: Record, *others: Record) -> dict[str, object]:
    """The record with the LinkedIn address that it, or one of the others, holds under any name that says LinkedIn.

    What is found in the record itself is moved, so that it does not become a custom field as well.
    """
    own = _named(record)
    found = own or next(filter(None, map(_named, others)), None)
    if found is None:
        return dict(record)
    return {name: value for name, value in record.items() if own is None or name != own[0]} | {LINKEDIN: found[1]}


def _named(record: Record) -> tuple[str, str] | None:
    """`x_studio_linkedin`, `LinkedIn URL`, `new_linkedinprofile` and `linked_in` all say LinkedIn; `owner_linkedin` says a colleague's."""
    names = " ".join(record)
    # Most records' names hold no `k`: quicker told than that none says LinkedIn.
    if "k" not in names.lower() or "linkedin" not in _NO_LETTERS.sub("", names).lower():
        return None
    for name, value in record.items():
        says_linkedin = "linkedin" in _NO_LETTERS.sub("", name).lower() and _OF_OTHERS.search(name) is None
        if says_linkedin and (found := link(value)) is not None:
            return name, found
    return None
