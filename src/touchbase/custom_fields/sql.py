"""Plans of custom fields: their use, their definitions in the client's settings, and the pages of a change."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable
from dataclasses import replace
from typing import Any

import msgspec

from touchbase.audit import JOB_REQUEST, Act, audited, change_of_job, change_of_request
from touchbase.clients.models import Client, ClientSettings, FieldType
from touchbase.clients.sql.clients import SET_CLIENT_SETTINGS, lock_client
from touchbase.common.field_limits import CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.custom_fields.changes import MERGE, MERGE_VALUES, REMOVE, RENAME, FieldJob, FieldValue
from touchbase.custom_fields.uses import values_of
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.event_log.sql import changes as history
from touchbase.event_log.sql.changes import note_change
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.custom_values import MARK, ChangeOfValues, change_values
from touchbase.records.validation import misfit
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import digest, settings_text
from touchbase.sql.statement import Execute, Plan, Row, Select


def job_kind(kind: int) -> str:
    """Return the kind of the jobs that change fields of these records."""
    return f"{RECORD_TYPES[kind].plural}.custom_fields"


def field_version(type: FieldType | None, former_names: Iterable[str]) -> str:
    """Return the version of a field that a change may name: another one after each change of the field, not of records."""
    return digest(type, sorted(former_names))


class Fields:
    """The declared fields and the former names of one kind of record, to change."""

    def __init__(self, client: Client, kind: int) -> None:
        self.client, self._kind = client, kind
        self.types: dict[str, FieldType] = dict(RECORD_TYPES[kind].field_types(client.settings))
        self.names: dict[str, str] = dict(RECORD_TYPES[kind].field_names(client.settings))

    @property
    def settings(self) -> ClientSettings:
        """The client's settings with these fields."""
        type_name = RECORD_TYPES[self._kind].name
        changed: dict[str, Any] = {f"{type_name}_fields": self.types, f"{type_name}_field_names": self.names}
        return replace(self.client.settings, **changed)

    def check_version(self, name: str, if_versions: Collection[str] | None) -> None:
        """Raise `PreconditionFailed` if a field has none of these versions; None: any."""
        former = (former for former, now in self.names.items() if now == name)
        if if_versions is not None and field_version(self.types.get(name), former) not in if_versions:
            raise PreconditionFailed("the custom field has changed since it was read")

    def lead(self, former: str, name: str) -> None:
        """Resolve a former name to a field, with all names that resolved to it."""
        self.names = {old: name if to == former else to for old, to in self.names.items() if old != name}
        self.names[former] = name


def _concerned(client: int, kind: int, what: FieldJob, *, with_removed: bool = False) -> tuple[str, Row]:
    """Return the condition of the rows `f` that a change concerns, and its parameters."""
    text, params = "f.client = ? AND f.record_kind = ? AND f.name = ?", [client, kind, what.field]
    if with_removed:
        text += f" AND (f.value IS NOT NULL OR f.stamp_key NOT LIKE '%{MARK}%')"
    else:
        text += " AND f.value IS NOT NULL"
    if what.action == MERGE_VALUES:
        text += f" AND f.value IN ({', '.join('?' for _ in what.values)})"
        params += what.values
    return text, tuple(params)


@query
def read_values(client: int, kind: int, what: FieldJob, limit: int, after: int = 0, with_removed: bool = False) -> Plan[list[FieldValue]]:
    """Values that a change concerns, in the order of the records' ids, from the one after `after`.

    `with_removed` adds fields that a write removed: a renaming takes the removal along, so that no older write undoes it.
    """
    where, params = _concerned(client, kind, what, with_removed=with_removed)
    rows = yield Select(
        "SELECT f.record_id, f.value, g.value FROM custom_field f LEFT JOIN custom_field g ON g.client = f.client "
        "AND g.record_kind = f.record_kind AND g.record_id = f.record_id AND g.name = ? "
        f"WHERE {where} AND f.record_id > ? ORDER BY f.record_id LIMIT ?",
        (what.into, *params, after, limit),
    )
    return [FieldValue(*row) for row in rows]


