"""The first wall: every statement that touches a client's rows names the client, but for those that are named here."""

from __future__ import annotations

import itertools
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import ENCRYPTION_KEYS
from tests.connections.silent import calls_until
from tests.operations import all_commands, all_queries
from tests.outgoing.unsent import miss_an_event
from tests.storage.statements import FOLDER, MAKERS, STATEMENTS, calls_of, module_at, texts

from touchbase.administration.snippets import Snippet, add_snippet, change_snippet, list_snippets, remove_snippet
from touchbase.attention.plans import Snooze, list_items, list_snoozes, snooze_item, wake_item
from touchbase.audit import count_audit_events, follow_audit_events, forget_acts, list_audit_events, record_act
from touchbase.auth.api_key import ApiKey
from touchbase.auth.identities import Identity, sign_in_identity
from touchbase.auth.sessions import Session, end_sessions, find_session, list_sessions, store_session, store_session_uses
from touchbase.auth.sql import (
    any_key,
    find_key,
    list_keys,
    list_personal_keys,
    revoke_key,
    rotate_key,
    store_first_key,
    store_key,
    store_key_uses,
)
from touchbase.auth.users import (
    INVITATION,
    INVITED,
    OneTimeLink,
    User,
    UserChange,
    any_user,
    change_user,
    find_password,
    find_user,
    has_link,
    invite_user,
    list_invitations,
    list_users,
    revoke_invitation,
    set_password,
    store_link,
    use_link,
)
from touchbase.cells.sql import (
    add_cell,
    adopt_erasure_key,
    cell_identity,
    confirm_place,
    find_key_place,
    find_place,
    forget_places,
    move_place,
    place_key,
    raise_ids,
    read_directory,
    release_place,
    remove_cell,
    reserve_place,
    set_addresses,
    set_cell_state,
    share_erasure_key,
)
from touchbase.changes.plans import end_revert, start_revert
from touchbase.clients.models import ACTIVE, ClientSettings, FieldType
from touchbase.clients.sql.clients import (
    begin_deletion,
    client_numbers,
    count_clients,
    create_client,
    deleting_clients,
    ensure_client,
    find_client,
    find_client_by_handle,
    find_client_by_number,
    list_active_clients,
    list_client_page,
    list_clients,
    list_clients_from,
    names_like,
    rotate_client_id,
    set_client_settings,
    set_client_state,
)
from touchbase.clients.sql.removal import remove_client_rows, remove_moved_rows
from touchbase.clients.sql.stored_bytes import count_stored, due_counts, list_near_limit, store_count
from touchbase.common.timestamps import DAY, SECOND
from touchbase.company_links.plans import clients_to_link, follow_changes, link_page, start_linking
from touchbase.connections.models import Connection
from touchbase.connections.sql.connections import add_connection, remove_connection
from touchbase.connections.sql.fetching import due_fetches
from touchbase.connections.sql.silence import claim_check, count_silent, due_judgements, judge_connection
from touchbase.conversations.answers import due_answers, prune_answers
from touchbase.conversations.drafts import find_draft, list_writers
from touchbase.conversations.notifications import (
    clients_to_prune,
    due_mails,
    find_assignees,
    find_dedupes,
    list_notifications,
    notification_positions,
    prune_notifications,
    read_notifications,
)
from touchbase.conversations.plans import (
    Filters,
    count_conversations,
    count_day,
    list_conversations,
    list_done_conversations,
)
from touchbase.custom_fields.changes import FieldJob
from touchbase.custom_fields.sql import define_field
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.sql.body_retention import drop_unrecognised, prune_bodies
from touchbase.deliveries.sql.objects import (
    any_object,
    begin_objects,
    claim_removals,
    count_objects,
    end_removals,
    movable_page,
    wanted_bodies,
)
from touchbase.do_not_contact.models import Addresses
from touchbase.do_not_contact.sql.copies import (
    InstallationList,
    copy_installation_list,
    list_revision,
    raise_list_revision,
    read_installation_list,
)
from touchbase.do_not_contact.sql.lookup import list_all_entries
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.encrypted_columns import check_encryption, check_keys, reencrypt_batch, replace_lost, retire_keys
from touchbase.encryption.keys import StaticKeys
from touchbase.erasure.models import StoredTexts
from touchbase.erasure.sql.erasures import add_erasures, erase_person, sweep_erasure
from touchbase.erasure.sql.persons import clients_with_erasures, list_all_requests, open_erasures
from touchbase.erasure.sql.texts import strike_texts
from touchbase.errors import TouchbaseError
from touchbase.event_archive.plans import clients_to_archive, erasures_in_files
from touchbase.event_log.sql.changes import begin_change, forget_changes_before, page_of_changes
from touchbase.event_log.sql.log import with_log
from touchbase.event_log.sql.queries import clients_with_events, list_newest_events, list_newest_places, trim_log
from touchbase.history.events import Author, Event, Translation
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.sql import expired_responses, find_response
from touchbase.imports.report import StoredMapping
from touchbase.imports.sql import save_mapping
from touchbase.inbox.sql.commands import replay_many, store_delivery
from touchbase.inbox.sql.queries import (
    busy_clients,
    count_inbox,
    get_delivery,
    group_deliveries,
    list_deliveries,
    newest_receipts,
    old_dedupe_keys,
)
from touchbase.inbox.sql.refused import list_refusals
from touchbase.inbox.sql.refused_bodies import drop_refused
from touchbase.jobs.models import UPLOADING, Job
from touchbase.jobs.sql import create_job, due_job_files, due_jobs, get_job, list_jobs, remove_job_files
from touchbase.mapping.plans import MappingJob, replay_mapped
from touchbase.merging.models import Policy
from touchbase.merging.sql.undo import forget_merges
from touchbase.messages.sql.plans import list_all_messages, prune_messages
from touchbase.notes.plans import find_note, list_notes
from touchbase.outgoing.models import Endpoint
from touchbase.outgoing.sql.announced import announce_installation_list
from touchbase.outgoing.sql.backlog import count_outgoing
from touchbase.outgoing.sql.dispatch import (
    endpoint_versions,
    forget_attempts,
    lead_shards,
    list_all_attempts,
    list_mail_endpoints,
    list_troubles,
    store_progress,
)
from touchbase.outgoing.sql.endpoints import add_endpoint, list_endpoints, replay
from touchbase.outgoing.sql.pushes import retry_pushes
from touchbase.outgoing.sql.shared import copy_shared, count_copies, newest_client, read_shared, shared_versions
from touchbase.presence import ServerFacts, list_servers, note_presence
from touchbase.projection.bin_rows import asked_erasures, list_all_deleted
from touchbase.projection.delete import delete_record, remove_deleted
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.sql.lookup import find_owner, match_everywhere
from touchbase.records.sql.reads import Listing, count_matching, find_record, list_records
from touchbase.records.sql.status_moves import QUARTER
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.reports.parts import CampaignGroups
from touchbase.reports.sql.closed import ClosedRows
from touchbase.reports.sql.statuses import report_statuses
from touchbase.retention.sql import clients_above_limits, list_oldest
from touchbase.search.api.bulk import change_page
from touchbase.search.fields import OWN_FIELDS, SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import RecordSearch
from touchbase.search.sorting import SortKey
from touchbase.search.sql.index import next_to_index
from touchbase.search.sql.plans import clients_with_matches, count_matches, count_matches_of, find_position, matches_filter, search_page
from touchbase.sql.ids import Ids
from touchbase.sql.migrations import packaged
from touchbase.sql.operation import Command, needs_of, no_client, plan_of, plan_of_query, scope_of
from touchbase.sql.scope import ALL_CLIENTS, CLIENT_LIST, NO_CLIENT
from touchbase.sql.statement import Plan, Select
from touchbase.statuses.looks import TeamStatus, list_team_statuses, set_team_statuses
from touchbase.statuses.sql.refused import apply_refused
from touchbase.statuses.sql.renames import define_status, remove_status
from touchbase.storage.batch import probe
from touchbase.storage.sqlite.connection import read
from touchbase.stores import open_store
from touchbase.tasks.plans import TaskFilters, count_due_tasks, find_task, list_newly_due, list_tasks
from touchbase.views.plans import View, add_view, change_view, find_view, list_views, remove_view, set_default_view

