"""Transactions that meet on PostgreSQL: who waits for whom, and what each finds when it goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from touchbase.clients.sql.clients import ensure_client, list_clients
from touchbase.common.timestamps import SECOND
from touchbase.deliveries.delivery import Delivery
from touchbase.erasure.sql.erasures import erase_person
from touchbase.erasure.sql.persons import list_erasures
from touchbase.erasure_marks import digest
from touchbase.errors import Conflict, PersonErased
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import get_delivery
from touchbase.jobs.sql import list_jobs
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.search.sql.index import index_records
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan, Select
from touchbase.sql.store import Store
from touchbase.storage.postgres import engine
from touchbase.stores import open_store

NOON = 1_790_000_000 * SECOND
ANN = ("", "email", "ann@example.com")


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    store = await open_store(postgres_url)
    yield store
    await store.close()


@pytest.fixture
async def client(store: Store) -> int:
    return (await store.write(ensure_client("acme", NOON))).number


@pytest.fixture
async def other_connection(postgres_url: str) -> AsyncIterator[Any]:
    """Somebody else's connection, in whose transaction a test holds rows."""
    connection = await asyncpg.connect(postgres_url, server_settings={"touchbase.clients": "all"})
    yield connection
    await connection.close()


async def until_it_waits(second: Any, meeting: asyncio.Future[Any]) -> None:
    """Until somebody waits for a row that is held, or does not wait at all."""
    for _ in range(100_000):
        if meeting.done() or await second.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):
            return
    pytest.fail("it neither waited nor ended")


def contact(client: int, email: str | None = ANN[2], **more: Any) -> Contact:
    return Contact(client, 0, NOON, NOON, email=email, email_key=email, **more)


async def test_duplicate_creation__is_refused_without_waiting_for_row_locks(store: Store, client: int, other_connection: Any) -> None:
    profile = "linkedin.com/in/ann"
    ann = (await store.write(create_contact(Creation(contact(client, linkedin_url=profile, linkedin_key=profile))))).record
    acme = (await store.write(create_company(Creation(Company(client, 0, NOON, NOON, "acme.example"))))).record

    async with other_connection.transaction():
        await other_connection.fetch("SELECT id FROM contact FOR UPDATE")
        await other_connection.fetch("SELECT id FROM company FOR UPDATE")
        results = await asyncio.gather(
            store.write(create_contact(Creation(contact(client)))),
            store.write(create_contact(Creation(contact(client, None, linkedin_url=profile, linkedin_key=profile)))),
            store.write(create_company(Creation(Company(client, 0, NOON, NOON, "acme.example")))),
            return_exceptions=True,
        )

    assert [type(item) for item in results] == [Conflict] * 3
    assert [item.data["existing_id"] for item in results if isinstance(item, Conflict)] == [ann.id, ann.id, acme.id]


async def test_index__leaves_a_record_that_a_write_has_locked_for_later(store: Store, client: int, other_connection: Any) -> None:
    """A write locks its record before it notes it, and the index takes the note before the record: waiting would be a deadlock."""
    await store.write(create_contact(Creation(contact(client, first_name="Anna"))))

    async with other_connection.transaction():
        await other_connection.fetch("SELECT id FROM contact FOR UPDATE")
        indexing = asyncio.ensure_future(store.write(index_records(client)))
        await until_it_waits(other_connection, indexing)
        has_waited = not indexing.done()
        noted = await other_connection.fetchval("SELECT count(*) FROM search_pending")
    await indexing
    await store.write(index_records(client))

    assert (has_waited, noted) == (False, 1)
    assert await other_connection.fetchval("SELECT count(*) FROM search_pending") == 0
    assert "anna" in await other_connection.fetchval("SELECT words::text FROM search_index")


async def test_replay__skips_a_delivery_whose_body_retention_removed_during_the_wait(
    store: Store, client: int, other_connection: Any
) -> None:
    delivery = await store.write(store_delivery(client, "crm", b"k" * 16, b"{}", "", b"x", NOON))
    await store.work(client, 10, _sent, NOON + 1)

    async with other_connection.transaction():
        await other_connection.execute("UPDATE delivery SET body_removed = 'retention', body_removed_us = 5 WHERE id = $1", delivery.id)
        await other_connection.execute("DELETE FROM delivery_body WHERE id = $1", delivery.id)
        replay = asyncio.ensure_future(store.write(replay_deliveries(client, [delivery.id], NOON)))
        await until_it_waits(other_connection, replay)

    assert await replay == 0
    assert (await store.read(get_delivery(delivery.id, client))).state == "applied"  # type: ignore[union-attr]


def _sent(delivery: Delivery) -> Translation:
    return Translation("test", [Event("email_sent", NOON, "bob@example.com")])


