"""Search as a use case: checks what is given, asks the store, and names faults all at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.history.events import CONTACT
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.records.validation import raise_if_any
from touchbase.search.fields import OWN_FIELDS, SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import ESTIMATED, EXACT, Found, SearchCompanies, SearchContacts, SearchRecords
from touchbase.search.sorting import cursor_of, parse_cursor, parse_sort
from touchbase.search.tree import All
from touchbase.sql.store import Store

R = TypeVar("R", Contact, Company)

CUSTOM_FIELDS = {"contact": "contact_custom_fields", "company": "company_custom_fields"}
"""By record type, the member of responses that has the custom fields."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What an HTTP client asks for, not checked yet. Both filters, of the address and of the body, must hold."""

    parameters: Sequence[tuple[str, str]] = ()
    """Query parameters that are not members of this class, decoded."""
    tree: object = None
    """The member `where` of a body, as decoded from JSON; None for none."""
    q: str | None = None
    sort: str | None = None
    fields: str | None = None
    cursor: str | None = None
    limit: int = 50
    prefer: Collection[str] = ()
    """The preferences of the header Prefer, such as `count=exact`."""
    also: Collection[str] = ()
    """Other parameters that the address may have, for the hint at a misspelt one."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A search that has been checked: the query, and the members that its answer shows."""

    query: SearchContacts | SearchCompanies
    shown: frozenset[str] | None = field(default=None)
    """None for all. The id is always shown."""


def prepare(kind: RecordType[R], client: Client, request: SearchRequest, now: Micros) -> Prepared:
    """Check a search; raise `Invalid` with all faults."""
    faults: list[Fault] = []
    fields = SearchFields(kind, client.settings)
    parser = Parser(fields, now, faults, request.also)
    nodes = [parser.query(request.parameters)]
    if request.tree is not None:
        nodes.append(parser.json(request.tree, "/where"))
    sort = parse_sort(request.sort, fields, "?sort", faults)
    cursor = parse_cursor(request.cursor, sort, "?cursor", faults)
    shown = _shown(kind, request.fields, fields, faults)
    words = search_words(request.q, faults)
    raise_if_any(faults)
    custom = shown is None or CUSTOM_FIELDS[kind.name] in shown
    count = next((each for each in (EXACT, ESTIMATED) if f"count={each}" in request.prefer), "")
    query = SearchContacts if kind.kind == CONTACT else SearchCompanies
    return Prepared(query(client.number, sort, request.limit, All(tuple(nodes)), words, cursor, count, custom), shown)


async def search_records(store: Store, query: SearchRecords[R]) -> tuple[Found[R], str | None]:
    """Return a page of records, and the cursor of the next."""
    found = await store.read(query)
    return found, None if found.next is None else cursor_of(found.next, query.sort)


def _shown(kind: RecordType[R], text: str | None, fields: SearchFields, faults: list[Fault]) -> frozenset[str] | None:
    if text is None:
        return None
    known = {*OWN_FIELDS[kind.kind], CUSTOM_FIELDS[kind.name]} - {"created_time"}
    names: list[str] = [each.strip() for each in text.split(",")]
    for name in names:
        if name not in known:
            near = fields.nearest(name, [CUSTOM_FIELDS[kind.name]])
            hint = f"did you mean {near!r}?" if near in known else f"there are {', '.join(sorted(known))}"
            faults.append(Fault("?fields", "unknown", f"there is no field {name[:100]!r}; {hint}"))
    return frozenset({"id", *names})


def search_words(q: str | None, faults: list[Fault]) -> tuple[str, ...]:
    """Return the words of a full-text search."""
    return ()
