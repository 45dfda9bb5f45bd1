"""What every engine promises about a client's life: names, states, former ids, and that nothing of a deleted one remains."""

from __future__ import annotations

import asyncio
from typing import Any

import apsw
import pytest
from tests.company_links.waiting import wait_for_a_company
from tests.conftest import ENCRYPTION_KEYS, ExecuteSql
from tests.connections.silent import fall_silent
from tests.event_archive.stored import archive_an_event
from tests.inbox.refused import refused_body
from tests.outgoing.unsent import miss_an_event
from tests.storage.moved_address import move_an_address

from touchbase.attention.plans import Snooze, snooze_item
from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import store_key
from touchbase.clients.models import ACTIVE, DELETING, DELETION_DELAY, SUSPENDED, Client, Deletion, FormerId, Removal
from touchbase.clients.sql.clients import (
    begin_deletion,
    create_client,
    deleting_clients,
    ensure_client,
    find_client,
    find_client_by_number,
    former_ids,
    list_client_page,
    rename_client,
    rotate_client_id,
    set_client_state,
)
from touchbase.clients.sql.removal import CLIENT_TABLES, count_client_rows, remove_client_rows
from touchbase.clients.sql.stored_bytes import store_count
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection
from touchbase.connections.sql.fetching import claim_fetch
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.sql.objects import begin_objects, end_removals
from touchbase.deliveries.work import WorkReport
from touchbase.do_not_contact.models import NewEntry
from touchbase.do_not_contact.sql.entries import save_entries
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.keys import StaticKeys
from touchbase.erasure.sql.erasures import erase_person
from touchbase.errors import Conflict, NotFound, WrongState
from touchbase.event_log.sql.changes import IMPORT, begin_change
from touchbase.history.events import CONTACT, Author, Event, Translation
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.imports.report import StoredMapping
from touchbase.imports.sql import save_mapping
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import busy_clients, count_inbox, list_deliveries
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
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.distinct_pairs import add_distinct_pair
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.reports.parts import CountedPart, ReportPart
from touchbase.reports.sql.parts import store_parts
from touchbase.search.sql.index import index_records
from touchbase.sql.store import Store
from touchbase.stores import open_store
from touchbase.stores.prefetch import SLICE_BYTES
from touchbase.views.plans import View, add_view, set_default_view

LATER = 5 + DELETION_DELAY


def sent(delivery: Delivery) -> Translation:
    """A mail was sent to whom the body names; one object of the tool, so that there is a link too."""
    who = delivery.body.decode().strip()
    return Translation("instantly", [Event("email_sent", 7, email=who, object_id=f"o-{who}", custom={"Tier": "gold"})])


async def keep(store: Store, client: Client, *who: str) -> None:
    for name in who:
        body = f"{name}@example.com".encode()
        await store.write(store_delivery(client.number, "email_campaign", body[:16].ljust(16, b"_"), b"{}", "", body, 6))


async def work(store: Store, client: Client) -> WorkReport:
    return await store.work(client.number, 100, sent, 10)