async def test_create_contact__refuses_a_person_erased_in_a_concurrent_transaction(
    store: Store, client: int, other_connection: Any
) -> None:
    await store.write(erase_person(client, NOON, refs=[("", "email", "bob@example.com")]))
    secret = (await store.read(list_erasures(client, 10))).secret
    assert secret is not None

    async with other_connection.transaction():
        await other_connection.fetch("SELECT id FROM client WHERE id = $1 FOR NO KEY UPDATE", client)
        await other_connection.execute("INSERT INTO erased VALUES ($1, $2, 99, 0, $3)", client, digest(secret, client, ANN), NOON)
        create = asyncio.ensure_future(store.write(create_contact(Creation(contact(client), guarded=True))))
        await until_it_waits(other_connection, create)

    with pytest.raises(PersonErased):
        await create
    assert await store.read(list_records(Listing(CONTACT_TYPE, client, 10))) == []


async def test_create_contact_with_restore__creates_nothing_when_the_suppression_stays(
    store: Store, client: int, other_connection: Any
) -> None:
    await store.write(erase_person(client, NOON, refs=[ANN]))
    me = await other_connection.fetchval("SELECT current_user")
    await other_connection.execute(f"REVOKE DELETE ON erased FROM {me}")

    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await store.write(create_contact(Creation(contact(client), guarded=True, restore=True)))
    await other_connection.execute(f"GRANT DELETE ON erased TO {me}")

    assert await store.read(list_records(Listing(CONTACT_TYPE, client, 10))) == []
    assert (await store.write(create_contact(Creation(contact(client), guarded=True, restore=True)))).is_new


@query
def read_slowly(client: int) -> Plan[int]:
    """Wait until a lock is free."""
    yield Select("SELECT pg_advisory_lock_shared(77), pg_advisory_unlock_shared(77)", ())
    return client


async def test_query__does_not_wait_for_slow_queries_of_another_client(store: Any, client: int, other_connection: Any) -> None:
    quick = (await store.write(ensure_client("quick", NOON))).number
    await other_connection.execute("SELECT pg_advisory_lock(77)")
    try:
        slow = [asyncio.create_task(store.read(read_slowly(client))) for _ in range(3 * engine.READERS)]
        await until_it_waits(other_connection, slow[0])
        slow.pop().cancel()

        async with asyncio.timeout(20):
            new_contact = await store.write(create_contact(Creation(contact(quick))))
            record = await store.read(find_record(quick, CONTACT_TYPE, new_contact.record.id))
            handles = [first_client.client_id for first_client in await store.read(list_clients())]
            pages = await store.read(list_jobs(quick, 1))
    finally:
        await other_connection.execute("SELECT pg_advisory_unlock(77)")

    assert (record, handles, pages) == (new_contact.record, ["acme", "quick"], [])
    assert await asyncio.gather(*slow) == [client] * (3 * engine.READERS - 1)


async def test_creation__that_waits_for_a_merge_finds_that_the_address_is_the_survivors(
    store: Store, client: int, other_connection: Any
) -> None:
    """Its statement began before the merge ended, and does not see the merge's rows; the address is free in the unique index."""
    ann = (await store.write(create_contact(Creation(contact(client))))).record
    merged = (await store.write(create_contact(Creation(contact(client, "a.lee@example.com"))))).record

    async with other_connection.transaction():
        await other_connection.execute("DELETE FROM contact WHERE id = $1", merged.id)
        await other_connection.execute("INSERT INTO link VALUES ($1, '', 'email', 'a.lee@example.com', 0, 1, $2, NULL)", client, ann.id)
        creation = asyncio.ensure_future(store.write(create_contact(Creation(contact(client, "a.lee@example.com")))))
        await until_it_waits(other_connection, creation)

    with pytest.raises(Conflict) as refused:
        await creation
    assert refused.value.data["existing_id"] == ann.id


async def test_creation__of_an_address_that_another_request_adds_to_a_contact_is_refused(
    store: Store, client: int, other_connection: Any
) -> None:
    ann = (await store.write(create_contact(Creation(contact(client))))).record
    adding = update_contact(
        RecordUpdate(client, ann.id, {}, {}, NOON + 1, "api:1", further={"a.lee@example.com": "a.lee@example.com"}, adds=True)
    )

    async with other_connection.transaction():  # a creation that has not ended
        await other_connection.execute(
            "INSERT INTO contact (client, id, created_us, updated_us, email, email_key, from_api) VALUES ($1, 77, 1, 1, $2, $2, 1)",
            client, "a.lee@example.com",
        )  # fmt: skip
        addition = asyncio.ensure_future(store.write(adding))
        await until_it_waits(other_connection, addition)

    with pytest.raises(Conflict) as refused:
        await addition
    assert refused.value.data["existing_id"] == 77
