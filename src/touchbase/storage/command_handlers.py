"""The handler of each command: one table for all engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from touchbase.auth import sql as auth_sql
from touchbase.auth.commands import RevokeKey, RotateKey, StoreKey, StoreKeyUses
from touchbase.bin.commands import DeleteRecord, RestoreRecord
from touchbase.bin.sql import delete as bin_delete
from touchbase.bin.sql import restore as bin_restore
from touchbase.cells import sql as cells_sql
from touchbase.clients.commands import CreateClient, EnsureClient, RemoveClientRows, RotateClientId, SetClientSettings
from touchbase.clients.sql import commands as clients_sql_commands
from touchbase.clients.sql import removal as clients_sql_removal
from touchbase.clients.sql import statements as clients_sql
from touchbase.clients.sql import stored_bytes as stored_bytes_sql
from touchbase.common.timestamps import Micros
from touchbase.company_links.commands import FollowChanges, LinkPage
from touchbase.company_links.sql import follow as company_links_sql
from touchbase.connections.commands import AddConnection, ChangeConnection, FinishFetch, RemoveConnection
from touchbase.connections.silence import CountCalls, JudgeConnection
from touchbase.connections.sql import commands as connections_sql
from touchbase.connections.sql import encrypted_columns
from touchbase.connections.sql import fetching as fetch_sql
from touchbase.connections.sql import silence as silence_sql
from touchbase.custom_fields import sql as custom_fields_sql
from touchbase.custom_fields.commands import ChangePage
from touchbase.do_not_contact.commands import RemoveEntry, SaveEntries
from touchbase.do_not_contact.sql.entries import remove_entry, save_entries, save_needs
from touchbase.do_not_contact.sql.marking import marking
from touchbase.encryption.cipher import Cipher
from touchbase.encryption.commands import Reencrypt
from touchbase.erasure.commands import AddErasures, ErasePerson
from touchbase.erasure.sql import commands as erasure_sql
from touchbase.events.claiming import claim, claim_if_unchanged, claim_named, peek
from touchbase.events.delivery_outcomes import record_failure
from touchbase.events.projection import IN_USE, NOT_DELETED, apply_batch, apply_needs
from touchbase.imports import sql as imports_sql
from touchbase.imports.commands import ImportRows
from touchbase.inbox.commands import CountRepeat, PruneBodies, ReplayMany, StoreDelivery
from touchbase.inbox.refused import StoreRefusals
from touchbase.inbox.sql import body_retention
from touchbase.inbox.sql import refused as refused_sql
from touchbase.inbox.sql.commands import count_repeats, replay_many, store_deliveries
from touchbase.jobs import sql as jobs_sql
from touchbase.jobs.commands import CreateJob
from touchbase.merging.commands import MergeRecords, UndoMerge
from touchbase.merging.sql import merge as merging_merge
from touchbase.merging.sql import undo as merging_undo
from touchbase.messages.commands import ImportMessages
from touchbase.messages.sql import plans as messages_sql
from touchbase.outgoing.commands import AddEndpoint, ChangeEndpoint, Replay, StoreAttempt, StoreProgress
from touchbase.outgoing.sql import dispatch as outgoing_dispatch
from touchbase.outgoing.sql import endpoints as outgoing_endpoints
from touchbase.records.commands import CreateCompany, CreateContact, Created, UpdateCompany, UpdateContact, UpsertCompany, UpsertContact
from touchbase.records.models import Company, Contact
from touchbase.records.sql import create as sql_create
from touchbase.records.sql import update as sql_update
from touchbase.records.sql import upsert as sql_upsert
from touchbase.records.sql.suppression_guard import guarded
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan
from touchbase.statuses.commands import ApplyRefused, RenameStatus
from touchbase.statuses.sql import refused as statuses_refused
from touchbase.statuses.sql import renames as statuses_sql
from touchbase.storage.query_handlers import QueryHandlers

__all__ = [
    "COMMANDS",
    "IN_USE",
    "NOT_DELETED",
    "RESERVE_IDS",
    "Handler",
    "QueryHandlers",
    "apply_batch",
    "apply_needs",
    "claim",
    "claim_if_unchanged",
    "claim_named",
    "peek",
    "record_failure",
    "with_cipher",
]  # fmt: skip


def _none(commands: Any) -> Mapping[str, int]:
    return {}


def _one(name: str) -> Callable[[Any], Mapping[str, int]]:
    """Return the needs of commands that take up to one id each."""
    return lambda commands: {name: len(commands)}


def _record(name: str) -> Callable[[Any], Mapping[str, int]]:
    """Return the needs of commands that take an id for a record, and one for each of its custom fields."""
    return lambda commands: {name: len(commands), "custom_field": sum(len(command.custom) for command in commands)}


def _refused(commands: Any) -> Mapping[str, int]:
    """Return the needs of `StoreRefusals`: an id for each refused webhook."""
    return {"refusal": sum(len(command.refused) for command in commands)}


def _each(execute: Callable[..., Plan[Any]], *, takes_ids: bool = False) -> Callable[..., Plan[list[object]]]:
    """Return a plan that executes a batch's commands one after the other, for rare commands."""

    def run(commands: Sequence[Any], ids: Ids, **cipher: Cipher) -> Plan[list[object]]:
        results: list[object] = []
        for command in commands:
            results.append((yield from execute(command, *([ids] if takes_ids else ()), **cipher)))
        return results

    return run


