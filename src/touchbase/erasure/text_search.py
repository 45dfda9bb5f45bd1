"""Search of the texts outside of records and deliveries for erased people: job settings, responses of receivers, notes, errors.

Rows are searched as deliveries are, in the translator processes if there are some; the few that name an erased person are changed here. A
row that has changed since it was read is read again.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Container, Sequence
from typing import Any

import msgspec

from touchbase.common.threads import on_thread
from touchbase.deliveries.delivery import UNRECOGNISED, Delivery
from touchbase.deliveries.work import Translate
from touchbase.erasure.models import StoredTexts
from touchbase.erasure.sql.texts import TEXT_TABLES, TextTable, read_texts, strike_texts
from touchbase.erasure_marks import EMAIL
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import Unsearchable, find_identities
from touchbase.identity.scan import scan_deliveries
from touchbase.sql.store import Store

PAGE = 100
SHARED = 0
"""In place of a client: its `saved_view` has the views of all clients, whose filters can name a person, too."""
SEARCHED = [*((False, table) for table in TEXT_TABLES.values()), (True, TEXT_TABLES["saved_view"])]
"""The tables, and whether the rows are those of all clients."""
STRUCK = "[erased]"
"""Replacement of an address, or of a text in which it cannot be replaced alone."""
Changes = dict[str, str | bytes]
"""New values by column."""
FindErasedRefs = Callable[[int, set[Ref]], Awaitable[set[Ref]]]


class TextSearch:
    """Searches one client's texts page by page. The progress is in memory only: after a restart the search begins again."""

    def __init__(self, store: Store, find_erased: FindErasedRefs) -> None:
        self._store = store
        self._find_erased = find_erased
        self._position: dict[tuple[int, int], tuple[int, list[int | str] | None]] = {}
        """By client and erasure: the number of the table, and the last key."""

    async def page(self, client: int, erasure: int, translate: Translate) -> bool:
        """Search the next page; return whether all tables have been searched."""
        number, after = self._position.get((client, erasure), (0, None))
        is_shared, table = SEARCHED[number]
        owner = SHARED if is_shared else client
        rows = await self._store.read(read_texts(owner, table.table, PAGE, after))
        if not await self._strike(client, owner, table, rows, translate):
            return False  # the next call reads these rows again
        if len(rows) == PAGE:
            self._position[client, erasure] = number, [*rows[-1].key]
        elif number + 1 < len(SEARCHED):
            self._position[client, erasure] = number + 1, None
        else:
            self._position.pop((client, erasure), None)
            return True
        return False

    async def _strike(self, client: int, owner: int, table: TextTable, rows: list[StoredTexts], translate: Translate) -> bool:
        """Strike erased people from these rows; return False if a row has changed since it was read."""
        named = await scan_deliveries([_as_delivery(client, number, row) for number, row in enumerate(rows)], translate)
        erased = await self._find_erased(client, set[Ref]().union(*(identities.refs for identities in named.values())))
        naming = [rows[number] for number, identities in named.items() if identities.unsearchable or not erased.isdisjoint(identities.refs)]
        if not naming:
            return True
        struck = await on_thread("translate", _struck_rows, table, naming, erased)
        changes = [(row, values) for row, values in struck if values != {}]
        return not changes or await self._store.write(strike_texts(owner, table.table, changes)) == len(changes)


def _as_delivery(client: int, number: int, row: StoredTexts) -> Delivery:
    """Return a row in the form in which deliveries are searched for people, so that the same processes search it."""
    values = [
        value.encode() if isinstance(value, str) else value for value in (*row.key, *row.values.values()) if not isinstance(value, int)
    ]
    return Delivery(client, "", number, "crm", UNRECOGNISED, 0, body=b"\n".join(bytes(value) for value in values if value))


def _struck_rows(table: TextTable, rows: Sequence[StoredTexts], erased: set[Ref]) -> list[tuple[StoredTexts, Changes | None]]:
    return [(row, None if table.is_deleted else struck(row, table.json, erased)) for row in rows]


def struck(row: StoredTexts, json: Container[str], erased: set[Ref]) -> Changes:
    """Return the columns of a row that change, without erased people."""
    changed: Changes = {}
    for column, value in row.values.items():
        if isinstance(value, str) and value:
            new = without_in_json(value, erased) if column in json else without(value, erased)
            if new != value:
                changed[column] = new
    return changed


def without_in_json(text: str, erased: set[Ref]) -> str:
    """Return a JSON text without these identities."""
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
