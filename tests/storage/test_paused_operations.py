"""Every operation that names a record, with another one between any two of its statements, gives what one after the other gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from hashlib import md5
from inspect import signature
from typing import Any

import msgspec
import pytest
from tests.examples import FULL
from tests.operations import all_commands
from tests.storage.paused import BROKEN, NOON, Action, Outcome, Stage

from touchbase.blocking.plans import BlockTerms, block_contact, block_conversations, unblock_contact
from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import SECOND
from touchbase.conversations.answers import (
    UNDO_US,
    AnswerOutcome,
    ClaimedAnswer,
    claim_answer,
    prune_answers,
    queue_answer,
    settle_answer,
    take_back_answer,
)
from touchbase.conversations.drafts import store_draft
from touchbase.conversations.notifications import (
    NewNotification,
    claim_mails,
    prune_notifications,
    read_notifications,
    return_mails,
    store_notifications,
)
from touchbase.conversations.plans import ConversationChange, StatusUpdate, change_conversation, change_conversations, mark_conversation
from touchbase.custom_fields.changes import FieldJob
from touchbase.custom_fields.sql import change_page as change_field_page
from touchbase.deliveries.delivery import Delivery
from touchbase.do_not_contact.models import EMAIL, NewEntry
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries
from touchbase.erasure.sql.erasures import erase_pending, erase_person, lift_erasure
from touchbase.history.events import COMPANY, CONTACT, NO_AUTHOR, Event, Translation
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import RequestKey
from touchbase.imports.report import ImportOptions
from touchbase.imports.rows import ValidRow
from touchbase.imports.sql import import_rows
from touchbase.imports.table import Row
from touchbase.inbox.sql.commands import store_delivery
from touchbase.merging.models import Policy
from touchbase.merging.sql.join import join_and_upsert
from touchbase.merging.sql.merge import merge_records
from touchbase.merging.sql.restore import restore_record
from touchbase.merging.sql.undo import forget_merges, undo_merge
from touchbase.merging.sql.write_batch import write_batch
from touchbase.messages.models import RECEIVED, SENT, Message
from touchbase.messages.sql.plans import (
    add_custom_field,
    create_message,
    delete_message,
    prune_messages,
    remove_custom_field,
    set_interested,
)
from touchbase.notes.plans import change_note, create_note, delete_note
from touchbase.projection.delete import delete_record, remove_deleted
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_company, update_contact, upsert_company, upsert_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing
from touchbase.records.writes import Creation, RecordUpdate, RecordUpsert
from touchbase.search.api.bulk import change_page
from touchbase.sql.operation import Command
from touchbase.statuses.sql.renames import rewrite_statuses
from touchbase.stores.postgres import PostgresStore
from touchbase.tasks.plans import TaskUpdate, change_task, create_task, delete_task


@dataclass(slots=True)
class World:
    """Records that each run begins with."""

    ann: int = 0
    """With a message, a custom field, a company, an event of a tool; Cat was merged into her."""
    bob: int = 0
    dan: int = 0
    """In the bin."""
    acme: int = 0
    """Ann's company; another one was merged into it."""
    beta: int = 0
    gone: int = 0
    """In the bin."""
    message: int = 0
    answer: int = 0
    note: int = 0
    task: int = 0
    """To the message, still queued."""
    claimed: ClaimedAnswer | None = None
    """Another one, which is being sent."""
    merge: int = 0
    company_merge: int = 0
    entry: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """What distinguishes two calls of one operation."""

    client: int
    number: int

    @property
    def at(self) -> int:
        """The time of the call."""
        return NOON + (100 + self.number) * SECOND

    @property
    def key(self) -> str:
        """The key of its entry in the history."""
        return f"api:turn:{self.number}"


Call = Callable[[World, Turn], Action]


def contact(turn: Turn, email: str, **more: Any) -> Contact:
    """A new contact."""
    return Contact(turn.client, 0, turn.at, turn.at, email=email, email_key=email, **more)


