"""Erase a person in one transaction, store keyed hashes of their identities, and take over erasures of another store.

An erasure locks the client's row, as inbox batches do: a batch either commits before it, and what it wrote is removed, or runs
after it and finds the hashes. Erasures of another store get new numbers, because this store uses the same numbers for others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from touchbase.audit import audited
from touchbase.clients.sql import clients as clients_sql
from touchbase.common.timestamps import Micros
from touchbase.deliveries.sql.body_retention import clear_deliveries
from touchbase.do_not_contact.addresses import addresses_of_refs
from touchbase.do_not_contact.sql.entries import hide_entries
from touchbase.erasure.models import RECORDS_FIRST, ErasedKey, Erasure
from touchbase.erasure.sql.persons import (
    deleted_refs,
    erasure_of,
    find_contacts,
    find_erasure,
    identities,
    identities_of_others,
    same_in_bin,
)
from touchbase.erasure.sql.pii_tables import remove_all
from touchbase.erasure_marks import (
    DELETE_ERASURE,
    EMAIL,
    FIND_ERASED,
    SAVE_ERASED,
    Mark,
    erasure_key_of,
    find_erasure_key,
    find_marks,
    make_erasure_key,
    replace_erasure_key,
    save_marks,
)
from touchbase.errors import Conflict, NotFound
from touchbase.event_log.models import ERASURE as ERASURE_ORIGIN
from touchbase.event_log.models import EventType, LoggedEvent
from touchbase.event_log.sql.files import TEXTS, erase_in_files
from touchbase.event_log.sql.log import forget_changes, log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, EXTERNAL
from touchbase.history.identity_links import Ref
from touchbase.history.sql import event_of, event_row
from touchbase.jobs.sql import EXPIRE_JOB_FILES
from touchbase.merging.models import content_text, parts_of
from touchbase.merging.sql.merge import REPLACE_MERGE
from touchbase.outgoing.sql.statements import FORGET_ANNOUNCED, FORGET_RESPONSES
from touchbase.projection.crm_merges import LISTED
from touchbase.projection.known_events import REMOVE_EVENT
from touchbase.projection.suppression_guard import DELIVERIES_OF_EVENTS, erase_parked_events
from touchbase.records.further_emails import by_key
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.rows import contact_of
from touchbase.records.sql.statements import lock_records
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.rows import Columns
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

ERASURE: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("requested_us", "bigint"), ("done_us", "bigint"), ("swept_to", "bigint"),
    ("sweep_until", "bigint"), ("removed", "text"), ("searched_us", "bigint"),
)  # fmt: skip
INSERT_ERASURE = Statement(
    "insert_erasure",
    ERASURE,
    body="INSERT INTO erasure (client, id, requested_us, done_us, swept_to, sweep_until, removed, searched_us) SELECT * FROM p WHERE true",
)
_PROGRESS: Columns = (*ROW_KEY, ("searched_us", "bigint"), ("swept_to", "bigint"), ("removed", "text"))
UPDATE_PROGRESS = Statement(
    "note_swept",
    _PROGRESS,
    body="UPDATE erasure AS t SET searched_us = p.searched_us, swept_to = p.swept_to, removed = p.removed FROM p "
    "WHERE t.client = p.client AND t.id = p.id",
)
END_SEARCHES = Statement(
    "end_searches", (*ROW_KEY, ("at", "bigint")),
    body="UPDATE erasure AS t SET searched_us = p.at, swept_to = t.sweep_until FROM p WHERE t.client = p.client AND t.id = p.id "
    "AND t.searched_us IS NULL",
)  # fmt: skip
END_ERASURE = Statement(
    "end_erasure", (*ROW_KEY, ("at", "bigint")),
    body="UPDATE erasure AS t SET done_us = p.at FROM p WHERE t.client = p.client AND t.id = p.id AND t.done_us IS NULL "
    "AND t.searched_us IS NOT NULL",
)  # fmt: skip
# Creates for a client without erasures do not lock the client's row. So the first erasure waits for the creates in flight and finds
# what they wrote; later creates find the erasure. The mode excludes row locks too: a change that has locked its contact would else wait
# for this lock with its write, and the erasure for the contact.
WAIT_FOR_CREATES = Statement("wait_for_creates", (), postgres="LOCK TABLE contact IN EXCLUSIVE MODE")


def _asked(call: Any, erasure: Erasure) -> str | None:
    return "person.erased" if call.search else None


@command(ids="erasure", large=True, follow_up=audited(_asked, "erasure", lambda _, erasure: erasure.id))
def erase_person(
    ids: Ids, client: int, at: Micros, contact_id: int | None = None, refs: Sequence[Ref] = (), search: bool = True
) -> Plan[Erasure | NotFound]:
    """Remove a contact and all data about it, and store its identities as keyed hashes (suppression).

    The contacts are `contact_id` (`NotFound`), or those with one of the identities `refs`; the hash of an identity without a contact is
    stored as well. The bodies of deliveries with its events are removed; deliveries that only mention it are left to the search that
    follows (`sweep_erasure`).

    `search`: Whether to search the inbox afterwards; False within a search that is already running.
    """
    yield Execute(EXPIRE_JOB_FILES, [(client, at)])  # the steps of jobs lock their job first, and then the client
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    if (yield from erasure_key_of(client)) is None:
        yield Execute(WAIT_FOR_CREATES, [()])
    contacts = yield from find_contacts(client, contact_id, refs)
    if contact_id is not None and not contacts:
        raise CONTACT_TYPE.missing(contact_id)
    current_refs, deliveries, removed = set(refs), set[int](), Counter[str]()
    for contact in contacts:  # grows
        current_refs |= yield from _identities(client, contact)
        rows = yield Execute(DELIVERIES_OF_EVENTS, [(client, CONTACT, contact)])
        deliveries |= {row[0] for row in rows if row[0] is not None}
        removed.update((yield from remove_all(client, contact)))
        contacts += yield from same_in_bin(client, contacts, current_refs)
    current_refs -= yield from identities_of_others(client, current_refs)
    yield from _strike_listed(client, {ref[2] for ref in current_refs if ref[:2] == ("", EMAIL)})
    parked = yield from erase_parked_events(client, current_refs)
    removed["events"] += parked.events
    key = yield from make_erasure_key()
    number = ids.take("erasure")
    yield from save_marks(key, client, dict.fromkeys(current_refs | parked.refs, Mark(number, derived=False)), at)
    yield from hide_entries(key, client, current_refs, at)
    yield Execute(FORGET_ANNOUNCED, sorted((client, *address) for address in addresses_of_refs(current_refs)))
    removed["deliveries"] += yield from clear_deliveries(key, client, deliveries | parked.deliveries, at)
    yield from _log(client, at, contacts, number)
    return (yield from open_erasure(client, number, at, removed, done_us=None if search else at))


TAKE_LISTED = [
    Statement(
        f"take_listed_of_{table}",
        (("client", "bigint"), ("address", "text")),
        body=f"DELETE FROM {table} t USING p WHERE t.client = p.client AND t.tool = '' AND t.object_type = 'listed' "
        "AND substr(t.object_id, 1, length(p.address) + 1) = p.address || ' ' RETURNING t.record_id",
        by_row=True,
    )
    for table in ("link", "deleted_link")
]
"""Delete the links from an address to the contacts, also of the bin, whose CRM objects list it (`projection/crm_merges.py`)."""
WAITING_LISTS = Statement(
    "waiting_lists",
    (("client", "bigint"),),
    body=f"SELECT {', '.join(f't.{name}' for name, _ in history_sql.EVENT)} FROM p CROSS JOIN event t WHERE t.client = p.client "
    f"AND t.record_kind = {EXTERNAL} AND t.detail LIKE '%\"emails\"%'",
)
"""The events with lists of addresses that wait for a contact of their object."""


MERGES_INTO = Statement(
    "merges_into",
    ROW_KEY,
    body="SELECT m.id, m.content FROM p CROSS JOIN record_merge m WHERE m.client = p.client AND m.record_kind = 1 AND m.record_id = p.id "
    "AND m.content <> ''",
)


def _strike_listed(client: int, addresses: set[str]) -> Plan[None]:
    """Remove addresses from the lists of other contacts, and from the events that brought them."""
    rows: list[Row] = []
    for statement in TAKE_LISTED if addresses else ():
        rows += yield Execute(statement, [(client, address) for address in sorted(addresses)])
    for contact in sorted({row[0] for row in rows if row[0] is not None}):
        yield from _strike_events(client, (yield Execute(history_sql.EVENTS_OF, [(client, CONTACT, contact)])), addresses)
        yield from _strike_merges(client, contact, addresses)
    if addresses:
        yield from _strike_events(client, (yield Execute(WAITING_LISTS, [(client,)])), addresses)


def _strike_events(client: int, rows: Iterable[Row], addresses: set[str]) -> Plan[None]:
    for event in map(event_of, rows):
        emails = event.detail.get("emails", ())
        left = [email for email in emails if not addresses & by_key([email]).keys()]
        if len(left) < len(emails):
            yield Execute(REMOVE_EVENT, [(client, event.record_kind, event.record_id, event.occurred_us, event.key)])
            event.detail = event.detail | {"emails": left}
            yield Execute(history_sql.INSERT_EVENT, [event_row(client, event)])


def _strike_merges(client: int, contact: int, addresses: Container[str]) -> Plan[None]:
    """Remove the list entries of these addresses from the merge records that would restore them."""
    for number, content in (yield Execute(MERGES_INTO, [(client, contact)])):
        survivor, absorbed = parts_of(CONTACT, content)
        for part in (survivor, *absorbed):
            part.links = [ref for ref in part.links if ref[:2] != LISTED or ref[2].split(" ")[0] not in addresses]
        yield Execute(REPLACE_MERGE, [(client, number, content_text(survivor, absorbed))])


def _log(client: int, at: Micros, contacts: Sequence[int], number: int) -> Plan[None]:
    joined = yield from forget_changes(client, [(CONTACT, contact) for contact in contacts], at)
    yield Execute(FORGET_RESPONSES, joined)  # a receiver may have repeated what it heard of a record before its merge
    cause = {"origin": ERASURE_ORIGIN, "erasure_id": number}
    yield from log_events([LoggedEvent(client, EventType.CONTACT_ERASED, at, CONTACT, contact, cause=cause) for contact in contacts])


def _identities(client: int, contact: int) -> Plan[set[Ref]]:
    # A concurrent change either commits first or finds no contact.
    rows = yield from lock_records(client, CONTACT, [contact])
    links = yield Execute(history_sql.LINKS_OF, [(client, CONTACT, contact)])
    contacts = map(contact_of, rows)
    return identities([(person.email_key, person.linkedin_key) for person in contacts], links) | (yield from deleted_refs(client, contact))


def open_erasure(
    client: int, number: int, at: Micros, removed: Mapping[str, int], *, swept_to: int = 0, done_us: Micros | None = None
) -> Plan[Erasure]:
    """Store an erasure; unless `done_us` is set, the search of the inbox follows."""
    rows = yield Select("SELECT COALESCE(max(id), 0) FROM delivery WHERE client = ?", (client,))
    until: int = rows[0][0]
    counts = dict(removed)
    yield Execute(INSERT_ERASURE, [(client, number, at, done_us, swept_to, until, msgspec.json.encode(counts).decode(), done_us)])
    return Erasure(client, number, at, done_us, swept_to, until, counts, done_us)


@command(large=True)
def sweep_erasure(
    client: int,
    id: int,
    clear: list[int],
    swept_to: int,
    done: bool,
    at: Micros,
    applied: int = 0,
    unsearchable: Sequence[int] = (),
    covered: Sequence[int] = (),
) -> Plan[int | NotFound]:
    """Remove the bodies of these deliveries and store the progress of the search (`done`: it is complete); return the number of bodies.

    A queued delivery is left alone: it is checked when it is applied. `applied`: deliveries that the search had applied, whose bodies are
    already removed.

    `covered`: Other erasures of the client that are searched by this search, if it is `done`.

    `unsearchable`: Deliveries that could not be searched within the limits; they may name the person, so their bodies are removed too.
    """
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    rows = yield from find_erasure(client, id)
    key = yield from find_erasure_key()
    if not rows or key is None:
        return NotFound(f"there is no erasure with id {id}")
    dropped = yield from clear_deliveries(key, client, clear, at)
    current_unsearchable = yield from clear_deliveries(key, client, unsearchable, at, unsearchable=True)
    erasure = erasure_of(rows[0])
    counts = erasure.removed | {"deliveries": erasure.removed.get("deliveries", 0) + dropped + applied}
    if current_unsearchable:
        counts["unsearchable"] = counts.get("unsearchable", 0) + current_unsearchable
    swept = max(erasure.swept_to, swept_to)
    searched = erasure.searched_us or (at if done else None)
    yield Execute(UPDATE_PROGRESS, [(client, id, searched, swept, msgspec.json.encode(counts).decode())])
    if done:
        yield from erase_in_files(client, [(TEXTS, id)], at)  # behind the search of the log, from which files are written
    if done and covered:
        yield Execute(END_SEARCHES, [(client, number, at) for number in sorted(covered)])
    return dropped + current_unsearchable


@command
def end_erasure(client: int, id: int, at: Micros) -> Plan[None]:
    """Store that the store's files have been cleaned after the search of an erasure."""
    yield Execute(END_ERASURE, [(client, id, at)])


