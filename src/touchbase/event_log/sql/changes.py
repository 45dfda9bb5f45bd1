"""Changes that can be reverted: which request or job made them, and where in the client's log their events are.

A change has no values of its own: its events are those whose cause names its request, and they have the values before and after.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from touchbase.audit import JOB_REQUEST
from touchbase.common.timestamps import SECOND, Micros
from touchbase.common.unique_ids import UniqueIds
from touchbase.event_log.models import API, LOOKED_AT, LoggedEvent
from touchbase.event_log.sql.log import LOGGED_EVENT, NEWEST_OF, event_of
from touchbase.history.events import Author
from touchbase.sql.cell_answers import Division, divide_clients, named_clients, sorted_page
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

BULK, IMPORT, MERGE, DELETE, BLOCK, RENAME, MAPPING = "bulk", "import", "merge", "delete", "block", "rename", "mapping"
REVERT, EDIT = "revert", "edit"
KINDS = {
    BULK: "many records or conversations were changed by one request",
    IMPORT: "a file was imported",
    MERGE: "records were merged; or two statuses or custom fields, which cannot be reverted",
    DELETE: "records were moved into the bin",
    BLOCK: "a contact was blocked: its entries of the do-not-contact list, and its status",
    RENAME: "a status or custom field was renamed",
    MAPPING: "a connection's settings were saved, and stored webhooks were read again",
    REVERT: "another change was reverted",
    EDIT: "one request changed one record or conversation: listed once it is reverted, and named by its `X-Request-Id`",
}
"""Kinds of changes with their meanings."""
OPEN, REVERTING, REVERTED, PARTLY = "open", "reverting", "reverted", "partly"
STATES = {
    OPEN: "it holds",
    REVERTING: "its revert is queued or at work",
    REVERTED: "all of it was reverted",
    PARTLY: "some of it was reverted: the rest has changed since, or the revert was cancelled",
}
"""States of changes with their meanings."""
SAME_REQUEST: Micros = 600 * SECOND
"""Requests with the same `X-Request-Id` within this time are parts of one change."""
LATE: Micros = 60 * SECOND
"""How much later than its last write an event of a change may be stamped: clocks of processes differ."""
_serials = UniqueIds()
_NEW: Columns = (
    ("client", "bigint"), ("id", "text"), ("kind", "text"), ("at_us", "bigint"), ("until_us", "bigint"), ("actor_id", "text"),
    ("request_id", "text"), ("job_id", "bigint"), ("reverts", "text"), ("records", "bigint"), ("state", "text"), ("first_event", "bigint"),
)  # fmt: skip
INSERT_CHANGE = Statement(
    "insert_change",
    _NEW,
    body=f"INSERT INTO change ({names(_NEW)}) SELECT {names(_NEW[:-1], 'p.')}, "
    "COALESCE(p.first_event, (SELECT t.next FROM event_counter t WHERE t.client = p.client), 1) FROM p WHERE true",
)
EXTEND_CHANGE = Statement(
    "extend_change",
    (("client", "bigint"), ("request_id", "text"), ("actor_id", "text"), ("at", "bigint"), ("since", "bigint"), ("records", "bigint")),
    body="UPDATE change AS t SET until_us = p.at, records = t.records + p.records FROM p WHERE t.client = p.client "
    "AND t.request_id = p.request_id AND t.actor_id = p.actor_id AND t.until_us >= p.since RETURNING t.id",
    by_row=True,
)
SET_STATE = Statement(
    "set_change_state",
    (("client", "bigint"), ("id", "text"), ("state", "text"), ("revert_job", "bigint")),
    body="UPDATE change AS t SET state = p.state, revert_job = COALESCE(p.revert_job, t.revert_job) FROM p "
    "WHERE t.client = p.client AND t.id = p.id",
)
_CHANGE = (
    "h.client, h.id, h.kind, h.at_us, h.until_us, h.actor_id, h.request_id, h.job_id, h.reverts, h.records, h.first_event, h.state, "
    "h.revert_job, j.kind, j.state, j.finished_us, j.progress, j.settings, r.state, r.progress FROM change h "
    "LEFT JOIN job j ON j.client = h.client AND j.id = h.job_id LEFT JOIN job r ON r.client = h.client AND r.id = h.revert_job"
)
_members = msgspec.json.Decoder(dict[str, Any]).decode
_AT_WORK = ("queued", "running")


_FORGET_MAPPING = delete("forget_mapping", "mapping_delivery", (("client", "bigint"), ("job_id", "bigint")))


@dataclass(slots=True)
class Change:
    """One change of one client."""

    client: int
    id: str
    kind: str
    at_us: Micros
    until_us: Micros
    actor_id: str
    request_id: str
    job_id: int | None
    reverts: str | None
    records: int
    first_event: int
    state: str
    revert_job: int | None
    job_kind: str | None
    job_state: str | None
    counts: dict[str, Any] = field(default_factory=dict)
    """What the job counted; empty for a request."""
    revert_counts: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Of its job."""

    @property
    def file_name(self) -> str:
        """The file of an import; blank: unknown."""
        return str(self.settings.get("file_name", ""))

    @property
    def renamed(self) -> tuple[str, str] | None:
        """Of a rename or merge of statuses or fields, the former name and the new one."""
        if self.kind not in (RENAME, MERGE) or self.job_id is None:
            return None
        return self.settings.get("from") or self.settings["field"], self.settings.get("to") or self.settings["into"]

    @property
    def has_revert(self) -> bool:
        """Whether it can be taken back while its events are stored: two statuses or fields that became one cannot."""
        return self.kind != MERGE or self.job_id is None

    @property
    def is_at_work(self) -> bool:
        """Whether its job goes on, so that more events may follow."""
        return self.job_state in _AT_WORK