def change(turn: Turn, number: int, changes: dict[str, Any], **more: Any) -> RecordUpdate[Any]:
    """A change of a record."""
    return RecordUpdate(turn.client, number, changes, more.pop("custom", {}), turn.at, more.pop("key", turn.key), **more)


def message(turn: Turn, number: int) -> Message:
    """A received message."""
    return Message(
        0,
        RECEIVED,
        EMAIL,
        turn.at,
        turn.key,
        None,
        turn.at,
        "api",
        subject="Hello",
        text="A secret",
        message_id="<a1@mail.example>",
        contact_id=number,
    )


PROFILE, FURTHER = "linkedin.com/in/ann", "linkedin.com/in/ann-2"
LATER = NOON + 3600 * SECOND


def of_client(turn: Turn, claimed: ClaimedAnswer | None) -> ClaimedAnswer:
    """The claimed answer, as the client of a turn has it."""
    assert claimed is not None
    return ClaimedAnswer(replace(claimed.answer, client=turn.client), claimed.message)


def upsert(turn: Turn, email: str) -> RecordUpsert[Contact]:
    """A contact with a name, by its address."""
    creation = Creation(contact(turn, email, first_name=f"Name {turn.number}"), [("Size", f"{turn.number}")])
    update = change(turn, 0, {"email": email, "email_key": email, "first_name": f"Name {turn.number}"}, custom={"Size": f"{turn.number}"})
    return RecordUpsert(creation, update, "email_key")


def upsert_of_company(turn: Turn) -> RecordUpsert[Company]:
    """A company with a name, by its domain."""
    creation = Creation(Company(turn.client, 0, turn.at, turn.at, "acme.example", name=f"Acme {turn.number}"))
    return RecordUpsert(creation, change(turn, 0, {"domain": "acme.example", "name": f"Acme {turn.number}"}), "domain")


def import_row(turn: Turn, domain: str = "acme.example") -> Command[Any]:
    """A row about Ann with her company, or another one."""
    company = Creation(Company(turn.client, 0, turn.at, turn.at, domain))
    row = ValidRow(Row(2, []), Creation(contact(turn, "ann@a.example", last_name=f"Row {turn.number}")), company)
    return import_rows(turn.client, "contact", [row], ImportOptions(started_us=turn.at), turn.at, ClientSettings())


def once(turn: Turn, command: Command[Any]) -> Command[Any]:
    """A command with an idempotency key of its own."""
    return execute_once(RequestKey(turn.client, f"key {turn.number}", b"f" * 16, turn.at), command, lambda result: None)


async def apply_webhooks(store: PostgresStore, turn: Turn) -> object:
    """Apply what waits."""
    return (await store.work(turn.client, 10, translate, turn.at)).taken


def translate(delivery: Delivery) -> Translation:
    """Bodies that are our own events."""
    return Translation("hubspot", [msgspec.convert(item, Event) for item in msgspec.json.decode(delivery.body)])