def _written_record(result: object) -> Contact | Company | None:
    """Return the record in the result of a write; None for an error."""
    record = result.record if isinstance(result, Created) else result
    return record if isinstance(record, Contact | Company) else None


def _time_of_write(command: Any) -> Micros:
    """Return when a write of a record is made."""
    if isinstance(command, UpsertContact | UpsertCompany):
        command = command.create
    at: Micros = command.record.created_us if isinstance(command, CreateContact | CreateCompany) else command.at
    return at


def _marked(run: Callable[[Any, Ids], Plan[list[object]]]) -> Callable[[Any, Ids], Plan[list[object]]]:
    """Return the plan of writes of records, which says of each record whether it must not be contacted."""
    return marking(run, _written_record, _time_of_write)


@dataclass(frozen=True, slots=True)
class Handler:
    """The implementation of one type of command.

    `run` takes a batch's commands of this type and returns one result, or one `TouchbaseError` instance, for each in
    order. `needs` returns how many ids they may take. `solo` means that a single statement does the whole write and the
    others only read, so that an engine may skip the transaction, unless a command of the batch is `guarded`: then
    erasures are read before the write, and lifted after it. With `needs_cipher`, `run` takes the store's cipher too.
    """

    run: Callable[..., Plan[list[object]]]
    needs: Callable[[Any], Mapping[str, int]] = _none
    solo: bool = False
    needs_cipher: bool = False


