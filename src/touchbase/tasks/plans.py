"""Tasks: what somebody has to do about a contact or company until a time.

A task has an entry in the record's history, as a note has: merges, their undo, deletions and erasures take it along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound, PreconditionFailed, WrongState
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.history.sql import event_row
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import lock_existing
from touchbase.records.writes import request_entry
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.cell_answers import CONCATENATED, AnswerMerge, Answers, Division, divide_clients, named_clients, union
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

LONGEST_TASK = 10_000
MOST_TASKS = 1_000
"""Tasks on one record, done ones too."""
MOST_COUNTED = 999
"""Due tasks of a client that a counter tells apart."""
OPEN, DONE, ANY = "open", "done", "any"
STATES = (OPEN, DONE, ANY)
TASKED = {CONTACT: "contact.tasked", COMPANY: "company.tasked"}
"""The events of the entries in histories, by the kind of record."""
CHANGED = "the task changed since it was read: read it again and repeat the change"


@dataclass(frozen=True, slots=True)
class Task:
    """A task of a user, or of nobody in particular."""

    client: int
    id: int
    event_key: str
    by: Author
    text: str
    due_us: Micros
    assignee_id: str | None
    done_us: Micros | None
    done_by: Author | None
    created_us: Micros
    updated_us: Micros
    record_kind: int
    record_id: int
    record_name: str = ""
    """The contact's or company's name, else its address."""

    @property
    def place(self) -> tuple[Micros, int, int]:
        """Where it stands in a list."""
        return self.due_us, self.client, self.id


_TASK: Columns = (
    *ROW_KEY, ("event_key", "text"), ("author", "text"), ("text", "text"), ("due_us", "bigint"), ("assignee_id", "text"),
    ("done_us", "bigint"), ("done_by", "text"), ("created_us", "bigint"), ("updated_us", "bigint"),
)  # fmt: skip
_TEXT = 4
"""The position of the text that can be long."""
_IS_TASK = f"e.event IN ({', '.join(repr(event) for event in TASKED.values())})"
"""Must match the condition of the index `event_task` literally."""
_ENTRY = f"e.client = t.client AND e.key = t.event_key AND {_IS_TASK}"
_RECORD = (
    "LEFT JOIN contact c ON e.record_kind = 1 AND c.client = e.client AND c.id = e.record_id "
    "LEFT JOIN company k ON e.record_kind = 2 AND k.client = e.client AND k.id = e.record_id"
)
_HAS_RECORD = "COALESCE(c.id, k.id) IS NOT NULL"
"""Tasks about a record in the bin wait there with it."""
_NAMES = "c.first_name, c.last_name, c.email, k.name, k.domain"
_SHOWN = f"SELECT {names(_TASK, 't.')}, e.record_kind, e.record_id, {_NAMES}"
_OF_RECORD = f"e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id AND {_IS_TASK}"
INSERT_TASK = Statement("insert_task", _TASK, body=f"INSERT INTO task ({names(_TASK)}) SELECT * FROM p WHERE true")
_CHANGES: Columns = (
    ("text", "text"), ("due_us", "bigint"), ("assignee_id", "text"), ("done_us", "bigint"), ("done_by", "text"), ("updated_us", "bigint"),
)  # fmt: skip
UPDATE_TASK = Statement(
    "update_task",
    (*ROW_KEY, *_CHANGES),
    body=f"UPDATE task t SET {', '.join(f'{name} = p.{name}' for name, _ in _CHANGES)} FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
DELETE_TASK = delete("delete_task", "task", ROW_KEY)
COUNT_TASKS = Statement(
    "count_tasks",
    RECORD,
    body=f"SELECT count(*) FROM p CROSS JOIN event e CROSS JOIN task t WHERE {_OF_RECORD} AND t.client = e.client AND t.event_key = e.key",
)
DELETE_TASKS = Statement(
    "delete_tasks",
    RECORD,
    sqlite="DELETE FROM task WHERE client = ?1 AND event_key IN "
    f"(SELECT e.key FROM event e WHERE e.client = ?1 AND e.record_kind = ?2 AND e.record_id = ?3 AND {_IS_TASK})",
    body=f"DELETE FROM task t USING p CROSS JOIN event e WHERE {_OF_RECORD} AND t.client = e.client AND t.event_key = e.key",
)
"""Run it before the events are deleted."""
TASKS_OF_EVENTS = Statement(
    "tasks_of_events",
    (("client", "bigint"), ("event_key", "text")),
    body=f"SELECT {names(_TASK, 't.')} FROM p CROSS JOIN task t WHERE t.client = p.client AND t.event_key = p.event_key",
)


def _task(row: Row, kind: int, record_id: int, name: str = "") -> Task:
    by, done_by = Author(**msgspec.json.decode(row[3])), None if row[8] is None else Author(**msgspec.json.decode(row[8]))
    return Task(row[0], row[1], row[2], by, row[4], row[5], row[6], row[7], done_by, row[9], row[10], kind, record_id, name)


def _shown(row: Row) -> Task:
    first, last, email, company, domain = row[13:]
    return _task(row, row[11], row[12], " ".join(filter(None, (first, last))) or email or company or domain or "")


@command(ids="task")
def create_task(
    ids: Ids, client: int, kind: int, record_id: int, text: str, due_us: Micros, assignee_id: str | None, at: Micros, key: str, by: Author
) -> Plan[Task | NotFound | WrongState]:
    """Store a task on a record; `NotFound` without the record, `WrongState` if it has `MOST_TASKS`.

    `key`: The key of its entry in the history, from `new_write_key`.
    """
    # The lock blocks merges, deletions and erasures of the record.
    yield from lock_existing(client, kind, [record_id])
    if (yield Execute(COUNT_TASKS, [(client, kind, record_id)]))[0][0] >= MOST_TASKS:
        return WrongState(f"the {RECORD_TYPES[kind].name} has {MOST_TASKS} tasks, the most that one can have; delete an old one first")
    number = ids.take("task")
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, request_entry(kind, record_id, "tasked", at, key, by))])
    yield Execute(INSERT_TASK, [(client, number, key, encode(by._asdict()), text, due_us, assignee_id, None, None, at, at)])
    task = yield from _existing(client, kind, record_id, number)
    yield from _log(EventType.TASK_CREATED, task, at, by)
    return task


@dataclass(frozen=True, slots=True)
class TaskUpdate:
    """Changes of a task; None changes nothing."""

    text: str | None = None
    due_us: Micros | None = None
    assignee_id: str | None = None
    """The id of a user; empty: nobody."""
    is_done: bool | None = None


@command
def change_task(
    client: int, kind: int, record_id: int, id: int, change: TaskUpdate, at: Micros, by: Author, if_updated_us: Micros | None = None
) -> Plan[Task | NotFound | PreconditionFailed]:
    """Change a task. `NotFound`; `PreconditionFailed` if `if_updated_us` is another time than the task's."""
    task = yield from _lock(client, kind, record_id, id)
    if if_updated_us not in (None, task.updated_us):
        return PreconditionFailed(CHANGED)
    changed = replace(
        task,
        text=task.text if change.text is None else change.text,
        due_us=task.due_us if change.due_us is None else change.due_us,
        assignee_id=task.assignee_id if change.assignee_id is None else change.assignee_id or None,
        updated_us=max(at, task.updated_us + 1),
    )
    if change.is_done is not None and change.is_done != (task.done_us is not None):
        changed = replace(changed, done_us=at if change.is_done else None, done_by=by if change.is_done else None)
    done_by = None if changed.done_by is None else encode(changed.done_by._asdict())
    row = (client, id, changed.text, changed.due_us, changed.assignee_id, changed.done_us, done_by, changed.updated_us)
    yield Execute(UPDATE_TASK, [row])
    is_finished = changed.done_us is not None and task.done_us is None
    yield from _log(EventType.TASK_DONE if is_finished else EventType.TASK_UPDATED, changed, at, by)
    return changed


