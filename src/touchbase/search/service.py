"""Search as a use case: check the request, read the store, and report all faults at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import msgspec

from touchbase.clients.models import Client, ClientSettings
from touchbase.common.cache import Cache
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.errors import COUNTED, MOST_FAULTS, Fault
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RECORD_TYPES, RecordType
from touchbase.records.validation import raise_if_any
from touchbase.search.fields import CUSTOM, OWN_FIELDS, SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import RecordSearch, SearchPage
from touchbase.search.sorting import SortKey, parse_cursor, parse_sort
from touchbase.search.sql.index import index_records, next_to_index
from touchbase.search.sql.plans import MOST_UNINDEXED, search_page
from touchbase.search.tree import All, Node
from touchbase.search.words import MOST_SEARCHED, words_of
from touchbase.sql.store import Store

R = TypeVar("R", Contact, Company)

STEP = 100
"""Records indexed in one transaction."""
CATCH_UP = 3
"""Transactions that a full-text search waits for when many records are not indexed yet."""
MAX_YIELD_SECONDS = 0.1

CUSTOM_FIELDS = {"contact": "contact_custom_fields", "company": "company_custom_fields"}
"""By record type, the member of responses that has the custom fields."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """An HTTP client's request, not checked yet. Both filters, of the address and of the body, must hold."""

    parameters: Sequence[tuple[str, str]] = ()
    """Query parameters that are not members of this class, decoded."""
    tree: object = None
    """The member `where` of a body, as decoded from JSON; None for none."""
    q: str | None = None
    sort: str | None = None
    fields: str | None = None
    cursor: str | None = None
    limit: int = 50
    count: str = ""
    """`exact` or `estimated`; empty for none."""
    place: str = "?"
    """Prefix of a parameter's name in the pointer of a fault: `?`, or `/` for a member of a body."""
    also: Collection[str] = ()
    """Other parameters that the address may have, for the hint at a misspelt one."""
    at: float | None = None
    """The share of the order where the page begins, in place of a cursor."""
    cut: int | None = None
    """Characters of the longest text of the answer; None for no limit."""


@dataclass(frozen=True, slots=True)
class PreparedSearch:
    """A search that has been checked: the query, and the members that its answer shows."""

    search: RecordSearch[Any]
    shown: frozenset[str] | None = None
    """None for all. The id is always shown."""
    custom: frozenset[str] | None = None
    """The custom fields that are shown; None for all."""
    cut: int | None = None
    """Characters of the longest text."""

    def members(self, records: Sequence[msgspec.Struct]) -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
        """Return the members that the answer shows of records, and by id the names of texts that were cut."""
        shown = [msgspec.to_builtins(record) for record in records]
        if self.shown is not None:
            shown = [{name: value for name, value in record.items() if name in self.shown} for record in shown]
        member = CUSTOM_FIELDS[self.search.kind.name]
        cut: dict[str, list[str]] = {}
        for record in shown:
            fields = record.get(member, {})
            if self.custom is not None:
                of_list = isinstance(fields, list)
                record[member] = fields = (
                    [field for field in fields if field["field_name"] in self.custom]
                    if of_list
                    else {name: value for name, value in fields.items() if name in self.custom}
                )
            if self.cut is not None:
                names = [name for name in record if name != member and self._shorten(record, name)]
                if isinstance(fields, list):
                    names += [f"{CUSTOM}{field['field_name']}" for field in fields if self._shorten(field, "field_value")]
                else:
                    names += [f"{CUSTOM}{name}" for name in fields if self._shorten(fields, name)]
                if names:
                    cut[str(record["id"])] = names
        return shown, cut

    def _shorten(self, of: dict[str, Any], name: str) -> bool:
        """Cut a text that is too long; return whether it was."""
        text = of[name]
        if self.cut is None or not isinstance(text, str) or len(text) <= self.cut:
            return False
        of[name] = f"{text[: self.cut]}…"
        return True


def prepare(kind: RecordType[R], client: Client, request: SearchRequest, now: Micros, earlier: Sequence[Fault] = ()) -> PreparedSearch:
    """Check a search; raise `Invalid` with all faults, the known ones first."""
    faults = [*earlier]
    fields = SearchFields(kind, client.settings)
    parser = Parser(fields, now, faults, request.also)
    nodes = [parser.query(request.parameters)]
    if request.tree is not None:
        nodes.append(parser.json(request.tree, "/where"))
    where, place = All(tuple(nodes)), request.place
    sort = parse_sort(request.sort, fields, f"{place}sort", faults, where)
    cursor = parse_cursor(request.cursor, sort, f"{place}cursor", faults)
    if request.at is not None and request.cursor is not None:
        faults.append(Fault(f"{place}at", "contradiction", "and cursor name two places; send one of them"))
    shown, of_custom = _shown(kind, request.fields, fields, f"{place}fields", faults)
    words = search_words(request.q, faults, f"{place}q")
    raise_if_any(faults)
    custom = shown is None or CUSTOM_FIELDS[kind.name] in shown
    search: RecordSearch[Any] = RecordSearch(
        kind, client.number, sort, request.limit, where, words, cursor.after, cursor.backward, cursor.rank, request.at,
        count=request.count, custom_fields=custom,
    )  # fmt: skip
    return PreparedSearch(search, shown, of_custom, request.cut)


