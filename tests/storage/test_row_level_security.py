"""The second wall: PostgreSQL shows and takes only rows of the clients in the scope, whatever a statement says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

import asyncpg
import pytest
from tests.company_links.waiting import wait_for_a_company
from tests.conftest import ENCRYPTION_KEYS, Databases
from tests.connections.silent import fall_silent
from tests.event_archive.stored import archive_an_event
from tests.inbox.refused import refused_body
from tests.operations import handler
from tests.outgoing.unsent import miss_an_event
from tests.storage.moved_address import move_an_address
from tests.storage.statements import STATEMENTS

from touchbase.app import assembled, standalone_workers
from touchbase.attention.plans import Snooze, snooze_item
from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import store_key
from touchbase.clients.sql.clients import ensure_client, find_client, rotate_client_id
from touchbase.clients.sql.stored_bytes import store_count
from touchbase.config import Settings
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection
from touchbase.connections.sql.fetching import claim_fetch
from touchbase.deliveries.sql.objects import begin_objects
from touchbase.do_not_contact.models import NewEntry
from touchbase.do_not_contact.sql.entries import save_entries
from touchbase.encryption.cipher import NO_CIPHER, AesGcmCipher
from touchbase.encryption.keys import StaticKeys
from touchbase.erasure.sql.erasures import erase_person
from touchbase.errors import Overloaded
from touchbase.event_log.sql.changes import IMPORT, begin_change
from touchbase.history.events import COMPANY, CONTACT, Author, Event, Translation
from touchbase.history.sql import get_history
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.imports.report import StoredMapping
from touchbase.imports.sql import save_mapping
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import count_inbox, list_deliveries
from touchbase.inbox.sql.refused import store_refusals
from touchbase.jobs.models import UPLOADING, Job
from touchbase.jobs.sql import append_to_file, create_job
from touchbase.mapping.plans import MappingJob, replay_mapped
from touchbase.merging.models import Policy
from touchbase.merging.sql.merge import merge_records
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import create_message
from touchbase.projection.delete import delete_record
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.distinct_pairs import add_distinct_pair
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation
from touchbase.reports.parts import CountedPart, ReportPart
from touchbase.reports.sql.parts import store_parts
from touchbase.search.queries import RecordSearch
from touchbase.search.sorting import default_sort
from touchbase.search.sql.index import index_records
from touchbase.search.sql.plans import search_page
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, plan_of_query
from touchbase.sql.scope import ALL_CLIENTS, CLIENT_LIST, NO_CLIENT, scope_for
from touchbase.sql.statement import Execute, Plan, Select, Statement, for_postgres
from touchbase.sql.store import Store
from touchbase.storage.postgres.connection import ReconnectingConnection
from touchbase.stores import open_store
from touchbase.views.plans import View, add_view, set_default_view

OURS, THEIRS = 1, 11
"""Numbers of two clients, the one's in the other's digits."""
OF_NOBODY = {"id_block", "migration", "server_secret", "encryption_key", "installation_suppression", "silence_check", "dispatch_lease",
             "cell", "client_place", "key_place", "user_account", "user_grant",
             "user_session", "invitation", "user_identity", "audit_event", "snippet", "team_status"}  # fmt: skip
"""Tables with nothing of a client: blocks of ids, the schema's own, the secret that erased identities are hashed with, and the ids of
encryption keys with a text that only they open, the installation's do-not-contact list, the time of the last check for silences, which
process sends webhooks of which shard of the clients, people of the team with their rights, sessions, snippets and statuses, the audit log,
which has ids only and outlives clients, and the directory of cells: ids,
numbers, and addresses of stores, encrypted.
Another one must be looked at first."""
READ_BY_ALL = "search_index"
"""Every session reads it, as PostgreSQL uses no GIN index behind a condition: its words name their client, and it has numbers only."""
WHO_THERE_IS = {"client", "client_alias", "client_storage", "erased"}
"""What is seen where clients are sought: themselves, their former ids, how many bytes they store, and keyed hashes, which tell whether a
client has erased anybody."""
WITH_CLIENT = (
    "SELECT c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity FROM pg_class c WHERE c.relkind IN ('r', 'p') AND "
    "c.relnamespace = current_schema()::regnamespace "
    "AND EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'client')"
)
Made = asyncpg.Connection


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    new_store = await open_store(postgres_url, encryption_keys=ENCRYPTION_KEYS)
    yield new_store
    await new_store.close()


@pytest.fixture
async def hand(postgres_url: str) -> AsyncIterator[Made]:
    """A connection of the role that owns the tables."""
    connect = await asyncpg.connect(postgres_url)
    yield connect
    await connect.close()


async def fill(store: Store, *clients: int) -> None:
    """A row of each client in every table."""
    for n in clients:
        await store.write(create_company(Creation(Company(n, 0, 5, 5, "example.com"), [("seat", "12")])))
        await store.write(index_records(n))
        await store.write(
            create_contact(Creation(Contact(n, 0, 5, 5, email="ann@example.com", email_key="ann@example.com"), [("seat", "12")]))
        )
        await store.write(add_connection(Connection(n, "crm", "hubspot", 5, 5)))
        await store.write(add_connection(Connection(n, "crm", "generic", 5, 5, settings=ConnectionSettings(events={"noise": "ignored"}))))
        await fall_silent(store, n)
        await move_an_address(store, n)
        await miss_an_event(store, n, 5)
        await wait_for_a_company(store, n)
        await store.write(store_refusals(n, [RefusedWebhook(n, 5, "crm", "not_verified")], bodies=[refused_body(n)]))
        await store.write(begin_objects(n, [f"{n}/place"], 5))
        await store.write(store_key(ApiKey(f"key{n}", b"x", ("admin",), n, "", 5)))
        await store.write(store_delivery(n, "crm", b"k" * 16, b"{}", "", b"{}", 5))
        await store.write(execute_once(RequestKey(n, "k", b"f", 5), None, lambda _: StoredResponse(b"answer")))
        await archive_an_event(store, n, 5)
        archived = await store.write(create_contact(Creation(Contact(n, 0, 5, 5, "archived@a.example", "archived@a.example"))))
        await store.write(erase_person(n, 5, archived.record.id))
        await store.write(erase_person(n, 5, refs=[("", "email", "gone@example.com")]))
        await store.write(rotate_client_id(n, f"now{n}", 9))
        await store.write(claim_fetch(n, "hubspot", 5, 6, 1))
        for email in ("1@example.com", "2@example.com", "3@example.com"):
            await store.write(create_contact(Creation(Contact(n, 0, 5, 5, email=email, email_key=email))))
        created = [
            record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, n, 200))) if record.email != "ann@example.com"
        ]
        await store.write(delete_record(n, CONTACT, created[0], 6, "deleted"))
        await store.write(merge_records(n, CONTACT, created[1], created[2:], Policy("newest"), 6, "merged"))
        await store.write(save_entries(n, [NewEntry("email", "ann@example.com")], 5))
        await store.write(store_count(n, 5, 5, 0))
        await store.write(store_parts(n, {(0, 5): CountedPart(0, ReportPart(), b"counted")}, 5))
        await store.write(
            create_message(n, Message(0, "sent", "email", 5, "made", None, 5, "api", text="x", contact_id=await ann(store, n)))
        )
        await store.write(replay_mapped(n, 1, MappingJob("crm", "generic", None, {}, "received"), 2**53, 9, 5))
        await store.write(add_distinct_pair(n, CONTACT, (await ann(store, n), created[1]), "u1", 5))
        await store.write(begin_change(n, IMPORT, Author(None, "request"), 5, 1))
        view = await store.write(add_view(n, View(n, 0, CONTACT, "u1", True, "All", "{}", 0, 1, 5), True))
        await store.write(set_default_view(n, view.id, "u1", True))
        await store.write(snooze_item(Snooze(n, "a", "warning", 4, 9), 5))
        job = await store.write(create_job(Job(n, 0, "contacts.import", UPLOADING, 5, 5)))
        await store.write(append_to_file(n, job.id, "input", b"email", 5))
        await store.write(save_mapping(n, StoredMapping("contact", "leads", {}, 5)))


async def ann(store: Store, client: int) -> int:
    """The id of the contact that `fill` made first."""
    [result] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))
    return result.id


async def with_events(store: Store) -> None:
    for name in ("ours", *(f"other{n}" for n in range(2, THEIRS))):
        await store.write(ensure_client(name, 1))
    theirs = await store.write(ensure_client("theirs", 1))
    assert theirs.number == THEIRS
    await fill(store, OURS, THEIRS)
    translation = Translation(
        "hubspot",
        [
            Event("contact.updated", 5, "ann@example.com", object_type="person", object_id="7", company_object=("company", "9")),
            Event("email_sent", 5, "ann@example.com"),
            Event("contact.updated", 5, None, object_type="person", object_id="8"),  # nobody knows who that is: it is asked for
        ],
        may_ask=True,
    )
    for n in (OURS, THEIRS):
        await store.work(n, 10, lambda delivery: translation, 9)


async def walled(hand: Made) -> list[str]:
    return [row["relname"] for row in await hand.fetch(WITH_CLIENT)]


async def hidden(hand: Made) -> list[str]:
    return [table for table in await walled(hand) if table != READ_BY_ALL]


async def rows_of(hand: Made, table: str) -> list[int | None]:
    return sorted({row["client"] for row in await hand.fetch(f"SELECT client FROM {table}")}, key=str)


async def test_row_level_security__covers_every_table_with_a_client_column(hand: Made) -> None:
    tables = await hand.fetch(WITH_CLIENT)
    policies = await hand.fetch(
        "SELECT tablename, policyname, permissive, roles, cmd, qual, with_check FROM pg_policies "
        "WHERE schemaname = current_schema() AND policyname <> 'read_numbers'"
    )
    wider = await hand.fetch("SELECT tablename, cmd FROM pg_policies WHERE schemaname = current_schema() AND policyname = 'read_numbers'")

    by_table = {row["tablename"]: [*row.values()][1:] for row in policies}
    open_ones = [row["relname"] for row in tables if not (row["relrowsecurity"] and row["relforcerowsecurity"])]
    assert open_ones == [], "sql/dialect.py gives the policy to each CREATE TABLE with a column client in sql/schema/"
    assert len(policies) == len(by_table)
    assert [tuple(row) for row in wider] == [(READ_BY_ALL, "SELECT")]
    assert by_table.keys() == {row["relname"] for row in tables} | {"client"}
    assert by_table["contact"][:4] == ["of_client", "PERMISSIVE", ["public"], "ALL"]
    assert {name for name, policy in by_table.items() if "'clients'" in policy[4]} == WHO_THERE_IS
    assert all(policy == by_table["contact"] for name, policy in by_table.items() if name not in WHO_THERE_IS)
    assert all(policy[:4] == by_table["contact"][:4] for policy in by_table.values())
    assert by_table["erased"] == by_table["client_alias"] == by_table["client_storage"]


async def test_tables_without_row_level_security__match_the_reviewed_list(hand: Made) -> None:
    tables = {row["tablename"] for row in await hand.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")}

    assert tables - set(await walled(hand)) - {"client"} == OF_NOBODY


async def test_client_row__is_visible_in_its_own_scope_and_in_client_lists(store: Store, hand: Made) -> None:
    await with_events(store)
    observed: dict[str, list[int]] = {}
    with_rows: dict[str, set[str]] = {}
    for scope in (NO_CLIENT, scope_for(THEIRS), CLIENT_LIST, ALL_CLIENTS):
        await hand.execute(f"SET touchbase.clients = '{scope}'")
        observed[scope] = sorted(row["id"] for row in await hand.fetch("SELECT id FROM client"))
        with_rows[scope] = {table for table in await hidden(hand) if await rows_of(hand, table)}

    everything = set(await hidden(hand))
    assert list(observed.values()) == [[], [THEIRS], [*range(1, THEIRS + 1)], [*range(1, THEIRS + 1)]]
    assert list(with_rows.values()) == [set(), everything, WHO_THERE_IS - {"client"}, everything]


async def test_scope__shows_only_the_rows_of_its_clients(store: Store, hand: Made) -> None:
    await with_events(store)
    observed: dict[str, dict[str, list[int | None]]] = {}
    for scope in (None, NO_CLIENT, scope_for(OURS), scope_for(THEIRS), scope_for(5), scope_for(OURS, 5, THEIRS), ALL_CLIENTS):
        if scope is not None:
            await hand.execute(f"SET touchbase.clients = '{scope}'")
        observed[str(scope)] = {table: await rows_of(hand, table) for table in await hidden(hand)}

    for table in await hidden(hand):
        results = [clients[table] for clients in observed.values()]
        assert results == [[], [], [OURS], [THEIRS], [], [OURS, THEIRS], [OURS, THEIRS]], table


async def test_scope__refuses_writes_to_rows_of_other_clients(store: Store, hand: Made) -> None:
    await with_events(store)
    await hand.execute(f"SET touchbase.clients = '{scope_for(OURS)}'")

    for table in await walled(hand):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await hand.execute(f"UPDATE {table} SET client = {THEIRS}")
        assert await hand.execute(f"UPDATE {table} SET client = {OURS} WHERE client = {THEIRS}") == "UPDATE 0"
        assert await hand.execute(f"DELETE FROM {table} WHERE client = {THEIRS}") == "DELETE 0"
    await hand.execute(f"SET touchbase.clients = '{CLIENT_LIST}'")
    for table in set(await walled(hand)) - WHO_THERE_IS:
        assert await hand.execute(f"DELETE FROM {table}") == "DELETE 0"
    await hand.execute(f"SET touchbase.clients = '{scope_for(OURS)}'")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await hand.execute(f"INSERT INTO connection VALUES ({THEIRS}, 'crm', 'close', 1, 1, '[]', '{{}}')")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await hand.execute("INSERT INTO api_key (key_id, digest, scopes, client, name, created_us) VALUES ('a', '', '[]', NULL, '', 1)")
    await hand.execute("SET touchbase.clients = 'all'")
    assert [await rows_of(hand, table) for table in ("contact", "event", "api_key")] == [[OURS, THEIRS]] * 3


async def test_words_of_another_client__lead_to_no_record_and_are_not_written(store: Store, hand: Made) -> None:
    await with_events(store)
    theirs = await store.read(search_page(RecordSearch(COMPANY_TYPE, THEIRS, default_sort(COMPANY), 50, words=("example",))))
    await hand.execute(f"SET touchbase.clients = '{scope_for(OURS)}'")

    numbers = [row["record"] for row in await hand.fetch("SELECT record FROM search_index WHERE words @@ '11cexample:*'::tsquery")]
    assert numbers == [2 * record.id + 1 for record in theirs.records] != []
    assert await hand.fetch("SELECT 1 FROM company WHERE id = ANY($1)", [number // 2 for number in numbers]) == []
    assert await hand.execute("UPDATE search_index SET words = ''") == "UPDATE 1"
    assert await hand.execute("DELETE FROM search_index") == "DELETE 1"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await hand.execute(f"INSERT INTO search_index VALUES ({THEIRS}, 98, '')")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await hand.execute(
            f"INSERT INTO search_index VALUES ({THEIRS}, {numbers[0]}, '') ON CONFLICT (client, record) DO UPDATE SET words=''"
        )


async def test_full_text_index__is_used_with_row_level_security(store: Store, hand: Made) -> None:
    await hand.execute(f"SET touchbase.clients = '{scope_for(OURS)}'; SET enable_seqscan = off")

    plan = await hand.fetch("EXPLAIN SELECT record FROM search_index s WHERE words @@ '1pann:*'::tsquery AND s.client + 0 = 1")

    assert "Index Cond: (words @@" in "".join(row[0] for row in plan)


class Look(Command[str]):
    """Answers the scope that its statement ran in."""

    client: int


class LookAround(Command[str]):
    """The same, of a command that names no client."""


def look(commands: Sequence[Any], ids: Ids) -> Plan[list[object]]:
    rows = yield Select("SELECT current_setting('touchbase.clients', true)", ())
    return [rows[0][0]] * len(commands)


@pytest.mark.parametrize("solo", [True, False])
async def test_group_commit__runs_in_the_scope_of_its_clients_and_resets_it(postgres_url: str, open_with: Any, solo: bool) -> None:
    store = await open_with(postgres_url, {Look: handler(look, solo=solo), LookAround: handler(look, solo=solo)})

    alone = [await store.write(Look(n)) for n in (5, 7, 7, 5)]
    unnamed = await store.write(LookAround())
    together = await asyncio.gather(*(store.write(Look(n)) for n in (9, 1, 5, 9, 1)))

    assert alone == [",5,", ",7,", ",7,", ",5,"]
    assert unnamed == ""
    assert all(f",{n}," in scope for n, scope in zip((9, 1, 5, 9, 1), together, strict=True))
    assert set("".join(together).split(",")) == {"", "1", "5", "9"}


async def test_new_connection__has_its_scope_set_again(postgres_url: str, open_with: Any, hand: Made) -> None:
    store = await open_with(postgres_url, {Look: handler(look, solo=True)})
    assert {await store.write(Look(5)) for _ in range(9)} == {",5,"}

    await hand.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'touchbase%'")

    observed = []
    for _ in range(10_000):
        try:
            observed.append(await store.write(Look(5)))
        except Overloaded:
            await asyncio.sleep(0)
        if len(observed) == 9:
            break
    assert observed == [",5,"] * 9


async def test_with_scope__sets_a_scope_again_after_a_failure(postgres_url: str) -> None:
    line = ReconnectingConnection(postgres_url)
    connection = await line.with_scope(scope_for(5))
    await connection.execute("BEGIN")
    with pytest.raises(asyncpg.PostgresError):
        await connection.fetch("SELECT nonsense")
    with pytest.raises(asyncpg.InFailedSQLTransactionError):
        await line.with_scope(scope_for(7))
    await connection.execute("ROLLBACK")

    connection = await line.with_scope(scope_for(7))
    fetchval = await connection.fetchval("SELECT current_setting('touchbase.clients')")
    await line.close()

    assert fetchval == ",7,"


async def test_connection__ignores_a_scope_set_for_the_role_or_database(databases: Databases, empty_postgres_url: str) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("only a superuser can give a database such a setting")
    hand = await asyncpg.connect(databases.as_superuser(empty_postgres_url))
    await hand.execute(f"ALTER DATABASE {await hand.fetchval('SELECT current_database()')} SET touchbase.clients = 'all'")
    await hand.close()
    line = ReconnectingConnection(empty_postgres_url)

    fetchval = await (await line.connection()).fetchval("SELECT current_setting('touchbase.clients')")
    await line.close()

    assert fetchval == ""


async def test_pooled_connection__is_returned_without_a_scope(store: Any) -> None:
    await store.write(ensure_client("acme", 1))
    await fill(store, OURS)
    for query in (find_record(OURS, CONTACT_TYPE, 1), get_history(OURS, 1, 1), count_inbox(), find_client("acme"), list_deliveries(10)):
        await store.read(query)
    await store.work(OURS, 10, lambda delivery: Translation("test", []), 9)
    with pytest.raises(asyncpg.DataError):
        await store.read(find_record(OURS, CONTACT_TYPE, 2**70))  # no integer that a statement can hold: it fails inside of its transaction

    connections = [await store._pool.acquire() for _ in range(6)]
    scopes = {await connection.fetchval("SELECT current_setting('touchbase.clients')") for connection in connections}
    for item in connections:
        await store._pool.release(item)

    assert scopes == {""}


async def test_ordinary_role__causes_no_warning(store: Store) -> None:
    assert list(store.warnings) == []


async def test_role_that_bypasses_row_level_security__causes_a_warning(databases: Databases, postgres_url: str) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("the server's role is no superuser, so there is none to come as")
    store = await open_store(databases.as_superuser(postgres_url))

    warnings = list(store.warnings)
    await store.close()

    assert len(warnings) == 1
    assert "is a superuser or has BYPASSRLS" in warnings[0]
    assert "docs/how-to/run-on-postgresql.md" in warnings[0]


async def test_server_and_workers__log_a_role_that_bypasses_row_level_security(
    databases: Databases, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("the server's role is no superuser, so there is none to come as")
    for url in (postgres_url, databases.as_superuser(postgres_url)):
        settings = Settings(database=url)
        async with assembled(settings):
            pass
        async with standalone_workers(settings):
            pass

    get_messages = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(get_messages) == 2
    assert all("is a superuser or has BYPASSRLS" in get_message for get_message in get_messages)


async def test_disabled_row_level_security__causes_a_warning(empty_postgres_url: str) -> None:
    await (await open_store(empty_postgres_url)).close()
    hand = await asyncpg.connect(empty_postgres_url)
    await hand.execute("ALTER TABLE contact NO FORCE ROW LEVEL SECURITY; ALTER TABLE link DISABLE ROW LEVEL SECURITY")
    await hand.close()

    store = await open_store(empty_postgres_url)
    warnings = list(store.warnings)
    await store.close()

    assert len(warnings) == 1
    assert "switched off for contact, link:" in warnings[0]


WALKING: dict[str, str] = {
    "auth.sql.INSERT_KEY": "looks whether the new key's client is there, in all clients at once: a key is made once in a while",
    "cells.sql.RAISE": "all blocks of ids: there are some twenty",
    "do_not_contact.sql.copies.EMPTY": "removes a copy of the installation's list, to fill it again",
    "encryption.encrypted_columns.FORGET_KEYS": "all encryption keys but one go: there are two or three",
}
"""Statements that may walk a small table: reviewed."""


async def test_row_level_security__leaves_statements_on_their_indexes(subtests: pytest.Subtests, empty_postgres_url: str) -> None:
    await (await open_store(empty_postgres_url)).close()
    hand = await asyncpg.connect(empty_postgres_url)
    # The tables are new and empty, and then PostgreSQL would rather walk them.
    await hand.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET touchbase.clients = ',1,'")
    names = sorted(name for name, op in STATEMENTS.items() if op.columns)  # without any it is a lock, which has no plan
    for number, name in enumerate(names):
        with subtests.test(name):
            op = STATEMENTS[name]
            types = ", ".join("bytea[]" if kind == "bytea" else "text" for _, kind in (*op.columns, *op.more_columns, *op.last_columns))
            empty = ", ".join("'{}'" for _ in (*op.columns, *op.more_columns, *op.last_columns))
            await hand.execute(f"PREPARE op_{number}({types}) AS {for_postgres(op)}")

            plan = [row[0] for row in await hand.fetch(f"EXPLAIN EXECUTE op_{number}({empty})")]

            assert any("Seq Scan on" in line for line in plan) == (name in WALKING), plan
    await hand.close()


async def test_row_level_security__lets_a_key_lead_to_one_record_of_many(subtests: pytest.Subtests, hand: Made) -> None:
    await hand.execute("SET touchbase.clients = ',1,'")
    own = "client, id, created_us, updated_us, from_api"
    numbers = "FROM generate_series(1, 2000) n"
    await hand.execute(f"INSERT INTO contact ({own}, email_key) SELECT 1, n, n, n, 1, 'p' || n || '@example.com' {numbers}")
    await hand.execute(f"INSERT INTO company ({own}, domain) SELECT 1, n, n, n, 1, 'c' || n || '.example.com' {numbers}")
    deleted = "client, record_kind, record_id, deleted_us, content"
    await hand.execute(f"INSERT INTO deleted_record ({deleted}) SELECT 1, 1, n + 2000, n, '' {numbers}")
    await hand.execute(
        "INSERT INTO former_owner (client, object_type, object_id, until_us, record_kind, record_id, since_us) "
        f"SELECT 1, 'email', 'p' || n || '@example.com', n, 1, n + 2000, 0 {numbers}"
    )
    await hand.execute("ANALYZE contact, company, link, deleted_record, former_owner")
    keys = {"email_key": "p5@example.com", "domain": "c5.example.com"}
    requested = {
        name: (for_postgres(op), ["{1}", f"{{{keys.get(op.columns[1][0], 'x')}}}"])
        for name, op in STATEMENTS.items()
        if re.match(r"records\.sql\.(address_book\.\w*OWNER_OF|lookup\._STATEMENTS)", name)
    }
    former = STATEMENTS["projection.deleted_records._FORMER_OWNERS"]
    requested["former owners"] = (for_postgres(former), ["{1}", "{email}", f"{{{keys['email_key']}}}", "{1}"])
    for listing in (Listing(CONTACT_TYPE, 1, 50, email_key=keys["email_key"]), Listing(COMPANY_TYPE, 1, 50, domain=keys["domain"])):
        select = next(plan_of_query(list_records(listing), NO_CIPHER))
        assert isinstance(select, Select)
        marks = (f"${number}" for number in count(1))
        requested[f"list by {listing}"] = (re.sub(r"\?", lambda _: next(marks), select.postgres or select.sql), list(select.params))  # noqa: B023

    for name, (sql, params) in requested.items():
        with subtests.test(name):
            plan = [row[0] for row in await hand.fetch(f"EXPLAIN (ANALYZE, COSTS off) {sql}", *params)]

            assert [line for line in plan if "Rows Removed by" in line or "rows=2000" in line] == []
    assert len(requested) == 18


async def test_row_level_security__stops_a_statement_that_omits_its_client(store: Any, open_with: Any, postgres_url: str) -> None:
    await with_events(store)

    def forgetful(commands: Sequence[Any], ids: Ids) -> Plan[list[object]]:
        result = yield Select("SELECT DISTINCT client FROM contact", ())
        yield Execute(Statement("forgetful", (("name", "text"),), body="UPDATE contact SET first_name = p.name FROM p"), [("gone",)])
        return [sorted(row[0] for row in result)] * len(commands)

    cipher = AesGcmCipher(StaticKeys(ENCRYPTION_KEYS.read()))
    careless = await open_with(postgres_url, {Look: handler(forgetful)}, cipher=cipher)

    assert await careless.write(Look(OURS)) == [OURS]
    contacts = [await store.read(find_record(n, CONTACT_TYPE, await ann(store, n))) for n in (OURS, THEIRS)]
    assert [contact.first_name for contact in contacts] == ["gone", None]
