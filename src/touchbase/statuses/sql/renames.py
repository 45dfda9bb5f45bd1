"""Plans of statuses: the declared set and the renames lie in the client's settings, under the lock of the client's row."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from touchbase.audit import audited, change_of_request
from touchbase.clients.models import MOST_STATUSES, Client, ClientSettings, StatusSet
from touchbase.clients.sql.clients import lock_client, locked, settings_of, store_settings
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.event_log.models import JOB, EventType, LoggedEvent, by_request
from touchbase.event_log.sql.changes import MERGE, RENAME, note_change
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, NO_AUTHOR, Author, StoredEvent
from touchbase.history.sql import event_of
from touchbase.history.status_words import SERVICE_WORDS, StatusRename, StatusWords
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.records.logged_changes import changes, state_of
from touchbase.records.models import Record
from touchbase.records.projection import refold_status
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import TABLES, lock_records
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.statement import Execute, Plan, Select
from touchbase.statuses.models import (
    MOST_RENAMES,
    PLURALS,
    Changed,
    OutdatedPage,
    RenamePreview,
    StatusInfo,
    listed,
    role_of,
    same_spelling,
    stands_for,
)
from touchbase.statuses.sql.refused import recheck, refused_words, save_folded


@query
def list_statuses(client: int, kind: int) -> Plan[list[StatusInfo]]:
    """All statuses of contacts or companies, with the numbers of their records."""
    settings = (yield from settings_of(client)) or ClientSettings()
    counts = yield from _counts(client, kind)
    refused = (yield from refused_words(client, kind)) if settings.declared(kind) is not None else {}
    return listed(settings, kind, counts, refused)


def _counts(client: int, kind: int) -> Plan[dict[str, int]]:
    table = RECORD_TYPES[kind].name
    rows = yield Select(f"SELECT status, count(*) FROM {table} WHERE client = ? AND status IS NOT NULL GROUP BY status", (client,))
    return {row[0]: row[1] for row in rows}


def _count(client: int, kind: int, words: Sequence[str]) -> Plan[int]:
    marks = ", ".join("?" * len(words))
    rows = yield Select(f"SELECT count(*) FROM {RECORD_TYPES[kind].name} WHERE client = ? AND status IN ({marks})", (client, *words))
    count: int = rows[0][0]
    return count


def _is_used(client: int, kind: int, name: str) -> Plan[bool]:
    rows = yield Select(f"SELECT 1 FROM {RECORD_TYPES[kind].name} WHERE client = ? AND status = ? LIMIT 1", (client, name))
    return bool(rows)


def _exists(settings: ClientSettings, client: int, kind: int, name: str) -> Plan[bool]:
    """Return whether a status is declared, set by Touchbase, or in use."""
    declared = settings.declared(kind)
    if (declared is not None and name in declared.statuses) or stands_for(settings, kind, name) or name in SERVICE_WORDS:
        return True
    return (yield from _is_used(client, kind, name))


def _unknown(kind: int, name: str, settings: ClientSettings) -> NotFound:
    words = settings.words(kind)
    if words.is_former(name):
        return NotFound(f"{name!r} is called {words.of(name)!r} now; name that one")
    return NotFound(f"{PLURALS[kind]} have no status {name!r}: it is not declared, and no record has it")


@command(ids="job", follow_up=audited("status.defined", "status", lambda call, _: call.name))
def define_status(
    ids: Ids, client: int, kind: int, name: str, start_set: bool, at: Micros, by: str | None = None, opts_out: bool = False
) -> Plan[Changed | TouchbaseError]:
    """Add a status to the declared set. Without a set `WrongState`, unless `start_set`: then the set begins with all present statuses.

    `Conflict` for one that is declared, that differs from a declared one in spelling only, or that is a former name.
    """
    current_client = yield from lock_client(client)
    settings = current_client.settings
    declared, words = settings.declared(kind), settings.words(kind)
    if declared is None:
        if not start_set:
            return WrongState(
                f"every status of {PLURALS[kind]} is allowed, because no set is declared; send start_set=true to declare one that begins "
                "with the statuses in use and the words that Touchbase sets"
            )
        counts = yield from _counts(client, kind)
        declared = StatusSet([status.name for status in listed(settings, kind, counts)])
    if words.is_former(name):
        return Conflict(f"{name!r} is a former name of {words.of(name)!r}, and events that say it mean that; choose another name")
    if (own := same_spelling(name, declared.statuses)) is not None and not (start_set and settings.declared(kind) is None):
        return Conflict(f"{own!r} is declared already" + ("" if own == name else f"; events do not distinguish it from {name!r}"))
    opt_outs = [*declared.opt_outs, name] if opts_out else declared.opt_outs
    declared = StatusSet(list(dict.fromkeys([*declared.statuses, name])), declared.transitions, opt_outs)
    if len(declared.statuses) > MOST_STATUSES:
        return Conflict(f"a declared set has at most {MOST_STATUSES} statuses; remove or merge some first")
    changed = yield from store_settings(current_client.client_id, _with_set(settings, kind, declared))
    return Changed(changed, (yield from recheck(client, kind, changed.settings, at, by, ids)))


@command(follow_up=audited("status.removed", "status", lambda call, _: call.name))
def remove_status(client: int, kind: int, name: str, if_versions: Collection[str] | None = None) -> Plan[Changed | TouchbaseError]:
    """Remove a status from the declared set. `NotFound`; `Conflict` if records have it, or if it is the last one.

    `if_versions`: `PreconditionFailed` if it has none of them; None: any.
    """
    current_client = yield from lock_client(client)
    settings = current_client.settings
    yield from _check_version(settings, client, kind, name, if_versions)
    declared = settings.declared(kind)
    count = yield from _count(client, kind, settings.words(kind).words_of(name))
    if declared is None or name not in declared.statuses:
        if not count and not (yield from _exists(settings, client, kind, name)):
            return _unknown(kind, name, settings)
        return Conflict(f"{name!r} is not in the declared set; merge it into another status to make it disappear")
    if count:
        have = "1 record has" if count == 1 else f"{count} records have"
        return Conflict(f"{have} the status {name!r}; merge it into another one first", data={"records": count})
    if len(declared.statuses) == 1:
        return Conflict("it is the last status of the set; remove the set in the client's settings to allow every status")
    transitions = {
        before: [status for status in after if status != name] for before, after in declared.transitions.items() if before != name
    }
    statuses = StatusSet(
        [status for status in declared.statuses if status != name], transitions, [status for status in declared.opt_outs if status != name]
    )
    return Changed((yield from store_settings(current_client.client_id, _with_set(settings, kind, statuses))), None)


def _check_version(settings: ClientSettings, client: int, kind: int, name: str, if_versions: Collection[str] | None) -> Plan[None]:
    if if_versions is None:
        return
    present = next((status for status in listed(settings, kind, {name: 0}) if status.name == name), None)
    if present is not None and present.version in if_versions:
        return
    if settings.words(kind).is_former(name) or (yield from _exists(settings, client, kind, name)):
        raise PreconditionFailed("the status has changed since it was read")


def _with_set(settings: ClientSettings, kind: int, statuses: StatusSet) -> ClientSettings:
    return replace(settings, company_statuses=statuses) if kind == COMPANY else replace(settings, contact_statuses=statuses)


@command(
    ids=lambda commands: {"job": 2 * len(commands)},
    follow_up=audited("status.renamed", "status", lambda call, _: call.before, change=change_of_request),
)
def rename_status(
    ids: Ids,
    client: int,
    kind: int,
    before: str,
    after: str,
    merge: bool,
    at: Micros,
    by: Author = NO_AUTHOR,
    if_versions: Collection[str] | None = None,
) -> Plan[Changed | TouchbaseError]:
    """Rename a status, or with `merge` merge it into an existing one; the job rewrites the records.

    A rename that was made already only gets a new job. `NotFound`, and `Conflict` as `RenamePreview` says. `if_versions`: as in
    `remove_status`.
    """
    current_client = yield from lock_client(client)
    yield from _check_version(current_client.settings, client, kind, before, if_versions)
    refused = yield from _refused(current_client.settings, client, kind, before, after, merge)
    if refused is not None:
        return refused
    words = current_client.settings.words(kind)
    job = Job(
        client, 0, f"{PLURALS[kind]}.{'merge_statuses' if merge else 'rename_status'}", QUEUED, at, at,
        {"from": before, "to": after}, made_by=by.key_id,
    )  # fmt: skip
    stored_job = yield from insert_job(job, ids)
    if words.of(before) != after:
        records = yield from _count(client, kind, words.words_of(before))
        yield from note_change(client, MERGE if merge else RENAME, by, at, records, stored_job.id)
        current_at = max(at, words.last_us + 1)
        renames = (*words.renames, StatusRename(before, after, current_at, merge, by.key_id))
        current_client = yield from store_settings(current_client.client_id, _with_renames(current_client.settings, kind, renames))
        data = {"record": RECORD_TYPES[kind].name, "from": before, "to": after}
        yield from log_events([LoggedEvent(client, EventType.STATUS_RENAMED, current_at, cause=by_request(by), data=data)])
    if current_client.settings.declared(kind) is not None:  # the new name, or the merged word, may be one that was refused
        yield from recheck(client, kind, current_client.settings, at, by.key_id, ids)
    return Changed(current_client, stored_job)


def _with_renames(settings: ClientSettings, kind: int, renames: tuple[StatusRename, ...]) -> ClientSettings:
    changed = replace(settings, company_renames=renames) if kind == COMPANY else replace(settings, contact_renames=renames)
    declared = changed.declared(kind)
    return changed if declared is None else _with_set(changed, kind, declared.renamed(changed.words(kind)))


def _refused(settings: ClientSettings, client: int, kind: int, before: str, after: str, merge: bool) -> Plan[TouchbaseError | None]:
    """Return why a rename cannot be made; None if it can, or if it was made already."""
    words = settings.words(kind)
    if before == after:
        return Invalid(
            [Fault("/into" if merge else "/name", "same", f"is the status itself; send the status that {before!r} is to become")]
        )
    if words.is_former(before) and words.of(before) == after:
        return None
    is_known = not words.is_former(before) and (yield from _exists(settings, client, kind, before))
    if not is_known and not (merge and before in (yield from refused_words(client, kind))):
        return _unknown(kind, before, settings)
    is_taken = yield from _exists(settings, client, kind, after)
    return _refused_name(settings, kind, before, after, merge, exists=is_taken and not words.is_former(after))


def _refused_name(settings: ClientSettings, kind: int, before: str, after: str, merge: bool, *, exists: bool) -> TouchbaseError | None:
    words, declared, refused = settings.words(kind), settings.declared(kind), None
    others = [status for status in (declared.statuses if declared else []) if status not in (before, after)]
    if words.is_former(after) and words.of(after) != before:
        refused = f"{after!r} is a former name of {words.of(after)!r}, and events that say it mean that; choose another one"
    elif len(words.renames) >= MOST_RENAMES:
        refused = f"{PLURALS[kind]} have {MOST_RENAMES} renames and merges, the limit; each is a part of every history"
    elif merge and not exists:
        return Invalid([Fault("/into", "unknown_status", f"there is no status {after!r}; to give {before!r} this name, rename it")])
    elif not merge and exists:
        refused = f"there is a status {after!r} already; merge {before!r} into it instead"
    elif not merge and (own := same_spelling(after, others)) is not None:
        refused = f"events do not distinguish {after!r} from {own!r}, which is declared; choose another name, or merge"
    return None if refused is None else Conflict(refused)


@query
def preview_rename(client: int, kind: int, before: str, after: str, merge: bool) -> Plan[RenamePreview | TouchbaseError]:
    """Preview `rename_status`; return its error if it has one."""
    settings = (yield from settings_of(client)) or ClientSettings()
    refused = yield from _refused(settings, client, kind, before, after, merge)
    if refused is not None:
        return refused
    words, declared = settings.words(kind), settings.declared(kind)
    count = yield from _count(client, kind, words.words_of(before))
    service = stands_for(settings, kind, before)
    is_declared = declared is None or before in declared.statuses
    preview = RenamePreview(before, after, merge, count, service, is_declared, [])
    preview.notes.extend(_notes(words, before, after, merge, service, declared is not None and not is_declared))
    return preview


def _notes(words: StatusWords, before: str, after: str, merge: bool, service: Sequence[str], is_refused: bool) -> list[str]:
    notes = ["a merge cannot be reverted: records and events of both are the same from then on"] if merge else []
    if words.is_former(before):
        notes.append("this was done already; a job only looks for records that still have the former name")
    if service:
        notes.append(f"from now on Touchbase sets {after!r} in place of {' and '.join(map(repr, service))}")
    if is_refused:
        notes.append(f"{before!r} is not in the declared set, so events that ask for it are still refused")
    if merge and words.opts_out(before) != words.opts_out(after):
        notes.append(f"only {(before if words.opts_out(before) else after)!r} opts contacts out; from now on {after!r} does")
    roles = role_of(words, before), role_of(words, after)
    if merge and roles[0] != roles[1]:
        notes.append(f"the rules take {before!r} for {roles[0] or 'any status'} and {after!r} for {roles[1] or 'any status'}: from now on "
                     f"those of {after!r} count")  # fmt: skip
    return notes


@query
def find_outdated(client: int, kind: int, after: int, limit: int) -> Plan[OutdatedPage]:
    """The next records by id that have a former name of a status, among `limit` records."""
    settings = (yield from settings_of(client)) or ClientSettings()
    words = settings.words(kind)
    rows = yield Select(
        f"SELECT id, status, previous_status FROM {RECORD_TYPES[kind].name} WHERE client = ? AND id > ? ORDER BY id LIMIT ?",
        (client, after, limit),
    )
    ids = [row[0] for row in rows if words.is_former(row[1]) or words.is_former(row[2])]
    return OutdatedPage(ids, len(rows), rows[-1][0] if len(rows) == limit else None, words.last_us)


@query
def count_records(client: int, kind: int) -> Plan[int]:
    """The number of a client's contacts or companies."""
    rows = yield Select(f"SELECT count(*) FROM {RECORD_TYPES[kind].name} WHERE client = ?", (client,))
    count: int = rows[0][0]
    return count