async def with_data(store: Store, client_id: str = "acme", many: int = 3) -> Client:
    """A client with something in every table."""
    client = await store.write(create_client(client_id, "Acme", 5))
    number = client.number
    for n in range(many):
        company = (await store.write(create_company(Creation(Company(number, 0, 5, 5, f"c{n}.example"), [("Seats", "5")])))).record
        await store.write(
            create_contact(Creation(Contact(number, 0, 5, 5, f"{n}@a.example", f"{n}@a.example", company_id=company.id), [("Tier", "x")]))
        )
    await keep(store, client, *(f"person{n}" for n in range(many)))
    await work(store, client)
    await store.write(add_connection(Connection(number, "crm", "hubspot", 5, 5, ["a-long-secret"], access_token="a-token")))
    await store.write(add_connection(Connection(number, "crm", "generic", 5, 5, settings=ConnectionSettings(events={"noise": "ignored"}))))
    await fall_silent(store, number)
    await miss_an_event(store, number, 5)
    await wait_for_a_company(store, number)
    await store.write(store_delivery(number, "crm", b"thin".ljust(16), b"{}", "", b"{}", 5))
    named = Event("contact.updated", 5, "78@a.example", object_type="person", object_id="78", company_object=("company", "9"))
    thin = Translation("hubspot", [Event("contact.updated", 5, object_type="person", object_id="77"), named], may_ask=True)
    await store.work(number, 5, lambda delivery: thin, 6)
    await store.write(claim_fetch(number, "hubspot", 5, 7, 1))
    await store.write(execute_once(RequestKey(number, "a-key", b"f", 5), None, lambda result: StoredResponse(b"an answer")))
    await archive_an_event(store, number, 5)
    archived = await store.write(create_contact(Creation(Contact(number, 0, 5, 5, "archived@a.example", "archived@a.example"))))
    await store.write(erase_person(number, 5, archived.record.id))
    await store.write(erase_person(number, 5, refs=[("", "email", "gone@example.com")]))
    await store.write(store_refusals(number, [RefusedWebhook(number, 5, "crm", "not_verified")], bodies=[refused_body(number)]))
    await store.write(begin_objects(number, [f"{number}/place"], 5))
    await store.write(store_count(number, 5, 5, 0))
    await store.write(store_key(ApiKey(f"key-{client_id}", b"digest", ("admin",), number, "importer", 5)))
    job = await store.write(create_job(Job(number, 0, "contacts.import", UPLOADING, 5, 5)))
    await store.write(append_to_file(number, job.id, "input", b"email", 5))
    await store.write(save_mapping(number, StoredMapping("contact", "leads", {}, 5)))
    await store.write(rotate_client_id(number, f"{client_id}-now", 10**15))
    await store.write(index_records(number, 100))  # later records wait for the index
    for n in range(3):
        email = f"bin{n}@example.com"
        await store.write(create_contact(Creation(Contact(number, 0, 5, 5, email=email, email_key=email))))
    created = [
        record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, number, 200))) if (record.email or "").startswith("bin")
    ]
    await store.write(delete_record(number, CONTACT, created[0], 6, "deleted"))
    await store.write(merge_records(number, CONTACT, created[1], created[2:], Policy("newest"), 6, "merged"))
    await store.write(save_entries(number, [NewEntry("email", "listed@example.com")], 5))
    await store.write(store_parts(number, {(0, 5): CountedPart(0, ReportPart(), b"counted")}, 5))
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, number, 1)))
    await store.write(create_message(number, Message(0, "sent", "email", 5, "made", None, 5, "api", text="x", contact_id=contact.id)))
    await move_an_address(store, number)
    await store.write(begin_change(number, IMPORT, Author(None, "request"), 5, job.id))
    view = await store.write(add_view(number, View(number, 0, CONTACT, "u1", True, "All", "{}", 0, 1, 5), True))
    await store.write(set_default_view(number, view.id, "u1", True))
    await store.write(snooze_item(Snooze(number, "a", "warning", 4, 9), 5))
    await store.write(store_delivery(number, "crm", b"waiting".ljust(16), b"{}", "", b"{}", 5))
    await store.write(replay_mapped(number, job.id, MappingJob("crm", "generic", None, {}, "received"), 2**53, 9, 5))
    one, other = (record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, number, 2))))
    await store.write(add_distinct_pair(number, CONTACT, (one, other), "u1", 5))
    return client