_build_change: Callable[..., Change] = Change


def change_of(row: Row) -> Change:
    """Return the change of a row."""
    *columns, job_kind, job_state, finished_us, progress, settings, revert_state, revert_progress = row
    members = (_members(text) if text else {} for text in (progress, revert_progress, settings))
    change = _build_change(*columns, job_kind, job_state, *members)
    change.until_us = max(change.until_us, finished_us or 0)
    if change.state == REVERTING and revert_state not in _AT_WORK:
        change.state = PARTLY  # it failed or was cancelled
    return change


def note_change(
    client: int, kind: str, by: Author, at: Micros, records: int, job_id: int | None = None, reverts: str | None = None
) -> Plan[None]:
    """Record that a request or job changes records; later parts of the same one count as the same change.

    Called before the transaction's events are stored. An author without a request is the server itself: nothing is recorded.
    """
    if by.request_id is None:
        return
    actor = by.key_id or ""
    is_job = by.request_id.startswith(JOB_REQUEST)
    since = 0 if is_job else at - SAME_REQUEST
    if (is_job or job_id is None) and (yield Execute(EXTEND_CHANGE, [(client, by.request_id, actor, at, since, records)])):
        return
    process, number = _serials.next()
    id = f"{process}{number:08x}"
    yield Execute(INSERT_CHANGE, [(client, id, kind, at, at, actor, by.request_id, job_id, reverts, records, OPEN, None)])


NAME_CHANGE_OF_IMPORT = Statement(
    "name_change_of_import",
    (("client", "bigint"), ("job_id", "bigint"), ("request_id", "text")),
    body="UPDATE audit_event AS t SET change_id = (SELECT h.id FROM change h WHERE h.client = p.client "
    "AND h.request_id = p.request_id LIMIT 1) FROM p "
    "WHERE t.about_client = p.client AND t.action = 'import.started' AND t.target_id = CAST(p.job_id AS TEXT)",
    by_row=True,
)


