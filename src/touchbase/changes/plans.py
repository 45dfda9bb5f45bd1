"""Plans that revert a change: its events, newest first, are undone record by record, and what has changed since stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from touchbase.audit import JOB_REQUEST, audited, change_of_job
from touchbase.changes.effects import Key, net_changes, subject_of
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import CLIENT_BY_NUMBER
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros, from_text, to_text
from touchbase.conversations.plans import Conversation, ConversationChange, change_conversation, get_conversation
from touchbase.custom_fields.changes import FieldJob
from touchbase.custom_fields.sql import start_change
from touchbase.do_not_contact.models import MAY_NOT_UNBLOCK, UNDO_US, Cause, live_causes
from touchbase.do_not_contact.sql.entries import drop_causes, remove_entry
from touchbase.do_not_contact.sql.lookup import listed_kinds
from touchbase.do_not_contact.sql.opt_outs import MADE_BY_ACTS, list_opt_outs
from touchbase.do_not_contact.sql.statements import CAUSES_OF, ENTRY_BY_ID, EntryRow, cause_of
from touchbase.errors import Forbidden, Invalid, NotFound, TouchbaseError, WrongState
from touchbase.event_log.models import DOMAIN, FOLLOWS, EventType, LoggedEvent, by_request
from touchbase.event_log.sql.changes import (
    OPEN,
    PARTLY,
    REVERT,
    REVERTED,
    REVERTING,
    SET_STATE,
    Change,
    find_change,
    find_edit,
    is_made_by,
    later_events,
    note_change,
    store_edit,
)
from touchbase.event_log.sql.log import with_cause
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.mapping.plans import Remapping, Withdrawn, find_remapping, requeue_deliveries, restore_settings, withdraw_deliveries
from touchbase.merging.sql.merge import CONTACT_IDS_OF_COMPANY
from touchbase.merging.sql.restore import restore_record
from touchbase.merging.sql.undo import undo_merge
from touchbase.projection.bin import gone_before
from touchbase.projection.delete import delete_record
from touchbase.records.further_emails import all_emails
from touchbase.records.logged_changes import CUSTOM, state_of
from touchbase.records.models import Contact, Record
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.opt_outs import opt_outs_of
from touchbase.records.sql.statements import TABLES, lock_records, with_custom_fields
from touchbase.records.sql.update import update_companies, update_contacts
from touchbase.records.update import RecordChange, update_of
from touchbase.records.writes import RecordUpdate, new_write_key
from touchbase.sql.ids import Ids
from touchbase.sql.operation import NEEDS_TRANSACTION, command, query
from touchbase.sql.statement import RELEASE, ROLL_BACK, SAVE, Execute, Plan, SerializationConflict
from touchbase.statuses.models import RECORD_KINDS
from touchbase.statuses.sql.renames import rename_status

JOB_KIND = "changes.revert"
CHANGED, DELETED, RESTORED, DIVIDED, UNCHANGED, KEPT = "changed", "deleted", "restored", "divided", "unchanged", "kept"
UNBLOCKED, RENAMED = "unblocked", "renamed"
REMAPPED, WITHDRAWN, GONE, REREAD = "remapped", "withdrawn", "gone", "reread"
OUTCOMES = {
    CHANGED: "have their former values again",
    DELETED: "were created by the change and are in the bin",
    RESTORED: "were deleted by the change and are back",
    DIVIDED: "were merged by the change and are several again",
    UNBLOCKED: "entries that the change made are no longer on the do-not-contact list",
    RENAMED: "statuses or fields have their former name again; their records follow by a job",
    REMAPPED: "a connection has its former settings again",
    WITHDRAWN: "have lost the events that a mapping's replay had brought, and with them the values that these had set",
    GONE: "were made by such events alone, and are no more",
    REREAD: "webhooks are read again with the settings in force",
    UNCHANGED: "had their former values already",
    KEPT: "stay, at least in part, each with the reason",
}
"""Outcomes of records, which a revert counts."""
_UNDONE = "merge_undone"
"""In the cause of an event by which a revert divided merged records."""


class Outcome(NamedTuple):
    """What became of one record."""

    word: str
    record: str
    """`contact`, `company`, `conversation` or another subject of events; `status`, `custom_field`, `connection` or `webhook`."""
    id: int | None
    reason: str = ""


@command(
    ids="job",
    follow_up=audited(lambda call, _: None if call.dry_run else "change.reverted", "change", lambda call, _: call.id, change=change_of_job),
)
def start_revert(
    ids: Ids, client: int, id: str, dry_run: bool, at: Micros, by: Author, is_admin: bool = False
) -> Plan[Job | TouchbaseError]:
    """Queue the job that reverts a change, or with `dry_run` only counts. `NotFound`; `WrongState` while it is at work, or reverted.

    `is_admin`: Whether the author may take back renames (`Forbidden`) and entries of the do-not-contact list of anybody.
    """
    yield Execute(CLIENT_BY_NUMBER, [(client,)])
    change: Change | None = yield from find_change.plan(client, id)
    if change is None:
        edit: Change | None = yield from find_edit.plan(client, id)
        if edit is None:
            return no_such_change(id)
        yield from store_edit(edit)
        change = edit
    if (refused := (yield from _refused(change, is_admin=is_admin))) is not None:
        return refused
    job = Job(client, 0, JOB_KIND, QUEUED, at, at, {"change": id, "dry_run": dry_run, "is_admin": is_admin}, made_by=by.key_id)
    yield from insert_job(job, ids)
    if not dry_run:
        yield Execute(SET_STATE, [(client, id, REVERTING, job.id)])
        yield from note_change(client, REVERT, revert_author(job), at, 0, job.id, id)
    return job


def _refused(change: Change, *, is_admin: bool) -> Plan[TouchbaseError | None]:
    """Return why a change cannot be reverted now, or not by this author."""
    id, job = change.id, change.revert_job
    if not change.has_revert:
        return WrongState(f"the change {id} made two names one, which cannot be reverted: nothing tells whose records were whose")
    if not is_admin:
        for what, query in (("names", find_renaming), ("connections", find_remapping)):
            if (yield from query.plan(change.client, id)) is not None:
                return Forbidden(f"{what} are changed, and changed back, by an administrator of the client: ask one to revert this")
    if change.is_at_work:
        return WrongState(f"the change {id} is at work: wait for job {change.job_id}, or cancel it, then revert what it has done")
    if change.state == REVERTING:
        return WrongState(f"the change {id} is being reverted by job {job}")
    if change.state == REVERTED:
        return WrongState(f"the change {id} was reverted by job {job}: to have it again, revert that change")
    return None


def revert_author(job: Job) -> Author:
    """Return the author of a revert's writes: whoever started it."""
    return Author(job.made_by, f"{JOB_REQUEST}{job.id}")


