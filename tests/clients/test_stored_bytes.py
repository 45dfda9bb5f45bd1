"""Clients with a limit of stored bytes: what is refused above it, what is not, and where it shows."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.clients.sql.clients import ensure_client
from touchbase.clients.sql.stored_bytes import count_stored, store_count
from touchbase.clients.storage_counter import StorageCounter
from touchbase.clients.stored_bytes import COUNT_INTERVAL, LOOK_INTERVAL
from touchbase.common.timestamps import SECOND
from touchbase.doctor import diagnose
from touchbase.http.dependencies import RequestLimits
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.inbox.sql.refused import list_refusals
from touchbase.maintenance import Maintenance
from touchbase.server.metrics import storage_metrics
from touchbase.sql.store import Store

LIMIT = 1_000
EMAIL = {"email": "jane@example.com"}
MESSAGE = {"contact_email": "jane@example.com", "direction": "sent", "text": "Hello"}
CSV = {"content_type": "text/csv", "raw": b"email\njoe@example.com\n"}


async def stored(call: ApiClient, size: int, client_id: str = "default") -> None:
    """Pretend that the last count of the client gave this size, and let the application see it."""
    client = await call.parts.store.write(ensure_client(client_id, 1))
    await call.parts.store.write(store_count(client.number, size, call.clock(), call.parts.limits.stored_bytes))
    call.clock.move(2)


async def limited(call: ApiClient) -> int:
    """A client with a limit and one contact; returns the contact's id."""
    await call.settings(max_stored_bytes=LIMIT)
    contact: int = (await call.post("/public/v2/contacts", EMAIL)).json()["id"]
    return contact


async def test_writes__above_the_limit_are_refused_with_what_to_do(call: ApiClient) -> None:
    contact = await limited(call)
    await stored(call, LIMIT + 1)

    replies = [
        await call.post("/public/v2/contacts", {"email": "joe@example.com"}),
        await call.patch(f"/public/v2/contacts/{contact}", {"first_name": "Jane"}),
        await call("PUT", "/public/v2/contacts?match=email", {"email": "joe@example.com", "first_name": "Joe"}),
        await call.post("/public/v2/companies", {"domain": "acme.example"}),
        await call.post("/public/v2/contacts/batch", {"commands": [{"op": "create", "body": {"email": "joe@example.com"}}]}),
        await call.post("/public/v2/messages", MESSAGE),
        await call("POST", "/public/v2/contacts/imports", **CSV),
    ]

    assert [(reply.status, reply.problem["code"]) for reply in replies] == [(507, "storage_full")] * len(replies)
    assert replies[0].problem["detail"] == (
        "this client stores 1001 bytes and may store 1000; delete records, messages or imports, shorten `keep_bodies_days` in the client's "
        "settings, or ask an administrator to raise `max_stored_bytes`; bytes are counted again within 5 minutes"
    )
    assert [item["email"] for item in (await call.get("/public/v2/contacts")).json()["data"]] == ["jane@example.com"]


async def test_writes__at_the_limit_are_accepted(call: ApiClient) -> None:
    await limited(call)
    await stored(call, LIMIT)

    assert (await call.post("/public/v2/contacts", {"email": "joe@example.com"})).status == 201


async def test_limit__refuses_no_opt_out_erasure_deletion_or_setting(call: ApiClient) -> None:
    contact = await limited(call)
    other_contact_id = (await call.post("/public/v2/contacts", {"email": "joe@example.com"})).json()["id"]
    await stored(call, LIMIT * 100)

    replies = [
        await call.get(f"/public/v2/contacts/{contact}"),
        await call.post("/public/v2/suppressions", {"entries": [{"kind": "email", "value": "jane@example.com"}]}),
        await call.post(f"/public/v2/contacts/{contact}/merge", {"with": [other_contact_id]}),
        await call("DELETE", f"/public/v2/contacts/{contact}"),
        await call.post(f"/public/v2/contacts/{contact}/restore"),
        await call.post("/public/v2/contacts/batch", {"commands": [{"op": "delete", "id": contact}]}),
        await call("DELETE", f"/public/v2/contacts/{contact}?erase=true"),
        await call("PUT", "/admin/v1/clients/default", {"settings": {"max_stored_bytes": LIMIT * 200}}),
        await call.post("/public/v2/contacts", {"email": "jim@example.com"}),
    ]

    assert [reply.status for reply in replies if reply.status >= 400] == []