QUERIES = all_queries()
SPANNING: dict[type, str] = {
    list_personal_keys: "keys of one person, who may see several clients; a caller names oneself, or is an administrator of all",
    find_key: "a key says whose it is only when it is found; its id is on no page of another client",
    any_key: "whether there is one; of nobody's records",
    busy_clients: "numbers of clients that have work waiting, for the worker",
    count_inbox: "counts, for the metrics",
    due_answers: "numbers of clients, ids of answers and their tools, for the worker, who then names each client",
    clients_to_prune: "numbers of clients with old notifications, for the worker, who then names each client",
    due_mails: "numbers of clients and ids of people with notifications to mail, for the worker, who then names each client",
    list_newly_due: "tasks that became due, for the worker, who then tells their users",
    notification_positions: "numbers of clients and of events, for the worker, who then names each client",
    due_fetches: "numbers of clients and their tools, for the worker",
    expired_responses: "numbers of clients and idempotency keys whose time is over, for the housekeeper, who then names each client",
    old_dedupe_keys: "numbers of clients and keys of calls, for the housekeeper, who then names each client",
    clients_with_erasures: "numbers and times of clients, for a restored backup; nothing of a person",
    asked_erasures: "numbers of clients and contacts to erase, for the worker, who then names each client",
    clients_above_limits: "numbers of clients with bodies to remove, for retention, which then names each client",
    list_oldest: "numbers of clients and times of their oldest data, for retention, which then names each client",
    open_erasures: "erasures to go on with, for the worker, who then names each client; nothing of the person",
    due_jobs: "numbers of clients and ids of jobs, for the worker, who then names each client",
    store_first_key: "looks whether any key is there, and keeps one of no client",
    rotate_key: "finds a key by its id; the edge has looked whose it is",
    revoke_key: "as above",
    store_key_uses: "keys of many clients at once, by id: when they were used",
    add_erasures: "asks whether this store has erased anybody; an operator's command after a restore",
    check_encryption: "an operator counts what is sealed with which encryption key",
    reencrypt_batch: "an operator changes the encryption key of everything",
    retire_keys: "as above",
    replace_lost: "as above",
    claim_check: "the time of the last check for silences, of no client",
    due_judgements: "numbers of clients and their tools, for the housekeeper, who then names each client",
    count_silent: "counts, for the metrics",
    count_stored: "counts of bytes, for the metrics",
    movable_page: "numbers of clients and ids of deliveries, for the worker, who then names each client",
    wanted_bodies: "replayed deliveries whose bodies are away, for the worker, who then names each client",
    claim_removals: "numbers of clients and places of objects that no delivery names, for the worker",
    end_removals: "as above, once they are gone",
    count_objects: "counts, for the metrics",
    clients_to_archive: "numbers and ids of clients and of their oldest events, for the worker, who then names each client",
    erasures_in_files: "the next client's records that have to leave its files, with its number, for the worker, who then names the client",
    any_object: "whether there is any; of nobody's records",
    due_counts: "numbers of clients, for the housekeeper, who then names each client",
    list_near_limit: "numbers of clients and how many bytes they store, for the operator",
    list_newest_events: "numbers of clients and of their newest events, for what sends events on, which then names each client",
    clients_to_link: "numbers of clients, for the worker of links, which then names each client",
    count_outgoing: "counts, for the metrics",
    endpoint_versions: "numbers of clients and their endpoints, for what sends events, which then names each client",
    lead_shards: "which process sends for which clients, of no client",
    copy_shared: "gives each client its copy of the endpoints of all clients, for what sends events",
    count_copies: "counts of these copies by their state, for administrators of all clients",
    list_mail_endpoints: "endpoints that send e-mail, for the operator",
    list_troubles: "endpoints that do not work, for the operator",
    forget_changes_before: "removes old entries of the history by their time, for the housekeeper",
    forget_attempts: "removes old attempts by their time, for the housekeeper",
    next_to_index: "the number of a client with records to index, for the housekeeper, who then names the client",
}
"""What looks at all clients, and why it may: reviewed. Queries among it answer no client's records."""
SPANNING_UNLESS_NAMED = {
    store_key, list_keys, list_deliveries, group_deliveries, get_delivery, list_refusals, match_everywhere, get_job, list_jobs,
    find_owner, due_job_files, list_items, list_conversations, list_done_conversations, count_conversations,
    count_day, count_due_tasks, list_tasks, list_notifications, list_endpoints, list_all_attempts, list_newest_places, list_all_messages,
    page_of_changes, newest_receipts, list_all_entries, list_all_deleted, list_all_requests, list_snoozes, list_writers,
}  # fmt: skip
"""What is about all clients when it names none, which only an administrator of all of them can ask: reviewed."""
ABOUT_CLIENTS = {
    ensure_client, set_client_settings, create_client, rotate_client_id, deleting_clients, find_client, find_client_by_handle, list_clients,
    names_like, client_numbers, list_active_clients, list_clients_from, count_clients, newest_client, reserve_place, read_directory,
}  # fmt: skip
"""Commands and queries about the clients themselves, and nothing that they have: reviewed."""
ABOUT_CLIENTS_UNLESS_NAMED = {list_client_page}
"""The same when it names none: reviewed."""
OF_INSTALLATION = {
    add_cell, adopt_erasure_key, cell_identity,
    confirm_place, copy_installation_list, find_key_place, find_place, forget_places, move_place, place_key,
    raise_ids, list_revision, raise_list_revision, read_installation_list, release_place, remove_cell, set_addresses, set_cell_state,
    share_erasure_key,
    any_user, change_user, end_sessions, find_password, find_session, find_user, has_link, invite_user, list_invitations, list_sessions,
    list_users, revoke_invitation, set_password, sign_in_identity, store_link, store_session, store_session_uses, use_link,
    list_servers, note_presence, probe, count_audit_events, follow_audit_events, forget_acts, list_audit_events, record_act,
    add_snippet, change_snippet, list_snippets, remove_snippet, list_team_statuses, set_team_statuses, read_shared, shared_versions,
}  # fmt: skip
"""The directory of cells, the list and endpoints of the installation, people of the team, their snippets and statuses, the audit log, and
the servers that run: tables that have nothing of a client: reviewed."""
LOOKING_FURTHER: dict[type, str] = {
    rotate_client_id: "must see whether the new id is, or was, somebody else's",
    add_erasures: "as above: the secret that it brings is the store's, and there is one only",
}
"""What names its client and is held to a wider scope all the same: reviewed."""
FILES_WITH_ALL_CLIENTS = {
    "postgres/backup.py",
    "postgres/engine.py",
    "postgres/schema.py",
    "postgres/store_copy.py",
    "postgres/writer.py",
}
"""Where the scope of all clients is named: its definition, migrations, copies and dumps of a store, the writer, who gives it a transaction
of its own, and the start of a store, which seals what lies there in clear."""
BY_RIGHT: dict[str, str] = {
    "auth.sql.LOCK_KEY": "a key is found by its id, which is one of a kind in the whole store",
    "auth.sql.END_KEY": "the same key, locked before",
    "auth.sql.STORE_KEY_USE": "as above, for many at once",
    "clients.sql.clients.INSERT_CLIENT": "nobody gets an id that was another client's: looks whether it is there, and tells no more",
}
"""Statements of the write path that name no client: reviewed."""
NEEDS_NO_EXCEPTION = {
    list_deliveries, get_delivery, due_fetches, list_refusals, match_everywhere, get_job, list_jobs, due_jobs, due_answers, find_owner,
    due_mails, clients_to_link, due_judgements, count_silent, endpoint_versions, lead_shards, list_mail_endpoints, list_troubles,
    due_counts, clients_with_erasures, count_copies, clients_above_limits, list_oldest,
    list_conversations, list_done_conversations, count_conversations, list_notifications, list_newest_places,
    list_all_messages, list_newly_due, list_tasks, count_due_tasks, page_of_changes, newest_receipts, list_all_entries,
    clients_to_archive, erasures_in_files,
}  # fmt: skip
"""What spans clients with texts that name one in every table: client by client, or each table beside the row of the one before."""
SEALER = AesGcmCipher(StaticKeys(ENCRYPTION_KEYS.read()))

