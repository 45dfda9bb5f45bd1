"""Interface 4.3 and 4.4: the two receivers keep every call byte for byte and answer 200 without a body."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient, Response, scope_of
from tests.examples import examples

from touchbase.adapters.interface import ProtocolResponse
from touchbase.common.timestamps import DAY
from touchbase.errors import Overloaded
from touchbase.http.dependencies import RequestLimits
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.sql.store import Store

TOKEN = "AQ4AQNot.A.Real.Session_" + "x" * 40
LOGIN = f"00D000000000001EAA!{TOKEN}"
WRAPPED = {
    "a message in JSON": json.dumps({"body": f"<SessionId>{LOGIN}</SessionId><Id>0031</Id>"}),
    "taken apart": json.dumps({"notifications": {"sessionid": [LOGIN], "id": "0031"}}),
    "JSON in JSON": json.dumps({"payload": json.dumps({"SessionId": {"#text": LOGIN}})}),
    "a form": urlencode({"xml": f"<SessionId>{LOGIN}</SessionId>"}),
    "an id of fifteen": f'{{"session": "00D000000000001!{TOKEN}"}}',
}
RECEIVERS = {"/public/emailcampaign-webhook/abc": "email_campaign", "/public/crm-webhook/abc": "crm"}


async def stored_deliveries(call: ApiClient) -> list[Any]:
    listed = await call.parts.store.read(list_deliveries(200))
    deliveries = [await call.parts.store.read(get_delivery(delivery.id)) for delivery in reversed(listed)]
    assert None not in deliveries
    return deliveries


def is_empty_ok(reply: Response) -> bool:
    return reply.status == 200 and reply.body == b"" and reply.headers["content-length"] == "0"


@pytest.mark.parametrize("target", RECEIVERS)
async def test_post_webhook__stores_the_exact_bytes_and_returns_200_without_a_body(call: ApiClient, target: str) -> None:
    body = b'{"b": 1,  "a": "\xc3\xa9"}\r\n'

    reply = await call("POST", f"{target}?secret=x&y", raw=body, content_type="application/json", x_hook_event="sent", user_agent="Tool/1")

    (delivery,) = await stored_deliveries(call)
    assert is_empty_ok(reply)
    assert delivery.body == body
    assert (delivery.client_id, delivery.channel, delivery.query) == ("abc", RECEIVERS[target], "secret=x&y")
    assert (delivery.state, delivery.received_us, delivery.size) == ("received", call.clock.now, len(body))
    assert delivery.headers == {"content-type": "application/json", "x-hook-event": "sent", "user-agent": "Tool/1"}


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=300), kind=st.none() | st.sampled_from(["text/xml", "application/x-www-form-urlencoded", "nonsense", ""]))
async def test_post_webhook__stores_any_bytes_of_any_content_type(sqlite_call: ApiClient, body: bytes, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}

    reply = await sqlite_call("POST", "/public/crm-webhook/abc", raw=body, **headers)

    assert is_empty_ok(reply)
    assert body in [delivery.body for delivery in await stored_deliveries(sqlite_call)]


async def test_post_webhook__stores_an_empty_body(call: ApiClient) -> None:
    assert is_empty_ok(await call("POST", "/public/crm-webhook/abc"))
    assert [delivery.body for delivery in await stored_deliveries(call)] == [b""]


async def test_post_webhook__stores_a_compressed_body_unchanged_even_if_corrupt(call: ApiClient) -> None:
    bodies = [gzip.compress(b'{"event": "sent"}', mtime=0), b"this is no gzip"]

    replies = [await call("POST", "/public/crm-webhook/abc", raw=body, content_encoding="gzip") for body in bodies]

    assert all(is_empty_ok(reply) for reply in replies)
    assert [(item.body, item.headers) for item in await stored_deliveries(call)] == [
        (body, {"content-encoding": "gzip"}) for body in bodies
    ]


async def test_post_webhook__stores_no_credential_or_transport_headers(call: ApiClient) -> None:
    secrets = {"authorization": "Bearer x", "cookie": "a=b", "proxy_authorization": "x", "x_api_key": "tb_x"}
    plumbing = {"host": "localhost", "connection": "close", "transfer_encoding": "chunked", "accept": "*/*", "accept_encoding": "gzip"}

    await call("POST", "/public/crm-webhook/abc", raw=b"{}", x_signature="v1=abc", **secrets, **plumbing)

    assert [delivery.headers for delivery in await stored_deliveries(call)] == [{"x-signature": "v1=abc"}]


async def test_post_webhook__counts_a_repeat_without_a_second_delivery(call: ApiClient) -> None:
    for _ in range(3):
        assert is_empty_ok(await call("POST", "/public/crm-webhook/abc", raw=b'{"id": 1}', x_attempt=str(_)))

    (delivery,) = await stored_deliveries(call)
    assert delivery.repeats == 2
    assert len(call.kept) == 1


@pytest.mark.parametrize(
    "second",
    [
        {"target": "/public/emailcampaign-webhook/abc"},
        {"target": "/public/crm-webhook/abd"},
        {"target": "/public/crm-webhook/abc?event=b"},
        {"x_hook_event": "b"},
        {"x_hook_topic": "b"},
        {"raw": b'{"id": 2}'},
    ],
)
async def test_post_webhook__is_no_repeat_if_channel_client_query_event_header_or_body_differs(
    call: ApiClient, second: dict[str, Any]
) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b'{"id": 1}')

    await call("POST", **{"target": "/public/crm-webhook/abc", "raw": b'{"id": 1}', **second})

    assert [delivery.repeats for delivery in await stored_deliveries(call)] == [0, 0]


async def test_post_webhook__stores_equal_bytes_again_after_the_dedupe_window(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"{}")
    call.clock.now += 5 * DAY

    await call("POST", "/public/crm-webhook/abc", raw=b"{}")

    assert len(await stored_deliveries(call)) == 2


async def test_post_webhook__notifies_the_inbox_worker_of_the_client(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"{}")

    (delivery,) = await stored_deliveries(call)
    assert call.kept == [delivery.client]


@pytest.mark.parametrize("target", RECEIVERS)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_get_webhook__returns_200_and_stores_nothing(call: ApiClient, target: str, method: str) -> None:
    assert is_empty_ok(await call(method, target))
    assert await stored_deliveries(call) == []


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
async def test_webhook_address__refuses_other_methods_with_405(sqlite_call: ApiClient, method: str) -> None:
    reply = await sqlite_call(method, "/public/crm-webhook/abc", raw=b"{}")

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD, POST")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 101, "é", "..%00", "a//", ".", ".."])
async def test_webhook_address__with_an_invalid_client_id_returns_404(sqlite_call: ApiClient, name: str) -> None:
    for method in ("POST", "GET"):
        reply = await sqlite_call(method, f"/public/crm-webhook/{name}", raw=b"{}")

        assert reply.status == 404
        assert reply.problem["detail"] == "there is no such webhook address; it must end with the exact id of a client"


async def test_webhook_address__accepts_a_trailing_slash(call: ApiClient) -> None:
    assert is_empty_ok(await call("POST", "/public/crm-webhook/abc/", raw=b"{}"))
    assert [delivery.client_id for delivery in await stored_deliveries(call)] == ["abc"]


async def test_webhook_body_bytes__refuses_a_larger_body_and_stores_nothing(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(webhook_body_bytes=100))

    replies = [
        await call("POST", "/public/crm-webhook/abc", raw=b"x" * 101),
        await call.in_pieces("POST", "/public/crm-webhook/abc", [b"x" * 60, b"x" * 60]),
    ]

    assert [reply.status for reply in replies] == [413, 413]
    assert replies[0].problem["detail"] == "the body may have at most 100 bytes"
    assert await stored_deliveries(call) == []


async def test_webhook_body_bytes__accepts_a_body_of_exactly_the_limit(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(webhook_body_bytes=100))

    assert is_empty_ok(await call("POST", "/public/crm-webhook/abc", raw=b"x" * 100))
    assert is_empty_ok(await call.in_pieces("POST", "/public/crm-webhook/abc", [b"y" * 60, b"y" * 40]))
    assert [delivery.size for delivery in await stored_deliveries(call)] == [100, 100]


class Failing:
    """A store that cannot keep anything."""

    def __init__(self, store: Store, error: Exception) -> None:
        self._store = store
        self._error = error

    async def read(self, query: Any) -> Any:
        return await self._store.read(query)

    async def write(self, command: Any) -> Any:
        raise self._error


async def test_post_webhook__returns_503_with_retry_after_when_the_store_is_overloaded(memory: Store, make_client: MakeClient) -> None:
    call = make_client(Failing(memory, Overloaded("the queue is full", retry_after=3)))

    reply = await call("POST", "/public/crm-webhook/abc", raw=b"{}")

    assert (reply.status, reply.headers["retry-after"]) == (503, "3")
    assert reply.problem["code"] == "overloaded"


async def test_post_webhook__returns_503_on_an_internal_error_and_logs_no_body(
    memory: Store, make_client: MakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    call = make_client(Failing(memory, RuntimeError("the disk is gone")))

    with caplog.at_level(logging.ERROR):
        reply = await call("POST", "/public/crm-webhook/abc", raw=b"a private matter")

    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.headers["x-request-id"] in caplog.text
    assert "private" not in caplog.text + reply.body.decode()


async def test_post_webhook__returns_a_protocol_response_after_storing(memory: Store, make_client: MakeClient) -> None:
    def echo(body: bytes) -> ProtocolResponse | None:
        return ProtocolResponse("application/json", body) if b"challenge" in body else None

    call = make_client(memory, protocol_answer=echo)

    demanded = await call("POST", "/public/crm-webhook/abc", raw=b'{"challenge": "x"}')
    usual = await call("POST", "/public/crm-webhook/abc", raw=b"{}")

    assert (demanded.status, demanded.headers["content-type"], demanded.body) == (200, "application/json", b'{"challenge": "x"}')
    assert is_empty_ok(usual)
    assert len(await stored_deliveries(call)) == 2


async def test_post_webhook__stores_nothing_when_the_sender_disconnects(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.send(
        scope_of("POST", "/public/crm-webhook/abc", {}), [{"type": "http.request", "body": b"{", "more_body": True}]
    )

    assert reply.status == 0
    assert await stored_deliveries(sqlite_call) == []


@pytest.mark.parametrize("target", RECEIVERS)
@pytest.mark.parametrize("body", WRAPPED.values(), ids=WRAPPED)
async def test_salesforce_session_id__is_masked_in_every_relay_format(call: ApiClient, target: str, body: str) -> None:
    replies = [await call("POST", target, raw=body.encode()) for _ in range(2)]

    (delivery,) = await stored_deliveries(call)
    assert [reply.status for reply in replies] == [200, 200]
    assert TOKEN.encode() not in delivery.body
    assert delivery.body == body.replace(TOKEN, "*" * 8).encode()
    assert delivery.repeats == 1


@pytest.mark.parametrize("pad", ["", "a", "ab"])
@pytest.mark.parametrize("pack", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
@pytest.mark.parametrize("slash", ["/", "\\/"])
async def test_salesforce_session_id__is_masked_within_base64(
    call: ApiClient, pad: str, pack: Callable[[bytes], bytes], slash: str
) -> None:
    message = f"{pad}<SessionId>{LOGIN}</SessionId><Name>Ünal??>></Name>".encode()
    envelope = json.dumps({"isBase64Encoded": True, "body": pack(message).decode()}).replace("/", slash)
    await call("POST", "/public/crm-webhook/abc", raw=envelope.encode())

    (delivery,) = await stored_deliveries(call)
    inner = base64.b64decode(json.loads(delivery.body)["body"])
    assert inner == message.replace(TOKEN.encode(), b"*" * 8)


@pytest.mark.parametrize("target", ["/public/crm-webhook/abc", f"/public/crm-webhook/abc?{urlencode({'sid': LOGIN})}"])
async def test_salesforce_session_id__in_a_compressed_body_is_masked_and_stored_decompressed(call: ApiClient, target: str) -> None:
    message = json.dumps({"sid": LOGIN}).encode()
    await call("POST", target, raw=gzip.compress(message), content_encoding="gzip")

    (delivery,) = await stored_deliveries(call)
    assert delivery.body == message.replace(TOKEN.encode(), b"*" * 8)
    assert "content-encoding" not in delivery.headers
    assert TOKEN not in delivery.query


async def test_salesforce_session_id__masking_leaves_the_text_around_base64_unchanged(call: ApiClient) -> None:
    message = f"<SessionId>{LOGIN}</SessionId>".encode()
    message += b" " * (-len(message) % 3)  # no padding: what follows the base64 is the backslash of the quote behind it
    body = json.dumps({"payload": json.dumps({"first": "AwR", "body": base64.b64encode(message).decode(), "last": 1})})
    await call("POST", "/public/crm-webhook/abc", raw=body.encode())

    (delivery,) = await stored_deliveries(call)
    inner = json.loads(json.loads(delivery.body)["payload"])
    assert (inner["first"], inner["last"]) == ("AwR", 1)
    assert base64.b64decode(inner["body"]) == message.replace(TOKEN.encode(), b"*" * 8)


async def test_salesforce_session_id__scans_a_body_of_backslashes_in_linear_time(call: ApiClient) -> None:
    body = b"MDBE" + b"\\" * 1_000_000  # looked at anew from every letter it would take hours

    assert is_empty_ok(await call("POST", "/public/crm-webhook/abc", raw=body))
    assert [delivery.body for delivery in await stored_deliveries(call)] == [body]


PICTURE = base64.b64encode(bytes(range(256)) * 8).decode()


@pytest.mark.parametrize("body", [json.dumps({"picture": PICTURE, "id": "MDBEMDBEM" * 20}), f"AwR{PICTURE}"])
async def test_salesforce_session_id__leaves_base64_without_one_unchanged(call: ApiClient, body: str) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=body.encode())

    (delivery,) = await stored_deliveries(call)
    assert delivery.body == body.encode()


@pytest.mark.parametrize("body", [b'{"org": "00D000000000001EAA"}', b"00D000000000001! is our id", b'"00D000000000001!short"'])
async def test_salesforce_session_id__leaves_similar_text_unchanged(call: ApiClient, body: bytes) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=body)

    (delivery,) = await stored_deliveries(call)
    assert delivery.body == body
