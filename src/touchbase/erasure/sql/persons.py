"""Queries of erasure: the person to erase, erased keys, and the bodies and links to search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence

import msgspec

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.deliveries.claiming import DELIVERIES_WITH_BODIES
from touchbase.deliveries.sql.rows import delivery_of
from touchbase.erasure.models import BodyPage, ErasedKey, ErasedPage, Erasure, LinkPage, Person, PersonSource
from touchbase.erasure.sql.pii_tables import count_all
from touchbase.erasure_marks import EMAIL, LINKEDIN, erasure_key_of, find_erasure_key, find_marks, is_personal
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.projection.deleted_records import deleted_having
from touchbase.sql.cell_answers import CONCATENATED, Division, divide_clients, named_clients, sorted_page
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import query
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select

MOST_BYTES = 8 * 1024 * 1024
"""Bytes of bodies in one page."""
_DELETED = "FROM deleted_record WHERE client = ? AND record_kind = 1 AND record_id = ?"
_ERASURE = "SELECT client, id, requested_us, done_us, swept_to, sweep_until, removed, searched_us FROM erasure"


def find_contacts(client: int, contact_id: int | None, refs: Iterable[Ref]) -> Plan[list[int]]:
    """Return the contacts with this id or one of these identities, in the bin too."""
    contacts: set[int] = set()
    if contact_id is not None:
        rows = yield Select("SELECT id FROM contact WHERE client = ? AND id = ?", (client, contact_id))
        contacts |= {row[0] for row in rows}
        rows = yield Select(f"SELECT record_id {_DELETED}", (client, contact_id))
        contacts |= {row[0] for row in rows}
    wanted = set(refs)
    for ref in wanted:
        rows = yield from _contacts_having(client, ref)
        contacts |= {row[0] for row in rows}
        rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref)])
        contacts |= {row[6] for row in rows if row[5] == CONTACT}
    deleted = yield from deleted_having(client, CONTACT, wanted)
    return sorted(contacts | {deletion.record_id for deletions in deleted.values() for deletion in deletions})


def deleted_refs(client: int, contact: int) -> Plan[set[Ref]]:
    """Return the identities of a deleted contact."""
    rows = yield Select(
        "SELECT tool, object_type, object_id FROM deleted_link WHERE client = ? AND record_kind = 1 AND record_id = ?", (client, contact)
    )
    return {ref for row in rows if is_personal(ref := (row[0], row[1], row[2]))}


def identities_of_others(client: int, refs: Iterable[Ref], contacts: Container[int] = ()) -> Plan[set[Ref]]:
    """Return the addresses that now belong to another contact: the person had them formerly."""
    foreign: set[Ref] = set()
    for ref in refs:
        rows = yield from _contacts_having(client, ref)
        if any(row[0] not in contacts for row in rows):
            foreign.add(ref)
    return foreign


def _contacts_having(client: int, ref: Ref) -> Plan[list[Row]]:
    """Return the contact with this address."""
    if ref[:2] not in (("", EMAIL), ("", LINKEDIN)):
        return []
    column = "email_key" if ref[1] == EMAIL else "linkedin_key"
    return (yield Select(f"SELECT id FROM contact WHERE client = ? AND {column} = ?", (client, ref[2])))


@query
def find_person(client: int, contact_id: int | None = None, refs: Sequence[Ref] = ()) -> Plan[Person]:
    """Find the person that `erase_person` would erase; empty when there is none."""
    contacts = yield from find_contacts(client, contact_id, refs)
    current_refs, counts = set(refs), Counter[str]()
    for contact in contacts:  # grows
        rows = yield Select("SELECT email_key, linkedin_key FROM contact WHERE client = ? AND id = ?", (client, contact))
        links = yield Execute(history_sql.LINKS_OF, [(client, CONTACT, contact)])
        current_refs |= identities(rows, links) | (yield from deleted_refs(client, contact))
        counts.update((yield from count_all(client, contact)))
        contacts += yield from same_in_bin(client, contacts, current_refs)
    current_refs -= yield from identities_of_others(client, current_refs, contacts)
    return Person(contacts, current_refs, dict(counts))


def identities(keys: Iterable[Row], links: Iterable[Row]) -> set[Ref]:
    """Return the identities of a contact from its (email_key, linkedin_key) and its links."""
    refs = {ref for row in links if is_personal(ref := (row[1], row[2], row[3]))}
    for row in keys:
        refs |= {("", word, key) for word, key in zip((EMAIL, LINKEDIN), row, strict=True) if key is not None}
    return refs


def erasure_of(row: Row) -> Erasure:
    """Return the erasure of a row."""
    client, number, asked_us, done_us, swept_to, sweep_until, removed, searched_us = row
    counts = msgspec.json.decode(removed, type=dict[str, int])
    return Erasure(client, number, asked_us, done_us, swept_to, sweep_until, counts, searched_us)


def find_erasure(client: int, number: int) -> Plan[list[Row]]:
    """Return the row of one erasure, or none."""
    return (yield Select(f"{_ERASURE} WHERE client = ? AND id = ?", (client, number)))


@query
def get_erasure(client: int, id: int) -> Plan[Erasure | None]:
    """Get one erasure."""
    rows = yield from find_erasure(client, id)
    return erasure_of(rows[0]) if rows else None


@query
def list_requests(client: int, limit: int, before: int | None = None) -> Plan[list[Erasure]]:
    """List the erasures of one client, newest first; `before`: the last id of the previous page."""
    current_before = LARGEST_ID + 1 if before is None else before
    rows = yield Select(f"{_ERASURE} WHERE client = ? AND id < ? ORDER BY id DESC LIMIT ?", (client, current_before, limit))
    return [erasure_of(row) for row in rows]


_NEWEST = sorted_page(lambda erasure: (erasure.asked_us, erasure.client, erasure.id), newest=True)


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _NEWEST.join, partial=True), merge=_NEWEST)
def list_all_requests(clients: Sequence[int] | None, limit: int, before: tuple[Micros, int, int] | None = None) -> Plan[list[Erasure]]:
    """List the erasures of these clients (None: of all active ones), newest first; `before`: the last time, client and id of a page."""
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    where = Where(f"client {condition}", *numbers)
    if before is not None:
        where.add("(requested_us, client, id) < (?, ?, ?)", *before)
    rows = yield Select(f"{_ERASURE} WHERE {where} ORDER BY requested_us DESC, client DESC, id DESC LIMIT ?", (*where.params, limit))
    return [erasure_of(row) for row in rows]


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def open_erasures() -> Plan[list[Erasure]]:
    """List the erasures of all clients that are not done: their search goes on, or the store's files are not cleaned after it."""
    rows = yield Select(f"{_ERASURE} WHERE done_us IS NULL", ())
    return sorted(map(erasure_of, rows), key=lambda erasure: (erasure.client, erasure.id))


