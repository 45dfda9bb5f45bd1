"""Several servers write to one PostgreSQL: a reader of the feed sees every sequence once, in order, without a gap."""

from __future__ import annotations

import asyncio

from touchbase.clients.sql.clients import ensure_client
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_company, update_contact
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store
from touchbase.stores import open_store

WRITES = 40
"""Of each store."""


async def write_much(store: Store, clients: list[int], who: int) -> int:
    """Create and change records of all clients; return the number of events."""

    async def append_one(n: int) -> int:
        client, email = clients[n % len(clients)], f"p{who}-{n}@x.example"
        company = (await store.write(create_company(Creation(Company(client, 0, 5, 5, f"c{who}-{n}.example"))))).record
        contact = Contact(client, 0, 5, 5, email=email, email_key=email, company_id=company.id)
        record = (await store.write(create_contact(Creation(contact, [("Seats", "4")])))).record
        await store.write(update_contact(RecordUpdate(client, record.id, {"first_name": "Ann", "status": "won"}, {}, 9, f"api:{who}:{n}")))
        return 4

    return sum(await asyncio.gather(*map(append_one, range(WRITES))))


async def follow(store: Store, client: int, ended: asyncio.Event) -> list[int]:
    """Read the log again and again until the writers have ended; return the sequences as they came."""
    observed: list[int] = []
    while True:
        last_round = ended.is_set()
        page = await store.read(list_logged_events(client, observed[-1] if observed else 0, 7))
        observed += [event.sequence for event in page.events]
        if last_round and not page.has_more:
            return observed
        await asyncio.sleep(0)


async def test_reader__sees_every_sequence_once_while_several_stores_write(postgres_url: str) -> None:
    stores = [await open_store(postgres_url) for _ in range(3)]
    try:
        clients = [(await stores[0].write(ensure_client(name, 1))).number for name in ("a", "b")]
        ended = asyncio.Event()
        readers = [asyncio.create_task(follow(stores[n], client, ended)) for n, client in enumerate(clients)]

        counts = await asyncio.gather(*(write_much(store, clients, who) for who, store in enumerate(stores)))
        ended.set()

        results = await asyncio.gather(*readers)
        assert results == [[*range(1, sum(counts) // 2 + 1)]] * 2
    finally:
        for store in stores:
            await store.close()


async def test_writes__of_a_company_and_its_contacts_never_deadlock(postgres_url: str) -> None:
    store, other_store = await open_store(postgres_url), await open_store(postgres_url)
    try:
        client = (await store.write(ensure_client("a", 1))).number
        company = (await store.write(create_company(Creation(Company(client, 0, 5, 5, "x.example"))))).record.id
        await asyncio.gather(
            *(store.write(create_contact(Creation(Contact(client, 0, 5, 5, f"p{n}@x", f"p{n}@x", company_id=company)))) for n in range(60)),
            *(
                other_store.write(update_company(RecordUpdate(client, company, {"name": f"n{n}"}, {}, 9 + n, f"api:{n}")))
                for n in range(60)
            ),
        )

        page = await store.read(list_logged_events(client, 0, 1_000))
        assert [event.sequence for event in page.events] == [*range(1, page.newest + 1)]
        assert sum(event.type == "contact.created" for event in page.events) == 60
    finally:
        await store.close()
        await other_store.close()