async def tables_of(execute_sql: ExecuteSql, engine_url: str) -> dict[str, list[str]]:
    """Every table of the schema that has a column `client`, with the columns of its primary key."""
    if engine_url.startswith("sqlite"):
        names = [row[0] for row in await execute_sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        columns = {name: await execute_sql(f"SELECT name, pk FROM pragma_table_info('{name}') ORDER BY pk") for name in names}
    else:
        result = await execute_sql(
            "SELECT c.table_name, c.column_name, COALESCE(k.ordinal_position, 0) FROM information_schema.columns c "
            "LEFT JOIN information_schema.key_column_usage k ON k.table_name = c.table_name AND k.column_name = c.column_name "
            "AND k.constraint_name = c.table_name || '_pkey' WHERE c.table_schema = current_schema() ORDER BY 3"
        )
        columns = {row[0]: [item[1:] for item in result if item[0] == row[0]] for row in result}
    return {
        name: [column for column, place in value if place] for name, value in columns.items() if "client" in [item[0] for item in value]
    }


async def left_of(execute_sql: ExecuteSql, engine_url: str, number: int) -> dict[str, int]:
    """How many rows of a client there are in every table that can hold any, its own included."""
    counts = {
        name: (await execute_sql(f"SELECT count(*) FROM {name} WHERE client = ?", number))[0][0]
        for name in await tables_of(execute_sql, engine_url)
    }
    return {**counts, "client": (await execute_sql("SELECT count(*) FROM client WHERE id = ?", number))[0][0]}


async def remove(store: Store, number: int, *, most: int = 500, at: int = LATER, pieces: int = 10_000) -> list[Removal]:
    """Remove a client piece by piece, at most so many."""
    done: list[Removal] = []
    place: Any = None
    while len(done) < pieces and not (done and done[-1].done):
        # As the worker of object storage does.
        await store.write(end_removals([(number, f"{number}/place"), (number, f"{number}/events/place")]))
        done.append(await store.write(remove_client_rows(number, at, most, place)))
        place = done[-1].position
    return done


async def test_client_tables__list_every_table_with_a_client_column(store: Store, execute_sql: ExecuteSql, engine_url: str) -> None:
    listed = {table.name: [column for column in table.key if column != "client"] for table in CLIENT_TABLES}
    beside = {name for table in CLIENT_TABLES for name in table.children}

    schema = await tables_of(execute_sql, engine_url)

    schema.pop("search_index", None)  # the words of a record go with its row
    assert schema.keys() == listed.keys() | beside, "a table with a column client belongs into clients/sql/removal.py"
    assert {name: [column for column in key if column != "client"] for name, key in schema.items() if name in listed} == listed


async def test_client_tables__have_an_index_that_begins_with_the_client(sqlite_url: str) -> None:
    await (await open_store(sqlite_url)).close()

    with apsw.Connection(sqlite_url.removeprefix("sqlite:///")) as connection:
        for table in CLIENT_TABLES:
            key = ", ".join(table.key)
            sql = f"EXPLAIN QUERY PLAN SELECT {key} FROM {table.name} WHERE client = 1 ORDER BY {key} LIMIT 9"
            assert [row[3] for row in connection.execute(sql) if not row[3].startswith("SEARCH")] == [], table.name


@pytest.mark.parametrize("most", [1, 7, 500])
async def test_client_deletion__removes_all_rows_of_the_client_and_none_of_others(
    store: Store, execute_sql: ExecuteSql, engine_url: str, most: int
) -> None:
    client, second = await with_data(store), await with_data(store, "other")
    before, others = await left_of(execute_sql, engine_url, client.number), await left_of(execute_sql, engine_url, second.number)
    rows = await store.read(count_client_rows(client.number))

    await store.write(begin_deletion(client.number, 5))
    done = await remove(store, client.number, most=most)

    assert min(before.values()) > 0, "every table has something in it, else this test shows nothing"
    assert set((await left_of(execute_sql, engine_url, client.number)).values()) == {0}
    assert await left_of(execute_sql, engine_url, second.number) == others
    assert done[-1].removed == rows
    assert len(done) > rows // most
    assert await store.read(find_client("acme-now")) is None
    assert await store.read(find_client("acme", 5)) is None


async def test_client_deletion__resumes_after_an_interruption(store: Store, execute_sql: ExecuteSql, engine_url: str) -> None:
    client = await with_data(store)
    rows = await store.read(count_client_rows(client.number))
    await store.write(begin_deletion(client.number, 5))

    first = await remove(store, client.number, most=4, pieces=3)
    reported = await store.read(find_client_by_number(client.number))
    again = await store.write(begin_deletion(client.number, 99))
    remaining = await remove(store, client.number, most=4)

    assert reported is not None
    assert reported.deletion == again.deletion == Deletion(5, first[-1].removed)
    assert (first[-1].done, remaining[-1].done, remaining[-1].removed) == (False, True, rows)
    assert set((await left_of(execute_sql, engine_url, client.number)).values()) == {0}


async def test_client_deletion__may_run_in_several_processes_at_once(engine_url: str, open_with: Any, execute_sql: ExecuteSql) -> None:
    cipher = AesGcmCipher(StaticKeys(ENCRYPTION_KEYS.read()))
    stores = [await open_with(engine_url, {}, cipher=cipher) for _ in range(2)]
    client = await with_data(stores[0], many=8)
    await stores[0].write(begin_deletion(client.number, 5))

    async with asyncio.timeout(60):
        ended = await asyncio.gather(*(remove(store, client.number, most=3) for store in stores))

    assert [done[-1].done for done in ended] == [True, True]
    assert set((await left_of(execute_sql, engine_url, client.number)).values()) == {0}


async def test_client_deletion__removes_the_client_row_after_earlier_requests_end(
    store: Store, execute_sql: ExecuteSql, engine_url: str
) -> None:
    client = await with_data(store)
    await store.write(begin_deletion(client.number, 5))

    early = await remove(store, client.number, at=6, pieces=6)
    await store.write(create_contact(Creation(Contact(client.number, 0, 6, 6, "late@a.example", "late@a.example"))))
    result = await remove(store, client.number, at=LATER)

    assert [(item.done, item.wait_us) for item in early[-2:]] == [(False, LATER - 6)] * 2
    assert result[-1].done
    assert len(result) == 2
    assert set((await left_of(execute_sql, engine_url, client.number)).values()) == {0}


async def test_remove_client_rows__refuses_a_client_that_is_not_being_deleted(
    store: Store, execute_sql: ExecuteSql, engine_url: str
) -> None:
    client = await with_data(store)
    before = await left_of(execute_sql, engine_url, client.number)

    with pytest.raises(WrongState):
        await store.write(remove_client_rows(client.number, LATER, 500))

    assert await left_of(execute_sql, engine_url, client.number) == before
    assert (await store.write(remove_client_rows(10**9, LATER, 500))).done


async def test_client_being_deleted__refuses_changes_and_is_listed(store: Store) -> None:
    client, second = await store.write(ensure_client("acme", 1)), await store.write(ensure_client("other", 1))
    await store.write(begin_deletion(client.number, 5))

    for command in (
        rename_client(client.number, "x"), set_client_state(client.number, ACTIVE, 6), rotate_client_id(client.number, "new", 9),
    ):  # fmt: skip
        with pytest.raises(WrongState):
            await store.write(command)
    with pytest.raises(NotFound):
        await store.write(store_key(ApiKey("k", b"d", (), client.number, "", 6)))
    assert [deleting_client.number for deleting_client in await store.read(deleting_clients())] == [client.number]
    assert (await store.write(ensure_client("acme", 6))).state == DELETING
    with pytest.raises(NotFound):
        await store.write(begin_deletion(second.number + 10_000, 5))


async def test_create_client__stores_the_name_and_refuses_a_client_id_in_use(store: Store) -> None:
    client = await store.write(create_client("acme", "Acme Ltd", 5))

    with pytest.raises(Conflict):
        await store.write(create_client("acme", "Another", 6))

    assert (client.client_id, client.name, client.state, client.created_us) == ("acme", "Acme Ltd", ACTIVE, 5)
    assert await store.read(find_client("acme")) == await store.read(find_client_by_number(client.number)) == client


async def test_create_client__succeeds_once_when_two_processes_create_one_client(engine_url: str, open_with: Any) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(2)]

    answers = await asyncio.gather(
        *(store.write(create_client("acme", f"{n}", 5)) for n, store in enumerate(stores)), return_exceptions=True
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Client", "Conflict"]


async def test_client__is_renamed_suspended_and_resumed(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))

    named = await store.write(rename_client(client.number, "Acme"))
    suspended = await store.write(set_client_state(client.number, SUSPENDED, 2))
    again = await store.write(set_client_state(client.number, SUSPENDED, 3))
    result = await store.read(find_client("acme"))
    resumed = await store.write(set_client_state(client.number, ACTIVE, 4))

    assert (named.name, suspended.state, again, result, resumed.state) == ("Acme", SUSPENDED, suspended, suspended, ACTIVE)
    with pytest.raises(NotFound):
        await store.write(rename_client(client.number + 10_000, "x"))


