"""PostgreSQL: what we refuse, lost connections, and several processes on one database."""

from __future__ import annotations

import asyncio
import threading
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg
import pytest
from tests.conftest import Databases

from touchbase.clients.sql.clients import ensure_client, find_client
from touchbase.common.seldom import Seldom
from touchbase.errors import OutcomeUnknown, Overloaded, StoreUnavailable, UnusableStore
from touchbase.records.models import Company
from touchbase.records.operations import create_company
from touchbase.records.record_type import COMPANY_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation
from touchbase.sql.migrations import Migration, packaged
from touchbase.sql.statement import Plan, Select
from touchbase.sql.store import Vacuumed
from touchbase.storage.postgres import connection, engine
from touchbase.storage.postgres.connection import committing, is_unavailable, refuse_settings, unavailable
from touchbase.stores import open_store


def test_refuse_settings__refuses_unsafe_durability_settings_and_old_versions() -> None:
    refuse_settings(180_000, "on", "on")
    refuse_settings(140_002, "on", "local")
    refuse_settings(150_000, None, None)

    with pytest.raises(UnusableStore, match=r"set fsync = on"):
        refuse_settings(180_000, "off", "on")
    with pytest.raises(UnusableStore, match=r"set synchronous_commit = on"):
        refuse_settings(180_000, "on", "off")
    with pytest.raises(UnusableStore, match="version 14"):
        refuse_settings(130_009, "on", "on")


async def test_open_store__refuses_a_database_without_synchronous_commit(empty_postgres_url) -> None:
    admin = await asyncpg.connect(empty_postgres_url)
    await admin.execute(f"ALTER DATABASE {await admin.fetchval('SELECT current_database()')} SET synchronous_commit = off")
    await admin.close()

    with pytest.raises(UnusableStore, match="synchronous_commit=off"):
        await open_store(empty_postgres_url)


async def test_open_store__explains_an_unreachable_server_without_the_password() -> None:
    with pytest.raises(UnusableStore, match="cannot connect") as refused:
        await open_store("postgresql://someone:hidden@127.0.0.1:1/touchbase")

    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("password", ["hidden/", "hidden#x", "hidden?x", "x/hidden", "[hidden"])
async def test_open_store__explains_an_invalid_url_without_the_password(password: str) -> None:
    with pytest.raises(UnusableStore, match="cannot be parsed; in a user name or password write %2F for /") as refused:
        await open_store(f"postgresql://someone:{password}@127.0.0.1:1/touchbase")

    assert "hidden" not in str(refused.value)


async def test_lost_connections__are_replaced(postgres_url) -> None:
    store = await open_store(postgres_url)
    await store.write(ensure_client("before", 1))
    admin = await asyncpg.connect(postgres_url)

    await admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'touchbase%'")
    await _until_it_works(lambda: store.write(ensure_client("after", 2)))
    await _until_it_works(lambda: store.read(find_client("after")))
    client = await store.read(find_client("before"))
    await admin.close()
    await store.close()

    assert client is not None


