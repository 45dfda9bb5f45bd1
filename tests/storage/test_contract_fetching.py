"""What every engine promises about wanted records: who may ask, for what, and what becomes of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import begin_deletion, ensure_client, set_client_state
from touchbase.common.timestamps import SECOND
from touchbase.connections.fetch_state import ClaimedFetch, FetchRequest, FetchResult
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections
from touchbase.connections.sql.fetching import claim_fetch, due_fetches, finish_fetch, list_fetching
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
SOON = NOON + 2 * SECOND
UNTIL = NOON + 100 * SECOND
ASKED = ("test", "crm")
USUAL = ConnectionSettings()


async def client_of(store: Store, client_id: str = "acme", token: str = "a-token") -> int:
    client = (await store.write(ensure_client(client_id, NOON))).number
    await store.write(add_connection(Connection(client, "crm", "test", NOON, NOON, access_token=token)))
    return client


def read(request: WebhookRequest) -> Translation:
    events = [Event(**item) for item in msgspec.json.decode(request.body)]
    return Translation("test", events, may_ask=request.query != "fetched")


async def apply_events(store: Store, client: int, *events: dict[str, Any], at: int = NOON, query: str = "") -> None:
    """A call with these events is applied."""
    body = msgspec.json.encode([{"event": "contact.updated", "occurred_us": NOON, "object_type": "person", **event} for event in events])
    await store.write(store_delivery(client, "crm", msgspec.json.encode([at, query])[:8] + body[-200:], b"{}", query, body, at))
    await InboxWorker(store, read, lambda: at).drain()


async def claim(store: Store, client: int, now: int = SOON, until: int = UNTIL, limit: int = 10) -> ClaimedFetch | None:
    return await store.write(claim_fetch(client, "test", now, until, limit))


async def ids(store: Store, client: int, now: int = SOON) -> list[str]:
    """The objects that one may ask for now, without asking for them."""
    claimed = await claim(store, client, now, UNTIL)
    assert claimed is not None
    await store.write(finish_fetch(client, "test", UNTIL, FetchResult(0)))
    return [request.object_id for request in claimed.requests]


async def test_due_fetches__have_parked_objects_after_a_delay_and_first(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1", "email": "ann@example.com"})
    await apply_events(store, client, {"object_id": "1", "thin": True}, at=NOON + 1)
    await apply_events(store, client, {"object_id": "2"}, at=NOON + 2)

    early = await store.read(due_fetches(NOON + SECOND))

    assert early == []
    assert await store.read(due_fetches(SOON + 9)) == [(client, "test")]
    assert await ids(store, client, SOON + 9) == ["2", "1"]


@pytest.mark.parametrize("token", ["", "a-token"])
async def test_due_fetches__require_an_access_token(store: Store, token: str) -> None:
    client = await client_of(store, token=token)
    await apply_events(store, client, {"object_id": "1"})

    assert await store.read(due_fetches(SOON)) == ([(client, "test")] if token else [])


async def test_due_fetches__are_ordered_by_waiting_time(store: Store) -> None:
    clients = [await client_of(store, f"c{number}") for number in range(4)]
    for client, next_us in zip(clients, (NOON + 3, NOON + 1, None, NOON + 2), strict=True):
        await apply_events(store, client, {"object_id": "1"})
        if next_us is not None:
            await claim(store, client)
            await store.write(finish_fetch(client, "test", UNTIL, FetchResult(next_us)))

    due = await store.read(due_fetches(SOON))

    assert due == [(clients[place], "test") for place in (2, 1, 3, 0)]


@pytest.mark.parametrize("state", ["active", "suspended", "deleting"])
async def test_due_fetches__include_only_active_clients(store: Store, state: str) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"})
    if state == "deleting":
        await store.write(begin_deletion(client, NOON))
    else:
        await store.write(set_client_state(client, state, NOON))

    assert await store.read(due_fetches(SOON)) == ([(client, "test")] if state == "active" else [])


@pytest.mark.parametrize(
    ("event", "query"),
    [
        ({"object_id": "1"}, "fetched"),
        ({"object_id": "1", "event": "contact.deleted"}, ""),
        ({"object_id": "1", "email": "ann@example.com"}, ""),
        ({"email": "ann@example.com", "thin": True}, ""),
    ],
)
async def test_enrichment__requests_no_complete_fetched_or_deleted_object(store: Store, event: dict[str, Any], query: str) -> None:
    client = await client_of(store)

    await apply_events(store, client, event, query=query)

    assert await ids(store, client) == []


async def test_enrichment__drops_the_request_for_a_known_object_unless_values_are_missing(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"}, {"object_id": "2", "thin": True}, {"object_id": "3"})

    expected = [{"object_id": number, "email": f"{number}@example.com"} for number in ("1", "2")]
    await apply_events(store, client, *expected, at=NOON + 1)

    assert sorted(await ids(store, client)) == ["2", "3"]


async def test_enrichment__requests_no_object_for_a_repeated_event(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1", "email": "ann@example.com", "thin": True})
    claimed = await claim(store, client)
    assert claimed is not None
    await store.write(finish_fetch(client, "test", UNTIL, FetchResult(0, done=claimed.requests)))

    await apply_events(store, client, {"object_id": "1", "email": "ann@example.com", "thin": True}, at=NOON + 5)

    assert await ids(store, client, SOON + 10) == []


async def test_claim_fetch__holds_until_it_is_released_or_expires(store: Store) -> None:
    client, second = await client_of(store), await client_of(store, "other")
    for first_client in (client, second):
        await apply_events(store, first_client, {"object_id": "1"})

    first = await claim(store, client)
    beside = (await claim(store, client), await claim(store, client, UNTIL - 1, UNTIL + 9))
    elsewhere = await claim(store, second)
    after_its_end = await claim(store, client, UNTIL, UNTIL + 50)

    assert first is not None
    assert first.requests == [FetchRequest("person", "1", NOON, 0)]
    assert beside == (None, None)
    assert elsewhere == first == after_its_end
    assert await store.read(due_fetches(UNTIL + 49)) == [(second, "test")]


async def test_claim_fetch__succeeds_once_among_concurrent_claims(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"})

    claims = await asyncio.gather(*(claim(store, client) for _ in range(8)))

    assert sum(first_claim is not None for first_claim in claims) == 1


async def test_claim_fetch__respects_its_limit(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, *({"object_id": str(number)} for number in range(5)))

    claimed = await claim(store, client, limit=3)

    assert claimed is not None
    assert len(claimed.requests) == 3


async def test_finish_fetch__stores_its_outcome(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, *({"object_id": str(number)} for number in range(4)))
    claimed = await claim(store, client)
    assert claimed is not None
    came, gone, later, _ = sorted(claimed.requests, key=lambda request: request.object_id)

    finish = finish_fetch(client, "test", UNTIL, FetchResult(UNTIL + 5, failures=2, error="it broke", at=NOON + 3, fetched_us=NOON + 2,
        done=[came], not_found=[gone], retries=[(later, UNTIL + 60)]))  # fmt: skip
    until = await store.write(finish)

    (fetching,) = await store.read(list_fetching(client))
    assert until
    assert (fetching.tool, fetching.next_us, fetching.failures, fetching.stopped) == ("test", UNTIL + 5, 2, False)
    assert (fetching.error, fetching.error_us, fetching.fetched_us) == ("it broke", NOON + 3, NOON + 2)
    assert (fetching.wanted, fetching.not_found) == (2, 1)
    assert await claim(store, client, UNTIL + 4, UNTIL + 90) is None
    next_time = await claim(store, client, UNTIL + 60, UNTIL + 90)
    assert next_time is not None
    assert next_time.failures == 2
    assert sorted((request.object_id, request.attempts) for request in next_time.requests) == [("2", 1), ("3", 0)]


async def test_finish_fetch__leaves_the_last_error_visible_after_a_success(store: Store) -> None:
    client = await client_of(store)
    for finish in (
        finish_fetch(client, "test", UNTIL, FetchResult(0, error="it broke", at=NOON)),
        finish_fetch(client, "test", UNTIL, FetchResult(0, fetched_us=SOON)),
    ):
        await claim(store, client)
        await store.write(finish)

    (fetching,) = await store.read(list_fetching(client))
    assert (fetching.error, fetching.error_us, fetching.fetched_us, fetching.failures) == ("it broke", NOON, SOON, 0)


async def test_finish_fetch__leaves_a_request_that_was_renewed_during_the_fetch(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"})
    claimed = await claim(store, client)
    assert claimed is not None

    # In the same microsecond, by another event.
    await apply_events(store, client, {"object_id": "1", "occurred_us": NOON + 1}, query="?")
    await store.write(finish_fetch(client, "test", UNTIL, FetchResult(0, done=claimed.requests, not_found=claimed.requests)))

    assert await ids(store, client) == ["1"]


async def test_finish_fetch__after_its_claim_expired_leaves_the_next_claim_unchanged(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"})
    slow = await claim(store, client)
    assert slow is not None
    await claim(store, client, UNTIL, UNTIL + 50)

    stored = await store.write(
        finish_fetch(client, "test", UNTIL, FetchResult(0, stopped=True, error="late", at=UNTIL, done=slow.requests))
    )

    (fetching,) = await store.read(list_fetching(client))
    assert not stored
    assert (fetching.next_us, fetching.stopped, fetching.error, fetching.wanted) == (UNTIL + 50, False, None, 0)


async def test_object_not_found__is_requested_again_after_a_new_webhook_or_token(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"}, {"object_id": "2"})
    claimed = await claim(store, client)
    assert claimed is not None
    await store.write(finish_fetch(client, "test", UNTIL, FetchResult(0, not_found=claimed.requests)))
    left = await ids(store, client)

    await apply_events(store, client, {"object_id": "2", "occurred_us": NOON + 1}, at=NOON + 1)
    by_call = await ids(store, client, SOON + 1)
    await store.write(change_connection(client, "crm", "test", None, USUAL, NOON))
    by_change = await ids(store, client, SOON + 1)
    await store.write(change_connection(client, "crm", "test", None, USUAL, NOON, "another-token"))

    assert (left, by_call, by_change) == ([], ["2"], ["2"])
    assert sorted(await ids(store, client, SOON + 1)) == ["1", "2"]


async def test_change_connection__restarts_stopped_enrichment(store: Store) -> None:
    client = await client_of(store)
    await apply_events(store, client, {"object_id": "1"})
    await claim(store, client)
    await store.write(finish_fetch(client, "test", UNTIL, FetchResult(UNTIL * 2, stopped=True, error="401", at=NOON)))
    stopped = (await store.read(due_fetches(UNTIL * 3)), await claim(store, client, UNTIL * 3))

    await store.write(change_connection(client, "crm", "test", None, USUAL, NOON))

    (fetching,) = await store.read(list_fetching(client))
    assert stopped == ([], None)
    assert (fetching.stopped, fetching.failures, fetching.error) == (False, 0, None)
    assert await store.read(due_fetches(SOON)) == [(client, "test")]


async def test_change_connection__leaves_replaces_or_removes_the_access_token(store: Store) -> None:
    client = await client_of(store)
    changes = [None, "another", None, ""]

    observed = []
    for token in changes:
        changed = await store.write(change_connection(client, "crm", "test", None, USUAL, NOON, token))
        (listed,) = await store.read(list_connections(client))
        assert changed == listed
        observed.append(listed.access_token)

    assert observed == ["a-token", "another", "another", ""]
    assert "a-token" not in repr(replace(changed, access_token="a-token"))
