"""Stores made before the migrations were squashed: converted as a whole, and used afterwards."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import asyncpg
import pytest
from tests.storage.old_store import KEYS, make_old_postgres, make_old_sqlite
from tests.storage.schemas import postgres_schema, sqlite_schema

from touchbase.auth.sql import list_keys
from touchbase.clients.commands import EnsureClient, FindClient
from touchbase.clients.sql.queries import list_clients
from touchbase.connections.sql.commands import list_connections
from touchbase.connections.sql.fetching import list_fetching
from touchbase.consistency.service import Verified, verify
from touchbase.errors import UnusableStore
from touchbase.history.events import Event, Translation
from touchbase.history.sql import get_history
from touchbase.idempotency.models import RequestKey
from touchbase.idempotency.sql import find_response
from touchbase.inbox.commands import StoreDelivery
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import ListDeliveries
from touchbase.inbox.refused import ListRefusals
from touchbase.records.commands import CreateContact, GetCompany, GetContact, ListContacts
from touchbase.records.models import Contact
from touchbase.sql.migrations import packaged
from touchbase.sql.store import Store
from touchbase.storage import open_store
from touchbase.storage.sqlite.backup import back_up, read_backup
from touchbase.storage.sqlite.restore import staged_backup

AT = 1_795_596_400_000_000
"""Soon after the old stores were made."""
CLIENT, ANN, BOB = 1, 1, 3
MIGRATIONS = [each.name for each in packaged("sqlite")]
LATER = 1_800_000_000_000_000
"""After everything in the old stores."""


@pytest.fixture(params=["sqlite", "postgresql"])
async def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store of the old migrations, once for each engine."""
    if request.param == "sqlite":
        return make_old_sqlite(tmp_path / "touchbase.db")
    return await make_old_postgres(str(request.getfixturevalue("empty_postgres_url")))


async def converted(url: str) -> Store:
    """The store at this address, opened after `touchbase migrate`."""
    store = await open_store(url, as_is=True, encryption_keys=KEYS, copies=False)
    assert await store.migrate() == MIGRATIONS
    await store.close()
    return await open_store(url, encryption_keys=KEYS)


async def run(url: str, sql: str) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        connection.execute(sql)
        connection.close()
    else:
        server = await asyncpg.connect(url)
        await server.execute(sql)
        await server.close()


async def test_conversion__gives_the_schema_of_a_new_store(old_url: str, tmp_path: Path, postgres_url: str) -> None:
    await (await converted(old_url)).close()

    if old_url.startswith("sqlite"):
        await (await open_store(f"sqlite:///{tmp_path}/new.db")).close()
        assert sqlite_schema(old_url.removeprefix("sqlite:///")) == sqlite_schema(f"{tmp_path}/new.db")
    else:
        assert await postgres_schema(old_url) == await postgres_schema(postgres_url)


async def test_conversion__keeps_records_and_their_history(old_url: str) -> None:
    store = await converted(old_url)

    ann, company = await store.read(GetContact(CLIENT, ANN)), await store.read(GetCompany(CLIENT, 1))
    history = await store.read(get_history(CLIENT, 1, ANN))
    contacts = await store.read(ListContacts(CLIENT, 10))
    differences = [str(each) async for each in verify(store, CLIENT, Verified(), bodies=True)]
    await store.close()

    assert ann is not None
    assert company is not None
    assert (ann.email, ann.first_name, ann.company_id, ann.status, ann.previous_status) == ("ann@example.com", "Ann", 1, "contacted", "new")
    assert (ann.first_sent_us, ann.last_reply_us) == (1_790_845_200_000_000, 1_790_931_600_000_000)
    assert [(each.name, each.value) for each in ann.custom_fields] == [("seat", "12"), ("shoe", "39")]
    assert (company.domain, company.name, company.status) == ("example.com", "Example", "prospect")
    assert [each.event for each in history] == ["email_sent", "email_replied", "contact.created", "contact.updated"]
    assert [each.email for each in contacts] == ["ann@example.com", "bob@example.com", "cid@example.org"]
    assert differences == []


async def test_conversion__keeps_clients_keys_connections_and_deliveries(old_url: str) -> None:
    store = await converted(old_url)

    former = await store.read(FindClient("beta", AT))
    (key,) = await store.read(list_keys(10, LATER))
    connections = await store.read(list_connections(CLIENT))
    deliveries = await store.read(ListDeliveries(20, CLIENT))
    (fetching,) = [each for each in await store.read(list_fetching(CLIENT)) if each.tool == "attio"]
    refusals = await store.read(ListRefusals(10))
    known = await store.read(find_response(RequestKey(CLIENT, "create-ann", b"", AT)))
    await store.close()

    assert (former is not None and former.name, key.name, key.scopes) == ("Beta", "reader", ("records:read",))
    assert [(each.tool, each.secrets, each.access_token) for each in connections] == [
        ("attio", [], "attio-token"),
        ("instantly", ["instantly-secret"], ""),
    ]
    assert [each.state for each in deliveries] == [
        "ignored", "unrecognised", "ignored", "applied", "parked", "parked", "ignored", "applied", "applied", "applied",
    ]  # fmt: skip
    assert (fetching.failures > 0, fetching.error is not None) == (True, True)
    assert [each.cause for each in refusals] == ["unknown_client", "not_verified"]
    assert known is not None
    assert (known.response.record_id, b'"first_name":"Ann"' in known.response.encoded) == (ANN, True)