_tables = apsw.Connection(":memory:")
for migration in packaged("sqlite"):
    _tables.execute(migration.sql).fetchall()
WALLED = {
    table
    for (table,) in _tables.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    if "client" in [row[1] for row in _tables.execute(f"PRAGMA table_info({table})").fetchall()]
}
NO_ALIAS = {
    "where", "on", "set", "join", "left", "cross", "inner", "order", "group", "limit", "using", "union", "returning", "for", "select",
    "values", "from",
}  # fmt: skip


def careless(text: str) -> list[str]:
    """The client's tables that a statement touches without saying whose rows it means."""
    results: list[str] = []
    named: dict[str, int] = {}
    for word, table, alias in re.findall(r"\b(FROM|JOIN|UPDATE|INTO|USING)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?", text):
        if table not in WALLED:
            continue
        if word == "INTO":
            columns = re.search(rf"INTO {table} \(([^)]*)\)", text)
            results += [] if columns and "client" in columns[1].split(", ") else [table]
            continue
        name = alias if alias and alias.lower() not in NO_ALIAS else ""
        named[name] = named.get(name, 0) + 1
        mark = rf"\b{name}\.client\b" if name else r"(?<![\w.])client\b"
        conditions = len(re.findall(rf"{mark} = ", text)) + len(re.findall(rf" = {mark}", text))
        conditions += len(re.findall(rf"{mark} IN \((?:\?|\$)", text))
        results += [f"{table} {name}".strip()] if conditions < named[name] else []
    return results


