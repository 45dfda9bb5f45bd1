"""Plans of saved mappings: store the settings, read stored deliveries again, and withdraw what these brought.

The rows of `mapping_delivery` say which deliveries a save read again, and which of their events they had before. A revert removes the
others, and projects their records again as if they had never come.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple

import msgspec

from touchbase.audit import JOB_REQUEST, audited, change_of_job
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import lock_client
from touchbase.common.cipher import Cipher
from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.common.timestamps import Micros, to_text
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections, remove_connection
from touchbase.connections.sql.ignore_rules import ignored_by
from touchbase.connections.validation import connection_faults
from touchbase.deliveries.delivery import STATES, replay_attempt_us
from touchbase.deliveries.sql.statements import DELIVERIES_WITH_EVENTS, REPLAY_DELIVERY
from touchbase.do_not_contact.models import EMAIL, LINKEDIN_URL, Cause
from touchbase.do_not_contact.sql.entries import drop_causes
from touchbase.do_not_contact.sql.opt_outs import addresses_of, further_addresses
from touchbase.errors import TouchbaseError
from touchbase.event_log.models import API, FOLLOWS, JOB, LoggedEvent, by_request
from touchbase.event_log.sql.changes import MAPPING, Change, find_change, is_made_by, later_events, note_change
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, EXTERNAL, VIA_API, Author, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.sql import event_of
from touchbase.identity.lookup import add_records
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.messages.sql.plans import DELETE_OF_EVENT
from touchbase.projection.apply import new_batch, project_events
from touchbase.projection.delete import withdraw_record
from touchbase.projection.known_events import FACTS_OF_DELIVERY, REMOVE_EVENT
from touchbase.records.models import Contact
from touchbase.records.primary_keys import former_key_of, keys_of
from touchbase.records.projection import object_of
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import lock_records
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import digest, names
from touchbase.sql.statement import Execute, Plan, Select, Statement, delete

JOB_KIND = "connections.mapping"
_ROW = (("client", "bigint"), ("job_id", "bigint"), ("id", "bigint"), ("had", "text"))
_INSERT = Statement(
    "insert_mapping_delivery",
    _ROW,
    body=f"INSERT INTO mapping_delivery ({names(_ROW)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
_SET_HAD = Statement(
    "set_mapping_had",
    _ROW,
    body="UPDATE mapping_delivery AS t SET had = p.had FROM p WHERE t.client = p.client AND t.job_id = p.job_id AND t.id = p.id",
)
# Of a change that was reverted nothing is left to look at.
_ROWS_OF = Statement(
    "mapping_rows_of_delivery",
    ROW_KEY,
    body="SELECT m.id, m.job_id, m.had, c.state FROM p CROSS JOIN mapping_delivery m LEFT JOIN change c ON c.client = m.client "
    f"AND c.request_id = '{JOB_REQUEST}' || CAST(m.job_id AS text) AND c.job_id = m.job_id WHERE m.client = p.client AND m.id = p.id",
)
_DELETE_LINK = delete("delete_withdrawn_link", "link", (*history_sql.REF, *RECORD[1:]))


class MappingJob(msgspec.Struct):
    """What a save does, as its job stores it."""

    channel: str
    tool: str
    before: dict[str, Any] | None
    """The settings that it changed, before and after it; entries of tables one by one. None: it made the connection."""
    after: dict[str, Any]
    state: str
    """Deliveries in this state are read again."""
    of_tool: str | None = None
    """Only deliveries that were taken for this tool's."""
    of_rule: str | None = None
    """Only deliveries that this entry of the settings has ignored."""


class MappedDeliveries(NamedTuple):
    """Which stored deliveries a save reads again, as in `MappingJob`."""

    state: str
    of_tool: str | None = None
    of_rule: str | None = None


def flat(settings: ConnectionSettings) -> dict[str, Any]:
    """Return settings with the entries of tables one by one, as `fields/email`."""
    values: dict[str, Any] = {}
    for name, value in asdict(settings).items():
        values |= {f"{name}/{key}": entry for key, entry in value.items()} if isinstance(value, Mapping) else {name: value}
    return values