async def test_plan__goes_on_on_a_thread_when_it_gets_many_rows(postgres_url, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_LOOP_ROWS", 3)
    threads: list[str] = []

    def plan() -> Plan[int]:
        result = 0
        for rows in (3, 4, 1):
            result += len((yield Select("SELECT generate_series(1, ?)", (rows,))))
            threads.append(threading.current_thread().name.partition("_")[0])
        return result

    database = await asyncpg.connect(postgres_url)
    assert await connection.run(database, plan()) == 8
    await database.close()

    assert threads == ["MainThread", "touchbase-plans", "touchbase-plans"]


async def test_concurrent_reads__limit_a_failure_to_one_read(postgres_url) -> None:
    store = await open_store(postgres_url)
    client = (await store.write(ensure_client("reads", 1))).number
    record = Company(client, 0, 1, 1, "reads.example")
    new_record = (await store.write(create_company(Creation(record, [])))).record

    beyond = find_record(client, COMPANY_TYPE, 2**70)  # no such number: the server refuses it, and all that is asked for with it
    results = await asyncio.gather(
        *(store.read(beyond if n == 5 else find_record(client, COMPANY_TYPE, new_record.id)) for n in range(12)), return_exceptions=True
    )
    await store.close()

    assert isinstance(results.pop(5), asyncpg.PostgresError)
    assert results == [new_record] * 11


BREAKS = """
CREATE FUNCTION breaks() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''{}''; END';
CREATE POLICY breaks ON company AS RESTRICTIVE FOR SELECT USING (CASE WHEN domain = 'heavy.example' THEN breaks() ELSE true END);
"""


@pytest.mark.parametrize(
    ("state", "error"), [("57014", StoreUnavailable), ("53200", StoreUnavailable), ("22012", asyncpg.DivisionByZeroError)]
)
async def test_concurrent_lists__limit_a_server_error_to_the_affected_pages(
    empty_postgres_url: str, state: str, error: type[Exception]
) -> None:
    store = await open_store(empty_postgres_url)
    light, heavy = [(await store.write(ensure_client(name, 1))).number for name in ("light", "heavy")]
    records = [(await store.write(create_company(Creation(Company(light, 0, 1, 1, f"{n}.example"), [])))).record for n in range(3)]
    await store.write(create_company(Creation(Company(heavy, 0, 1, 1, "heavy.example"), [])))
    operator = await asyncpg.connect(empty_postgres_url)
    await operator.execute(BREAKS.format(state))
    await operator.close()

    requested_records = [list_records(Listing(COMPANY_TYPE, heavy if n in (5, 9) else light, 3)) for n in range(20)]
    results = await asyncio.gather(*map(store.read, requested_records), return_exceptions=True)
    await store.close()

    assert [n for n, page in enumerate(results) if page != records] == [5, 9]
    assert {type(results[n]) for n in (5, 9)} == {error}


async def _until_it_works(attempt) -> None:
    for _ in range(10_000):
        try:
            return await attempt()
        except Overloaded:
            await asyncio.sleep(0)
    pytest.fail("it never worked again")


async def test_read_only_server__makes_the_store_unavailable(empty_postgres_url) -> None:
    await (await open_store(empty_postgres_url)).close()
    admin = await asyncpg.connect(empty_postgres_url)
    await admin.execute(f"ALTER DATABASE {await admin.fetchval('SELECT current_database()')} SET default_transaction_read_only = on")
    await admin.close()
    store = await open_store(empty_postgres_url)

    with pytest.raises(StoreUnavailable, match="read-only"):
        await store.write(ensure_client("acme", 1))
    with pytest.raises(StoreUnavailable, match="read-only"):
        await store.check()
    await store.close()


async def test_failover__reconnects_to_the_writable_server(empty_postgres_url) -> None:
    """As when an address leads to a standby, and then to the new primary: old connections would read for ever."""
    await (await open_store(empty_postgres_url)).close()
    admin = await asyncpg.connect(empty_postgres_url)
    name = await admin.fetchval("SELECT current_database()")
    await admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    store = await open_store(empty_postgres_url)
    company = create_company(Creation(Company(1, 0, 5, 5, "quill.example")))
    for command in (ensure_client("acme", 1), company):
        with pytest.raises(StoreUnavailable, match="read-only"):
            await store.write(command)

    await admin.execute("SET default_transaction_read_only = off")
    await admin.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    await admin.close()
    created = [await store.write(ensure_client("acme", 1)), await store.write(company)]
    await store.close()

    assert created[0].client_id == "acme"
    assert created[1].is_new


def test_committing__raises_a_serialization_error_without_a_cause() -> None:
    with pytest.raises(asyncpg.SerializationError) as met, committing():
        raise asyncpg.SerializationError("they met")

    assert met.value.__cause__ is None


async def test_open_store__names_the_role_that_may_create_tables(databases: Databases, empty_postgres_url: str) -> None:
    if databases.ordinary_by_itself:
        pytest.skip("the server's own role is an ordinary one")
    admin = await asyncpg.connect(databases.as_superuser(empty_postgres_url))
    await admin.execute("ALTER SCHEMA public OWNER TO CURRENT_USER; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    await admin.close()
    refused = r"permission denied for schema public; use a role that owns the database \(docs/how-to/run-on-postgresql.md\)"

    with pytest.raises(UnusableStore, match=refused):
        await open_store(empty_postgres_url)
    store = await open_store(empty_postgres_url, as_is=True)
    with pytest.raises(UnusableStore, match=refused):
        await store.migrate()
    await store.close()


async def test_open_store__explains_that_no_server_of_the_requested_kind_exists(postgres_url) -> None:
    with pytest.raises(UnusableStore, match="cannot connect to PostgreSQL"):
        await open_store(f"{postgres_url}{'&' if '?' in postgres_url else '?'}target_session_attrs=standby")


CANCEL_REQUEST = (80877102).to_bytes(4, "big")


class Thief:
    """Stands between a store and its server: passes everything on until told to keep an answer to itself, and then hangs up."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self.keeps: bytes | None = None
        """The answer to what holds these bytes is not passed on."""
        self.swallows: bytes | None = None
        """What holds these bytes is not passed on; no connection is closed."""
        self.cancelled = 0
        """Requests to cancel a statement, which come on connections of their own."""
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        place = f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        user, at, _ = self._there.netloc.rpartition("@")
        query = urlencode([(name, value) for name, value in parse_qsl(self._there.query) if name not in ("host", "port")])
        return urlunsplit(self._there._replace(netloc=f"{user}{at}{place}", query=query))

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _reach(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = parse_qs(self._there.query).get("host", [""])[0]
        if folder.startswith("/"):
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{self._there.port or 5432}")
        return await asyncio.open_connection(self._there.hostname, self._there.port or 5432)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await self._reach()
        self._writers += [writer, server_writer]
        back = asyncio.create_task(self._pass_on(server_reader, writer))
        while data := await reader.read(65536):
            self.cancelled += data[4:8] == CANCEL_REQUEST
            if self.swallows is not None and self.swallows in data:
                continue
            if self.keeps is not None and self.keeps in data:
                self.keeps = None
                back.cancel()
                await asyncio.wait([back])
                server_writer.write(data)
                await server_reader.read(65536)  # it is done
                break
            server_writer.write(data)
        writer.transport.abort()
        server_writer.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()


async def test_lost_commit_response__raises_outcome_unknown_for_a_group(postgres_url) -> None:
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)

        thief.keeps = b"COMMIT"
        with pytest.raises(OutcomeUnknown, match="may be stored or not"):
            await store.write(ensure_client("acme", 1))
        client = await store.read(find_client("acme"))
        await store.close()

    assert client is not None


async def test_lost_commit_response__raises_outcome_unknown_for_a_single_creation(postgres_url) -> None:
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)
        client = await store.write(ensure_client("acme", 1))
        await store.write(create_company(Creation(Company(client.number, 0, 5, 5, "first.example"))))

        thief.keeps = b""
        with pytest.raises(OutcomeUnknown, match="may be stored or not"):
            await store.write(create_company(Creation(Company(client.number, 0, 5, 5, "second.example"))))
        again = await store.write(create_company(Creation(Company(client.number, 0, 5, 5, "second.example"), on_duplicate="return")))
        records = await store.read(list_records(Listing(COMPANY_TYPE, client.number, 10)))
        await store.close()

    assert not again.is_new
    assert sorted(company.domain for company in records) == ["first.example", "second.example"]


async def test_lost_begin_response__raises_store_unavailable_and_writes_nothing(postgres_url) -> None:
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)

        thief.keeps = b"BEGIN"
        with pytest.raises(Overloaded) as refused:
            await store.write(ensure_client("acme", 1))
        client = await store.read(find_client("acme"))
        await store.close()

    assert type(refused.value) is StoreUnavailable
    assert client is None


async def test_server_that_goes_silent__is_given_up_and_reached_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As behind a network that loses a host, or one that is frozen: no connection is closed."""
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)
        await store.write(ensure_client("before", 1))
        await store.read(find_client("before"))

        monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.2)
        monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.2)
        thief.swallows = b""
        refused = await asyncio.gather(
            store.write(ensure_client("during", 1)), store.read(find_client("before")), store.check(), return_exceptions=True
        )
        thief.swallows = None
        monkeypatch.undo()
        await _until_it_works(lambda: store.write(ensure_client("after", 2)))
        client = await store.read(find_client("before"))
        await store.close()

    assert [type(item) for item in refused] == [StoreUnavailable] * 3
    assert client is not None


