"""Erasing a person: everything about them goes in one transaction, and keyed hashes of who they were stay.

It locks the client's row, as turns of the inbox do: a turn is either before it, and what it wrote is removed, or after it, and
finds the hashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import msgspec

from touchbase.clients import sql as clients_sql
from touchbase.common.timestamps import Micros
from touchbase.erasure.commands import ErasePerson, Erasure, LiftErasure, SweepErasure
from touchbase.erasure.pii_tables import remove_all
from touchbase.erasure.sql_queries import erasure_of, find_contacts, find_erasure, held_by_others, identities
from touchbase.errors import NotFound
from touchbase.events.suppression_guard import DELIVERIES_OF_EVENTS, erase_parked_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.inbox.body_retention import clear_deliveries
from touchbase.records import statements as records_sql
from touchbase.records.rows import contact_of
from touchbase.sql.builders import ONE
from touchbase.sql.ids import Ids
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Select, Statement
from touchbase.suppression.server_secret import erasure_key_of, find_erasure_key, make_erasure_key
from touchbase.suppression.sql import DELETE_ERASURE, Mark, marks_of, save_marks

ERASURE: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("requested_us", "bigint"), ("done_us", "bigint"), ("swept_to", "bigint"),
    ("sweep_until", "bigint"), ("removed", "text"),
)  # fmt: skip
INSERT_ERASURE = Statement(
    "insert_erasure",
    ERASURE,
    body="INSERT INTO erasure (client, id, requested_us, done_us, swept_to, sweep_until, removed) SELECT * FROM p WHERE true",
)
_SWEPT: Columns = (*ONE, ("done_us", "bigint"), ("swept_to", "bigint"), ("removed", "text"))
NOTE_SWEPT = Statement(
    "note_swept",
    _SWEPT,
    body="UPDATE erasure AS t SET done_us = p.done_us, swept_to = p.swept_to, removed = p.removed FROM p "
    "WHERE t.client = p.client AND t.id = p.id",
)
# A create of a client without erasures holds no lock that the client's row could show. So the first erasure waits until those in
# flight have committed, and finds what they wrote; those that come after it find the erasure. Before any other lock: who waits holds none.
WAIT_FOR_CREATES = Statement("wait_for_creates", (), sqlite="SELECT 1", postgres="LOCK TABLE contact IN SHARE ROW EXCLUSIVE MODE")


def erase_person(command: ErasePerson, ids: Ids) -> Plan[Erasure | NotFound]:
    """Erase one person."""
    client = command.client
    if (yield from erasure_key_of(client)) is None:
        yield Execute(WAIT_FOR_CREATES, [()])
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    contacts = yield from find_contacts(client, command.contact_id, command.refs)
    if command.contact_id is not None and not contacts:
        return NotFound(f"there is no contact with id {command.contact_id}")
    refs, deliveries, removed = set(command.refs), set[int](), Counter[str]()
    for contact in contacts:
        refs |= yield from _identities(client, contact)
        told = yield Execute(DELIVERIES_OF_EVENTS, [(client, CONTACT, contact)])
        deliveries |= {row[0] for row in told if row[0] is not None}
        removed.update((yield from remove_all(client, contact)))
    refs -= yield from held_by_others(client, refs)
    waited = yield from erase_parked_events(client, refs)
    removed["events"] += waited.events
    key = yield from make_erasure_key()
    number = ids.take("erasure")
    yield from save_marks(key, client, dict.fromkeys(refs | waited.refs, Mark(number, derived=False)), command.at)
    removed["deliveries"] += yield from clear_deliveries(key, client, deliveries | waited.deliveries, command.at)
    return (yield from open_erasure(client, number, command.at, removed, done_us=None if command.search else command.at))


def _identities(client: int, contact: int) -> Plan[set[Ref]]:
    # Locked, so that a change of the contact is either before us or finds it gone.
    rows = yield Execute(records_sql.CONTACT_BY_ID, [(client, contact)])
    links = yield Execute(history_sql.LINKS_OF, [(client, CONTACT, contact)])
    found = map(contact_of, rows)
    return identities([(each.email_key, each.linkedin_key) for each in found], links)


def open_erasure(
    client: int, number: int, at: Micros, removed: Mapping[str, int], *, swept_to: int = 0, done_us: Micros | None = None
) -> Plan[Erasure]:
    """Note an erasure, whose search of the inbox is still to come unless it is done."""
    rows = yield Select("SELECT COALESCE(max(id), 0) FROM delivery WHERE client = ?", (client,))
    until: int = rows[0][0]
    counts = dict(removed)
    yield Execute(INSERT_ERASURE, [(client, number, at, done_us, swept_to, until, msgspec.json.encode(counts).decode())])
    return Erasure(client, number, at, done_us, swept_to, until, counts)


def sweep_erasure(command: SweepErasure) -> Plan[int | NotFound]:
    """Drop bodies that mention an erased person, and note how far the search is."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(command.client,)])
    rows = yield from find_erasure(command.client, command.id)
    key = yield from find_erasure_key()
    if not rows or key is None:
        return NotFound(f"there is no erasure with id {command.id}")
    dropped = yield from clear_deliveries(key, command.client, command.clear, command.at)
    erasure = erasure_of(rows[0])
    counts = erasure.removed | {"deliveries": erasure.removed.get("deliveries", 0) + dropped + command.applied}
    swept = max(erasure.swept_to, command.swept_to)
    done = erasure.done_us or (command.at if command.done else None)
    yield Execute(NOTE_SWEPT, [(command.client, command.id, done, swept, msgspec.json.encode(counts).decode())])
    return dropped


def lift_erasures(command: LiftErasure) -> Plan[int]:
    """Forget erasures: whoever is erased with one of these identities may come back with all of theirs."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(command.client,)])
    key = yield from find_erasure_key()
    marks = {} if key is None else (yield from marks_of(key, command.client, command.refs))
    erasures = sorted({mark.erasure for mark in marks.values()})
    gone = (yield Execute(DELETE_ERASURE, [(command.client, number) for number in erasures])) if erasures else []
    return len(gone)