@command(background=True)
def begin_change(client: int, kind: str, by: Author, at: Micros, job_id: int) -> Plan[None]:
    """Record the change of a job before its first event; again after a restart changes nothing."""
    rows = yield Select("SELECT 1 FROM change WHERE client = ? AND request_id = ? AND job_id = ?", (client, by.request_id, job_id))
    if not rows:
        yield from note_change(client, kind, by, at, 0, job_id)
        yield Execute(NAME_CHANGE_OF_IMPORT, [(client, job_id, by.request_id)])


@query
def find_change(client: int, id: str) -> Plan[Change | None]:
    """One change; None if there is none with this id."""
    rows = yield Select(f"SELECT {_CHANGE} WHERE h.client = ? AND h.id = ?", (client, id))
    return change_of(rows[0]) if rows else None


@query
def find_edit(client: int, request_id: str) -> Plan[Change | None]:
    """The change that a request made which no entry stands for; None if none of the client's last events is of it."""
    rows = yield Execute(NEWEST_OF, [(client,)])
    since = rows[0][1] - LOOKED_AT if rows else 0
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE client = ? AND sequence > ? AND cause LIKE ?"
    rows = yield Select(f"{sql} ORDER BY sequence DESC LIMIT ?", (client, since, _naming(request_id), LOOKED_AT))
    events = [event for event in map(event_of, rows) if event.cause.get("request_id") == request_id and event.cause["origin"] == API]
    if not events:
        return None
    actor, first = events[-1].cause.get("key_id") or "", events[-1]
    records = len({(event.record_kind, event.record_id) for event in events})
    return _build_change(
        client, request_id, EDIT, first.at, events[0].at, actor, request_id, None, None, records, first.sequence, OPEN, None, None, None
    )


def store_edit(edit: Change) -> Plan[None]:
    """Store the entry of a change that `find_edit` has found."""
    row = (edit.client, edit.id, EDIT, edit.at_us, edit.until_us, edit.actor_id, edit.request_id, None, None, edit.records, OPEN)
    yield Execute(INSERT_CHANGE, [(*row, edit.first_event)])


def _naming(request_id: str) -> str:
    """Return a pattern of causes that name a request; a `_` in its id stands for any character there."""
    return f'%"request_id":"{request_id}"%'


def _place(change: Change) -> tuple[Micros, int, str]:
    return change.at_us, change.client, change.id


_NEWEST = sorted_page(_place, newest=True)


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _NEWEST.join, partial=True), merge=_NEWEST)
def page_of_changes(
    clients: Sequence[int] | None,
    limit: int,
    before: tuple[Micros, int, str] | None = None,
    kind: str | None = None,
    state: str | None = None,
    actors: Sequence[str] | None = None,
    since_us: Micros | None = None,
    until_us: Micros | None = None,
    job_id: int | None = None,
) -> Plan[list[Change]]:
    """Changes of these clients, None: of all active ones, newest first; `actors`: ids of a person and the personal keys, or of a key."""
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    where = Where(f"h.client {condition}", *numbers)
    where.equal("h.kind", kind)
    where.equal("h.job_id", job_id)
    if state == PARTLY:
        where.add("(h.state = 'partly' OR (h.state = 'reverting' AND r.state NOT IN ('queued', 'running')))")
    elif state == REVERTING:
        where.add("h.state = 'reverting' AND r.state IN ('queued', 'running')")
    else:
        where.equal("h.state", state)
    if actors is not None:
        where.add(f"h.actor_id IN ({', '.join('?' * len(actors)) or 'NULL'})", *actors)
    where.at_least("h.at_us", since_us)
    where.less("h.at_us", until_us)
    if before is not None:
        where.add("(h.at_us, h.client, h.id) < (?, ?, ?)", *before)
    rows = yield Select(f"SELECT {_CHANGE} WHERE {where} ORDER BY h.at_us DESC, h.client DESC, h.id DESC LIMIT ?", (*where.params, limit))
    return [change_of(row) for row in rows]