CALLS: dict[str, tuple[type | None, Call]] = {
    "create_contact: of a company": (
        create_contact,
        lambda w, t: create_contact(Creation(contact(t, f"new{t.number}@a.example", company_id=w.acme))),
    ),
    "create_contact: her address": (
        create_contact,
        lambda w, t: create_contact(Creation(contact(t, "ann@a.example"), on_duplicate="return")),
    ),
    "create_contact: several addresses": (
        create_contact,
        lambda w, t: create_contact(Creation(contact(t, f"new{t.number}@a.example", further_emails='["cat@a.example", "new@a.example"]'))),
    ),
    "create_company": (create_company, lambda w, t: create_company(Creation(Company(t.client, 0, t.at, t.at, "delta.example")))),
    "update_contact: name": (
        update_contact,
        lambda w, t: update_contact(change(t, w.ann, {"first_name": f"Name {t.number}"}, custom={"Size": f"{t.number}"})),
    ),
    "update_contact: status": (update_contact, lambda w, t: update_contact(change(t, w.ann, {"status": "interested"}))),
    "update_contact: company": (update_contact, lambda w, t: update_contact(change(t, w.bob, {"company_id": w.acme}))),
    "update_contact: address": (
        update_contact,
        lambda w, t: update_contact(change(t, w.bob, {"email": "ann@a.example", "email_key": "ann@a.example"})),
    ),
    "update_contact: no address": (update_contact, lambda w, t: update_contact(change(t, w.bob, {"email": None, "email_key": None}))),
    "update_contact: further addresses": (
        update_contact,
        lambda w, t: update_contact(change(t, w.ann, {}, further={"cat@a.example": "cat@a.example", "ann2@a.example": "ann2@a.example"})),
    ),
    "update_company": (update_company, lambda w, t: update_company(change(t, w.acme, {"name": f"Acme {t.number}"}))),
    "upsert_contact": (upsert_contact, lambda w, t: upsert_contact(upsert(t, "ann@a.example"))),
    "upsert_contact: a former address": (upsert_contact, lambda w, t: upsert_contact(upsert(t, "cat@a.example"))),
    "join_and_upsert": (join_and_upsert, lambda w, t: join_and_upsert(upsert(t, "ann@a.example"))),
    "upsert_company": (upsert_company, lambda w, t: upsert_company(upsert_of_company(t))),
    "write_batch": (
        write_batch,
        lambda w, t: write_batch(
            t.client,
            [
                update_contact(change(t, w.ann, {"last_name": f"Last {t.number}"}, key=f"{t.key}:a")),
                upsert_contact(upsert(t, "bob@a.example")),
            ],
            True,
        ),
    ),
    "change_page": (
        change_page,
        lambda w, t: change_page(t.client, Listing(CONTACT_TYPE, t.client, 10), change(t, 0, {"last_name": f"Last {t.number}"})),
    ),
    "change_field_page": (
        change_field_page,
        lambda w, t: change_field_page(
            t.client, CONTACT, FieldJob("rename", "Size", "Length"), [w.ann, w.bob], t.key, t.at, NO_AUTHOR, t.at
        ),
    ),
    "import_rows": (import_rows, lambda w, t: import_row(t)),
    "import_rows: another company": (import_rows, lambda w, t: import_row(t, "beta.example")),
    "execute_once": (execute_once, lambda w, t: once(t, update_contact(change(t, w.ann, {"first_name": f"Name {t.number}"})))),
    "rewrite_statuses": (rewrite_statuses, lambda w, t: rewrite_statuses(t.client, CONTACT, [w.ann, w.bob], t.at)),
    "create_message": (create_message, lambda w, t: create_message(t.client, message(t, w.ann))),
    "delete_message": (delete_message, lambda w, t: delete_message(t.client, w.message)),
    "set_interested": (set_interested, lambda w, t: set_interested(t.client, w.message, True, t.at, {"A": f"{t.number}"})),
    "add_custom_field": (add_custom_field, lambda w, t: add_custom_field(t.client, w.message, "A", f"{t.number}", t.at)),
    "remove_custom_field": (remove_custom_field, lambda w, t: remove_custom_field(t.client, w.message, "B", t.at)),
    "change_conversation: done": (
        change_conversation,
        lambda w, t: change_conversation(t.client, w.ann, ConversationChange("done"), t.at),
    ),
    "change_conversation: open": (
        change_conversation,
        lambda w, t: change_conversation(t.client, w.ann, ConversationChange("open", label="later"), t.at),
    ),
    "change_conversations": (
        change_conversations,
        lambda w, t: change_conversations([(t.client, w.ann, None), (t.client, w.bob, None)], ConversationChange("done"), t.at),
    ),
    "change_conversations: status": (
        change_conversations,
        lambda w, t: change_conversations(
            [(t.client, w.ann, None)],
            ConversationChange(),
            t.at,
            NO_AUTHOR,
            {(t.client, w.ann): StatusUpdate(change(t, w.ann, {"status": f"status_{t.number}"}), None, is_checked=False)},
        ),
    ),
    "block_conversations": (
        block_conversations,
        lambda w, t: block_conversations(
            [(t.client, w.ann, None), (t.client, w.bob, None)], t.at, t.key, NO_AUTHOR, BlockTerms("requested")
        ),
    ),
    "block_conversations: none": (
        block_conversations,
        lambda w, t: block_conversations([(t.client, w.bob, None)], t.at, t.key),
    ),
    "mark_conversation": (mark_conversation, lambda w, t: mark_conversation(t.client, w.ann, "u1")),
    "mark_conversation: unread": (mark_conversation, lambda w, t: mark_conversation(t.client, w.ann, "u1", None, False)),
    "store_notifications": (
        store_notifications,
        lambda w, t: store_notifications(t.client, [NewNotification("u1", "reply", f"evt_{t.number}", w.ann, mail_us=1)], t.at, t.number),
    ),
    "claim_mails": (claim_mails, lambda w, t: claim_mails(t.client, "u1", t.at)),
    "return_mails": (return_mails, lambda w, t: return_mails(t.client, [1], t.at)),
    "read_notifications": (read_notifications, lambda w, t: read_notifications(t.client, "u1", t.at)),
    "prune_notifications": (prune_notifications, lambda w, t: prune_notifications(t.client, t.at, 10)),
    "store_draft": (store_draft, lambda w, t: store_draft(t.client, w.ann, "u1", f"{t.number}", t.at)),
    "store_draft: none": (store_draft, lambda w, t: store_draft(t.client, w.ann, "u1", "", t.at)),
    "create_note": (create_note, lambda w, t: create_note(t.client, CONTACT, w.ann, f"{t.number}", ["u1"], t.at, t.key, NO_AUTHOR)),
    "change_note": (change_note, lambda w, t: change_note(t.client, CONTACT, w.ann, w.note, f"{t.number}", [], t.at, NO_AUTHOR)),
    "delete_note": (delete_note, lambda w, t: delete_note(t.client, CONTACT, w.ann, w.note, t.at, NO_AUTHOR)),
    "create_task": (
        create_task,
        lambda w, t: create_task(t.client, CONTACT, w.ann, f"{t.number}", t.at, "u1", t.at, t.key, NO_AUTHOR),
    ),
    "change_task": (
        change_task,
        lambda w, t: change_task(t.client, CONTACT, w.ann, w.task, TaskUpdate(f"{t.number}", is_done=True), t.at, NO_AUTHOR),
    ),
    "delete_task": (delete_task, lambda w, t: delete_task(t.client, CONTACT, w.ann, w.task, t.at, NO_AUTHOR)),
    "queue_answer": (
        queue_answer,
        lambda w, t: queue_answer(t.client, w.ann, w.message, f"{t.number}", t.at, closes=True, confirmed=True),
    ),
    "take_back_answer": (take_back_answer, lambda w, t: take_back_answer(t.client, w.ann, w.answer, t.at)),
    "claim_answer": (claim_answer, lambda w, t: claim_answer(t.client, w.answer, NOON + UNDO_US, LATER)),
    "settle_answer": (settle_answer, lambda w, t: settle_answer(t.client, of_client(t, w.claimed), AnswerOutcome(SENT), t.at, t.key)),
    "prune_answers": (prune_answers, lambda w, t: prune_answers(t.client, t.at, 10)),
    "prune_messages": (prune_messages, lambda w, t: prune_messages(t.client, t.at, 10)),
    "save_entries": (save_entries, lambda w, t: save_entries(t.client, [NewEntry(EMAIL, "ann@a.example", note=f"{t.number}")], t.at)),
    "remove_entry": (remove_entry, lambda w, t: remove_entry(t.client, w.entry, t.at)),
    "block_contact": (block_contact, lambda w, t: block_contact(t.client, w.bob, t.at, t.key, "requested")),
    "unblock_contact": (unblock_contact, lambda w, t: unblock_contact(t.client, w.bob, t.at, t.key)),
    "delete_record": (delete_record, lambda w, t: delete_record(t.client, CONTACT, w.ann, t.at, t.key)),
    "delete_record: company": (delete_record, lambda w, t: delete_record(t.client, COMPANY, w.acme, t.at, t.key)),
    "restore_record": (restore_record, lambda w, t: restore_record(t.client, CONTACT, w.dan, t.at, t.key)),
    "restore_record: company": (restore_record, lambda w, t: restore_record(t.client, COMPANY, w.gone, t.at, t.key)),
    "remove_deleted": (remove_deleted, lambda w, t: remove_deleted(t.client, t.at, 10, t.at)),
    "merge_records": (merge_records, lambda w, t: merge_records(t.client, CONTACT, w.bob, [w.ann], Policy("newest"), t.at, t.key)),
    "merge_records: survivor": (
        merge_records,
        lambda w, t: merge_records(t.client, CONTACT, w.ann, [w.bob], Policy("newest"), t.at, t.key),
    ),
    "merge_records: company": (
        merge_records,
        lambda w, t: merge_records(t.client, COMPANY, w.beta, [w.acme], Policy("newest"), t.at, t.key),
    ),
    "undo_merge": (undo_merge, lambda w, t: undo_merge(t.client, CONTACT, w.ann, w.merge, 0, t.at, t.key)),
    "undo_merge: company": (undo_merge, lambda w, t: undo_merge(t.client, COMPANY, w.acme, w.company_merge, 0, t.at, t.key)),
    "forget_merges": (forget_merges, lambda w, t: forget_merges(t.client, t.at, 10)),
    "erase_person": (erase_person, lambda w, t: erase_person(t.client, t.at, w.ann)),
    "erase_person: an address": (erase_person, lambda w, t: erase_person(t.client, t.at, refs=[("", "email", "cat@a.example")])),
    "lift_erasure": (lift_erasure, lambda w, t: lift_erasure(t.client, [("", "email", "ann@a.example")])),
    "erase_pending": (erase_pending, lambda w, t: erase_pending(t.client, [("hubspot", "contact", "7")], t.at)),
    "webhooks": (None, lambda w, t: lambda store: apply_webhooks(store, t)),
}
"""How each operation that names a record is called; each is tried beside itself and beside `OTHERS`: a third of them in CI, all weekly."""
OTHERS = (
    "merge_records", "merge_records: survivor", "merge_records: company", "delete_record", "delete_record: company", "erase_person",
    "undo_merge", "undo_merge: company", "webhooks",
)  # fmt: skip
SAME_RECORDS = (
    ("merge_records", "merge_records: survivor"), ("update_contact: name", "erase_person"), ("upsert_contact", "webhooks"),
    ("block_contact", "update_contact: no address"), ("update_contact: company", "delete_record: company"),
    ("update_contact: company", "merge_records: company"), ("import_rows", "merge_records: company"),
    ("import_rows", "delete_record: company"), ("import_rows: another company", "erase_person"),
)  # fmt: skip
"""Pairs that rely on the same two rows: two contacts, a contact and the table, a contact and its client, a contact and a company."""
RECORD_PARAMETERS = {"absorbed", "contact_id", "company_id", "creation", "update", "upsert", "listing", "message", "numbers", "rows"}
"""Parameters of operations that name records."""