async def test_suspended_client__has_webhooks_stored_and_applied_on_resumption(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))
    await store.write(set_client_state(client.number, SUSPENDED, 2))
    await keep(store, client, "ann", "bob")

    busy, report = await store.read(busy_clients(10)), await work(store, client)
    waiting, counted = await store.read(list_deliveries(10, client.number)), await store.read(count_inbox())
    await store.write(set_client_state(client.number, ACTIVE, 3))
    busy_then, report_then = await store.read(busy_clients(10)), await work(store, client)

    assert (busy, report.taken, {item.state for item in waiting}) == ([], 0, {"received"})
    assert (counted.by_state["received"], counted.oldest_us) == (2, {})
    assert (busy_then, report_then.ended) == ([client.number], {"applied": 2})
    assert len(await store.read(list_records(Listing(CONTACT_TYPE, client.number, 10)))) == 2


async def test_suspended_client__has_no_failing_delivery_attempted(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))
    await keep(store, client, "ann")
    await store.write(set_client_state(client.number, SUSPENDED, 2))

    def breaking(delivery: Delivery) -> Translation:
        raise ZeroDivisionError

    await store.work(client.number, 10, breaking, 10)

    assert [(item.state, item.attempts) for item in await store.read(list_deliveries(10, client.number))] == [("received", 0)]


