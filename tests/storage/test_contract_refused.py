"""What every engine promises about refused calls."""

from __future__ import annotations

from dataclasses import replace

from touchbase.clients.sql.clients import begin_deletion, ensure_client
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused import NO_CLIENT
from touchbase.inbox.sql.refused import list_refusals, store_refusals
from touchbase.sql.store import Store


def refused(client: int, at: int, **more: object) -> RefusedWebhook:
    return replace(RefusedWebhook(client, at, "crm", "not_verified", "hubspot", 17, {"user-agent": "é\"'"}, "acme", 3), **more)


async def times(store: Store, **sought: object) -> list[int]:
    return [refusal.received_us for refusal in await store.read(list_refusals(100, **sought))]  # type: ignore[arg-type]


async def test_list_refusals__shows_all_of_a_refused_call(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))
    await store.write(store_refusals(client.number, [refused(client.number, 5)]))

    (refusal,) = await store.read(list_refusals(10, client.number))

    assert refusal == refused(client.number, 5, id=refusal.id)


async def test_list_refusals__filters_and_pages_newest_first(store: Store) -> None:
    first_item, two = [(await store.write(ensure_client(name, 1))).number for name in ("acme", "other")]
    await store.write(
        store_refusals(
            first_item,
            [refused(first_item, 5), refused(first_item, 7, tool=None, cause="rate"), refused(first_item, 6, channel="email_campaign")],
        )
    )
    await store.write(store_refusals(two, [refused(two, 8)]))

    (first, second) = await store.read(list_refusals(2, first_item))

    assert await times(store) == [8, 7, 6, 5]
    assert await times(store, client=first_item) == [7, 6, 5]
    assert await times(store, client=first_item, tool="hubspot") == [6, 5]
    assert await times(store, cause="rate") == [7]
    assert await times(store, channel="email_campaign") == [6]
    assert await times(store, client=first_item, before=(second.received_us, second.id)) == [5]
    assert (first.received_us, second.received_us) == (7, 6)


async def test_note_refusals__keeps_the_newest_of_each_client(store: Store) -> None:
    first, two = [(await store.write(ensure_client(name, 1))).number for name in ("acme", "other")]
    await store.write(store_refusals(two, [refused(two, at) for at in (1, 2, 3)], most=3))
    await store.write(store_refusals(first, [refused(first, at) for at in (9, 3, 7, 7)], most=3))
    await store.write(store_refusals(first, [refused(first, 8)], most=3))

    assert await times(store, client=first) == [9, 8, 7]
    assert await times(store, client=two) == [3, 2, 1]


async def test_note_refusals__of_no_client_show_the_id_in_the_address(store: Store) -> None:
    await store.write(store_refusals(NO_CLIENT, [refused(NO_CLIENT, 5, client_id="acmee", cause="unknown_client")]))

    (refusal,) = await store.read(list_refusals(10))

    assert (refusal.client, refusal.client_id) == (NO_CLIENT, "acmee")


async def test_note_refusals__stores_nothing_for_a_client_that_is_being_deleted(store: Store) -> None:
    client = await store.write(ensure_client("acme", 1))
    await store.write(begin_deletion(client.number, 2))
    await store.write(store_refusals(client.number, [refused(client.number, 5)]))

    assert await times(store, client=client.number) == []