async def test_silent_commit__has_an_unknown_outcome_and_is_not_cancelled(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled commit that waits for a standby becomes visible with one copy."""
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)

        monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.2)
        thief.swallows = b"COMMIT"
        with pytest.raises(OutcomeUnknown):
            await store.write(ensure_client("acme", 1))
        await store.close()

    assert thief.cancelled == 0


async def test_pooler_without_a_server__is_given_up(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PgBouncer accepts a connection at once, and holds its first statement back until it reaches a server."""
    thief = Thief(postgres_url)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.2)
    async with thief as url:
        thief.swallows = b"SET statement_timeout"
        with pytest.raises(UnusableStore, match="cannot connect"):
            await open_store(url)


async def test_migration__may_take_longer_than_a_request(empty_postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_SECONDS", 0.1)
    slow = Migration("9999_slow", "SELECT pg_sleep(0.2)")
    monkeypatch.setattr(engine, "packaged", lambda kind: [*packaged(kind), slow])
    store = await open_store(empty_postgres_url, as_is=True)

    ran = await store.migrate()
    await store.close()

    assert ran[-1] == "9999_slow"


async def test_lost_connection_of_the_pool__is_logged_with_its_reason(
    postgres_url: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_seldom", Seldom())  # another test may have logged this within a minute
    thief = Thief(postgres_url)
    async with thief as url:
        store = await open_store(url)
        await store.write(ensure_client("acme", 1))

        thief.keeps = b"BEGIN"
        with pytest.raises(StoreUnavailable):
            await store.read(find_client("acme"))
        await store.close()

    assert "connection was closed in the middle of operation" in caplog.text
    assert "terminate" not in caplog.text


async def test_connections__have_an_application_name(postgres_url) -> None:
    store = await open_store(postgres_url)
    await store.check()
    admin = await asyncpg.connect(postgres_url)

    named = await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'touchbase%'")
    await admin.close()
    await store.close()

    assert named >= 2


async def test_create_company__creates_each_company_once_in_two_processes(postgres_url) -> None:
    stores = [await open_store(postgres_url), await open_store(postgres_url)]

    answers = await asyncio.gather(
        *(
            store.write(create_company(Creation(Company(1, 0, 5, 5, f"{n}.example"), on_duplicate="return")))
            for n in range(200)
            for store in stores
        )
    )
    records = await stores[0].read(list_records(Listing(COMPANY_TYPE, 1, 1000)))
    for store in stores:
        await store.close()

    assert len({company.id for company in records}) == len(records) == 200
    assert {(answer.record.id, answer.record.domain) for answer in answers} == {(company.id, company.domain) for company in records}
    assert sum(answer.is_new for answer in answers) == 200


@pytest.mark.parametrize(
    "error", [asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError]
)
def test_is_unavailable__includes_refused_logins(error: type[asyncpg.PostgresError]) -> None:
    assert is_unavailable(error("no"))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connect call failed ('10.0.0.5', 5432)"),
        asyncpg.InvalidPasswordError('password authentication failed for user "touchbase" at 10.0.0.5'),
    ],
)
def test_unavailable__writes_details_only_to_the_log(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    reported = unavailable(error)

    assert reported.detail == "cannot use the database now: the server's log says why"
    assert "10.0.0.5" in caplog.text


async def test_check__does_not_wait_for_another_process_that_stopped_in_the_middle(postgres_url) -> None:
    """Such a process has locks of every row that servers share: one that is frozen must not make the others unready."""
    store = await open_store(postgres_url)
    frozen = await asyncpg.connect(postgres_url)
    await frozen.execute("BEGIN")
    await frozen.fetch("SELECT 1 FROM id_block FOR UPDATE")

    async with asyncio.timeout(10):
        await store.check()

    await frozen.execute("ROLLBACK")
    await frozen.close()
    await store.close()


async def test_vacuum__is_blocked_while_the_disk_is_full(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(url: str, tables: object = ()) -> None:
        raise asyncpg.DiskFullError("could not extend file")

    store = await open_store(postgres_url)
    with monkeypatch.context() as full:
        full.setattr(engine, "vacuum", fails)
        blocked = await store.vacuum()
    clean = await store.vacuum()
    await store.close()

    assert (blocked, clean) == (Vacuumed.BLOCKED, Vacuumed.CLEAN)