async def test_suspension__stops_a_claimed_delivery_from_being_applied(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))
    body = b"ann@example.com".ljust(SLICE_BYTES)  # so large that a thread translates it
    await store.write(store_delivery(client.number, "email_campaign", body[:16], b"{}", "", body, 6))
    loop = asyncio.get_running_loop()

    def suspending(delivery: Delivery) -> Translation:
        asyncio.run_coroutine_threadsafe(store.write(set_client_state(client.number, SUSPENDED, 2)), loop).result(30)
        return sent(delivery)

    async with asyncio.timeout(60):
        report = await store.work(client.number, 10, suspending, 10)
        rehearsal = await store.dry_run(client.number, [(await store.read(list_deliveries(1, client.number)))[0].id], sent, 10)

    assert (report.taken, await store.read(list_records(Listing(CONTACT_TYPE, client.number, 10)))) == (0, [])
    assert (rehearsal.created, [item.state for item in rehearsal.deliveries]) == (1, ["applied"])


async def test_former_client_id__works_until_it_expires_and_stays_reserved(store: Store) -> None:
    client = await store.write(ensure_client("old", 1))

    rotated = await store.write(rotate_client_id(client.number, "new", 100))

    assert (rotated.number, rotated.client_id) == (client.number, "new")
    assert [(await store.read(find_client("old", at))) for at in (99, 100)] == [rotated, None]
    result = await store.read(find_client("old", 99))
    assert result is not None
    assert result.until_us == 100
    assert await store.read(find_client("old")) is None
    assert await store.read(find_client("new", 5)) == rotated
    assert await store.read(former_ids(client.number, 99)) == [FormerId("old", 100)]
    assert await store.read(former_ids(client.number, 100)) == []
    assert await store.write(ensure_client("old", 99)) == rotated
    with pytest.raises(NotFound):
        await store.write(ensure_client("old", 100))
    with pytest.raises(Conflict):
        await store.write(create_client("old", "", 101))


async def test_rotate_client_id__refuses_an_id_of_another_client_and_allows_a_former_own_id(store: Store) -> None:
    first, second = await store.write(ensure_client("one", 1)), await store.write(ensure_client("other", 1))
    await store.write(rotate_client_id(second.number, "other2", 0))

    for taken in ("other", "other2"):
        with pytest.raises(Conflict):
            await store.write(rotate_client_id(first.number, taken, 9))
    with pytest.raises(WrongState):
        await store.write(rotate_client_id(first.number, "one", 9))
    back = await store.write(rotate_client_id(second.number, "other", 50))

    assert back.client_id == "other"
    assert await store.read(former_ids(second.number, 5)) == [FormerId("other2", 50)]
    assert await store.read(find_client("one")) == first


async def test_rotate_client_id__gives_each_id_to_one_client_during_concurrent_creations(engine_url: str, open_with: Any) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    for turn in range(8):
        client = await stores[0].write(ensure_client(f"id{turn}", 1))
        answers = await asyncio.gather(
            stores[0].write(rotate_client_id(client.number, f"new{turn}", 100)),
            stores[1].write(ensure_client(f"id{turn}", 5)),
            stores[2].write(create_client(f"new{turn}", "", 5)),
            return_exceptions=True,
        )

        # The id means its client, whoever was first; the new id means one client only.
        assert isinstance(answers[1], Client)
        assert answers[1].number == client.number
        assert sum(isinstance(answer, Conflict) for answer in answers) == 1
        result = await stores[0].read(find_client(f"new{turn}", 50))
        assert result.number == next(answer.number for answer in (answers[0], answers[2]) if isinstance(answer, Client))


async def test_list_client_page__filters_by_state_and_by_part_of_the_name_or_id(store: Store) -> None:
    names = {"c1": "Ärzte Nord", "b2": "Acme", "a3": "acme Süd", "d4": ""}
    created = {client_id: await store.write(create_client(client_id, name, 1)) for client_id, name in names.items()}
    await store.write(set_client_state(created["b2"].number, SUSPENDED, 2))

    async def listed_client_ids(**wanted: Any) -> list[str]:
        return [client.client_id for client in await store.read(list_client_page(**{"limit": 10, **wanted}))]

    assert await listed_client_ids() == ["a3", "b2", "c1", "d4"]
    assert await listed_client_ids(limit=2) == ["a3", "b2"]
    assert await listed_client_ids(limit=2, after="b2") == ["c1", "d4"]
    assert await listed_client_ids(text="ACME") == ["a3", "b2"]
    assert await listed_client_ids(text="ärzte") == ["c1"]
    assert await listed_client_ids(text="4") == ["d4"]
    assert await listed_client_ids(state=SUSPENDED) == ["b2"]
    assert await listed_client_ids(only=created["c1"].number) == ["c1"]
    assert await listed_client_ids(text="nobody") == []