def no_such_change(id: str) -> NotFound:
    """Return the error for a change that the client does not have."""
    return NotFound(f"there is no change {id[:100]!r}; GET /team/v1/changes lists them")


@command(background=True)
def end_revert(client: int, id: str, state: str) -> Plan[None]:
    """Set the state of a reverted change. If that was a revert itself, what it had reverted holds again, and so on."""
    change: Change | None = yield from find_change.plan(client, id)
    while change is not None:
        yield Execute(SET_STATE, [(client, change.id, state, None)])
        if change.reverts is None:
            return
        state = {REVERTED: OPEN, OPEN: REVERTED}.get(state, PARTLY)
        change = yield from find_change.plan(client, change.reverts)


class Renaming(NamedTuple):
    """A rename of a status or custom field, and the names for its revert."""

    change: Change
    before: str
    """The name to replace."""
    after: str
    """The name to give."""


@query
def find_renaming(client: int, id: str) -> Plan[Renaming | None]:
    """The rename that the revert of a change makes; None if neither the change nor what it takes back is a rename."""
    is_back, next_id = False, id
    while True:
        change: Change | None = yield from find_change.plan(client, next_id)
        if change is None:
            return None
        is_back = not is_back
        if change.reverts is None:
            names = change.renamed
            return None if names is None else Renaming(change, *(reversed(names) if is_back else names))
        next_id = change.reverts


@command(client="renaming.change.client", ids=lambda calls: {"job": 2 * len(calls)}, background=True)
def revert_rename(ids: Ids, renaming: Renaming, at: Micros, by: Author, dry_run: bool = False) -> Plan[list[Outcome]]:
    """Give a status or custom field another name, by a job that follows. In a dry run nothing is stored."""
    change, before, after = renaming
    yield Execute(CLIENT_BY_NUMBER, [(change.client,)])
    records, _, what = str(change.job_kind).partition(".")
    kind, noun = RECORD_KINDS[records], "custom_field" if what == "custom_fields" else "status"
    if noun == "status":
        plan: Plan[Any] = rename_status.plan(ids, change.client, kind, before, after, False, at, by)
    else:
        plan = start_change.plan(ids, change.client, kind, FieldJob("rename", before, after), at, by)
    result = yield from _attempt(plan, is_tried=dry_run)
    return [Outcome(KEPT, noun, None, result.detail) if isinstance(result, TouchbaseError) else Outcome(RENAMED, noun, None)]