def test_write_statements__name_their_client_or_are_listed_exceptions(subtests: pytest.Subtests) -> None:
    for name in sorted(STATEMENTS):
        with subtests.test(name):
            results = [(text, careless(text)) for text in texts(STATEMENTS[name]) if careless(text)]

            assert bool(results) == (name in BY_RIGHT), results


def test_statement_list__includes_every_statement() -> None:
    """Those that stand in a module are found there; a function that makes some must be known, or what it makes is looked at by nobody."""
    makers = {f"{module}.{function}" for maker in ("Statement", "delete") for module, function, _ in calls_of(maker) if function}

    assert makers == MAKERS
    assert BY_RIGHT.keys() <= STATEMENTS.keys()
    assert len(STATEMENTS) > 100


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM contact WHERE id = ?",
        "SELECT t.id FROM p CROSS JOIN contact t WHERE t.id = p.id",
        "SELECT d.id FROM delivery d JOIN delivery_body b ON b.id = d.id WHERE d.client = ?",
        "UPDATE contact AS t SET status = p.status FROM p WHERE t.id = p.id",
        "DELETE FROM event t USING p WHERE t.record_id = p.record_id",
        "INSERT INTO link (tool, id) SELECT * FROM p",
        "SELECT id FROM delivery WHERE client = ? AND EXISTS (SELECT 1 FROM event WHERE delivery_id = 1)",
    ],
)
def test_careless__finds_a_statement_without_a_client(text: str) -> None:
    assert len(careless(text)) == 1


def test_statements__list_no_tables_with_commas() -> None:
    """`careless` would not see the second one."""
    listed = [name for name, op in STATEMENTS.items() for text in texts(op) if re.search(r"\b(FROM|USING) \w+( \w+)?, (?!unnest)", text)]

    assert listed == []


USUAL: dict[str, Any] = {
    "table": "job",
    "state": "parked", "client_id": "acme", "kind": 1, "record_kind": 1, "limit": 5, "after": 0, "now_us": 10, "delivery_id": 2,
    "record_id": 1, "contact": 1, "contact_id": 1, "id": 1, "block": "surname", "before": "replied",
    "listing": Listing(CONTACT_TYPE, 1, 5), "time_zone": "UTC", "few": -1,
    "what": FieldJob("merge", "Industry", "Sector"),
}  # fmt: skip


SPECIAL: dict[str, Any] = {
    "encode": lambda rows, keys: b"",
    "groups": CampaignGroups(1, [1, 3, 10_800 * 10**6], True, True, by_step=True),
    "edges": [1, 3, 5],
    "shards": [0, 1],
    "since": {1: 0},
    "spans": {1: (0, 1)},
    "stored": {},
    "closed": {2: ClosedRows(0, 1, 1, [])},
    "place": (0, None),
}


def searched(kind: RecordType[Any], tree: dict[str, Any], *sort: str) -> dict[str, Any]:
    """The fields of a search that uses every index, and two keys of its order."""
    return {
        "sort": tuple(SortKey(OWN_FIELDS[kind.kind][name]) for name in sort),
        "where": Parser(SearchFields(kind, ClientSettings()), 5, []).json(tree),
        "words": ("anna",),
        "after": (1, "a", 1),
    }