@command(follow_up=audited(lambda _, count: "erasure.lifted" if count else None, "erasure", lambda call, _: None))
def lift_erasure(client: int, refs: list[Ref]) -> Plan[int]:
    """Delete the erasures that these identities belong to, so that the people may be stored again; return the number of hashes deleted."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    key = yield from find_erasure_key()
    marks = {} if key is None else (yield from find_marks(key, client, refs))
    erasures = sorted({mark.erasure for mark in marks.values()})
    deleted = (yield Execute(DELETE_ERASURE, [(client, number) for number in erasures])) if erasures else []
    return len(deleted)


def _add_ids(calls: Any) -> Mapping[str, int]:
    """Return how many ids these calls may use: one for the search, and one for each erasure."""
    return {"erasure": sum(1 + len({key.erasure for key in call.keys}) for call in calls)}


@command(ids=_add_ids, scope=ALL_CLIENTS)
def add_erasures(ids: Ids, client: int, secret: bytes, keys: list[ErasedKey], at: Micros) -> Plan[int | Conflict]:
    """Add erased keys of another store, hashed with this secret; return how many are new.

    All keys of one erasure come in one command, because they are lifted together; `erasure` is the other store's number. Opens an erasure
    that searches for them: records first, then the inbox. `Conflict` when this store has erased people with a secret of its own.
    """
    yield Execute(EXPIRE_JOB_FILES, [(client, at)])
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    key = (yield from find_erasure_key()) or (yield from make_erasure_key(secret))
    if key != secret:
        if (yield Select("SELECT 1 FROM erased LIMIT 1", ())):
            return Conflict("this store has already erased people, with a secret of its own; add erasures before the first erasure here")
        yield from replace_erasure_key(secret)
    added = {key.digest: key for key in keys}
    rows = (yield Execute(FIND_ERASED, [(client, digest) for digest in added])) if added else []
    stored = {bytes(row[0]): bool(row[2]) for row in rows}
    incomplete = _incomplete(added.values(), stored)
    numbers = {erasure: ids.take("erasure") for erasure in sorted(incomplete)}
    if numbers:
        yield Execute(SAVE_ERASED, [_row(client, key, numbers[key.erasure]) for key in added.values() if key.erasure in numbers])
    yield from open_erasure(client, ids.take("erasure"), at, {}, swept_to=RECORDS_FIRST)
    return len(added.keys() - stored.keys())


@command
def erase_pending(client: int, refs: list[Ref], at: Micros) -> Plan[int]:
    """Remove the parked events of these objects, which are known to be erased people's; return the number of events removed."""
    yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)])
    parked = yield from erase_parked_events(client, refs)
    key = yield from find_erasure_key()
    if key is not None:
        yield from clear_deliveries(key, client, parked.deliveries, at)
    return parked.events


def _incomplete(keys: Iterable[ErasedKey], stored: Mapping[bytes, bool]) -> set[int]:
    """Return the erasures with a key that this store lacks; the others keep their numbers here."""
    return {key.erasure for key in keys if key.digest not in stored or (stored[key.digest] and not key.derived)}


def _row(client: int, key: ErasedKey, erasure: int) -> tuple[object, ...]:
    return (client, key.digest, erasure, int(key.derived), key.erased_us)