async def test_own_limit__of_zero_lifts_the_default(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(stored_bytes=LIMIT))
    await call.post("/public/v2/contacts", EMAIL)
    await stored(call, LIMIT + 1)
    refused = await call.post("/public/v2/contacts", {"email": "joe@example.com"})

    await call.settings(max_stored_bytes=0)
    accepted = await call.post("/public/v2/contacts", {"email": "joe@example.com"})

    assert (refused.status, accepted.status) == (507, 201)


async def test_upload__that_waits_is_not_started_above_the_limit(call: ApiClient) -> None:
    await limited(call)
    job = (await call("POST", "/public/v2/contacts/imports", **CSV)).json()
    await stored(call, LIMIT + 1)

    reply = await call.post(f"/public/v2/jobs/{job['id']}/start", {})

    assert (reply.status, reply.problem["code"]) == (507, "storage_full")


@pytest.mark.parametrize(("size", "status"), [(LIMIT + 1, 200), (LIMIT * 11 // 10, 200), (LIMIT * 11 // 10 + 1, 503)])
async def test_webhooks__have_a_tenth_more_room(call: ApiClient, size: int, status: int) -> None:
    await limited(call)
    await stored(call, size)

    reply = await call.post("/public/crm-webhook/default", {"event": "x"})

    refused = status != 200
    assert (reply.status, reply.headers.get("retry-after"), len(call.kept)) == (status, "300" if refused else None, int(not refused))


async def test_refused_webhook__is_listed_with_its_cause(store: Store, make_client: MakeClient) -> None:
    refused = RefusedWebhooks(lambda: 17)
    call = make_client(store, refused=refused)
    await limited(call)
    await stored(call, LIMIT * 2)

    await call.post("/public/crm-webhook/default", {"event": "x"})
    await refused.flush(store)

    assert [(refusal.cause, refusal.channel) for refusal in await store.read(list_refusals(10))] == [("storage", "crm")]


async def test_maintenance__counts_what_requests_and_webhooks_store(call: ApiClient) -> None:
    await limited(call)
    await call.post("/public/crm-webhook/default", {"event": "x" * 2_000})
    keeper = Maintenance(call.parts.store, call.clock)

    await keeper.round()
    call.clock.move(2)
    first = await call.post("/public/v2/contacts", {"email": "joe@example.com"})
    shown = (await call.get("/admin/v1/clients/default")).json()
    await call.settings(max_stored_bytes=1_000_000)
    call.clock.move(61)
    await keeper.round()
    call.clock.move(2)

    assert (first.status, shown["stored_bytes"] > 2_000) == (507, True)
    assert (await call.post("/public/v2/contacts", {"email": "joe@example.com"})).status == 201


async def test_counter__leaves_the_rest_for_the_next_round(call: ApiClient) -> None:
    await limited(call)
    await call.settings("other", max_stored_bytes=LIMIT)
    counter = StorageCounter(call.parts.store, call.clock, 0)

    counted = []
    for _ in range(2):
        await counter.count_pages(1)
        clients = (await call.get("/admin/v1/clients")).json()["data"]
        counted.append([client["client_id"] for client in clients if client["stored_bytes"]])

    assert (counted[0], LOOK_INTERVAL < COUNT_INTERVAL) == (["default"], True)


async def test_doctor_and_metrics__show_clients_near_their_limit(call: ApiClient) -> None:
    for client_id, size in (("near", 850), ("full", 1_100), ("fine", 10)):
        await call.settings(client_id, max_stored_bytes=LIMIT)
        await stored(call, size, client_id)

    results = [item async for item in diagnose(call.parts.store, call.clock(), silent=SECOND, keys_needed=False) if item.check == "storage"]
    totals = storage_metrics(await call.parts.store.read(count_stored()))

    assert [(item.level, item.detail) for item in results] == [
        ("note", "near stores 850 bytes, 85 % of its 1000"),
        ("problem", "full stores 1100 bytes, 110 % of its 1000; new records, messages and imports are refused"),
    ]
    assert {(sample.name, *sample.labels.values()): sample.value for total in totals for sample in total.samples} == {
        ("touchbase_stored_bytes",): 1_960,
        ("touchbase_largest_client_stored_bytes",): 1_100,
        ("touchbase_clients_over_storage_percent", "80"): 2,
        ("touchbase_clients_over_storage_percent", "100"): 1,
    }