NAME_NO_RECORD = {
    "audit": "forget_acts record_act record_bulk_change",
    "auth.identities": "sign_in_identity",
    "auth.sessions": "end_sessions store_session store_session_uses",
    "auth.sql": "revoke_key rotate_key store_first_key store_key store_key_uses",
    "administration.snippets": "add_snippet change_snippet remove_snippet",
    "statuses.looks": "set_team_statuses",
    "auth.users": "change_user invite_user revoke_invitation set_password store_link use_link",
    "cells.sql": "add_cell adopt_erasure_key confirm_place forget_places move_place place_key raise_ids release_place remove_cell "
    "reserve_place set_addresses set_cell_state share_erasure_key",
    "clients.sql.clients": "begin_deletion create_client ensure_client rename_client rotate_client_id set_client_settings set_client_state",
    "clients.sql.stored_bytes": "claim_count store_count",
    "connections.sql.connections": "add_connection change_connection remove_connection",
    "connections.sql.fetching": "claim_fetch finish_fetch",
    "connections.sql.silence": "claim_check count_calls judge_connection",
    "attention.plans": "snooze_item wake_item",
    "custom_fields.sql": "define_field forget_field start_change",
    "custom_fields.uses": "store_parts",
    "deliveries.sql.body_retention": "drop_unrecognised prune_bodies",
    "deliveries.sql.objects": "begin_objects claim_removals end_removals name_objects restore_body",
    "do_not_contact.sql.copies": "copy_installation_list raise_list_revision",
    "encryption.encrypted_columns": "reencrypt_batch replace_lost retire_keys",
    "erasure.sql.erasures": "end_erasure",
    "event_log.sql.changes": "begin_change forget_changes_before",
    "changes.plans": "end_revert revert_rename revert_settings start_revert",
    "event_log.sql.queries": "trim_log",
    "idempotency.sql": "delete_responses",
    "imports.sql": "remove_mapping save_mapping",
    "event_archive.plans": "begin_event_file end_erasures_in_files lose_event_file store_event_file",
    "inbox.sql.commands": "count_repeat forget_dedupe_keys replay_deliveries replay_many store_delivery",
    "inbox.sql.refused": "store_refusals",
    "inbox.sql.refused_bodies": "drop_refused note_replay",
    "jobs.sql": "append_to_file change_job claim_job create_job import_tested_file remove_job_files renew_lease",
    "connections.sql.ignore_rules": "name_ignore_rule",
    "mapping.plans": "map_connection replay_mapped",
    "outgoing.sql.announced": "announce_installation_list",
    "outgoing.sql.dispatch": "forget_attempts lead_shards store_attempt store_progress",
    "outgoing.sql.endpoints": "add_endpoint change_endpoint remove_endpoint replay resume_endpoint rotate_secret",
    "outgoing.sql.pushes": "retry_pushes",
    "outgoing.sql.shared": "copy_shared",
    "presence": "note_presence",
    "records.sql.distinct_pairs": "add_distinct_pair remove_distinct_pair",
    "records.sql.status_moves": "correct_moves",
    "reports.sql.parts": "store_parts",
    "statuses.sql.refused": "recheck_statuses",
    "statuses.sql.renames": "define_status remove_status rename_status",
    "storage.batch": "probe",
    "views.plans": "add_view change_view remove_view set_default_view",
}
"""Operations that write no record and nothing of one: reviewed."""
LOCK_THE_CLIENT = {
    "clients.sql.removal": "remove_client_rows remove_moved_rows",  # of a client that no request is about any more
    "company_links.plans": "follow_changes link_page start_linking",
    "erasure.sql.erasures": "add_erasures sweep_erasure",
    "erasure.sql.texts": "strike_texts",
    "changes.plans": "reread_deliveries revert_deliveries revert_page",
    "jobs.runner": "execute_step",  # other operations
    "search.sql.index": "index_records",  # what it passes over it takes later
    "statuses.sql.refused": "apply_refused",
}
"""Operations of workers that change records: they lock the client's row first, as merges, deletions and erasures do, or need no lock."""
READ_WITHOUT_LOCK = {"create_contact: her address", "create_company"}
"""Creations that meet an existing record read it without a lock, which could wait or deadlock, and may be told to send it again."""