OF_BOTH: dict[str, Any] = {"cf.Industry[starts_with]": "bank", "not": {"cf.Size[gt]": "5"}}
OF_CONTACTS: dict[str, Any] = {
    "contact_status": "new", "company.cf.Industry": "bank", "company_id": 1, "email[starts_with]": "a", "last_reply_received[gt]": "1d",
    "any": [{"company.name": "a"}, {"company.domain": "a.example"}], "counted": "mailed_replied;step=1",
}  # fmt: skip
WITHOUT_WORDS = RecordSearch(CONTACT_TYPE, 1, limit=5, **(searched(CONTACT_TYPE, OF_BOTH | OF_CONTACTS, "created_time") | {"words": ()}))
SEARCHED: dict[type, dict[str, Any]] = {
    count_matches: {"search": RecordSearch(CONTACT_TYPE, 1, limit=5, **searched(CONTACT_TYPE, OF_BOTH | OF_CONTACTS, "created_time"))},
    count_matches_of: {"search": WITHOUT_WORDS},
    clients_with_matches: {"search": WITHOUT_WORDS},
    find_position: {"search": RecordSearch(COMPANY_TYPE, 1, limit=5, **searched(COMPANY_TYPE, OF_BOTH, "created_time")), "skip": 3},
    matches_filter: {"kind": 1, "where": searched(CONTACT_TYPE, OF_BOTH | OF_CONTACTS, "email")["where"]},
}


def listings() -> Iterator[Any]:
    """A list of each type with every choice of the filters that it may have."""
    filters = {
        CONTACT_TYPE: ("status", "external_id", "email_key", "linkedin_key", "company_id"),
        COMPANY_TYPE: ("status", "external_id", "domain"),
    }
    for kind, names in filters.items():
        for values in itertools.product((None, "a"), repeat=len(names)):
            for after, since, page_bytes in itertools.product((None, (1, 1)), (None, 1), (0, 1)):
                yield Listing(kind, 1, 5, after, since, page_bytes, **dict(zip(names, values, strict=True)))


def searches() -> Iterator[Any]:
    """A search of each type with every choice of what it may have."""
    for kind, value_item in (
        (CONTACT_TYPE, searched(CONTACT_TYPE, OF_BOTH | OF_CONTACTS, "last_reply_received", "email")),
        (
            COMPANY_TYPE,
            searched(
                COMPANY_TYPE,
                {"any": [{"domain": "a.example"}, {"company_status": "new"}, {"domain[starts_with]": "a"}, OF_BOTH]},
                "status_changed_at",
                "name",
            ),
        ),
    ):
        value_item |= {"count": "a", "custom_fields": False, "page_bytes": 1}
        optional = [name for name in value_item if name != "sort"]
        for chosen in itertools.product((False, True), repeat=len(optional)):
            names = [name for name, is_chosen in zip(optional, chosen, strict=True) if is_chosen]
            yield RecordSearch(kind, 1, value_item["sort"], 5, **{name: value_item[name] for name in names})


VARIED: dict[type, Callable[[], Iterator[Any]]] = {list_records: listings, count_matching: listings, search_page: searches}
"""Queries whose only parameter is a list or a search."""


def value(name: str, hint: object) -> Any:  # noqa: PLR0911 - one line a type
    """Something that a field of this name and type may hold."""
    if name in SPECIAL:
        return SPECIAL[name]
    kinds = [item for item in typing.get_args(hint) if item is not type(None)] if type(None) in typing.get_args(hint) else [hint]
    kind, parts = kinds[0], typing.get_args(kinds[0])
    if typing.get_origin(kind) is tuple:
        return tuple(value("", part) for part in parts)
    if name == "filters" and typing.get_origin(kind) is Mapping:
        return {}
    if typing.get_origin(kind) is RecordType:
        return CONTACT_TYPE
    if typing.get_origin(kind) is Listing:
        return Listing(CONTACT_TYPE, 1, 5, status="a")
    if typing.get_origin(kind) in (list, Sequence, Collection):
        kind = list[parts[0]]  # type: ignore[valid-type]
        if name == "addresses" and kind == list[tuple[str, str]]:
            return [("email", "ann@example.com")]
        expected: dict[Any, Any] = {
            list[int]: [2],
            list[int | str]: [1],
            list[str]: ["a"],
            list[tuple[int, int]]: [(1, 2)],
            list[tuple[str, int]]: [("a", 2)],
            list[tuple[str, str]]: [(column, "a") for column in ("email_key", "linkedin_key", "domain")],
            list[Addresses]: [Addresses("ann@example.com")],
        }
        return expected.get(kind, [("", "email", "ann@example.com")])
    others: dict[Any, Any] = {
        int: 1,
        bool: True,
        str: "a",
        bytes: b"",
        RequestKey: RequestKey(1, "k", b"f", 5),
        Policy: Policy("newest"),
        Filters: Filters(("later",), "a", "a", "a", "a", "u"),
        TaskFilters: TaskFilters("done", "u", 9),
    }
    usual = USUAL.get(name)
    return usual if isinstance(usual, kind) else others[kind]


MANY_FILTERS = 7
"""Filters of a query of which every choice is tried."""


def variants(kind: type[Any]) -> Iterator[Any]:
    """A query with every choice of the filters that it may have; what it must have is filled by its type.

    Of a query with many filters: those with at most two filters, and those without at most two, as no statement depends on three.
    """
    if kind in VARIED:
        yield from map(kind, VARIED[kind]())
        return
    hints = typing.get_type_hints(kind)
    choices: list[list[Any]] = []
    for name, parameter in signature(kind).parameters.items():
        value_item = SEARCHED.get(kind, {}).get(name) or value(name, hints[name])
        if name == "clients" and kind in SPANNING_UNLESS_NAMED:
            choices.append([None, value_item])
            continue
        # `skip` changes no text, and each choice doubles the time.
        is_one = parameter.default is Parameter.empty or name == "skip"
        choices.append([value_item] if is_one else [parameter.default, value_item])
    optional = [number for number, values in enumerate(choices) if len(values) == 2]
    for chosen in itertools.product(range(2), repeat=len(optional)):
        if len(optional) <= MANY_FILTERS or not 2 < sum(chosen) < len(optional) - 2:
            place = dict(zip(optional, chosen, strict=True))
            yield kind(*(values[place.get(number, 0)] for number, values in enumerate(choices)))