@query
def count_values(client: int, kind: int, what: FieldJob) -> Plan[int]:
    """How many records have a value that a change concerns."""
    where, params = _concerned(client, kind, what)
    [(count,)] = yield Select(f"SELECT count(*) FROM custom_field f WHERE {where}", params)
    return int(count)


def _save(fields: Fields) -> Plan[None]:
    yield Execute(SET_CLIENT_SETTINGS, [(fields.client.client_id, settings_text(fields.settings))])


def _is_used(client: int, kind: int, name: str) -> Plan[bool]:
    where = values_of(client, kind)
    where.equal("name", name)
    return bool((yield Select(f"SELECT 1 FROM custom_field WHERE {where} LIMIT 1", where.params)))


def _missing(fields: Fields, name: str) -> NotFound:
    now = fields.names.get(name)
    return NotFound(f"there is no custom field {name!r}" + (f" any more: it is {now!r} now" if now is not None else ""))


@command(follow_up=audited("custom_field.defined", "custom_field", lambda call, _: call.name))
def define_field(
    client: int, kind: int, name: str, type: FieldType, is_new: bool, if_versions: Collection[str] | None = None
) -> Plan[TouchbaseError | None]:
    """Declare a field with a type, or change its type. `Conflict` for a new one that exists, `NotFound` for another that does not.

    `if_versions`: `PreconditionFailed` if the field has none of them; None: any.
    """
    fields = Fields((yield from lock_client(client)), kind)
    fields.check_version(name, if_versions)
    is_used = yield from _is_used(client, kind, name)
    if is_new and (taken := _taken(fields, name, is_used=is_used)) is not None:
        return taken
    if not is_new and not is_used and name not in fields.types:
        return _missing(fields, name)
    if name not in fields.types and len(fields.types) >= CUSTOM_FIELDS:
        return Invalid([Fault("/name", "too_many", f"at most {CUSTOM_FIELDS} custom fields can be defined; remove one first")])
    fields.types[name] = type
    yield from _save(fields)
    return None


def _taken(fields: Fields, name: str, *, is_used: bool) -> Conflict | None:
    """Return the error if a name is one of a field."""
    if name in fields.names:
        return Conflict(f"{name!r} is a former name of {fields.names[name]!r}; delete the former name first, or use that field")
    if name in fields.types or is_used:
        return Conflict(f"there is a custom field {name!r} already; change its type, or merge the other field into it")
    return None


@command(follow_up=audited("custom_field.removed", "custom_field", lambda call, _: call.name))
def forget_field(client: int, kind: int, name: str, if_versions: Collection[str] | None = None) -> Plan[TouchbaseError | None]:
    """Remove a field that no record has a value of, or a former name; `NotFound`, and `WrongState` for a field in use.

    `if_versions`: as in `define_field`.
    """
    fields = Fields((yield from lock_client(client)), kind)
    fields.check_version(name, if_versions)
    if (yield from _is_used(client, kind, name)):
        return WrongState(f"records have values of {name!r}; send values=delete to remove these too")
    if name in fields.names:
        del fields.names[name]
    elif name in fields.types:
        _drop(fields, name)
    else:
        return _missing(fields, name)
    yield from _save(fields)
    return None


def _drop(fields: Fields, name: str) -> None:
    fields.types.pop(name, None)
    fields.names = {former: now for former, now in fields.names.items() if now != name}


def _what_made(act: Act, job: Job) -> str | None:
    """Return what has made the change: values are reverted by the events of the job, names by the request's."""
    return change_of_job(act, job) if job.settings["action"] in (MERGE_VALUES, REMOVE) else change_of_request(act, job)