@pytest.fixture
async def stage(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Stage, World]]:
    """Two processes, and the records that each run begins with."""
    async with Stage.open(postgres_url, monkeypatch) as opened:
        world = await furnish(opened)
        await opened.freeze()
        yield opened, world


async def furnish(stage: Stage) -> World:
    """Make the template's records."""
    store, client, world = stage.plain, stage.template, World()
    turn = Turn(client, -90)

    async def company(domain: str) -> int:
        return (await store.write(create_company(Creation(Company(client, 0, NOON, NOON, domain))))).record.id

    async def person(name: str, **more: Any) -> int:
        creation = Creation(contact(Turn(client, -99), f"{name}@a.example", **more), [("Size", "1")])
        return (await store.write(create_contact(creation))).record.id

    async def webhook(*events: dict[str, Any], at: int) -> None:
        body = msgspec.json.encode(events)
        await store.write(store_delivery(client, "crm", md5(body).digest(), b"{}", "", body, NOON + at * SECOND))

    world.acme, world.beta, world.gone, delta = [await company(f"{name}.example") for name in ("acme", "beta", "gone", "delta")]
    world.ann = await person("ann", company_id=world.acme, linkedin_url=PROFILE, linkedin_key=PROFILE)
    world.bob = await person("bob", first_name="Bob")
    cat, world.dan = await person("cat", company_id=delta), await person("dan", company_id=world.acme)
    await webhook({"event": "email_sent", "email": "ann@a.example"}, {"event": "email_unsubscribed", "email": "cat@a.example"}, at=1)
    await webhook(
        {"event": "contact.updated", "email": "ann@a.example", "object_type": "contact", "object_id": "1", "fields": {"last_name": "A"}},
        at=2,
    )
    await webhook(
        {"event": "contact.updated", "email": "cat@a.example", "object_type": "contact", "object_id": "2", "fields": {"last_name": "C"}},
        at=3,
    )
    await store.work(client, 10, translate, NOON + 4 * SECOND)
    first = message(Turn(client, -80), world.ann)
    first.message_id = "<a0@mail.example>"
    world.message = (await store.write(create_message(client, first))).id
    await store.write(add_custom_field(client, world.message, "B", "1", turn.at))
    claimed, world.answer = [
        (await store.write(queue_answer(client, world.ann, world.message, text, NOON, confirmed=True))).id for text in ("Sent", "Queued")
    ]
    world.note = (await store.write(create_note(client, CONTACT, world.ann, "Hello", [], NOON, "api:note", NO_AUTHOR))).id
    world.task = (await store.write(create_task(client, CONTACT, world.ann, "Hello", NOON, None, NOON, "api:task", NO_AUTHOR))).id
    world.claimed = await store.write(claim_answer(client, claimed, NOON + UNDO_US, LATER))
    world.merge = (await store.write(merge_records(client, CONTACT, world.ann, [cat], Policy("newest"), turn.at, "api:m1"))).id or 0
    merged = await store.write(merge_records(client, COMPANY, world.acme, [delta], Policy("newest"), turn.at, "api:m2"))
    world.company_merge = merged.id or 0
    saved = await store.write(save_entries(client, [NewEntry(EMAIL, "ann@a.example")], turn.at))
    world.entry = saved[0].entry.id
    await store.write(delete_record(client, CONTACT, world.dan, turn.at, "api:d1"))
    await store.write(delete_record(client, COMPANY, world.gone, turn.at, "api:d2"))
    await webhook({"event": "email_replied", "email": "cat@a.example"}, {"event": "email_sent", "email": "dan@a.example"}, at=50)
    await webhook({"event": "email_sent", "email": "ann@a.example", "linkedin_url": FURTHER}, at=50)
    await webhook(
        {"event": "contact.updated", "email": "ann@a.example", "object_type": "contact", "object_id": "2", "custom": {"Size": "9"}}, at=51
    )
    return world