FACTS = ServerFacts("1", "http://127.0.0.1:1", True, "here", 7, 5)
KEY = ApiKey("k", b"", (), None, "", 5)
USER = User("u", "ann@a.example", "Ann", "admin", INVITED, 5, grants={1: "viewer"})
LINK = OneTimeLink("i", "d", "u", INVITATION, 5, 2**40)
INVITED_USER = User("v", "bob@a.example", "Bob", "viewer", INVITED, 5)
ASKING: list[Any] = [
    add_cell("eu", "postgresql://db/eu", 5), set_cell_state("eu", "draining"), reserve_place("acme", 1), confirm_place("acme", 5),
    release_place("acme"), set_addresses([("eu", "postgresql://db2/eu")]), remove_cell("eu"),
    copy_installation_list(InstallationList(2, [])), raise_list_revision(3),
    remove_deleted(1, 2**40, 5, 10), forget_merges(1, 2**40, 5),
    strike_texts(1, "job", [(StoredTexts((1,), {"error": "a"}), None), (StoredTexts((1,), {"error": "a"}), {"error": "b"})]),
    sign_in_identity(Identity("i", "s", "ann@a.example", True, role="viewer"), 5, None),
    sign_in_identity(Identity("i", "t", "bob@a.example", True), 5, None),
    store_link(LINK), use_link("d", (INVITATION,), 5, "stored"), change_user("u", UserChange(role="viewer")),
    forget_acts(5, 1), forget_changes_before(5, 1), begin_change(1, "import", Author("k", "job:1"), 5, 1),
    end_revert(1, "c", "reverted"),
    start_revert(1, "c", False, 5, Author("k", "r")),
    revoke_invitation("i"), set_password("u", "stored", "h"), store_session(Session("h", "u", None, 5, 5)), end_sessions("u"),
    store_first_key(KEY), erase_person(1, 10, 1), sweep_erasure(1, 1, [], 5, False, 10),
    add_erasures(1, b"another", [], 10), prune_bodies(1, 2**40, 5, 10), drop_unrecognised(1, 10, 1, 5, 10), drop_refused(1, 10, 1),
    begin_objects(1, ["a"], 5), claim_removals(2**40, 5),
    note_presence("t", FACTS, 5, 6),
    reencrypt_batch(5), retire_keys(), replace_lost(), remove_client_rows(2, 10, 100), remove_moved_rows(2, 10),
    ensure_client("unknown", 5, first_use=True),
    change_page(1, Listing(CONTACT_TYPE, 1, 5, status="a"), RecordUpdate(1, 0, {}, {}, 5, "k")),
    follow_changes(1, 9, 5, 9), link_page(1, 1, 0, 9, 5, 9),
    prune_messages(1, 2**40, 5), prune_answers(1, 2**40, 5), find_draft(1, 1, "u"),
    list_views(1, "u"), find_view(1, 1, "u"), add_view(1, View(1, 0, 1, "u", True, "a", "{}", 1, 1, 5), True),
    change_view(1, View(1, 1, 1, "u", True, "a", "{}", 1, 1, 5), "u"), remove_view(1, 1, "u"), remove_view(1, 1, "u", ["1"]),
    set_default_view(1, 1, "u", True), set_default_view(1, 1, "u", False), list_snoozes([1], 5), list_snoozes(None, 5),
    snooze_item(Snooze(1, "a", "warning", 4, 9), 5), wake_item(1, "a"),
    find_note(1, 1, 1, 1), list_notes(1, 1, 1, 5, (9, 1), 100),
    find_task(1, 1, 1, 1), list_tasks([1], 5, TaskFilters("done", "u", 9, (1, 1)), (9, 1, 1), 100), list_newly_due(1, 9, 5),
    count_due_tasks([1], "u", 9), newest_receipts([1]),
    find_assignees(1, [1]), find_dedupes(1, ["a"]), list_notifications([1], "u", 5, (9, 1, 1), True), read_notifications(1, "u", 9),
    due_mails(2**40, 5),
    prune_notifications(1, 2**50, 5), notification_positions(), clients_to_prune(2**50, 5), clients_with_events([1], 5),
    set_team_statuses([TeamStatus(name="replied")], "v"), set_team_statuses([TeamStatus(name="replied")]),
    add_snippet(Snippet("s", "price", "Dear", 5)), change_snippet("s", "cost", None, 5), remove_snippet("s", ["a"]),
    remove_connection(1, "crm", "hubspot", ["a"]),
    add_endpoint(Endpoint(1, 0, "https://a.example", 5, 5)), replay(1, 1, 5, missing_since_us=0), lead_shards("t", 5, 6),
    store_progress(1, 1, "t", 5, 1), forget_attempts(1, 10), copy_shared([Endpoint(0, 9, "https://a.example", 5, 5)], {1, 2}, 5),
    announce_installation_list(1, 1, 5), retry_pushes(1, "blocklist:instantly", 5, [1]),
    create_job(Job(1, 0, "contacts.import", UPLOADING, 5, 5), 1),
    trim_log(1, 5), remove_job_files(1, 2, 5, 10), define_status(1, 1, "a", True, 10), remove_status(1, 1, "a"),
    apply_refused(1, 1, 0, 5, 10),
    define_field(1, 1, "Tier", FieldType("text"), is_new=True), judge_connection(1, "crm", "hubspot", 50 * SECOND, -100 * DAY),
    store_count(1, 5, 5, 0), create_job(Job(1, 0, "contacts.import", UPLOADING, 5, 5), most_uploads=9),
    save_mapping(1, StoredMapping("contact", "Leads", {}, 5)),
    replay_mapped(1, 1, MappingJob("crm", "hubspot", None, {}, "received", "hubspot"), 2**50, 5, 5),
]  # fmt: skip
"""Commands that ask questions beside their statements."""