def without_entry(settings: ConnectionSettings, entry: str) -> ConnectionSettings:
    """Return settings without an entry of a table, such as `events.call.finished`."""
    table, _, key = entry.partition(".")
    changed: dict[str, Any] = {table: {name: value for name, value in getattr(settings, table).items() if name != key}}
    return replace(settings, **changed)


def differences(before: ConnectionSettings | None, after: ConnectionSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what differs between settings, before and after; an entry that is missing on one side is left out there."""
    old, new = flat(before or ConnectionSettings()), flat(after)
    changed = [name for name in old.keys() | new.keys() if name not in old or name not in new or old[name] != new[name]]
    return {name: old[name] for name in changed if name in old}, {name: new[name] for name in changed if name in new}


def restored(present: ConnectionSettings, then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[ConnectionSettings, list[str]]:
    """Return settings with the values `now` in place of those of `then`, and the names of those that have changed since."""
    current, changed = flat(present), []
    tables = {name: dict(value) for name, value in asdict(present).items() if isinstance(value, Mapping)}
    values: dict[str, Any] = {}
    missing = object()
    for name in sorted(then.keys() | now.keys()):
        if current.get(name, missing) != then.get(name, missing):
            if current.get(name, missing) != now.get(name, missing):
                changed.append(name.replace("/", "."))
            continue
        table, _, key = name.partition("/")
        if not key:
            values[table] = now[name]
        elif name in now:
            tables[table][key] = now[name]
        else:
            del tables[table][key]
    settings: dict[str, Any] = {**tables, **values}
    return replace(present, **settings), changed


@command(
    ids="job",
    cipher=True,
    client="connection.client",
    follow_up=audited(
        "connection.mapped",
        "connection",
        lambda call, _: f"{call.connection.channel}/{call.connection.tool}",
        lambda call, _: call.connection.client,
        change=change_of_job,
    ),
)
def map_connection(
    ids: Ids,
    cipher: Cipher,
    connection: Connection,
    current: Connection | None,
    filters: MappedDeliveries,
    at: Micros,
    by: Author,
    rule: str = "",
) -> Plan[Job | TouchbaseError]:
    """Store the settings of a connection, and queue the job that reads deliveries again: one change.

    `current`: The connection that this was decided on, None: there was none. `PreconditionFailed` or `Conflict` if it is another one now.
    `rule`: Name of new rules that ignore.
    """
    client, key = connection.client, (connection.client, connection.channel, connection.tool)
    yield from lock_client(client)
    plan: Plan[Any] = (
        add_connection.plan(cipher, connection, by, rule)
        if current is None
        else change_connection.plan(cipher, *key, None, connection.settings, at, None, current, by, rule)
    )
    if isinstance(stored := (yield from plan), TouchbaseError):
        return stored
    before, after = differences(None if current is None else current.settings, connection.settings)
    settings = MappingJob(connection.channel, connection.tool, None if current is None else before, after, *filters)
    job = Job(client, 0, JOB_KIND, QUEUED, at, at, msgspec.to_builtins(settings), made_by=by.key_id)
    yield from insert_job(job, ids)
    yield from note_change(client, MAPPING, mapping_author(job), at, 0, job.id)
    return job


def mapping_author(job: Job) -> Author:
    """Return the author of what a saved mapping brings."""
    return Author(job.made_by, f"{JOB_REQUEST}{job.id}")


@command(large=True, background=True)
def replay_mapped(client: int, job: int, settings: MappingJob, below: int, limit: int, at: Micros) -> Plan[tuple[int, int]]:
    """Read the next deliveries of a save again, newest first; return how many, and the id below which to go on; 0 at the end."""
    error = None if settings.of_rule is None else ignored_by(settings.of_rule)
    chosen = [(column, value) for column, value in (("tool", settings.of_tool), ("error", error)) if value is not None]
    only, params = "".join(f" AND {column} = ?" for column, _ in chosen), [value for _, value in chosen]
    assert settings.state in STATES
    rows = yield Select(
        f"SELECT id FROM delivery WHERE client = ? AND state = '{settings.state}' AND channel = ? AND id < ? AND body_removed IS NULL"
        f"{only} ORDER BY id DESC LIMIT ?",
        (client, settings.channel, below, *params, limit),
    )
    numbers = [row[0] for row in rows]
    if not numbers:
        return 0, 0
    keys = [(client, number) for number in sorted(numbers)]
    had: dict[int, list[str]] = {number: [] for number in numbers}
    for row in (yield Execute(FACTS_OF_DELIVERY, keys)):
        had[row[4]].append(digest(row[3]))
    yield Execute(_INSERT, [(client, job, number, "".join(sorted(had[number]))) for number in sorted(numbers)])
    yield Execute(REPLAY_DELIVERY, [(*key, replay_attempt_us(at)) for key in keys])
    return len(numbers), numbers[-1] if len(numbers) == limit else 0


@query
def count_mapped(client: int, job: int) -> Plan[dict[str, int]]:
    """The deliveries that a save read again, by their state; those that failed and are tried again are no longer `received`."""
    rows = yield Select(
        "SELECT CASE WHEN d.state = 'received' AND d.attempts > 0 THEN 'failed' ELSE d.state END AS reached, count(*) FROM "
        "mapping_delivery m JOIN delivery d ON d.client = m.client AND d.id = m.id WHERE m.client = ? AND m.job_id = ? "
        "GROUP BY reached",
        (client, job),
    )
    return {row[0]: row[1] for row in rows}


@query
def mapped_deliveries(client: int, job: int, below: int, limit: int) -> Plan[list[int]]:
    """Deliveries that a save read again, newest first."""
    sql = "SELECT id FROM mapping_delivery WHERE client = ? AND job_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
    return [row[0] for row in (yield Select(sql, (client, job, below, limit)))]


class Remapping(NamedTuple):
    """A saved mapping, and the settings that a revert stores in place of the present ones."""

    change: Change
    settings: MappingJob
    is_back: bool
    """Whether the revert withdraws what the save brought; a revert of a revert reads the deliveries again instead."""


@query
def find_remapping(client: int, id: str) -> Plan[Remapping | None]:
    """The saved mapping that the revert of a change takes back or makes again; None if the change is neither."""
    is_back, next_id = False, id
    while True:
        change: Change | None = yield from find_change.plan(client, next_id)
        if change is None:
            return None
        is_back = not is_back
        if change.reverts is None:
            return Remapping(change, msgspec.convert(change.settings, MappingJob), is_back) if change.kind == MAPPING else None
        next_id = change.reverts


def restore_settings(cipher: Cipher, of: Remapping, at: Micros, by: Author) -> Plan[str]:
    """Give a connection its settings from before a save, or from after it; return why some of them stay, blank: none does.

    A connection that the save made goes, unless it has got secrets or other settings since.
    """
    client, what = of.change.client, of.settings
    yield from lock_client(client)
    all_of: list[Connection] = yield from list_connections.plan(cipher, client)
    present = next((each for each in all_of if (each.channel, each.tool) == (what.channel, what.tool)), None)
    before = differences(None, ConnectionSettings())[0] if what.before is None else what.before
    unset = {name: value for name, value in flat(ConnectionSettings()).items() if name in what.after}
    before = {**unset, **before}
    then, now = (what.after, before) if of.is_back else (before, what.after)
    if present is None:
        if of.is_back:
            return ""
        present = Connection(client, what.channel, what.tool, at, at)
        settings, _ = restored(present.settings, then, now)
        yield from add_connection.plan(cipher, replace(present, settings=settings), by)
        return ""
    settings, changed = restored(present.settings, then, now)
    if of.is_back and what.before is None and settings == ConnectionSettings() and not (present.secrets or present.access_token):
        yield from remove_connection.plan(client, what.channel, what.tool)
        return ""
    if faults := connection_faults(what.channel, what.tool, settings, [what.tool]):
        return f"the former mapping does not fit what was changed since: {faults[0].detail}"
    yield from change_connection.plan(cipher, client, what.channel, what.tool, None, settings, at, None, present, by)
    return f"changed since: {', '.join(changed)}" if changed else ""


class Withdrawn(NamedTuple):
    """What became of a record."""

    kind: int
    id: int
    is_gone: bool
    """Whether only withdrawn events had made it."""
    stays: str
    """Why it stays as it is, or which of its values were changed since; blank: nothing stays."""
    keeps_events: bool = False
    """Whether its events stay too."""


def withdraw_deliveries(
    ids: Ids,
    of: Remapping,
    deliveries: Sequence[int],
    reverts: Collection[int],
    owner: Client,
    at: Micros,
    by: Author,
    *,
    in_part: bool = False,
) -> Plan[list[Withdrawn]]:
    """Remove the events that a save brought by these deliveries, and project their records again.

    All events of a record go together, with the newest of its deliveries, with `in_part` with any. `reverts`: The jobs that revert the
    change.
    """
    client, job = of.change.client, of.change.job_id or 0
    yield from lock_client(client)
    facts = yield Execute(FACTS_OF_DELIVERY, [(client, number) for number in sorted(deliveries)])
    targets = sorted({(row[0], row[1]) for row in facts})
    histories: dict[tuple[int, int], list[StoredEvent]] = {target: [] for target in targets}
    for row in (yield Execute(history_sql.EVENTS_OF, [(client, *target) for target in targets])):
        histories[row[1], row[2]].append(event_of(row))
    own, later = yield from _brought(client, job, [event for history in histories.values() for event in history])
    outcomes: list[Withdrawn] = []
    withdrawn: set[_Key] = set()
    for (kind, number), history in histories.items():
        gone = [event for event in history if (event.delivery_id, event.key) in own]
        if gone and (in_part or max(event.delivery_id or 0 for event in gone) in deliveries):
            remaining = [event for event in history if (event.delivery_id, event.key) not in own]
            found = yield from _withdraw(ids, of.change, reverts, owner, (kind, number), gone, remaining, at, by)
            outcomes += found
            if not any(outcome.keeps_events for outcome in found):
                withdrawn |= {(event.delivery_id, event.key) for event in gone}
    # A later save may bring them itself, as their deliveries are read again.
    left = {
        number: _digests(had) - {digest(key) for of_delivery, key in withdrawn if of_delivery == number}
        for number, (_, had) in later.items()
    }
    if changed := [
        (client, later[number][0], number, "".join(sorted(had))) for number, had in left.items() if had != _digests(later[number][1])
    ]:
        yield Execute(_SET_HAD, changed)
    return outcomes


_Key = tuple[int | None, str]
"""Delivery and key of an event."""


def _brought(client: int, job: int, events: Sequence[StoredEvent]) -> Plan[tuple[set[_Key], dict[int, tuple[int, str]]]]:
    """Return those of the events that a save brought: none from before it, none that a later save brought.

    And of deliveries that a later save read again, the first such save's job and what they had before.
    """
    numbers = sorted({event.delivery_id for event in events if event.delivery_id is not None})
    before: dict[int, str] = {}
    later: dict[int, tuple[int, str]] = {}
    for number, of_job, had, state in (yield Execute(_ROWS_OF, [(client, number) for number in numbers])):
        if of_job == job:
            before[number] = had
        elif of_job > job and state != "reverted":
            later[number] = min(later.get(number, (of_job, had)), (of_job, had))
    found: set[_Key] = set()
    for event in events:
        if event.delivery_id in before:
            key = digest(event.key)
            is_earlier = key in _digests(before[event.delivery_id])
            is_later = event.delivery_id in later and key not in _digests(later[event.delivery_id][1])
            if not (is_earlier or is_later):
                found.add((event.delivery_id, event.key))
    return found, later


def _digests(had: str) -> set[str]:
    return {had[start : start + 16] for start in range(0, len(had), 16)}


def _withdraw(
    ids: Ids,
    change: Change,
    reverts: Collection[int],
    owner: Client,
    target: tuple[int, int],
    gone: Sequence[StoredEvent],
    remaining: Sequence[StoredEvent],
    at: Micros,
    by: Author,
) -> Plan[list[Withdrawn]]:
    client, (kind, number) = change.client, target
    removed = [(client, kind, number, event.occurred_us, event.key) for event in gone]
    messages = [(client, event.key, event.occurred_us) for event in gone]
    if kind == EXTERNAL:
        yield Execute(REMOVE_EVENT, removed)
        yield Execute(DELETE_OF_EVENT, messages)
        return []
    rows = yield from lock_records(client, kind, [number])
    if not rows:
        return [Withdrawn(kind, number, False, "it was deleted since", True)]
    if any("joined" in event.detail for event in gone):
        return [Withdrawn(kind, number, False, "a webhook made it one with another record, which cannot be divided", True)]
    log = (yield from later_events([LoggedEvent(client, "", 0, kind, number, sequence=change.first_event - 1)])).get(target, [])
    touches = [event for event in log if _is_by_somebody(event, change, reverts)]
    is_made = not any(event.via != VIA_API or event.is_creation for event in remaining)
    notes = [event for event in touches if event.type.partition(".")[0] != RECORD_TYPES[kind].name]
    if is_made and (remaining or notes):
        last = (notes or touches or log)[-1]
        return [Withdrawn(kind, number, False, f"it has changed since: {last.type} at {to_text(last.at)[:16]}Z", True)]
    batch = new_batch(client, at, owner.settings, ids)
    batch.cause = by_request(by)
    add_records(kind, batch.resolvers[kind], rows)
    record = batch.resolvers[kind].by_id[number]
    if isinstance(record, Contact):
        yield from _drop_opt_outs(client, record, gone, at)
        yield Execute(DELETE_OF_EVENT, messages)
    if is_made:
        yield from withdraw_record(client, kind, number, at, by)
        return [Withdrawn(kind, number, True, "")]
    yield Execute(REMOVE_EVENT, removed)
    batch.removed_times[target] = {event.effective_time for event in gone}
    yield from project_events(batch, [], ids)
    present = {
        former_key_of(name, key) for name, key in zip(RECORD_TYPES[kind].identities, keys_of(record), strict=True) if key is not None
    }
    unnamed = _refs(kind, gone) - _refs(kind, remaining) - present
    if unnamed:
        yield Execute(_DELETE_LINK, [(client, *ref, kind, number) for ref in sorted(unnamed)])
    brought = {name for event in log if is_made_by(event, change.request_id, change.actor_id) for name in event.changed}
    changed = sorted(brought & {name for event in touches for name in event.changed} - FOLLOWS)
    return [Withdrawn(kind, number, False, f"changed since: {', '.join(changed)}" if changed else "")]


def _is_by_somebody(event: LoggedEvent, change: Change, reverts: Collection[int]) -> bool:
    is_own = event.cause.get("job_id") in reverts or is_made_by(event, change.request_id, change.actor_id)
    return event.cause.get("origin") in (API, JOB) and not is_own


def _refs(kind: int, events: Iterable[StoredEvent]) -> set[Ref]:
    """Return the objects and addresses that events name."""
    refs: set[Ref] = set()
    for event in events:
        if (ref := object_of(event)) is not None:
            refs.add(ref)
        named = event.detail.get("named", {})
        for name in RECORD_TYPES[kind].identities:
            if (value := named.get(name)) is not None and (key := ADDRESS_KEYS[name](value)) is not None:
                refs.add(former_key_of(name, key))
    return refs


def _drop_opt_outs(client: int, contact: Contact, gone: Sequence[StoredEvent], at: Micros) -> Plan[None]:
    """Take the causes of events off the do-not-contact list."""
    keys = {key for event in gone for key in (event.key, f"{event.key} {event.occurred_us}")}
    deliveries = {event.delivery_id for event in gone}

    def is_gone(cause: Cause) -> bool:
        return cause.key in keys and cause.delivery_id in deliveries

    further = yield from further_addresses([(client, contact.id)])
    addresses = {*further.get((client, contact.id), ()), *addresses_of(contact)}
    for _, name, key in _refs(CONTACT, gone):
        addresses.add((LINKEDIN_URL if name == "linkedin" else EMAIL, key))
    yield from drop_causes(client, addresses, is_gone, at)


def requeue_deliveries(client: int, deliveries: Sequence[int], at: Micros, *, is_back: bool) -> Plan[list[int]]:
    """Let the inbox read deliveries again; with `is_back` not those of which an event stays. Return which."""
    keys = [(client, number) for number in sorted(deliveries)]
    stay = {row[0] for row in (yield Execute(DELIVERIES_WITH_EVENTS, keys))} if is_back else set[int]()
    rows = yield Execute(REPLAY_DELIVERY, [(*key, replay_attempt_us(at)) for key in keys if key[1] not in stay])
    return [row[0] for row in rows]