@query
def find_erased(client: int, refs: list[Ref], derived: bool = False) -> Plan[set[Ref]]:
    """Find the erased ones of these identities; with `derived` also object ids that occurred together with one."""
    key = yield from erasure_key_of(client)
    if key is None:
        return set()
    marks = yield from find_marks(key, client, refs)
    return {ref for ref, mark in marks.items() if derived or not mark.derived}


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def clients_with_erasures() -> Plan[list[tuple[int, int]]]:
    """List the number and creation time of each client with erased people; readable in a store of any version."""
    rows = yield Select(
        "SELECT c.id, c.created_us FROM client c WHERE EXISTS (SELECT 1 FROM erased e WHERE e.client = c.id) ORDER BY c.id", ()
    )
    return [(row[0], row[1]) for row in rows]


@query
def list_erasures(client: int, limit: int, after: bytes = b"") -> Plan[ErasedPage]:
    """List the erased keys of one client, to add them to a restored backup (`add_erasures`)."""
    key = yield from find_erasure_key()
    rows = yield Select(
        "SELECT digest, erasure, derived, erased_us FROM erased WHERE client = ? AND digest > ? ORDER BY digest LIMIT ?",
        (client, after, limit),
    )
    keys = [ErasedKey(bytes(row[0]), row[1], bool(row[2]), row[3]) for row in rows]
    return ErasedPage(key, keys, keys[-1].digest if len(keys) == limit else None)