class Reader:
    """A store with something in every table, and what queries and commands ask of it."""

    def __init__(self, path: str) -> None:
        self.connection = apsw.Connection(path)
        self.statements: list[str] = []
        self.places: set[tuple[str, int]] = set()

    def texts_of(self, query: Any) -> list[str]:
        """What a query asks."""
        return self._heard(plan_of_query(query, SEALER))

    def texts_of_command(self, command: Any) -> list[str]:
        """What a command asks; what it writes is taken back."""
        ids = Ids()
        for name, count in needs_of([command]).items():
            ids.fill(name, 1_000, count)
        return self._heard(with_log(plan_of([command], ids, SEALER)))

    def texts_of_opening(self) -> list[str]:
        """What the start of a server asks."""
        return self._heard(check_keys(SEALER))

    def _heard(self, plan: Plan[Any]) -> list[str]:
        self.statements.clear()
        with suppress(TouchbaseError):  # the result of a command that has written before
            read(self.connection.cursor(), plan)
        return list(self.statements)


@pytest.fixture
async def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    store = await open_store(f"sqlite:///{tmp_path}/store.db", encryption_keys=ENCRYPTION_KEYS)
    for client_id in ("acme", "gone"):
        await store.write(ensure_client(client_id, 1))
    await store.write(set_client_settings("acme", ClientSettings(link_companies_by_email="existing")))
    await store.write(start_linking(1, 5))
    await store.write(create_company(Creation(Company(1, 0, 5, 5, "example.com"), [("seat", "12")])))
    for client, email in ((1, "ann@example.com"), (1, "bob@example.com"), (2, "ann@example.com")):
        await store.write(create_contact(Creation(Contact(client, 0, 5, 5, email=email, email_key=email), [("seat", "12")])))
    await store.write(add_connection(Connection(1, "crm", "hubspot", 5, 5, ["secret"], access_token="token")))
    await store.write(calls_until(-30 * DAY, 1))
    await miss_an_event(store, 1, 5, secret="secret")
    await store.write(add_endpoint(Endpoint(1, 0, "blocklist:instantly", 5, 5, kind="blocklist")))
    await store.write(lead_shards("t", 5, 6))
    await store.write(invite_user(USER, LINK))
    await store.write(invite_user(INVITED_USER, OneTimeLink("j", "e", "v", INVITATION, 5, 2**40)))
    await store.write(use_link("d", (INVITATION,), 5, "stored"))
    events = {0: "ann@example.com", 1: None}
    for n in range(3):
        await store.write(store_delivery(1, "crm", bytes([n]) * 16, b"{}", "", b"{}", 5))

    def translate(delivery: Delivery) -> Translation:
        about = {"object_type": "person", "object_id": str(delivery.id)}
        return Translation("hubspot", [Event("contact.updated", 5, events[delivery.id % 2], **about)])

    await store.work(1, 2, translate, 9)
    for n in (3, 4):
        email = f"{n}@example.com"
        await store.write(create_contact(Creation(Contact(1, 0, 5, 5, email=email, email_key=email))))
    await store.write(delete_record(1, 1, 4, 9, "d"))
    await store.write(create_job(Job(1, 0, "contacts.import", UPLOADING, 5, 5)))
    await store.write(erase_person(1, 9, 2))
    await store.write(begin_deletion(2, 9))
    await store.close()
    new_reader = Reader(f"{tmp_path}/store.db")
    init = Select.__init__

    def spy(self: Select, sql: str, params: Any, postgres: str = "", budget: Any = None) -> None:
        frame = sys._getframe(1)
        new_reader.statements.append(sql)
        new_reader.places.add((module_at(frame.f_code.co_filename), frame.f_lineno))
        init(self, sql, params)

    monkeypatch.setattr(Select, "__init__", spy)
    return new_reader


def test_queries__name_their_client_or_are_listed_exceptions(reader: Reader) -> None:
    forgotten: list[tuple[Any, list[str]]] = []
    by_right: set[type] = set()
    questions: list[tuple[Any, Callable[[Any], list[str]]]] = [
        *((query, reader.texts_of) for kind in QUERIES for query in variants(kind)),
        *((command, reader.texts_of_command) for command in ASKING),
        (report_statuses(1, 1, [0, QUARTER, QUARTER + 5]), reader.texts_of),  # edges of whole quarters of an hour, but the last
    ]
    for requested, texts_of in questions:
        kind, asked_texts = type(requested), texts_of(requested)
        assert asked_texts or texts_of == reader.texts_of, f"{requested} asks nothing here"
        results = [item for text in asked_texts for item in careless(text)]
        is_unnamed = kind in SPANNING_UNLESS_NAMED and (requested.clients if hasattr(requested, "clients") else requested.client) is None
        if results and (kind in SPANNING or is_unnamed):
            by_right.add(kind)
        elif results:
            forgotten.append((requested, results))

    assert forgotten == []
    asking = {*QUERIES, *map(type, ASKING)}
    assert by_right == (SPANNING.keys() | SPANNING_UNLESS_NAMED) & asking - NEEDS_NO_EXCEPTION, "a list of exceptions must not rot"

    # Every place that asks something of its own has been heard.
    reader.texts_of_opening()
    written = [(file, node.lineno, node.end_lineno or node.lineno) for file, _, node in calls_of("Select")]
    assert len(written) > 50
    assert [place for place in written if not any(name == place[0] and place[1] <= line <= place[2] for name, line in reader.places)] == []


