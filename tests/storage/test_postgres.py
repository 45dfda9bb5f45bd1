"""PostgreSQL: what we refuse, lost connections, and several processes on one database."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from touchbase.domain.commands import CreateCompany, EnsureClient
from touchbase.domain.company import Company
from touchbase.domain.errors import Overloaded, UnusableStore
from touchbase.domain.queries import FindClient, ListCompanies
from touchbase.storage import open_store
from touchbase.storage.postgres.connection import is_not_now, overloaded, refuse


def test_a_server_that_loses_what_it_acknowledged_is_refused() -> None:
    refuse(180_000, "on", "on")
    refuse(140_002, "on", "local")
    refuse(150_000, None, None)

    with pytest.raises(UnusableStore, match=r"set fsync = on"):
        refuse(180_000, "off", "on")
    with pytest.raises(UnusableStore, match=r"set synchronous_commit = on"):
        refuse(180_000, "on", "off")
    with pytest.raises(UnusableStore, match="version 14"):
        refuse(130_009, "on", "on")


async def test_a_database_without_synchronous_commit_is_refused(empty_postgres_url) -> None:
    admin = await asyncpg.connect(empty_postgres_url)
    await admin.execute(f"ALTER DATABASE {await admin.fetchval('SELECT current_database()')} SET synchronous_commit = off")
    await admin.close()

    with pytest.raises(UnusableStore, match="synchronous_commit=off"):
        await open_store(empty_postgres_url)


async def test_a_server_that_is_away_is_explained_without_the_password() -> None:
    with pytest.raises(UnusableStore, match="cannot connect") as refused:
        await open_store("postgresql://someone:hidden@127.0.0.1:1/touchbase")

    assert "hidden" not in str(refused.value)


@pytest.mark.parametrize("password", ["hidden/", "hidden#x", "hidden?x", "x/hidden", "[hidden"])
async def test_an_address_that_its_password_breaks_is_explained_without_it(password: str) -> None:
    with pytest.raises(UnusableStore, match="cannot be read; in a user name or password write %2F for /") as refused:
        await open_store(f"postgresql://someone:{password}@127.0.0.1:1/touchbase")

    assert "hidden" not in str(refused.value)


async def test_lost_connections_are_made_anew(postgres_url) -> None:
    store = await open_store(postgres_url)
    await store.write(EnsureClient("before", 1))
    admin = await asyncpg.connect(postgres_url)

    await admin.fetch("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'touchbase'")
    await _until_it_works(lambda: store.write(EnsureClient("after", 2)))
    await _until_it_works(lambda: store.read(FindClient("after")))
    found = await store.read(FindClient("before"))
    await admin.close()
    await store.close()

    assert found is not None


async def _until_it_works(attempt) -> None:
    for _ in range(10_000):
        try:
            return await attempt()
        except Overloaded:
            await asyncio.sleep(0)
    pytest.fail("it never worked again")


async def test_a_read_only_server_is_overloaded_not_wrong(empty_postgres_url) -> None:
    await (await open_store(empty_postgres_url)).close()
    admin = await asyncpg.connect(empty_postgres_url)
    await admin.execute(f"ALTER DATABASE {await admin.fetchval('SELECT current_database()')} SET default_transaction_read_only = on")
    await admin.close()
    store = await open_store(empty_postgres_url)

    with pytest.raises(Overloaded, match="read-only"):
        await store.write(EnsureClient("acme", 1))
    with pytest.raises(Overloaded, match="read-only"):
        await store.check()
    await store.close()


async def test_our_connections_are_named_and_their_statements_end(postgres_url) -> None:
    store = await open_store(postgres_url)
    await store.check()
    admin = await asyncpg.connect(postgres_url)

    named = await admin.fetchval("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'touchbase'")
    await admin.close()
    await store.close()

    assert named >= 2


async def test_two_processes_give_ids_and_companies_once(postgres_url) -> None:
    stores = [await open_store(postgres_url), await open_store(postgres_url)]

    answers = await asyncio.gather(
        *(store.write(CreateCompany(Company(1, 0, 5, 5, f"{n}.example"), on_duplicate="return")) for n in range(200) for store in stores)
    )
    kept = await stores[0].read(ListCompanies(1, 1000))
    for store in stores:
        await store.close()

    assert len({company.id for company in kept}) == len(kept) == 200
    assert {(answer.record.id, answer.record.domain) for answer in answers} == {(company.id, company.domain) for company in kept}
    assert sum(answer.is_new for answer in answers) == 200


@pytest.mark.parametrize(
    "error", [asyncpg.InvalidPasswordError, asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError]
)
def test_a_server_that_does_not_let_us_in_any_more_says_nothing_about_a_command(error: type[asyncpg.PostgresError]) -> None:
    assert is_not_now(error("no"))


@pytest.mark.parametrize(
    "error",
    [
        ConnectionRefusedError(111, "Connect call failed ('10.0.0.5', 5432)"),
        asyncpg.InvalidPasswordError('password authentication failed for user "touchbase" at 10.0.0.5'),
    ],
)
def test_what_an_error_says_of_the_database_is_for_the_log_alone(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    told = overloaded(error)

    assert told.detail == "cannot use the database now: the server's log says why"
    assert "10.0.0.5" in caplog.text