async def faults(stage: Stage, world: World, mine: str, second_item: str) -> list[str]:
    """Return what is wrong when one operation pauses and another one runs."""

    def first(client: int) -> Action:
        return CALLS[mine][1](world, Turn(client, 1))

    def second(client: int) -> Action:
        return CALLS[second_item][1](world, Turn(client, 2))

    before, written = await stage.in_order(first, second)
    swapped, more_written = await stage.in_order(second, first)
    after = Outcome((swapped.results[1], swapped.results[0]), swapped.rows, swapped.differences)
    results = ["\n  ".join([f"{mine} and {second_item}: a refused one wrote", *lines]) for lines in (written, more_written) if lines]
    pause, goes_on = 1, True  # the first statement begins the transaction
    while goes_on:
        outcome, goes_on = await stage.together(first, second, pause)
        pause += 1
        if mine in READ_WITHOUT_LOCK and not outcome.results[0].startswith(BROKEN):
            for item in (before, after, outcome):
                item.results = "", item.results[1]
        if mine == "change_page" and not outcome.results[0].startswith(BROKEN) and not outcome.differences:
            continue  # a page is changed record by record
        if wrong := min(outcome.difference(before), outcome.difference(after), key=len):
            results.append("\n  ".join([f"{mine}, before statement {pause - 1} {second_item}:", *wrong]))
    return results