async def test_converted_store__takes_writes_and_remembers_who_was_erased(old_url: str) -> None:
    store = await converted(old_url)
    translations = {
        b"bob": Translation("instantly", [Event("email_replied", LATER, "bob@example.com", key="bob-replied")]),
        b"zed": Translation("instantly", [Event("email_replied", LATER, "zed@example.com", key="zed-replied")]),
    }

    def translate(delivery: Delivery) -> Translation:
        return translations[delivery.body]

    made = await store.write(CreateContact(Contact(CLIENT, 0, LATER, LATER, email="eve@example.com", email_key="eve@example.com")))
    for body in translations:
        await store.write(StoreDelivery(CLIENT, "email_campaign", body * 4, b"{}", "", body, LATER))
    await store.work(CLIENT, 10, translate, LATER)
    bob = await store.read(GetContact(CLIENT, BOB))
    erased, applied = (await store.read(ListDeliveries(20, CLIENT)))[:2]
    emails = [each.email for each in await store.read(ListContacts(CLIENT, 10))]
    differences = [str(each) async for each in verify(store, CLIENT, Verified())]
    other = await store.write(EnsureClient("new-client", LATER))
    await store.close()

    assert made.record.id > 4
    assert bob is not None
    assert (bob.last_reply_us, bob.status) == (LATER, "replied")
    assert (applied.state, erased.state) == ("applied", "ignored")
    assert emails == ["ann@example.com", "bob@example.com", "cid@example.org", "eve@example.com"]
    assert (differences, other.number > 2) == ([], True)


async def test_sqlite_server__converts_an_old_store_as_it_opens_it_and_copies_it_before(tmp_path: Path) -> None:
    url = make_old_sqlite(tmp_path / "touchbase.db")

    store = await open_store(url, encryption_keys=KEYS)
    (said,) = store.warnings
    await store.close()

    (copy,) = tmp_path.glob(f"touchbase.db.before-{MIGRATIONS[-1][:4]}-*Z")  # noqa: ASYNC240
    assert str(copy) in said
    assert read_backup(copy).schema == "0021_order_of_creation"
    assert read_backup(tmp_path / "touchbase.db").schema == MIGRATIONS[-1]


async def test_postgres_server__refuses_an_old_database_until_migrate_is_run(empty_postgres_url: str) -> None:
    url = await make_old_postgres(empty_postgres_url)

    with pytest.raises(UnusableStore, match=r"has pending migrations: 0001_initial.*; run touchbase migrate"):
        await open_store(url, encryption_keys=KEYS)
    await (await converted(url)).close()


def test_sqlite_conversion__happens_once_when_several_processes_start(tmp_path: Path) -> None:
    url = make_old_sqlite(tmp_path / "touchbase.db")
    copies: list[str] = []
    failures: list[BaseException] = []

    async def open_and_close() -> None:
        store = await open_store(url, encryption_keys=KEYS)
        copies.extend(store.warnings)
        await store.close()

    _at_once(lambda: asyncio.run(open_and_close()), failures)

    assert (failures, len(copies)) == ([], 1)
    assert read_backup(tmp_path / "touchbase.db").schema == MIGRATIONS[-1]


def _at_once(start: Callable[[], None], failures: list[BaseException]) -> None:
    def watched() -> None:
        try:
            start()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=watched) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


async def test_postgres_conversion__happens_once_when_several_processes_migrate(empty_postgres_url: str) -> None:
    url = await make_old_postgres(empty_postgres_url)
    stores = [await open_store(url, as_is=True, encryption_keys=KEYS) for _ in range(4)]

    ran = await asyncio.gather(*(store.migrate() for store in stores))

    assert sorted(name for names in ran for name in names) == MIGRATIONS
    for store in stores:
        assert len(await store.read(list_clients())) == 2
        await store.close()


async def test_conversion__refuses_a_store_with_a_part_of_the_old_migrations(old_url: str) -> None:
    await run(old_url, "DELETE FROM migration WHERE name > '0017_repeats_and_problems'")
    says = (
        "last migrated by 0017_repeats_and_problems: run `touchbase migrate` with the last revision that has the migration 0021_order_of_cr"
    )

    with pytest.raises(UnusableStore, match=says):
        await open_store(old_url, encryption_keys=KEYS)
    store = await open_store(old_url, as_is=True, encryption_keys=KEYS)
    with pytest.raises(UnusableStore, match=says):
        await store.migrate()
    await store.close()


async def test_conversion__refuses_old_migrations_with_another_text(old_url: str) -> None:
    await run(old_url, "UPDATE migration SET digest = 'another' WHERE name = '0013_stuck'")

    with pytest.raises(UnusableStore, match="of a development version"):
        await open_store(old_url, encryption_keys=KEYS)


async def test_restore__refuses_a_backup_with_a_part_of_the_old_migrations(tmp_path: Path) -> None:
    await run(make_old_sqlite(tmp_path / "touchbase.db"), "DELETE FROM migration WHERE name > '0017_repeats_and_problems'")
    back_up(tmp_path / "touchbase.db", tmp_path / "b.db", "0", 5, lambda done, total: None)

    with (
        pytest.raises(UnusableStore, match="last migrated by 0017_repeats_and_problems"),
        staged_backup(tmp_path / "b.db", tmp_path / "c.db"),
    ):
        pass