COMMANDS: dict[type, Handler] = {
    CreateContact: Handler(_marked(guarded(sql_create.create_contacts)), _record("contact"), solo=True),
    CreateCompany: Handler(_marked(sql_create.create_companies), _record("company"), solo=True),
    UpdateContact: Handler(_marked(guarded(sql_update.update_contacts)), sql_update.update_needs),
    UpdateCompany: Handler(_marked(sql_update.update_companies), sql_update.update_needs),
    UpsertContact: Handler(_marked(sql_upsert.upsert_contacts), sql_upsert.upsert_needs),
    UpsertCompany: Handler(_marked(sql_upsert.upsert_companies), sql_upsert.upsert_needs),
    StoreDelivery: Handler(store_deliveries, _one("delivery"), solo=True),
    CountRepeat: Handler(count_repeats, solo=True),
    ReplayMany: Handler(_each(replay_many)),
    StoreRefusals: Handler(refused_sql.store_refusals, _refused, needs_cipher=True),
    EnsureClient: Handler(clients_sql.ensure_clients, _one("client")),
    SetClientSettings: Handler(_each(clients_sql.set_settings)),
    AddConnection: Handler(_each(connections_sql.add_connection), needs_cipher=True),
    ChangeConnection: Handler(_each(connections_sql.change_connection), needs_cipher=True),
    RemoveConnection: Handler(_each(connections_sql.remove_connection)),
    CountCalls: Handler(_each(silence_sql.count_calls)),
    JudgeConnection: Handler(_each(silence_sql.judge)),
    Reencrypt: Handler(_each(encrypted_columns.reencrypt_batch), needs_cipher=True),
    StoreKey: Handler(_each(auth_sql.store_key)),
    CreateClient: Handler(_each(clients_sql_commands.create_client, takes_ids=True), _one("client")),
    RotateClientId: Handler(_each(clients_sql_commands.rotate_id)),
    RemoveClientRows: Handler(_each(clients_sql_removal.remove_rows)),
    **{kind: Handler(_each(plan)) for kind, plan in stored_bytes_sql.COMMANDS.items()},
    RotateKey: Handler(_each(auth_sql.rotate_key)),
    RevokeKey: Handler(_each(auth_sql.revoke_key)),
    StoreKeyUses: Handler(auth_sql.store_key_uses, solo=True),
    FinishFetch: Handler(_each(fetch_sql.finish_fetch)),
    ErasePerson: Handler(_each(erasure_sql.erase_person, takes_ids=True), _one("erasure")),
    AddErasures: Handler(_each(erasure_sql.add_erasures, takes_ids=True), erasure_sql.add_needs),
    CreateJob: Handler(_each(jobs_sql.create_limited_job, takes_ids=True), _one("job")),
    ChangePage: Handler(_each(custom_fields_sql.change_page, takes_ids=True), custom_fields_sql.change_needs),
    FollowChanges: Handler(_each(company_links_sql.follow_changes, takes_ids=True), company_links_sql.link_needs),
    LinkPage: Handler(_each(company_links_sql.link_page, takes_ids=True), company_links_sql.link_needs),
    ImportRows: Handler(_each(imports_sql.import_rows, takes_ids=True), imports_sql.import_needs),
    PruneBodies: Handler(_each(body_retention.prune_bodies)),
    DeleteRecord: Handler(_each(bin_delete.delete_record)),
    RestoreRecord: Handler(_each(bin_restore.restore_record, takes_ids=True), bin_restore.restore_needs),
    MergeRecords: Handler(_each(merging_merge.merge_records, takes_ids=True), merging_merge.merge_needs),
    UndoMerge: Handler(_each(merging_undo.undo_merge, takes_ids=True), merging_undo.undo_needs),
    ImportMessages: Handler(_each(messages_sql.import_messages, takes_ids=True), messages_sql.import_needs),
    SaveEntries: Handler(_each(save_entries, takes_ids=True), save_needs),
    RemoveEntry: Handler(_each(remove_entry)),
    AddEndpoint: Handler(_each(outgoing_endpoints.add_endpoint, takes_ids=True), _one("webhook_endpoint"), needs_cipher=True),
    ChangeEndpoint: Handler(_each(outgoing_endpoints.change_endpoint), needs_cipher=True),
    Replay: Handler(_each(outgoing_endpoints.replay), needs_cipher=True),
    StoreProgress: Handler(outgoing_dispatch.store_progress, outgoing_dispatch.progress_needs),
    StoreAttempt: Handler(_each(outgoing_dispatch.store_attempt, takes_ids=True), _one("webhook_attempt")),
    RenameStatus: Handler(_each(statuses_sql.rename_status, takes_ids=True), lambda commands: {"job": 2 * len(commands)}),
    ApplyRefused: Handler(_each(statuses_refused.apply_refused)),
    **{kind: Handler(_each(plan)) for kind, plan in cells_sql.COMMANDS.items()},
    **{kind: Handler(_each(plan), needs_cipher=True) for kind, plan in cells_sql.CIPHER_COMMANDS.items()},
}


def with_cipher(handlers: Mapping[type, Handler], cipher: Cipher) -> dict[type, Handler]:
    """Return the handlers, with this cipher bound where one is needed."""
    return {
        kind: replace(handler, run=partial(handler.run, cipher=cipher), needs_cipher=False) if handler.needs_cipher else handler
        for kind, handler in handlers.items()
    }