def test_operations__are_all_tried_or_reviewed() -> None:
    tried = {kind for kind, _ in CALLS.values()}
    reviewed = {
        f"{module}.{name}" for table in (NAME_NO_RECORD, LOCK_THE_CLIENT) for module, names in table.items() for name in names.split()
    }
    others = {f"{kind.__module__.removeprefix('touchbase.')}.{kind.__name__}" for kind in all_commands() if kind not in tried}

    assert (others - reviewed, reviewed - others) == (set(), set())
    assert [kind.__name__ for kind in all_commands() if kind not in tried and names_a_record(kind)] == []


def names_a_record(kind: type) -> bool:
    """Whether calls of an operation name a contact or company that exists, or another operation that does."""
    parameters = signature(kind).parameters.keys()
    return bool(parameters & RECORD_PARAMETERS) or ("kind" in parameters and bool(parameters & {"id", "ids"}))


@pytest.mark.parametrize(("first", "second"), SAME_RECORDS)
async def test_operations__wait_for_another_one_on_the_same_records_instead_of_deadlocking(
    stage: tuple[Stage, World], first: str, second: str
) -> None:
    assert "\n".join([*await faults(*stage, first, second), *await faults(*stage, second, first)]) == ""


async def test_further_profile__has_one_owner_whenever_a_creation_with_it_runs(stage: tuple[Stage, World]) -> None:
    turn = Turn(0, 3)

    def create(client: int) -> Action:
        return create_contact(Creation(contact(replace(turn, client=client), "new@a.example", linkedin_url=FURTHER, linkedin_key=FURTHER)))

    def webhooks(client: int) -> Action:
        return lambda store: apply_webhooks(store, replace(turn, client=client))

    for first, second in ((create, webhooks), (webhooks, create)):
        pause, goes_on = 1, True
        while goes_on:
            outcome, goes_on = await stage[0].together(first, second, pause)
            assert outcome.differences == [], pause
            pause += 1


@pytest.mark.slow
@pytest.mark.parametrize("mine", CALLS)
async def test_operations__with_another_one_between_give_what_one_after_the_other_gives(stage: tuple[Stage, World], mine: str) -> None:
    sample = OTHERS if FULL else OTHERS[[*CALLS].index(mine) % 3 :: 3]
    fromkeys = [fault for other_fromkey in dict.fromkeys((*sample, mine)) for fault in await faults(*stage, mine, other_fromkey)]

    assert "\n".join(fromkeys) == ""