@command
def delete_task(
    client: int, kind: int, record_id: int, id: int, at: Micros, by: Author, if_updated_us: Micros | None = None
) -> Plan[NotFound | PreconditionFailed | None]:
    """Delete a task with its entry in the history. `NotFound`, `PreconditionFailed` as in `change_task`."""
    task = yield from _lock(client, kind, record_id, id)
    if if_updated_us not in (None, task.updated_us):
        return PreconditionFailed(CHANGED)
    yield Execute(DELETE_TASK, [(client, id)])
    yield Execute(history_sql.DELETE_EVENT, [(client, kind, record_id, task.created_us, task.event_key)])
    yield from _log(EventType.TASK_DELETED, task, at, by)
    return None


def _lock(client: int, kind: int, record_id: int, id: int) -> Plan[Task]:
    yield from lock_existing(client, kind, [record_id])
    return (yield from _existing(client, kind, record_id, id))


def _existing(client: int, kind: int, record_id: int, id: int) -> Plan[Task]:
    task: Task | None = yield from _find(client, kind, record_id, id)
    if task is None:
        raise NotFound(f"the {RECORD_TYPES[kind].name} with id {record_id} has no task with id {id}")
    return task


def _log(type: EventType, task: Task, at: Micros, by: Author) -> Plan[None]:
    data = {"task_id": task.id, "assignee_id": task.assignee_id}
    yield from log_events([LoggedEvent(task.client, type, at, task.record_kind, task.record_id, cause=by_request(by), data=data)])


def _find(client: int, kind: int, record_id: int, id: int) -> Plan[Task | None]:
    rows = yield Select(
        f"{_SHOWN} FROM task t JOIN event e ON e.client = t.client AND e.record_kind = ? AND e.record_id = ? "
        f"AND e.occurred_us = t.created_us AND e.key = t.event_key {_RECORD} WHERE t.client = ? AND t.id = ?",
        (kind, record_id, client, id),
    )
    return _shown(rows[0]) if rows else None


