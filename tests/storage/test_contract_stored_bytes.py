"""What every engine promises about the count of a client's stored bytes."""

from __future__ import annotations

import pytest

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import begin_deletion, ensure_client, find_client, set_client_settings
from touchbase.clients.sql.stored_bytes import claim_count, count_stored, due_counts, list_near_limit, measure_page, store_count
from touchbase.clients.stored_bytes import COUNT_INTERVAL, LEASE, UNLIMITED_INTERVAL, Place, StorageShare, StoredTotals
from touchbase.common.timestamps import SECOND
from touchbase.errors import Forbidden
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.inbox.sql.commands import store_delivery
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.sql.store import Store

NOW = 1_700_000_000 * SECOND

START: Place = (0, None)


async def client_of(store: Store, client_id: str = "acme", limit: int | None = None) -> int:
    client = await store.write(ensure_client(client_id, 1))
    await store.write(set_client_settings(client_id, ClientSettings(max_stored_bytes=limit)))
    return client.number


async def fill(store: Store, client: int) -> None:
    """Store seven webhooks and three contacts with a custom field each, with letters of several bytes."""
    for number in range(7):
        await store.write(store_delivery(client, "crm", b"key%d" % number, b"{}", "", b"x" * (1000 + number), NOW))
    for number in range(3):
        email = f"{number}@example.com"
        await store.write(create_contact(Creation(Contact(client, 0, NOW, NOW, email, email), [("Größe", "é" * 100)])))


async def measured(store: Store, client: int, most: int) -> int:
    total, place = 0, START
    while True:
        page = await store.read(measure_page(client, place, most))
        total += page.size
        if page.next is None:
            return total
        assert page.next != place
        place = page.next


async def warnings(store: Store, client: int) -> list[dict[str, object]]:
    page = await store.read(list_logged_events(client, 0, 100))
    return [dict(event.data) for event in page.events if event.type == "client.storage_warning"]


@pytest.mark.parametrize("most", [1, 2, 5, 2_000])
async def test_measure_page__adds_up_each_row_once_whatever_the_page(store: Store, most: int) -> None:
    client, second = await client_of(store), await client_of(store, "other")
    empty = await measured(store, client, most)

    await fill(store, client)
    total = await measured(store, client, most)

    bodies, fields = sum(1002 + number for number in range(7)), 3 * (len("Größe".encode()) + 200)
    assert empty == 0
    assert bodies + fields < total < bodies + fields + 3 * 2_000
    assert total == await measured(store, client, 2_000)
    assert await measured(store, second, most) == 0


async def test_claim_count__is_for_one_process_until_its_lease_ends(store: Store) -> None:
    client = await client_of(store)

    claims = [await store.write(claim_count(client, at)) for at in (NOW, NOW + 1, NOW + LEASE - 1, NOW + LEASE)]

    assert claims == [True, False, False, True]
    assert await store.read(due_counts(NOW + LEASE)) == []


async def test_store_count__is_due_again_sooner_with_a_limit(store: Store) -> None:
    free, limited = await client_of(store), await client_of(store, "limited", 1_000)
    assert await store.read(due_counts(NOW)) == [free, limited]

    for client in (free, limited):
        await store.write(claim_count(client, NOW))
        await store.write(store_count(client, 10, NOW, 0))

    due = [await store.read(due_counts(NOW + later)) for later in (COUNT_INTERVAL - 1, COUNT_INTERVAL, UNLIMITED_INTERVAL)]
    assert due == [[], [limited], [limited, free]]


async def test_set_client_settings__makes_the_count_due_with_another_limit_only(store: Store) -> None:
    client = await client_of(store)
    await store.write(store_count(client, 10, NOW, 0))

    await store.write(set_client_settings("acme", ClientSettings(create_unknown=False)))
    same = await store.read(due_counts(NOW + 1))
    await store.write(set_client_settings("acme", ClientSettings(max_stored_bytes=5)))

    assert (same, await store.read(due_counts(NOW + 1))) == ([], [client])


async def test_store_count__shows_in_the_client_and_the_totals(store: Store) -> None:
    clients = [await client_of(store, name, limit) for name, limit in (("a", 100), ("b", 100), ("c", 100), ("d", None), ("e", 0))]

    for client, stored in zip(clients, (80, 81, 101, 5_000, 7_000), strict=True):
        await store.write(store_count(client, stored, NOW, 0))

    result = await store.read(find_client("c"))
    assert result is not None
    assert result.stored_bytes == 101
    assert await store.read(count_stored()) == StoredTotals(total=12_262, largest=7_000, near=2, over=1)
    assert await store.read(list_near_limit()) == [StorageShare(clients[1], 81, 100), StorageShare(clients[2], 101, 100)]


async def test_count_stored__of_no_client_is_nothing(store: Store) -> None:
    assert await store.read(count_stored()) == StoredTotals()


async def test_store_count__warns_once_until_the_client_fell_below(store: Store) -> None:
    client = await client_of(store, limit=100)

    warned = [await store.write(store_count(client, stored, NOW, 0)) for stored in (80, 81, 95, 120, 80, 90)]

    assert warned == [False, True, False, False, False, True]
    assert [(event["stored_bytes"], event["limit_bytes"], event["percent"]) for event in await warnings(store, client)] == [
        (81, 100, 81),
        (90, 100, 90),
    ]


@pytest.mark.parametrize(("own", "default", "warned"), [(None, 0, False), (None, 100, True), (0, 100, False), (1_000, 100, False)])
async def test_store_count__compares_with_the_own_limit_or_the_default(store: Store, own: int | None, default: int, warned: bool) -> None:
    client = await client_of(store, limit=own)

    assert await store.write(store_count(client, 99, NOW, default)) is warned


async def test_count__of_a_client_that_is_being_deleted_leaves_no_row(store: Store) -> None:
    client = await client_of(store, limit=1)
    await store.write(begin_deletion(client, NOW))

    claimed = await store.write(claim_count(client, NOW))
    warned = await store.write(store_count(client, 99, NOW, 0))

    assert (claimed, warned) == (False, False)
    assert await store.read(due_counts(NOW)) == []
    assert await store.read(count_stored()) == StoredTotals()


async def test_set_client_settings__with_keep_limits_leaves_the_bytes_and_refuses_others(store: Store) -> None:
    await client_of(store, limit=100)

    left_out = await store.write(set_client_settings("acme", ClientSettings(), keep_limits=True))
    same = await store.write(set_client_settings("acme", ClientSettings(max_stored_bytes=100), keep_limits=True))
    with pytest.raises(Forbidden, match="max_stored_bytes"):
        await store.write(set_client_settings("acme", ClientSettings(max_stored_bytes=0), keep_limits=True))

    assert (left_out.settings.max_stored_bytes, same.settings.max_stored_bytes) == (100, 100)