@command(cipher=True, client="of.change.client", background=True)
def revert_settings(cipher: Cipher, of: Remapping, at: Micros, by: Author, dry_run: bool = False) -> Plan[list[Outcome]]:
    """Give a connection its settings from before a save again, or from after it. In a dry run nothing is stored."""
    yield Execute(CLIENT_BY_NUMBER, [(of.change.client,)])
    stays = yield from _attempt(restore_settings(cipher, of, at, by), is_tried=dry_run)
    if isinstance(stays, TouchbaseError):
        stays = stays.detail
    return [Outcome(KEPT if stays else REMAPPED, "connection", None, stays)]


def _needs_of_deliveries(calls: Iterable[Any]) -> Mapping[str, int]:
    deliveries = sum(len(call.deliveries) for call in calls)
    return {"custom_field": 64 * deliveries, "link": 16 * deliveries}  # a page that takes more runs again


@command(ids=_needs_of_deliveries, large=True, client="of.change.client", background=True)
def revert_deliveries(
    ids: Ids,
    of: Remapping,
    deliveries: Sequence[int],
    reverts: Collection[int],
    owner: Client,
    at: Micros,
    by: Author,
    dry_run: bool = False,
) -> Plan[list[Outcome]]:
    """Withdraw what a saved mapping brought by these deliveries. In a dry run nothing is stored."""
    yield Execute(CLIENT_BY_NUMBER, [(of.change.client,)])
    plan = withdraw_deliveries(ids, of, deliveries, reverts, owner, at, by)
    withdrawn: list[Withdrawn] = yield from _attempt(plan, is_tried=dry_run)
    return [
        Outcome(KEPT if each.stays else GONE if each.is_gone else WITHDRAWN, RECORD_TYPES[each.kind].name, each.id, each.stays)
        for each in withdrawn
    ]


@command(ids=_needs_of_deliveries, large=True, client="of.change.client", background=True)
def reread_deliveries(
    ids: Ids,
    of: Remapping,
    deliveries: Sequence[int],
    reverts: Collection[int],
    owner: Client,
    at: Micros,
    by: Author,
    dry_run: bool = False,
) -> Plan[list[Outcome]]:
    """Let the inbox read deliveries again, after their events were withdrawn: a dry run withdraws them too. It stores nothing."""
    yield Execute(CLIENT_BY_NUMBER, [(of.change.client,)])

    def reread() -> Plan[list[int]]:
        if dry_run and of.is_back:
            yield from withdraw_deliveries(ids, of, deliveries, reverts, owner, at, by, in_part=True)
        return (yield from requeue_deliveries(of.change.client, deliveries, at, is_back=of.is_back))

    numbers: list[int] = yield from _attempt(reread(), is_tried=dry_run)
    return [Outcome(REREAD, "webhook", number) for number in numbers]


def _attempt(plan: Plan[Any], *, is_tried: bool = False) -> Plan[Any]:
    """Execute a plan; return its result, or its error, which changes nothing. One that is only tried changes nothing either."""
    yield SAVE
    try:
        result: Any = yield from plan
    except TouchbaseError as error:
        result = error
    if is_tried or isinstance(result, TouchbaseError):
        yield ROLL_BACK
    yield RELEASE
    return result


def _needs(calls: Iterable[Any]) -> Mapping[str, int]:
    events = sum(len(call.events) for call in calls)
    return {"custom_field": 8 * events, "link": 8 * events}  # a page that takes more runs again


@command(ids=_needs, large=True, background=True)
def revert_page(
    ids: Ids,
    client: int,
    change: Change,
    events: Sequence[LoggedEvent],
    reverts: Collection[int],
    owner: Client,
    at: Micros,
    by: Author,
    dry_run: bool = False,
    is_admin: bool = False,
) -> Plan[list[Outcome]]:
    """Undo events of a change, newest first; return the outcome of each record. In a dry run nothing is stored.

    `reverts`: The jobs that revert the change: their events are no changes by somebody else. `is_admin`: as in `start_revert`.
    """
    yield Execute(CLIENT_BY_NUMBER, [(client,)])  # before any record is locked
    page = _Page(ids, change, reverts, owner, at, by, dry_run, is_admin)
    outcomes: list[Outcome] = yield from _attempt(page.revert(events), is_tried=True) if dry_run else page.revert(events)
    return outcomes