@command
def rewrite_statuses(client: int, kind: int, ids: Sequence[int], at: Micros) -> Plan[int]:
    """Rename these records' statuses; return how many changed."""
    current_client: Client | None = yield from locked(client)
    if current_client is None or not ids:
        return 0
    words = current_client.settings.words(kind)
    rows = yield from lock_records(client, kind, ids)
    records: list[Record] = [*map(TABLES[kind].record_of, rows)]
    outdated = [record for record in records if words.is_outdated(record)]
    written_since = [record for record in outdated if must_be_folded(record, words)]
    histories = yield from _histories(client, kind, written_since)
    events: list[LoggedEvent] = []
    for record in outdated:
        before = state_of(record, words)
        if record.id in histories:  # a request from before the rename has written after it
            refold_status(record, histories[record.id], words)
        else:
            follow_renames(record, words)
        record.updated_us = max(at, record.updated_us + 1)
        events += changes(record, before, at, {"origin": JOB}, words)  # the new name alone is no difference
    yield from save_folded(kind, outdated, rows)
    yield from log_events(events)
    return len(outdated)


def must_be_folded(record: Record, words: StatusWords) -> bool:
    """Return whether a record has a status entry that is later than a rename that it has not followed."""
    entry: Micros = record.status_entry_us or 0
    return any(rename.at_us <= entry and rename.before in (record.status, record.previous_status) for rename in words.renames)


def follow_renames(record: Record, words: StatusWords) -> None:
    """Rename a record's statuses."""
    record.status, record.previous_status = words.of(record.status), words.of(record.previous_status)


def _histories(client: int, kind: int, records: Sequence[Record]) -> Plan[dict[int, list[StoredEvent]]]:
    histories: dict[int, list[StoredEvent]] = {record.id: [] for record in records}
    if records:
        for row in (yield Execute(history_sql.EVENTS_OF, [(client, kind, number) for number in histories])):
            histories[row[2]].append(event_of(row))
    return histories