@query
def oldest_event(client: int) -> Plan[int]:
    """The oldest sequence of the client's log; behind the newest one if none is stored."""
    stored, newest = "SELECT min(sequence) FROM logged_event WHERE client = ?", "SELECT next FROM event_counter WHERE client = ?"
    rows = yield Select(f"SELECT COALESCE(({stored}), ({newest}), 1)", (client, client))
    return int(rows[0][0])


@query
def end_of_change(client: int, first: int, until_us: Micros) -> Plan[int]:
    """The sequence behind the last event that a change with these bounds can have; sequences have no gaps, so it is searched in halves."""
    rows = yield Select("SELECT next FROM event_counter WHERE client = ?", (client,))
    low, high = first, int(rows[0][0]) if rows else first
    while low < high:
        middle = (low + high) // 2
        rows = yield Select("SELECT at FROM logged_event WHERE client = ? AND sequence = ?", (client, middle))
        if rows and rows[0][0] > until_us + LATE:
            high = middle
        else:
            low = middle + 1
    return low


LOOKED_THROUGH = 5_000
"""Events of the log that one search for those of a change reads at most."""


@query
def page_of_change(client: int, request_id: str, actor_id: str, first: int, below: int, limit: int) -> Plan[tuple[list[LoggedEvent], int]]:
    """The last events of a change from `first` to below a sequence, newest first, and the sequence below which to go on."""
    start = max(first, below - LOOKED_THROUGH)
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE client = ? AND sequence >= ? AND sequence < ? AND cause LIKE ?"
    params = (client, start, below, _naming(request_id), limit)
    events = [event_of(row) for row in (yield Select(f"{sql} ORDER BY sequence DESC LIMIT ?", params))]
    own = [event for event in events if is_made_by(event, request_id, actor_id)]
    return own, events[-1].sequence if len(events) == limit else start


def is_made_by(event: LoggedEvent, request_id: str, actor_id: str) -> bool:
    """Return whether an event is of this request or job of an actor."""
    return event.cause.get("request_id") == request_id and (event.cause.get("key_id") or "") == actor_id


@query
def jobs_that_revert(client: int, id: str) -> Plan[set[int]]:
    """The jobs that revert a change, or have."""
    rows = yield Select("SELECT job_id FROM change WHERE client = ? AND reverts = ? AND job_id IS NOT NULL", (client, id))
    return {row[0] for row in rows}


_LATER = Statement(
    "events_after",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("sequence", "bigint")),
    body=f"SELECT {names(LOGGED_EVENT, 't.')} FROM p CROSS JOIN logged_event t WHERE t.client = p.client "
    "AND t.record_kind = p.record_kind AND t.record_id = p.record_id AND t.sequence > p.sequence",
)


def later_events(events: Sequence[LoggedEvent]) -> Plan[dict[tuple[int | None, int | None], list[LoggedEvent]]]:
    """Return the events of the same records after these, in order: kind and id of the record -> events."""
    rows = yield Execute(_LATER, sorted((event.client, event.record_kind, event.record_id, event.sequence) for event in events))
    later: dict[tuple[int | None, int | None], list[LoggedEvent]] = {}
    for event in sorted(map(event_of, rows), key=lambda event: event.sequence):
        later.setdefault((event.record_kind, event.record_id), []).append(event)
    return later


@command(scope=ALL_CLIENTS, background=True)
def forget_changes_before(before_us: Micros, limit: int) -> Plan[int]:
    """Remove up to `limit` entries of changes from before a time; return how many. What they changed stays."""
    rows = yield Select(
        "DELETE FROM change WHERE (client, id) IN (SELECT client, id FROM change WHERE at_us < ? ORDER BY at_us LIMIT ?) "
        "RETURNING client, kind, job_id",
        (before_us, limit),
    )
    if mappings := [(client, job_id) for client, kind, job_id in rows if kind == MAPPING]:
        yield Execute(_FORGET_MAPPING, mappings)
    return len(rows)
