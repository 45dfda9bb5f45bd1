"""Types of suppressions. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from touchbase.client.models.shared import SuppressionKind, SuppressionList, SuppressionOut, SuppressionReason


ListFormat = Literal["json", "csv"]
"""The format of a list: JSON pages, or one CSV file."""

SuppressionOutcome = Literal["created", "updated", "unchanged", "invalid"]
"""What became of one entry of a request."""

WrittenSource = Literal["import", "api", "person"]
"""The sources that a request may name."""


class CheckedAddress(TypedDict):
    """The addresses of one person or company; at least one of them."""

    email: NotRequired[str | None]
    linkedin_url: NotRequired[str | None]
    domain: NotRequired[str | None]


class CheckedItem(TypedDict):
    """The status of one item; with `errors` it could not be looked up completely."""

    suppressed: bool
    reason: SuppressionReason | None
    list: SuppressionList | None
    kind: SuppressionKind | None
    value: str | None
    since: str | None
    until: str | None
    errors: list[SuppressionFault]


class CheckedItems(TypedDict):
    """The status of each item, in the order of the request."""

    data: list[CheckedItem]


class NewSuppression(TypedDict):
    """An address to put on the list."""

    value: str
    kind: NotRequired[SuppressionKind | None]
    reason: NotRequired[SuppressionReason]
    source: NotRequired[WrittenSource]
    note: NotRequired[str]
    since: NotRequired[str | None]
    until: NotRequired[str | None]


class NewSuppressions(TypedDict):
    """One entry (`value` and its members), or up to 1,000 as `entries`."""

    entries: NotRequired[list[NewSuppression] | None]
    value: NotRequired[str | None]
    kind: NotRequired[SuppressionKind | None]
    reason: NotRequired[SuppressionReason]
    source: NotRequired[WrittenSource]
    note: NotRequired[str]
    since: NotRequired[str | None]
    until: NotRequired[str | None]


class SavedSuppression(TypedDict):
    """What became of one entry of the request; `invalid` ones have `errors` and no `entry`."""

    outcome: SuppressionOutcome
    entry: SuppressionOut | None
    errors: list[SuppressionFault]


class SavedSuppressions(TypedDict):
    """What became of the entries, in the order of the request, and how many had each outcome."""

    data: list[SavedSuppression]
    created: int
    updated: int
    unchanged: int
    invalid: int


class SuppressionCheck(TypedDict):
    """Up to 1,000 items to look up."""

    items: list[CheckedAddress]


class SuppressionFault(TypedDict):
    """What is wrong with one address."""

    code: str
    pointer: str
    detail: str


class SuppressionPage(TypedDict):
    """A page of entries, newest last; `next_cursor` is null on the last one."""

    data: list[SuppressionOut]
    next_cursor: str | None
