"""Pages of a list as RevyOps answers them: an envelope, a bare array, or an object where nothing was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

_SHOWN = 200
"""Characters of a response that a message shows."""


class NotAPage(ValueError):
    """A body that is no page of a list; the message says what it is."""


@dataclass(slots=True)
class ListPage:
    """One page of a list."""

    records: list[Any]
    count: int | None = None
    """Records of the whole list, if the page says so."""
    pages: int | None = None
    """Pages of the whole list, if the page says so."""
    note: str = ""
    """How an unusual body was read; blank for a usual one."""
    is_cut: bool = False
    """Whether the server refuses this page although the list may have it."""

    def is_last(self, number: int) -> bool:
        """Return whether no page follows, if this is the page with this number; without a number of pages one that is empty decides."""
        return not self.records if self.pages is None else number >= self.pages


def page_of(body: bytes) -> ListPage:
    """Return the page that a body is; raise `NotAPage`."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotAPage(f"is not JSON; it begins with {excerpt(body)!r}" if body.strip() else "is empty") from None
    if isinstance(value, list):
        return ListPage(value)
    if not isinstance(value, dict):
        raise NotAPage(f"is neither an object nor an array: {excerpt(body)!r}")
    found = value.get("results")
    if isinstance(found, list):
        return ListPage(found, _number(value.get("count")), _number(value.get("total_pages")))
    one = value if found is None else found
    if isinstance(one, dict) and "id" in one:
        return ListPage([one], note="a single record was read as a list of one")
    return ListPage([], _number(value.get("count")), _number(value.get("total_pages")), f"read as an empty list: {excerpt(body)!r}")


def excerpt(body: bytes) -> str:
    """Return the beginning of a body as one line."""
    text = " ".join(body[: 4 * _SHOWN].decode("utf-8", "replace").split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
