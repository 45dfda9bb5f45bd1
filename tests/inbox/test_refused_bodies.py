"""Bodies of refused webhooks: stored encrypted for some days, grouped, bounded, and replayed by an administrator."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client, find_client
from touchbase.common.timestamps import DAY
from touchbase.connections.sql.connections import list_connections
from touchbase.encryption.encrypted_columns import check_encryption, reencrypt_batch
from touchbase.erasure.service import Eraser
from touchbase.erasure_marks import email_ref
from touchbase.inbox.refused import NOT_VERIFIED, RefusedWebhooks
from touchbase.inbox.refused_bodies import MAX_BODY_BYTES, MAX_CLIENT_BYTES, RefusedBody, content_of
from touchbase.inbox.sql.refused_bodies import drop_refused, read_refused_bodies
from touchbase.inbox.worker import InboxWorker
from touchbase.retention.service import Retention, UnrecognisedLimits
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
SECRET = "a-secret-of-ours"
CONNECTIONS = "/admin/v1/clients/acme/connections"
REPLY = {"event_type": "reply_received", "lead_email": "ann@example.com", "timestamp": "2026-11-20T09:00:00.000Z", "campaign_id": "c1"}
HOOK = "/public/emailcampaign-webhook/acme"


@pytest.fixture
async def call(store: Store, make_client: MakeClient, clock: Any) -> ApiClient:
    client = make_client(store, senders=ADAPTERS, refused=RefusedWebhooks(clock))
    await client.settings("acme")
    await client.post(CONNECTIONS, {"channel": "email_campaign", "tool": "instantly", "secrets": [SECRET]})
    return client


async def number_of(call: ApiClient) -> int:
    client = await call.parts.store.read(find_client("acme"))
    assert client is not None
    return client.number


async def refuse(call: ApiClient, body: Any = REPLY, query: str = "", **headers: str) -> None:
    """Send a webhook that does not prove its sender, and store what was recorded."""
    reply = await call("POST", f"{HOOK}{query}", body, **headers)
    assert reply.status == 401
    assert call.parts.refused is not None
    await call.parts.refused.flush(call.parts.store)


async def stored(call: ApiClient) -> list[RefusedBody]:
    return await call.parts.store.read(read_refused_bodies(await number_of(call), "", 1_000))


async def work(call: ApiClient) -> None:
    """Apply what waits."""
    store: Any = call.parts.store
    worker = InboxWorker(store, ADAPTERS.translate, call.clock, connections=lambda client: store.read(list_connections(client)))
    await worker.drain()


async def test_refused_webhook__is_replayed_after_the_secret_was_mended_and_says_who_did_it(call: ApiClient) -> None:
    await refuse(call)
    call.clock.move(3_600)

    [refused] = (await call.get("/admin/v1/refusals")).json()["data"]
    first = f"/admin/v1/clients/acme/refused-webhooks/{refused['body_id']}"
    shown = (await call.get(first)).json()
    replayed = await call.post(f"{first}/replay")
    again = await call.post(f"{first}/replay")
    await work(call)

    assert json.loads(shown["body"]["content"]) == REPLY
    assert replayed.status == 202
    delivery = (await call.get(f"/admin/v1/deliveries/{replayed.json()['delivery_id']}")).json()
    assert (delivery["state"], delivery["tool"], delivery["received_at"]) == ("applied", "instantly", "2026-11-20T09:30:00Z")
    assert (again.status, "replayed this webhook at" in again.json()["detail"]) == (409, True)
    after = (await call.get(first)).json()
    assert (after["body"], after["replayed_at"], after["delivery_id"]) == (None, "2026-11-20T10:30:00Z", delivery["id"])
    assert after["replayed_by"] == "an administrator without a key"


async def test_earlier_reply__opens_a_done_conversation_when_it_is_replayed(call: ApiClient) -> None:
    await refuse(call, REPLY | {"reply_text": "Yes, call me."})
    later = REPLY | {"timestamp": "2026-11-20T09:10:00.000Z", "reply_text": "Any news?"}
    assert (await call.post(f"{HOOK}?token={SECRET}", later)).status == 200
    await work(call)
    [conversation] = (await call.get("/team/v1/conversations?client_id=acme")).json()["data"]
    done = await call("PATCH", f"/team/v1/conversations/acme/{conversation['contact']['id']}", {"state": "done"})
    [refused] = (await call.get("/admin/v1/refusals")).json()["data"]

    replayed = await call.post(f"/admin/v1/clients/acme/refused-webhooks/{refused['body_id']}/replay")
    await work(call)

    [after] = (await call.get("/team/v1/conversations?client_id=acme")).json()["data"]
    assert (done.json()["state"], replayed.status, after["state"]) == ("done", 202, "open")
    assert after["open_since"] == "2026-11-20T09:00:00Z"


async def test_replay__of_an_unknown_id_is_404_and_of_an_unknown_tool_422(call: ApiClient) -> None:
    await refuse(call)
    [body] = await stored(call)

    missing = await call.post("/admin/v1/clients/acme/refused-webhooks/0123456789abcdef01234567/replay")
    tool = await call.post(f"/admin/v1/clients/acme/refused-webhooks/{body.digest}/replay?tool=nobody")

    assert (missing.status, tool.status) == (404, 422)


async def test_equal_refused_webhooks__are_stored_once_and_counted(call: ApiClient) -> None:
    for _ in range(3):
        await refuse(call)
        call.clock.move(10)

    [body] = await stored(call)

    assert (body.calls, body.received_us - body.first_us) == (3, 20_000_000)


async def test_presented_secrets__are_not_stored(call: ApiClient) -> None:
    await refuse(call, query="?token=wr0ng-token&hint=7", x_signature="wr0ng-signature", authorization="Bearer wr0ng", x_event="reply")

    [body] = await stored(call)

    assert body.content is not None
    assert "wr0ng" not in repr((body.content.headers, body.content.query))
    assert (body.content.query, body.content.headers["x-event"]) == ("hint=7", "reply")


async def test_content__is_encrypted_and_follows_a_key_change(call: ApiClient) -> None:
    await refuse(call)
    [body] = await stored(call)

    state = await call.parts.store.read(check_encryption())
    await call.parts.store.write(reencrypt_batch(100))

    assert (state.clear, sum(state.by_key.values()), state.lost) == (0, 2, [])
    assert await stored(call) == [body]


async def test_erasure__removes_bodies_that_name_the_person_and_no_other(call: ApiClient) -> None:
    await refuse(call)
    await refuse(call, {**REPLY, "lead_email": "bob@example.com"})
    store: Any = call.parts.store
    eraser = Eraser(store, ADAPTERS.translate, call.clock)

    await eraser.search(await eraser.erase(await number_of(call), refs=[email_ref("ann@example.com")]))

    assert [json.loads(body.content.body)["lead_email"] for body in await stored(call) if body.content] == ["bob@example.com"]


async def test_refused_webhook__of_an_erased_person_is_not_stored(call: ApiClient) -> None:
    store: Any = call.parts.store
    eraser = Eraser(store, ADAPTERS.translate, call.clock)
    await eraser.search(await eraser.erase(await number_of(call), refs=[email_ref("ann@example.com")]))
    call.clock.move(60)  # the client is read again

    await refuse(call)

    assert await stored(call) == []


async def test_compressed_body__is_not_stored_for_a_client_that_has_erased_people(call: ApiClient) -> None:
    store: Any = call.parts.store
    eraser = Eraser(store, ADAPTERS.translate, call.clock)
    await refuse(call, content_encoding="gzip")
    before = len(await stored(call))
    await eraser.search(await eraser.erase(await number_of(call), refs=[email_ref("ann@example.com")]))
    call.clock.move(60)  # the client is read again

    await refuse(call, {**REPLY, "lead_email": "bob@example.com"}, content_encoding="gzip")

    assert (before, len(await stored(call))) == (1, 0)


async def test_retention__removes_refused_bodies_by_age_and_before_unrecognised_ones(call: ApiClient) -> None:
    store: Any = call.parts.store
    await call("POST", "/public/crm-webhook/acme", raw=b'{"riddle": "%s"}' % (b"x" * 1_000))
    await work(call)
    for number in range(3):
        await refuse(call, {**REPLY, "lead_email": f"{number}@example.com", "text": "x" * 1_000})
        call.clock.move(1)
    [oldest, *_] = sorted(await stored(call), key=lambda body: body.received_us)
    room = 1_013 + sum(body.size for body in await stored(call)) - 1

    eraser = Eraser(store, ADAPTERS.translate, call.clock)
    await Retention(store, eraser, call.clock, unrecognised=UnrecognisedLimits(90, room, 7)).run_once()
    left = [body.digest for body in await stored(call)]
    call.clock.move(8 * DAY / 1_000_000)
    await Retention(store, eraser, call.clock, unrecognised=UnrecognisedLimits(90, 0, 7)).run_once()

    assert (len(left), oldest.digest in left) == (2, False)
    assert await stored(call) == []
    [unrecognised] = (await call.get("/admin/v1/deliveries?state=unrecognised")).json()["data"]
    assert (await call.get(f"/admin/v1/deliveries/{unrecognised['id']}")).json()["body"] is not None


async def test_drop__removes_only_what_is_over_the_budget(call: ApiClient) -> None:
    for number in range(3):
        await refuse(call, {**REPLY, "lead_email": f"{number}@example.com"})

    dropped = await call.parts.store.write(drop_refused(await number_of(call), excess=1))

    assert (dropped.count, len(await stored(call))) == (1, 2)


async def test_flood__of_one_client_leaves_room_for_another(memory: Store, clock: Any) -> None:
    loud, quiet = await memory.write(ensure_client("loud", 1)), await memory.write(ensure_client("quiet", 1))
    refused = RefusedWebhooks(clock)
    for number in range(50):
        refused.record_refusal(loud, "crm", NOT_VERIFIED, body=b"%03d" % number + b"x" * 100_000)
    refused.record_refusal(quiet, "crm", NOT_VERIFIED, body=b"a reply")
    await refused.flush(memory)

    sizes = [sum(body.size for body in await memory.read(read_refused_bodies(client.number, "", 100))) for client in (loud, quiet)]

    assert 0 < sizes[0] <= MAX_CLIENT_BYTES
    assert sizes[1] == len(b"a reply")


@given(name=st.sampled_from(["token", "X_Secret", "api_key", "signature", "hub.signature", "auth-token", "password"]), value=st.text())
def test_any_parameter_or_header_for_a_secret__is_dropped(name: str, value: str) -> None:
    encoded = value.encode("utf-8", "replace")

    content = content_of([(name.encode(), encoded)], f"{name}=x{len(value)}x&a=1", b"{}")

    assert content is not None
    assert (content.headers, content.query) == ({}, "a=1")


def test_long_body__is_not_stored() -> None:
    assert content_of([], "", b"x" * (MAX_BODY_BYTES + 1)) is None