class _CustomValue(NamedTuple):
    field_name: str
    field_value: str | None


class _Page:
    """Events of one transaction that are undone."""

    def __init__(
        self, ids: Ids, change: Change, reverts: Collection[int], owner: Client, at: Micros, by: Author, dry_run: bool, is_admin: bool
    ) -> None:
        self._ids, self._change, self._reverts, self._owner = ids, change, reverts, owner
        self._client, self._at, self._by, self._dry_run = change.client, at, by, dry_run
        self._may_unblock = is_admin or (change.actor_id == by.key_id and change.at_us > at - UNDO_US)

    def revert(self, events: Sequence[LoggedEvent]) -> Plan[list[Outcome]]:
        """Undo events, newest first; return the outcome of each record."""
        groups: dict[Key, list[LoggedEvent]] = {}
        for event in events:
            groups.setdefault(subject_of(event), []).append(event)
        outcomes: list[Outcome] = []
        # A company comes back before the contacts that its deletion unlinked, and goes after the contacts that belong to it.
        deleted = {key for key, group in groups.items() if any(event.type.endswith(".deleted") for event in group)}
        for kind, keys in ((COMPANY, deleted), (CONTACT, groups.keys()), (COMPANY, groups.keys() - deleted)):
            own = {number: groups[name, of, number] for name, of, number in keys if name == RECORD_TYPES[kind].name and number is not None}
            outcomes += yield from self.revert_records(kind, own)
        for (subject, _, number), group in groups.items():
            if subject == "conversation" and number is not None:
                outcomes.append((yield from self.revert_conversation(number, group)))
            elif subject == "suppression":
                outcomes += yield from self._revert_entries(group)
            elif subject not in ("contact", "company"):
                reason = f"{group[0].type} is not taken back by a revert"
                outcomes.append(Outcome(KEPT, subject, number, reason))
        return outcomes

    def revert_records(self, kind: int, groups: Mapping[int, list[LoggedEvent]]) -> Plan[list[Outcome]]:
        """Undo the events of records of one kind."""
        if not groups:
            return []
        name = RECORD_TYPES[kind].name
        rows = yield from lock_records(self._client, kind, groups)
        loaded: list[Record] = yield from with_custom_fields(kind, [TABLES[kind].record_of(row) for row in rows])
        records = {record.id: record for record in loaded}
        later = yield from later_events([group[0] for group in groups.values()])
        outcomes: dict[int, Outcome] = {}
        updates: dict[int, tuple[RecordUpdate[Any], list[str]]] = {}
        for number, group in groups.items():
            whats = {event.type.partition(".")[2]: event for event in group}
            record = records.get(number)
            if any(event.cause.get(_UNDONE) for event in group):
                outcomes[number] = Outcome(KEPT, name, number, "a merge that was undone is not made again: merge them")
            elif "merged" in whats:
                outcomes[number] = yield from self._divide(kind, number, whats["merged"])
            elif "created" in whats and record is None and "deleted" in whats:
                outcomes[number] = Outcome(UNCHANGED, name, number)
            elif "deleted" in whats and record is None:
                outcomes[number] = yield from self._restore(kind, number, whats["deleted"])
            elif record is None:
                outcomes[number] = Outcome(KEPT, name, number, "it was deleted or merged since")
            elif whats.keys() & {"created", "restored"}:
                outcomes[number] = yield from self._delete(kind, number, later.get((kind, number), []))
            else:
                found = self._update(kind, record, group)
                if isinstance(found, Outcome):
                    outcomes[number] = found
                else:
                    updates[number] = found
        outcomes |= yield from self._write(kind, updates)
        return list(outcomes.values())

    def _is_own(self, event: LoggedEvent) -> bool:
        """Return whether an event is of the change or its reverts, or follows by itself."""
        is_consequence = event.cause.get("job_id") in self._reverts or event.cause.get("origin") == DOMAIN
        return is_consequence or is_made_by(event, self._change.request_id, self._change.actor_id)

    def _divide(self, kind: int, number: int, event: LoggedEvent) -> Plan[Outcome]:
        name, merge = RECORD_TYPES[kind].name, event.data.get("merge_id")
        if merge is None:
            return Outcome(KEPT, name, number, "it took in other records by their keys, which cannot be undone")
        since = gone_before(self._at, self._owner.settings.keep_deleted_days)
        undo = undo_merge.plan(self._ids, self._client, kind, number, merge, since, self._at, new_write_key(), self._by)

        def undone(event: LoggedEvent) -> LoggedEvent:
            event.cause = {**event.cause, _UNDONE: merge}
            return event

        result = yield from _attempt(with_cause(undo, undone))
        return self._outcome(DIVIDED, name, number, result)

    def _restore(self, kind: int, number: int, event: LoggedEvent) -> Plan[Outcome]:
        name = RECORD_TYPES[kind].name
        restore = restore_record.plan(self._ids, self._client, kind, number, self._at, new_write_key(), self._by)
        return self._outcome(RESTORED, name, number, (yield from _attempt(restore)))

    def _delete(self, kind: int, number: int, later: Sequence[LoggedEvent]) -> Plan[Outcome]:
        """Move a record into the bin that the change created, unless it has changed since, or contacts stay with the company."""
        name = RECORD_TYPES[kind].name
        touch = next((event for event in later if not self._is_own(event)), None)
        if touch is not None:
            return Outcome(KEPT, name, number, f"it has changed since: {touch.type} at {to_text(touch.at)[:16]}Z")
        if kind == COMPANY:
            rows = yield Execute(CONTACT_IDS_OF_COMPANY, [(self._client, number)])
            staying = len(rows) - ((yield from self._going([row[0] for row in rows])) if self._dry_run and rows else 0)
            if staying:
                return Outcome(KEPT, name, number, f"contacts that stay belong to it: {staying}")
        if self._dry_run:
            return Outcome(DELETED, name, number)
        delete = delete_record.plan(self._client, kind, number, self._at, new_write_key(), self._by)
        return self._outcome(DELETED, name, number, (yield from _attempt(delete)))

    def _going(self, contacts: Sequence[int]) -> Plan[int]:
        """Return how many contacts the change created and nobody changed since: the revert moves them into the bin before."""
        events = [LoggedEvent(self._client, "", 0, CONTACT, number) for number in contacts]
        histories = (yield from later_events(events)).values()
        return sum(history[0].type == "contact.created" and all(map(self._is_own, history)) for history in histories)

    def _update(self, kind: int, record: Record, events: Sequence[LoggedEvent]) -> Outcome | tuple[RecordUpdate[Any], list[str]]:
        """Return the update that gives a record its former values, and the fields that have changed since."""
        type_, present = RECORD_TYPES[kind], state_of(record, self._owner.settings.words(kind))
        if isinstance(record, Contact):
            present["emails"] = None if record.further_emails is None else all_emails(record.email, record.further_emails)
        fields: dict[str, Any] = {}
        custom: list[_CustomValue] = []
        changed: list[str] = []
        for name, (before, after) in net_changes(events).items():
            if name in FOLLOWS or present.get(name) == before:
                continue
            if present.get(name) != after:
                changed.append(name)
            elif name.startswith(CUSTOM):
                custom.append(_CustomValue(name.removeprefix(CUSTOM), before))
            elif name in (*type_.names, type_.status, "emails"):
                fields[name] = before
            else:
                changed.append(name)  # a time that the timeline gives
        if not fields and not custom:
            return Outcome(KEPT if changed else UNCHANGED, type_.name, record.id, _stays(changed))
        if fields.get("emails", ()) is None:
            fields["emails"] = [address] if (address := fields.get("email", present.get("email"))) else []
        try:
            update: RecordUpdate[Any] = update_of(type_, self._owner, record.id, RecordChange(fields, custom), self._at)
        except Invalid as invalid:
            return Outcome(KEPT, type_.name, record.id, "; ".join(f"{fault.pointer[1:]}: {fault.detail}" for fault in invalid.faults))
        update.by, update.transitions = self._by, None
        return update, changed

    def _write(self, kind: int, updates: Mapping[int, tuple[RecordUpdate[Any], list[str]]]) -> Plan[dict[int, Outcome]]:
        if not updates:
            return {}
        name = RECORD_TYPES[kind].name
        run = update_contacts if kind == CONTACT else update_companies
        writes = [update for update, _ in updates.values()]
        results = yield from run(writes, self._ids)
        if kind == CONTACT and (opt_outs := opt_outs_of(writes, results, (yield from listed_kinds([self._client])))):
            yield from list_opt_outs(opt_outs, self._at)
        outcomes: dict[int, Outcome] = {}
        for (number, (_, changed)), result in zip(updates.items(), results, strict=True):
            if result is NEEDS_TRANSACTION:
                raise SerializationConflict("another write came between")
            outcome = self._outcome(CHANGED, name, number, result)
            outcomes[number] = Outcome(KEPT, name, number, _stays(changed)) if changed and outcome.word == CHANGED else outcome
        return outcomes

    def revert_conversation(self, contact: int, events: Sequence[LoggedEvent]) -> Plan[Outcome]:
        """Undo the events of the conversation with a contact."""
        conversation: Conversation | None = yield from get_conversation.plan(self._client, contact)
        if conversation is None:
            return Outcome(KEPT, "conversation", contact, "the contact was deleted or merged since")
        until = conversation.snoozed_until_us
        present: dict[str, Any] = {
            "state": conversation.state(self._at),
            "assignee_id": conversation.assignee_id,
            "label": conversation.label,
            "snoozed_until": None if until is None or until <= self._at else to_text(until),
        }
        net = net_changes(events)
        back = {name: before for name, (before, after) in net.items() if present.get(name) == after != before}
        changed = [name for name, (before, _) in net.items() if name not in back and present.get(name) != before]
        if not back:
            return Outcome(KEPT if changed or not net else UNCHANGED, "conversation", contact, _stays(changed) or "it has no former value")
        until = None if "snoozed_until" not in back else from_text(back["snoozed_until"]) if back["snoozed_until"] else 0
        change = ConversationChange(
            state=back.get("state"),
            snoozed_until_us=None if until is not None and 0 < until <= self._at else until,
            label=back["label"] or "" if "label" in back else None,
            assignee_id=back["assignee_id"] or "" if "assignee_id" in back else None,
        )
        result = yield from _attempt(change_conversation.plan(self._client, contact, change, self._at, self._by))
        outcome = self._outcome(CHANGED, "conversation", contact, result)
        return Outcome(KEPT, "conversation", contact, _stays(changed)) if changed and outcome.word == CHANGED else outcome

    def _revert_entries(self, events: Sequence[LoggedEvent]) -> Plan[list[Outcome]]:
        """Take entries off the do-not-contact list that the change put there, unless there is another reason for them."""
        times: dict[int, set[Micros]] = {}
        for event in events:
            times.setdefault(event.data["suppression_id"], set()).add(event.at)
        added = {event.data["suppression_id"] for event in events if event.type == EventType.SUPPRESSION_ADDED}
        outcomes: list[Outcome] = []
        for number, at in times.items():
            rows = yield Execute(ENTRY_BY_ID, [(self._client, number)])
            entry = EntryRow(*rows[0]) if rows else None
            is_listed = entry is not None and entry.reason is not None
            if entry is None or is_listed != (number in added):
                outcomes.append(Outcome(UNCHANGED, "suppression", number))
            elif number not in added:
                outcomes.append(Outcome(KEPT, "suppression", number, "it was taken off the do-not-contact list: add it there again"))
            else:
                outcomes.append((yield from self._unblock(entry, at)))
        return outcomes

    def _unblock(self, entry: EntryRow, at: Collection[Micros]) -> Plan[Outcome]:
        def is_own(cause: Cause) -> bool:
            return cause.at_us in at and cause.key.startswith(MADE_BY_ACTS)

        rows = yield Execute(CAUSES_OF, [(self._client, *entry.address)])
        live = live_causes(map(cause_of, rows), entry.removed_us)
        if not self._may_unblock:
            return Outcome(KEPT, "suppression", entry.id, MAY_NOT_UNBLOCK)
        if not all(is_own(cause) for cause in live):
            yield from drop_causes(self._client, [entry.address], is_own, self._at)
            return Outcome(KEPT, "suppression", entry.id, "there is another reason on the do-not-contact list")
        yield from with_cause(remove_entry.plan(self._client, entry.id, self._at), self._caused)
        return Outcome(UNBLOCKED, "suppression", entry.id)

    def _caused(self, event: LoggedEvent) -> LoggedEvent:
        event.cause = by_request(self._by)
        return event

    def _outcome(self, word: str, name: str, number: int, result: object) -> Outcome:
        return Outcome(KEPT, name, number, result.detail) if isinstance(result, TouchbaseError) else Outcome(word, name, number)


def _stays(changed: Sequence[str]) -> str:
    return f"changed since: {', '.join(changed)}" if changed else ""
