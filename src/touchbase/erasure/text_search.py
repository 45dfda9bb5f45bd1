"""Search of the texts outside of records and deliveries for erased people: job settings, responses of receivers, notes, errors.

The parser reads what others wrote, so it runs on a thread before the transaction, and a row that has changed since is read again.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Container
from typing import Any

import msgspec

from touchbase.common.threads import on_thread
from touchbase.erasure.commands import ReadTexts, StoredTexts, StrikeTexts
from touchbase.erasure.sql.texts import TEXT_TABLES, TextTable
from touchbase.history import Ref
from touchbase.sql.store import Store
from touchbase.suppression import EMAIL, Unsearchable, find_identities

PAGE = 100
STRUCK = "[erased]"
"""What stands in place of an address, or of a text in which it cannot be replaced alone."""
FindErasedRefs = Callable[[int, set[Ref]], Awaitable[set[Ref]]]


class TextSearch:
    """Searches one client's texts page by page. The progress is in memory only: after a restart the search begins again."""

    def __init__(self, store: Store, find_erased: FindErasedRefs) -> None:
        self._store = store
        self._find_erased = find_erased
        self._position: dict[tuple[int, int], tuple[int, list[int | str] | None]] = {}
        """By client and erasure: the number of the table, and the last key."""

    async def page(self, client: int, erasure: int) -> bool:
        """Search the next page; return whether all tables have been searched."""
        number, after = self._position.get((client, erasure), (0, None))
        table = [*TEXT_TABLES.values()][number]
        rows = await self._store.read(ReadTexts(client, table.table, PAGE, after))
        if not await self._strike(client, table, rows):
            return False  # the next call reads these rows again
        if len(rows) == PAGE:
            self._position[client, erasure] = number, [*rows[-1].key]
        elif number + 1 < len(TEXT_TABLES):
            self._position[client, erasure] = number + 1, None
        else:
            self._position.pop((client, erasure), None)
            return True
        return False

    async def _strike(self, client: int, table: TextTable, rows: list[StoredTexts]) -> bool:
        """Strike erased people from these rows; return False if a row has changed since it was read."""
        named = await on_thread("translate", lambda: [named_in(row) for row in rows])
        erased = await self._find_erased(client, set[Ref]().union(*(refs or () for refs in named)))
        naming = [row for row, refs in zip(rows, named, strict=True) if refs is None or not erased.isdisjoint(refs)]
        if not naming:
            return True
        found = await on_thread(
            "translate", lambda: [(row, None if table.is_deleted else struck(row, table.json, erased)) for row in naming]
        )
        changes = [(row, values) for row, values in found if values != {}]
        return not changes or await self._store.write(StrikeTexts(client, table.table, changes)) == len(changes)


def named_in(row: StoredTexts) -> set[Ref] | None:
    """Return the identities in the key and the texts of a row; None if they cannot be searched within the limits."""
    found = set[Ref]()
    try:
        for value in (*row.key, *row.values.values()):
            if isinstance(value, bytes | memoryview):
                found |= find_identities({}, "", bytes(value))
            elif isinstance(value, str) and value:
                found |= find_identities({}, value, b"")
    except Unsearchable:
        return None
    return found


def struck(row: StoredTexts, json: Container[str], erased: set[Ref]) -> dict[str, str | bytes]:
    """Return the columns of a row that change, without erased people."""
    changed: dict[str, str | bytes] = {}
    for column, value in row.values.items():
        if isinstance(value, str) and value:
            new = _without_in_json(value, erased) if column in json else without(value, erased)
            if new != value:
                changed[column] = new
    return changed


def _without_in_json(text: str, erased: set[Ref]) -> str:
    try:
        content = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return without(text, erased)
    return msgspec.json.encode(_replaced(content, erased)).decode()


def _replaced(value: Any, erased: set[Ref]) -> Any:
    if isinstance(value, str):
        return without(value, erased)
    if isinstance(value, list):
        return [_replaced(item, erased) for item in value]
    if isinstance(value, dict):
        return {without(name, erased): _replaced(item, erased) for name, item in value.items()}
    return value


def without(text: str, erased: set[Ref]) -> str:
    """Return a text without these identities; if an address stands in it in another form, nothing of the text stays."""
    if not _names(text, erased):
        return text
    for tool, kind, key in erased:
        if not tool and kind == EMAIL:
            text = re.sub(re.escape(key), STRUCK, text, flags=re.IGNORECASE)
    return STRUCK if _names(text, erased) else text


def _names(text: str, erased: set[Ref]) -> bool:
    """Return whether a text names an erased person, or may do so."""
    try:
        return not erased.isdisjoint(find_identities({}, text, b""))
    except Unsearchable:
        return True