@query
def find_task(client: int, kind: int, record_id: int, id: int) -> Plan[Task | None]:
    """The task with this id on this record."""
    return (yield from _find(client, kind, record_id, id))


@dataclass(frozen=True, slots=True)
class TaskFilters:
    """Which tasks a list has; None: any."""

    state: str = OPEN
    assignee: str | None = None
    """The id of a user; empty: nobody."""
    due_before_us: Micros | None = None
    record: tuple[int, int] | None = None
    """Kind and id of the record that they are about."""


def _first_of_all(call: object, answers: Answers) -> list[Task]:
    tasks = [task for answer in answers.values() for task in answer]
    is_newest_first = call.filters.state == DONE  # type: ignore[attr-defined]
    page = sorted(tasks, key=lambda task: task.place, reverse=is_newest_first)[: call.limit]  # type: ignore[attr-defined]
    return Cut(page) if any(isinstance(answer, Cut) for answer in answers.values()) else page


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _first_of_all, partial=True),
    merge=AnswerMerge(_first_of_all),
)
def list_tasks(
    clients: Sequence[int] | None,
    limit: int,
    filters: TaskFilters = TaskFilters(),
    after: tuple[Micros, int, int] | None = None,
    page_bytes: int = 0,
) -> Plan[list[Task]]:
    """Tasks of these clients (None: of all active ones) by the time when they are due, done ones latest first; behind the place `after`.

    As many as have `page_bytes`, as a `Cut` if there are more.
    """
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    where = Where(f"t.client {condition}", *numbers)
    if filters.state != ANY:
        where.add(f"t.done_us IS {'NOT ' if filters.state == DONE else ''}NULL")
    if filters.assignee is not None:
        where.add("COALESCE(t.assignee_id, '') = ?", filters.assignee)
    where.less("t.due_us", filters.due_before_us)
    direction, than = ("DESC", "<") if filters.state == DONE else ("ASC", ">")
    if after is not None:
        where.add(f"(t.due_us, t.client, t.id) {than} (?, ?, ?)", *after)
    joined = "task t CROSS JOIN event e"
    if filters.record is not None:
        joined = "event e CROSS JOIN task t"
        where.add("e.client = t.client AND e.record_kind = ? AND e.record_id = ?", *filters.record)
        if clients is not None:
            where.add(f"e.client {condition}", *numbers)
    budget = ByteBudget(page_bytes, (_TEXT,)) if page_bytes else None
    rows = yield Select(
        f"{_SHOWN} FROM {joined} {_RECORD} WHERE {where} AND {_ENTRY} AND {_HAS_RECORD} "
        f"ORDER BY t.due_us {direction}, t.client {direction}, t.id {direction} LIMIT ?",
        (*where.params, limit),
        budget=budget,
    )
    tasks = [_shown(row) for row in rows]
    return Cut(tasks) if budget is not None and budget.is_spent else tasks


@query
def tasks_of_events(client: int, kind: int, record_id: int, keys: Sequence[str]) -> Plan[dict[str, Task]]:
    """The tasks of these entries of a record's history, by the key of the entry."""
    rows = (yield Execute(TASKS_OF_EVENTS, [(client, key) for key in sorted(keys)])) if keys else []
    return {row[2]: _task(row, kind, record_id) for row in rows}


_DUE = f"FROM task t CROSS JOIN event e {_RECORD} WHERE t.done_us IS NULL"


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, union), merge=AnswerMerge(union))
def count_due_tasks(clients: Sequence[int] | None, user_id: str | None, before_us: Micros) -> Plan[dict[int, int]]:
    """Numbers of open tasks of a user (None: of all and of nobody) that are due before a time, up to `MOST_COUNTED` of a client.

    Of each of these clients (None: of all active ones) that has any.
    """
    if clients == []:
        return {}
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    where = Where(f"t.client {condition} AND t.due_us < ?", *numbers, before_us)
    where.equal("t.assignee_id", user_id)
    sql = f"SELECT t.client, count(*) {_DUE} AND {where} AND {_ENTRY} AND {_HAS_RECORD} GROUP BY t.client"
    return {client: min(count, MOST_COUNTED) for client, count in (yield Select(sql, where.params))}


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def list_newly_due(after_us: Micros, until_us: Micros, limit: int) -> Plan[list[Task]]:
    """Open tasks of users in active clients that became due behind one time, and by another."""
    condition, _ = ACTIVE_CLIENTS
    rows = yield Select(
        f"{_SHOWN} {_DUE} AND t.assignee_id IS NOT NULL AND t.due_us > ? AND t.due_us <= ? AND t.client {condition} "
        f"AND {_ENTRY} AND {_HAS_RECORD} ORDER BY t.due_us DESC LIMIT ?",
        (after_us, until_us, limit),
    )
    return [_shown(row) for row in rows]