CountKey = tuple[int, int, Node, tuple[str, ...], tuple[SortKey, ...]]
Counts = Cache[CountKey, tuple[int, ...]]
"""Numbers of matches above `MOST_UNINDEXED`, by what is searched for: one jump after the other in a list counts a million once."""


def count_cache(clock: Clock) -> Counts:
    """Return a cache of counts, which are up to half a minute old."""
    return Cache(clock, 30 * SECOND, most=500)


async def search_records(store: Store, search: RecordSearch[R], counts: Counts | None = None, now: Micros = 0) -> SearchPage[R]:
    """Return a page of records."""
    key = (search.client, search.kind.kind, search.where, search.words, search.sort)
    if counts is not None and search.share is not None:
        search.counts = counts.get(key, now) or ()
    page = await store.read(search_page(search))
    for _ in range(CATCH_UP):
        if page.is_complete:
            break
        await store.write(index_records(search.client, STEP))
        page = await store.read(search_page(search))
    if counts is not None and page.counts is not None and not search.counts and sum(page.counts) > MOST_UNINDEXED:
        counts.put(key, page.counts, now)
    return page


def _shown(
    kind: RecordType[R], text: str | None, fields: SearchFields, place: str, faults: list[Fault]
) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """Return the members that are shown, and of the custom fields those that are; None for all."""
    if text is None:
        return None, None
    member: str = CUSTOM_FIELDS[kind.name]
    allowed = {*OWN_FIELDS[kind.kind], member} - {"created_time"}
    names: list[str] = [name.strip() for name in text.split(",")]
    custom: dict[str, str] = {name: field.column for name in names if name.startswith(CUSTOM) and (field := fields.find(name)) is not None}
    for name in names:
        if name in custom:
            continue
        if name not in allowed and len(faults) >= MOST_FAULTS:
            faults.append(COUNTED)
        elif name not in allowed:
            near = fields.nearest(name, [member])
            hint = f"did you mean {near!r}?" if near in allowed else f"there are {', '.join(sorted(allowed))}"
            faults.append(Fault(place, "unknown", f"there is no field {name[:100]!r}; {hint}"))
    shown = frozenset({"id", *names, *([member] if custom else ())} - custom.keys())
    return shown, frozenset(custom.values()) if custom and member not in names else None


def search_words(q: str | None, faults: list[Fault], place: str = "?q") -> tuple[str, ...]:
    """Return the words of a full-text search."""
    if q is None:
        return ()
    words = tuple(dict.fromkeys(words_of(q)))
    if not words:
        faults.append(Fault(place, "blank", "must have a letter or digit; leave it out to get all records"))
    if len(words) > MOST_SEARCHED:
        faults.append(Fault(place, "too_many", f"must have at most {MOST_SEARCHED} words"))
    return words


async def index_waiting(store: Store, is_stopping: Callable[[], bool]) -> None:
    """Bring the records that wait for it into the full-text index; pause after each step as long as it took."""
    client = await store.read(next_to_index())
    while client is not None and not is_stopping():
        began = perf_counter()
        done = await store.write(index_records(client, STEP))
        await asyncio.sleep(min(MAX_YIELD_SECONDS, perf_counter() - began))
        if done < STEP:
            client = await store.read(next_to_index(client))


async def index_all(store: Store, client: int) -> None:
    """Bring all records of a client that wait for it into the full-text index."""
    while await store.write(index_records(client, STEP)) == STEP:
        pass


def filter_parser(kind: int, settings: ClientSettings, now: Micros, faults: list[Fault]) -> Parser:
    """Return the parser of filters that are not part of a search."""
    return Parser(SearchFields(RECORD_TYPES[kind], settings), now, faults)


def record_members(kind: int) -> frozenset[str]:
    """Return the names of the members that responses show of a kind of record."""
    return frozenset({*OWN_FIELDS[kind], CUSTOM_FIELDS[RECORD_TYPES[kind].name]} - {"created_time"})