@query(bodies=lambda page: page.deliveries)
def read_bodies(
    client: int, after: int, limit: int, until: int | None = None, contact: int | None = None, waiting: bool = False
) -> Plan[BodyPage]:
    """Read deliveries of one client that have a body, with ids above `after`; as many as fit into a few megabytes.

    With `contact` only those with an event of this contact; with `waiting` only queued ones.
    """
    bounds = (client, after, LARGEST_ID if until is None else until)
    if contact is None:
        where = "d.client = ? AND d.id > ? AND d.id <= ? AND d.body_removed IS NULL" + (" AND d.state = 'received'" if waiting else "")
        rows = yield Select(f"SELECT d.id, d.size FROM delivery d WHERE {where} ORDER BY d.id LIMIT ?", (*bounds, limit))
    else:
        caused = "SELECT DISTINCT e.delivery_id FROM event e WHERE e.client = ? AND e.record_kind = ? AND e.record_id = ?"
        rows = yield Select(
            f"SELECT d.id, d.size FROM ({caused}) t JOIN delivery d ON d.client = ? AND d.id = t.delivery_id "
            "WHERE d.id > ? AND d.id <= ? ORDER BY d.id LIMIT ?",
            (client, CONTACT, contact, *bounds, limit),
        )
    ids = _within(rows)
    bodies = (yield Execute(DELIVERIES_WITH_BODIES, [(client, number) for number in ids])) if ids else []
    is_last = len(ids) == len(rows) < limit
    return BodyPage(sorted(map(delivery_of, bodies), key=lambda delivery: delivery.id), None if is_last else ids[-1])


@query
def find_sources(client: int, contact: int) -> Plan[list[PersonSource]]:
    """The tools that sent events about a contact, in order."""
    rows = yield Select(
        "SELECT channel, tool, count(*), min(received_us), max(received_us) FROM event WHERE client = ? AND record_kind = ? "
        "AND record_id = ? GROUP BY channel, tool",
        (client, CONTACT, contact),
    )
    return sorted((PersonSource(*row) for row in rows), key=lambda source: (source.channel, source.tool))


def _within(rows: list[Row]) -> list[int]:
    """Return as many of these deliveries as fit into a page, at least one."""
    ids: list[int] = []
    total = 0
    for number, size in rows:
        total += size
        if ids and total > MOST_BYTES:
            break
        ids.append(number)
    return ids


@query
def read_links(client: int, limit: int, after: Ref = ("", "", ""), contact: int | None = None, deleted: bool = False) -> Plan[LinkPage]:
    """Read the identity links of one client above `after`, without companies' links; or the links of one contact.

    With `deleted` the identities of contacts in the bin.
    """
    whose = "record_kind = 1 AND record_id = ?" if contact is not None else "(record_kind IS NULL OR record_kind <> 2)"
    of_contact = () if contact is None else (contact,)
    if deleted:
        return (yield from _read_deleted_links(client, limit, after, contact))
    rows = yield Select(
        f"SELECT tool, object_type, object_id, record_kind, record_id FROM link WHERE client = ? AND {whose} "
        "AND (tool, object_type, object_id) > (?, ?, ?) ORDER BY tool, object_type, object_id LIMIT ?",
        (client, *of_contact, *after, limit),
    )
    links = [((row[0], row[1], row[2]), row[4] if row[3] == CONTACT else None) for row in rows]
    return LinkPage(links, links[-1][0] if len(links) == limit else None)


def _read_deleted_links(client: int, limit: int, after: Ref, contact: int | None) -> Plan[LinkPage]:
    whose = "" if contact is None else " AND record_id = ?"
    of_contact = () if contact is None else (contact,)
    rows = yield Select(
        f"SELECT tool, object_type, object_id, min(record_id) FROM deleted_link WHERE client = ? AND record_kind = 1{whose} "
        "AND (tool, object_type, object_id) > (?, ?, ?) GROUP BY tool, object_type, object_id "
        "ORDER BY tool, object_type, object_id LIMIT ?",
        (client, *of_contact, *after, limit),
    )
    links: list[tuple[Ref, int | None]] = [((row[0], row[1], row[2]), row[3]) for row in rows]
    return LinkPage(links, links[-1][0] if len(links) == limit else None)


def same_in_bin(client: int, contacts: Container[int], refs: Iterable[Ref]) -> Plan[list[int]]:
    """Return further contacts in the bin that had one of these addresses when they were deleted: they are the same person."""
    addresses = [ref for ref in refs if not ref[0]]
    deleted = yield from deleted_having(client, CONTACT, addresses)
    contact_ids = {deletion.record_id for deletions in deleted.values() for deletion in deletions if not deletion.is_former}
    return sorted(number for number in contact_ids if number not in contacts)
