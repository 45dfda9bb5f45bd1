"""A LinkedIn address in a field that a CRM's users have made, where such fields have numbers or hashes and no names.

`kit/linkedin.py` looks at names. Here only the value can tell: an address of a person's profile, and nothing else in it.
"""

from __future__ import annotations

from collections.abc import Callable

from touchbase.adapters.kit.crm_values import Record, link
from touchbase.adapters.kit.linkedin import LINKEDIN


def with_linkedin_of_fields(record: Record, is_own: Callable[[str], bool]) -> dict[str, object]:
    """The record with the first LinkedIn address in a field that `is_own`, moved so that it does not become a custom field as well."""
    for name, value in record.items():
        if is_own(name) and (found := link(value)) is not None:
            return {other: kept for other, kept in record.items() if other != name} | {LINKEDIN: found}
    return dict(record)