def test_cross_client_lists__match_the_reviewed_exceptions() -> None:
    operations = {kind: kind.operation for kind in (*all_commands(), *QUERIES) if kind is not execute_once}

    assert {kind for kind, operation in operations.items() if operation.scope == ALL_CLIENTS} == SPANNING.keys()
    assert {kind for kind, operation in operations.items() if operation.unnamed == ALL_CLIENTS} == SPANNING_UNLESS_NAMED
    assert {kind for kind, operation in operations.items() if operation.scope == CLIENT_LIST} == ABOUT_CLIENTS
    assert {kind for kind, operation in operations.items() if operation.unnamed == CLIENT_LIST} == ABOUT_CLIENTS_UNLESS_NAMED


def test_all_clients_scope__appears_only_in_the_listed_files() -> None:
    named = {
        f"{path.parent.name}/{path.name}"
        for path in (FOLDER / "storage").rglob("*.py")
        if re.search(r"\bALL_CLIENTS\b|'all'", path.read_text("utf-8"))
    }

    assert named == FILES_WITH_ALL_CLIENTS


def test_commands_and_queries__declare_their_client_scope(subtests: pytest.Subtests) -> None:
    """Where it fails: give the command a field `client: int`, or say in its decorator whose rows it may access, and why above."""
    for kind in (*all_commands(), *QUERIES):
        with subtests.test(kind.__name__):
            says_whose_rows(kind)


def says_whose_rows(kind: type[Any]) -> None:
    hints = typing.get_type_hints(kind)
    holders = [name for name, hint in hints.items() if "client" in getattr(hint, "__annotations__", {})]
    optional = "client" in hints and hints["client"] is not int

    if kind in ABOUT_CLIENTS | SPANNING.keys():
        assert ("client" in hints) == (kind in LOOKING_FURTHER)
    elif "client" in hints:
        assert optional == (kind in SPANNING_UNLESS_NAMED)
    elif kind not in OF_INSTALLATION:
        by_name = kind.operation.client_of is no_client and kind.operation.clients.__module__ == "touchbase.sql.operation"
        assert not by_name, f"it holds the client in {holders or 'nothing'}"


def test_scope_of__reads_the_scope_of_commands_and_queries_of_every_kind() -> None:
    contact = [create_contact(Creation(Contact(n, 0, 5, 5))) for n in (9, 1, 9, 10)]
    keys = [store_key(ApiKey("k", b"", (), n, "", 5)) for n in (5, None)]

    assert scope_of(contact) == ",1,9,10,"
    assert scope_of([find_record(7, CONTACT_TYPE, 1)]) == ",7,"
    assert scope_of(keys[:1]) == ",5,"
    assert scope_of(keys) == scope_of([count_inbox()]) == ALL_CLIENTS
    assert scope_of([list_deliveries(5)]) == ALL_CLIENTS
    assert scope_of([list_deliveries(5, client=3)]) == ",3,"
    assert scope_of([find_client("acme")]) == CLIENT_LIST
    assert scope_of([rotate_client_id(7, "acme", 5)]) == CLIENT_LIST
    assert [scope_of([list_client_page(9, only=only)]) for only in (None, 7)] == [CLIENT_LIST, ",7,"]
    assert scope_of([set_client_state(7, ACTIVE, 5)]) == scope_of([find_client_by_number(7)]) == ",7,"
    assert scope_of([replay_many([(7, 1), (3, 1), (7, 2)], 10)]) == ",3,7,"
    assert scope_of([find_response(RequestKey(7, "k", b"", 5))]) == ",7,"
    assert scope_of([probe()]) == NO_CLIENT


def once(client: int, command: Command[Any] | None) -> Command[Any]:
    """A command whose answer is kept for this client."""
    return execute_once(RequestKey(client, "k", b"", 5), command, lambda _: StoredResponse(b""))


def test_scope_of__combines_an_idempotent_command_with_the_client_of_its_response() -> None:
    contact, replay = create_contact(Creation(Contact(9, 0, 5, 5))), replay_many([(3, 1), (7, 1)], 10)

    assert scope_of([once(9, contact)]) == ",9,"
    assert scope_of([once(9, None)]) == ",9,"
    assert scope_of([once(0, contact), once(0, replay)]) == ",0,3,7,9,"
    assert scope_of([once(5, store_key(ApiKey("k", b"", (), 5, "", 5)))]) == ",5,"
    for wide in (store_key(KEY), rotate_key("k", "l", b"", 5, 5, None), create_client("acme", "", 5)):
        assert scope_of([once(9, contact), once(0, wide)]) == ALL_CLIENTS
    assert scope_of([once(9, probe())]) == ",9,"