@command(
    ids="job",
    follow_up=audited("custom_field.changed", "custom_field", lambda call, _: call.what.field, change=_what_made),
)
def start_change(
    ids: Ids,
    client: int,
    kind: int,
    what: FieldJob,
    at: Micros,
    by: Author = NO_AUTHOR,
    if_versions: Collection[str] | None = None,
) -> Plan[Job | TouchbaseError]:
    """Change the client's settings, so that later writes follow, and store the job that changes the records.

    `NotFound` if there is no such field, `Conflict` if the new name is taken, `Invalid` for a value that the field cannot have.
    `if_versions`: as in `define_field`.
    """
    fields = Fields((yield from lock_client(client)), kind)
    used: set[str] = set()
    for name in (what.field, what.into):
        if (yield from _is_used(client, kind, name)):
            used.add(name)
    what = msgspec.structs.replace(what, continues=_is_continued(fields, what))
    if (refused := prepare_change(fields, what, used, if_versions)) is not None:
        return refused
    yield from _save(fields)
    job = yield from insert_job(Job(client, 0, job_kind(kind), QUEUED, at, at, _settings(what), made_by=by.key_id), ids)
    if what.action in (MERGE_VALUES, REMOVE):  # reverted by the events of the job, which have the former values
        yield from note_change(client, history.BULK, Author(by.key_id, f"{JOB_REQUEST}{job.id}"), at, 0, job.id)
    elif not what.continues:
        change = history.MERGE if what.action == MERGE else history.RENAME
        yield from note_change(client, change, by, at, (yield from count_values.plan(client, kind, what)), job.id)
    return job


def prepare_change(
    fields: Fields, what: FieldJob, used: Container[str], if_versions: Collection[str] | None = None
) -> TouchbaseError | None:
    """Change the settings, or return why that is not possible; `used` are the fields of the change that records have values of.

    `if_versions`: as in `define_field`.
    """
    is_there = what.field in used or what.field in fields.types or what.field in fields.names.values()
    is_continued = _is_continued(fields, what)
    if not is_continued and (what.field in fields.names or not is_there):
        return _missing(fields, what.field)
    fields.check_version(what.field, if_versions)
    return None if is_continued else _change_settings(fields, what, is_used=what.into in used)


def _is_continued(fields: Fields, what: FieldJob) -> bool:
    """Return whether a change was begun already, and cancelled."""
    return what.action in (RENAME, MERGE) and fields.names.get(what.field) == what.into


def _settings(what: FieldJob) -> dict[str, Any]:
    converted: dict[str, Any] = msgspec.to_builtins(what)
    return {name: value for name, value in converted.items() if value}


def _change_settings(fields: Fields, what: FieldJob, *, is_used: bool) -> TouchbaseError | None:
    """Change the settings, or return why that is not possible; `is_used` says whether records have values of the field `into`."""
    if what.action == RENAME:
        if fields.names.get(what.into) != what.field and (taken := _taken(fields, what.into, is_used=is_used)) is not None:
            return taken
        if (declared := fields.types.pop(what.field, None)) is not None:
            fields.types[what.into] = declared
        fields.lead(what.field, what.into)
    elif what.action == MERGE:
        if what.into in fields.names or not (is_used or what.into in fields.types):
            return _missing(fields, what.into)
        fields.types.pop(what.field, None)
        fields.lead(what.field, what.into)
    elif what.action == MERGE_VALUES:
        return _respell(fields, what)
    else:
        assert what.action == REMOVE
        _drop(fields, what.field)
    return None


def _respell(fields: Fields, what: FieldJob) -> Invalid | None:
    """Replace values among the choices of a field, or return why it cannot have the new value."""
    declared = fields.types.get(what.field)
    if declared is None:
        return None
    if declared.type == "select" and any(value in declared.options for value in what.values):
        options = [what.into if value in what.values else value for value in declared.options]
        fields.types[what.field] = FieldType(declared.type, list(dict.fromkeys(options)))
    elif (expected := misfit(what.into, declared)) is not None:
        return Invalid([Fault("/into", declared.type, f"{what.into!r} is not {expected}")])
    return None


@command(ids=lambda calls: {"custom_field": sum(len(call.numbers) for call in calls)})
def change_page(
    ids: Ids, client: int, kind: int, what: FieldJob, numbers: list[int], key: str, at: Micros, by: Author, begun_us: Micros
) -> Plan[int]:
    """Carry out a change on these records; return how many show other values than before. `begun_us`: when the change was requested."""
    reused_us = begun_us if what.action == RENAME and not what.continues else 0
    change = ChangeOfValues(what.of, what.fields, at, key, by, what.into, reused_us, is_newer=what.action == REMOVE)
    return len((yield from change_values(client, kind, numbers, change, ids)))
