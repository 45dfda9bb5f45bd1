"""Cursors, filters of types, and pages of the feed."""

from __future__ import annotations

import re

from touchbase.common.misspelt import suggest
from touchbase.errors import COUNTED, MOST_FAULTS, CursorExpired, Fault
from touchbase.event_log.models import EVENT_TYPES, LoggedPage, event_id
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.sql.store import Store

LATEST = "latest"
START = -1
"""In place of a sequence: before the oldest event that is stored, however many were removed before it."""
_CURSOR = re.compile(r"evt_(0|[1-9][0-9]{0,17})")


def sequence_of(cursor: str | None, pointer: str, faults: list[Fault]) -> int | None:
    """Return the sequence of a cursor: START without one, None for `latest`; appends a fault for other text."""
    if cursor is None:
        return START
    if cursor == LATEST:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        faults.append(Fault(pointer, "cursor", f"must be `next_cursor` of an earlier response, the id of an event, or {LATEST}"))
        return 0
    return int(match[1])


def types_of(text: str | None, pointer: str, faults: list[Fault]) -> list[str] | None:
    """Return the types that a list names, with `contact.*` for all of a group; None for all types; appends faults."""
    if text is None:
        return None
    names: dict[str, None] = {}
    for name in (name.strip() for name in text.split(",")):
        group = name.removesuffix("*")
        matching = [
            event_kind.value
            for event_kind in EVENT_TYPES
            if event_kind == name or (group != name and group.endswith(".") and event_kind.startswith(group))
        ]
        if not matching and len(faults) >= MOST_FAULTS:
            faults.append(COUNTED)
        elif not matching:
            near = suggest(name, [event_kind.value for event_kind in EVENT_TYPES])
            hint = f"did you mean {near}?" if near else f"there are {', '.join(EVENT_TYPES)}"
            faults.append(Fault(pointer, "choice", f"there is no type {name[:60]!r}; {hint}"))
        names |= dict.fromkeys(matching)
    return list(names)


async def read_page(
    store: Store, client: int, after: int | None, limit: int, types: list[str] | None = None, page_bytes: int = 0
) -> LoggedPage:
    """Return the events after a sequence; raises `CursorExpired` if some of them are not stored any more, or if it never existed."""
    page = await store.read(list_logged_events(client, after, limit, types, page_bytes))
    if after is None or after == START:
        return page
    if after > page.newest:
        raise CursorExpired(
            f"{event_id(after)} is later than the newest event, {event_id(page.newest)}: the store was restored from a backup, or the "
            "cursor is another client's; list the records, then read on with `after=latest`",
            data={"valid_cursor": event_id(page.newest)},
        )
    if after < page.oldest - 1:
        raise CursorExpired(
            f"events before {event_id(page.oldest)} are not stored any more, so the reader after {event_id(after)} would miss some; list "
            "the records again, then read on from the oldest event, without `after`",
            data={"valid_cursor": event_id(page.oldest - 1)},
        )
    return page
