"""Recent calls: what stands beside the deliveries goes and comes with them."""

from __future__ import annotations

import time

import apsw
import asyncpg
import pytest
from tests.conftest import ByHand
from tests.storage.test_contract_erasure import EMAIL, REF, House, house, sent

from touchbase.domain.commands import EnsureClient, KeepDelivery
from touchbase.domain.keys import body_key
from touchbase.storage import open_store
from touchbase.storage.postgres import schema as postgres_schema
from touchbase.storage.sql.migrate import Migration, packaged
from touchbase.storage.sqlite import schema as sqlite_schema

__all__ = ["house"]

COLUMNS = "client, id, channel, state, received_us, attempts, repeats, next_attempt_us, size, key"


def keep(client: int, key: bytes, at: int) -> KeepDelivery:
    return KeepDelivery(client, "crm", key, b"{}", "", b"{}", at)


async def test_a_call_whose_body_went_with_an_erased_person_is_recognised_no_more(house: House, by_hand: ByHand) -> None:
    body = b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]' % EMAIL.encode()
    first = await house.keep(body)
    await house.tell(sent("bob@example.com", 2))
    assert await house.keep(body) == first

    await house.erase(refs=(REF,))

    keys = [bytes(key) for (key,) in await by_hand("SELECT key FROM recent_call")]
    assert (len(keys), body_key("crm", "", "", body) in keys) == (1, False)
    again = await house.keep(body)
    await house.work()
    assert again != first
    assert (await house.state(again))[:2] == ("ignored", "erased")


async def test_the_body_of_an_older_call_goes_and_the_newer_one_of_the_same_bytes_is_still_recognised(house: House) -> None:
    body = b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]' % EMAIL.encode()
    await house.keep(body)
    await house.work()
    house.now += 3601 * 1_000_000
    newer = await house.keep(body)  # waits while the person is erased: its body stays until it is applied

    await house.erase(refs=(REF,))

    assert await house.keep(body) == newer


def earlier(engine: str) -> list[Migration]:
    return [migration for migration in packaged(engine) if migration.name < "0014"]


def rows(now: int) -> list[str]:
    """A delivery of a minute ago, and one of two hours ago."""
    return [f"1, {number}, 'crm', 'received', {now - age}, 0, 0, 0, 2, {{}}" for number, age in ((1, 60_000_000), (2, 7_200_000_000))]


async def before_the_migration(url: str, now: int) -> None:
    if url.startswith("sqlite"):
        connection = apsw.Connection(url.removeprefix("sqlite:///"))
        sqlite_schema.migrate(connection.cursor(), earlier("sqlite"))
        for number, row in enumerate(rows(now), 1):
            connection.execute(f"INSERT INTO delivery ({COLUMNS}) VALUES ({row.format('?')})", (bytes([number]),))
        connection.close()
        return
    database = await asyncpg.connect(url)
    await postgres_schema.migrate(database, earlier("postgres"))
    await database.execute("SET touchbase.clients = 'all'")
    for number, row in enumerate(rows(now), 1):
        await database.execute(f"INSERT INTO delivery ({COLUMNS}) VALUES ({row.format('$1')})", bytes([number]))
    await postgres_schema.migrate(database, packaged("postgres"))
    await database.close()


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_calls_of_the_last_hour_are_recognised_after_an_upgrade(engine: str, tmp_path, request: pytest.FixtureRequest) -> None:
    url = f"sqlite:///{tmp_path}/old.db" if engine == "sqlite" else request.getfixturevalue("empty_postgres_url")
    now = time.time_ns() // 1000
    await before_the_migration(url, now)

    store = await open_store(url)
    client = (await store.write(EnsureClient("acme", now))).number
    kept = [await store.write(keep(client, bytes([number]), now)) for number in (1, 2)]
    await store.close()

    assert client == 1
    assert [(each.id == 1, each.is_repeat) for each in kept] == [(True, True), (False, False)]
