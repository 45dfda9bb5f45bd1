"""Proof of origin at the door: a call that fails its client's secret is 401 and leaves nothing behind."""

from __future__ import annotations

import gzip
import hmac
import json
import threading
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from tests.asgi_client import ApiClient, CountedMetrics, MakeClient, Response

from touchbase.adapters.kit import signatures_body
from touchbase.adapters.registry import load_adapters
from touchbase.common.timestamps import SECOND
from touchbase.connections.sql.connections import list_connections
from touchbase.inbox import receive
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.inbox.worker import translator
from touchbase.metrics import DELIVERIES_REFUSED
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
CRM, MAILS = "/public/crm-webhook/acme", "/public/emailcampaign-webhook/acme"
CONNECTIONS = "/admin/v1/clients/acme/connections"
SECRET, NEXT = "a-secret-of-ours", "the-one-that-comes-next"


def refusals(call: ApiClient) -> list[tuple[object, ...]]:
    """Channel and cause of the refused webhooks that were counted."""
    return [(labels[0], labels[2]) for metric, *labels in call.parts.metrics.counted if metric is DELIVERIES_REFUSED]


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(store, senders=ADAPTERS, protocol_answer=ADAPTERS.protocol_answer, metrics=CountedMetrics())
    await client.settings("acme")
    return client


@pytest.fixture
async def sqlite_call(memory: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(memory, senders=ADAPTERS, protocol_answer=ADAPTERS.protocol_answer, metrics=CountedMetrics())
    await client.settings("acme")
    return client


async def connect(call: ApiClient, tool: str, *secrets: str, channel: str = "crm", **settings: Any) -> None:
    response = await call.post(CONNECTIONS, {"channel": channel, "tool": tool, "secrets": list(secrets), "settings": settings})
    assert response.status == 201


async def stored_deliveries(call: ApiClient) -> list[Any]:
    listed = await call.parts.store.read(list_deliveries(200))
    return [await call.parts.store.read(get_delivery(delivery.id)) for delivery in reversed(listed)]


def signed(body: bytes, secret: str = SECRET) -> dict[str, Any]:
    return {"raw": body, "attio_signature": hmac.new(secret.encode(), body, sha256).hexdigest()}


async def refused(call: ApiClient, reply: Response) -> bool:
    return (reply.status, reply.problem["code"]) == (401, "unauthorized")


async def test_signature_check__stores_a_verified_webhook_with_its_tool(call: ApiClient) -> None:
    await connect(call, "attio", SECRET)

    reply = await call("POST", CRM, **signed(b'{"a": 1}'))

    (delivery,) = await stored_deliveries(call)
    assert (reply.status, reply.body) == (200, b"")
    assert (delivery.tool, delivery.verified, delivery.body) == ("attio", True, b'{"a": 1}')


@pytest.mark.parametrize("value", [{}, {"attio_signature": "0" * 64}, signed(b"another body"), {"authorization": "Bearer x"}])
async def test_signature_check__refuses_an_unverified_webhook_with_401_and_stores_nothing(call: ApiClient, value: dict[str, Any]) -> None:
    await connect(call, "attio", SECRET)

    reply = await call("POST", CRM, **{**value, "raw": b'{"a": 1}'})

    assert await refused(call, reply)
    assert "attio" not in reply.body.decode(), "whoever calls must not learn which tools have a secret"
    assert SECRET not in reply.body.decode()
    assert await stored_deliveries(call) == []
    assert call.kept == []
    assert refusals(call) == [("crm", "not_verified")]


async def test_signature_check__refuses_a_form_with_an_oversized_index(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")

    reply = await sqlite_call("POST", MAILS, raw=b"a[0]=1&a[%b]=2" % (b"9" * 5_000))

    assert await refused(sqlite_call, reply)


async def test_signature_check__without_a_secret_accepts_a_webhook_as_not_verified(call: ApiClient) -> None:
    await connect(call, "attio")

    reply = await call("POST", CRM, raw=b"{}")

    (delivery,) = await stored_deliveries(call)
    assert reply.status == 200
    assert (delivery.tool, delivery.verified) == (None, False)


async def test_secret__applies_only_to_its_channel_and_client(call: ApiClient) -> None:
    await connect(call, "attio", SECRET)
    await call.settings("other")

    replies = [await call("POST", target, raw=b"{}") for target in (MAILS, "/public/crm-webhook/other", CRM)]

    assert [reply.status for reply in replies] == [200, 200, 401]


async def test_secret__applies_from_the_next_webhook_until_its_connection_is_deleted(call: ApiClient) -> None:
    first = await call("POST", CRM, raw=b"1")
    await connect(call, "attio", SECRET)
    second = await call("POST", CRM, raw=b"2")
    await call("DELETE", f"{CONNECTIONS}/crm/attio")
    third = await call("POST", CRM, raw=b"3")

    assert [first.status, second.status, third.status] == [200, 401, 200]


async def test_secret__still_applies_after_the_client_settings_are_replaced(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "attio", SECRET)
    await sqlite_call.settings("acme", create_unknown=False)

    assert await refused(sqlite_call, await sqlite_call("POST", CRM, raw=b"{}"))


async def test_secret_rotation__accepts_both_secrets(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "attio", SECRET)
    await sqlite_call.patch(f"{CONNECTIONS}/crm/attio", {"secrets": [NEXT, SECRET]})

    during = [await sqlite_call("POST", CRM, **signed(b"%d" % number, secret)) for number, secret in enumerate((SECRET, NEXT))]
    await sqlite_call.patch(f"{CONNECTIONS}/crm/attio", {"secrets": [NEXT]})
    after = [await sqlite_call("POST", CRM, **signed(b"%d" % number, secret)) for number, secret in enumerate((SECRET, NEXT), 2)]

    assert [reply.status for reply in (*during, *after)] == [200, 200, 401, 200]


async def test_signature_check__takes_the_tool_of_the_connection_that_verifies(call: ApiClient) -> None:
    await connect(call, "attio", SECRET)
    await connect(call, "odoo", "the-secret-of-odoo")

    replies = [
        await call("POST", CRM, **signed(b"1")),
        await call("POST", f"{CRM}?token=the-secret-of-odoo", raw=b"2"),
        await call("POST", CRM, raw=b"3"),
    ]

    assert [reply.status for reply in replies] == [200, 200, 401]
    assert [(item.tool, item.verified) for item in await stored_deliveries(call)] == [("attio", True), ("odoo", True)]


async def test_signature_check__accepts_webhooks_of_a_connected_tool_without_a_secret(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "attio", SECRET)
    await connect(sqlite_call, "odoo")

    plainly = await sqlite_call("POST", CRM, {"_model": "res.partner", "_id": 1, "email": "a@example.com"})
    forged = await sqlite_call("POST", CRM, {"event_type": "record.created", "id": {"workspace_id": "w"}})

    assert (plainly.status, forged.status) == (200, 401)
    assert [(item.tool, item.verified) for item in await stored_deliveries(sqlite_call)] == [(None, False)]


# A secret concerns the calls of its tool.

AT = "2026-11-20T09:00:00Z"
HEYREACH = {
    "event_type": "message_reply_received", "timestamp": AT, "campaign": {"id": 7, "name": "C", "status": "IN_PROGRESS"},
    "sender": {"id": 1, "first_name": "Me"},
    "lead": {"id": "x", "profile_url": "https://www.linkedin.com/in/ann", "first_name": "Ann", "email_address": "ann@example.com"},
}  # fmt: skip
INSTANTLY = {"event_type": "reply_received", "timestamp": AT, "workspace": "w", "campaign_id": "c", "lead_email": "a@example.com"}


async def apply(call: ApiClient) -> None:
    connections = await call.parts.store.read(list_connections(1))
    await call.parts.store.work(1, 100, translator(ADAPTERS.translate, connections), call.clock())


async def test_the_first_secret__leaves_calls_of_other_tools_in_unverified(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "instantly", SECRET, channel="email_campaign")

    other_sqlite_call, own = await sqlite_call("POST", MAILS, HEYREACH), await sqlite_call("POST", MAILS, INSTANTLY)
    await apply(sqlite_call)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert (other_sqlite_call.status, own.status) == (200, 401)
    assert (delivery.tool, delivery.verified, delivery.state) == ("heyreach", False, "applied")


@pytest.mark.parametrize("body", [{"email": "a@example.com"}, {"what": "is this"}, {}, [], "text"])
async def test_a_secret__keeps_out_what_is_plainly_no_tools(sqlite_call: ApiClient, body: object) -> None:
    await connect(sqlite_call, "instantly", SECRET, channel="email_campaign")

    assert await refused(sqlite_call, await sqlite_call("POST", MAILS, body))


@pytest.mark.parametrize(
    "wrapped", [lambda body: body, lambda body: [{"headers": {}, "query": {}, "body": body}], lambda body: {"body": body}]
)
async def test_a_call_that_looks_like_the_tool_with_the_secret__is_refused_however_it_is_wrapped(
    sqlite_call: ApiClient, wrapped: Any
) -> None:
    await connect(sqlite_call, "instantly", SECRET, channel="email_campaign")

    assert await refused(sqlite_call, await sqlite_call("POST", MAILS, wrapped(INSTANTLY)))


async def test_a_call_accepted_unverified__is_never_read_as_a_tool_that_has_a_secret(
    sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(sqlite_call, "instantly", SECRET, channel="email_campaign")
    sqlite_call.clock.move(60)
    monkeypatch.setattr(type(ADAPTERS), "guess_tool", lambda *_: ("heyreach", True))

    await sqlite_call("POST", MAILS, INSTANTLY)
    await apply(sqlite_call)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert (delivery.state, delivery.verified) == ("unrecognised", False)
    assert "instantly, whose secret is set" in (delivery.error or "")


async def test_what_came_before_the_secret__is_read_as_the_tools_when_it_is_replayed(sqlite_call: ApiClient) -> None:
    await sqlite_call("POST", MAILS, INSTANTLY)
    sqlite_call.clock.move(60)
    await connect(sqlite_call, "instantly", SECRET, channel="email_campaign")
    await apply(sqlite_call)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert (delivery.tool, delivery.state) == ("instantly", "applied")


@pytest.mark.parametrize("secrets", [[], [SECRET]])
async def test_require_verification__refuses_calls_of_every_tool_on_its_channel(sqlite_call: ApiClient, secrets: list[str]) -> None:
    await connect(sqlite_call, "instantly", *secrets, channel="email_campaign")
    await sqlite_call.settings("acme", require_verification={"email_campaign": True})

    mail, crm = await sqlite_call("POST", MAILS, HEYREACH), await sqlite_call("POST", CRM, {"a": 1})
    shown = await sqlite_call("POST", f"{MAILS}?token={SECRET}", HEYREACH)

    assert (mail.status, crm.status, shown.status) == (401, 200, 200 if secrets else 401)


async def test_mailersends_test_call__is_answered_and_nothing_of_it_is_stored(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "mailersend", SECRET, channel="email_campaign")
    event = {
        "type": "activity.hard_bounced",
        "created_at": "2026-11-20T09:00:00Z",
        "data": {"email": {"recipient": {"email": "a@example.com"}}},
    }

    replies = []
    for body in (b'{"type":"webhook.test"}', json.dumps([{"type": "webhook.test"}, event]).encode(), json.dumps(event).encode()):
        signature = hmac.new(b"test_Am3L1GuOIc4blLUuHqAPxxwkZaJyEk8G", body, sha256).hexdigest()
        replies.append((await sqlite_call("POST", MAILS, raw=body, signature=signature)).status)

    assert replies == [200, 200, 401]
    assert await stored_deliveries(sqlite_call) == []
    assert refusals(sqlite_call) == [("email_campaign", "test_call")] * 2 + [("email_campaign", "not_verified")]


async def test_checks_that_read_the_body__run_beside_the_event_loop(sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[bool] = []
    looked = signatures_body.parse
    on_loop = threading.get_ident()
    monkeypatch.setattr(signatures_body, "parse", lambda request: threads.append(threading.get_ident() == on_loop) or looked(request))
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")

    replies = [await sqlite_call("POST", MAILS, {"secret_key": secret}) for secret in (SECRET, "another")]

    assert [reply.status for reply in replies] == [200, 401]
    assert threads == [False, False]


async def test_too_many_calls_that_wait_for_their_check__are_503_and_can_come_again(
    sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")
    monkeypatch.setattr("touchbase.inbox.signature_check.MAX_WAITING", 0)

    assert (await sqlite_call("POST", MAILS, {"secret_key": SECRET})).status == 503


# What proves must not lie in the inbox.


async def test_redaction__removes_the_token_from_the_query_and_leaves_the_rest(call: ApiClient) -> None:
    await connect(call, "odoo", SECRET)

    await call("POST", f"{CRM}?event=Contact.update&token={SECRET}&b=%20c", raw=b"{}")

    (delivery,) = await stored_deliveries(call)
    assert delivery.query == "event=Contact.update&b=%20c"


@pytest.mark.parametrize(
    "headers",
    [{"x_our_own": SECRET}, {"authorization": f"Bearer {SECRET}"}, {"authorization": "Basic " + b64encode(SECRET.encode()).decode()}],
)
async def test_redaction__removes_headers_that_contain_the_secret(call: ApiClient, headers: dict[str, str]) -> None:
    await connect(call, "instantly", SECRET, channel="email_campaign")

    reply = await call("POST", MAILS, raw=b"{}", content_type="application/json", **headers)

    (delivery,) = await stored_deliveries(call)
    assert reply.status == 200
    assert delivery.headers == {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("body", "left"),
    [
        (b'{"event": "x", "secret_key": "%s"}', b'{"event": "x", "secret_key": "%s"}'),
        (b'{"a":"x %s y","secret_key":"%s"}', b'{"a":"x a-secret-of-ours y","secret_key":"%s"}'),
        (b"secret_key=%s&a=1", b"secret_key=%s&a=1"),
        (b"a=1&secret_key=%s", b"a=1&secret_key=%s"),
    ],
)
async def test_redaction__masks_the_secret_in_the_body_and_leaves_other_bytes(sqlite_call: ApiClient, body: bytes, left: bytes) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")

    reply = await sqlite_call("POST", MAILS, raw=body.replace(b"%s", SECRET.encode()))

    (delivery,) = await stored_deliveries(sqlite_call)
    assert reply.status == 200
    assert delivery.body == left.replace(b"%s", b"*" * len(SECRET))


@pytest.mark.parametrize(
    "written",
    [
        rb'{"secret_key":"s3cr\/et \u0026long"}',
        rb'{"secret_key":"\u0073\u0033cr\u002Fet\u0020\u0026long"}', rb'{"secret_key":"s3cr\u002fet &long"}',
        rb'"{\"secret_key\":\"s3cr\\/et \\u0026long\"}"', b"%7B%22secret_key%22%3A%22s3cr%5Cu002fet%20%5C%75%30%30%32%36long%22%7D",
        rb'{"secret_key":"s3cr\/et &long"}', rb'{"secret_key":"s3cr/et &long"}', b"secret_key=s3cr%2Fet+%26long&x=1",
        b"secret_key=s3cr%2fet%20%26long", rb'"{\"secret_key\":\"s3cr/et &long\",\"event_type\":\"x\"}"',
        b"%7B%22secret_key%22%3A%22s3cr%2Fet%20%26long%22%7D",
        b'--b\r\nContent-Disposition: form-data; name="secret_key"\r\n\r\ns3cr/et &long\r\n--b--\r\n',
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_packed", [False, True])
async def test_redaction__masks_the_secret_in_every_escaped_or_encoded_form(
    sqlite_call: ApiClient, written: bytes, is_packed: bool
) -> None:
    await connect(sqlite_call, "smartlead", "s3cr/et &long", channel="email_campaign")
    encoding = {"content_encoding": "gzip"} if is_packed else {}

    reply = await sqlite_call("POST", MAILS, raw=gzip.compress(written) if is_packed else written, **encoding)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert (reply.status, delivery.verified) == (200, True)
    assert b"s3cr" not in delivery.body
    assert b"*" * 13 in delivery.body
    assert "content-encoding" not in delivery.headers


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
async def test_redaction__masks_the_secret_in_a_large_body(sqlite_call: ApiClient, pack: Callable[[bytes], bytes]) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")
    body = json.dumps({"text": "x" * 20_000, "secret_key": SECRET}).encode()
    encoding = {"content_encoding": "gzip"} if pack is gzip.compress else {}

    reply = await sqlite_call("POST", MAILS, raw=pack(body), **encoding)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert reply.status == 200
    assert delivery.body == body.replace(SECRET.encode(), b"*" * len(SECRET))


async def test_redaction_over_its_budget__is_refused_and_listed(sqlite_call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")
    monkeypatch.setattr(receive, "REDACT", replace(receive.REDACT, seconds=0.001))
    body = json.dumps({"text": "%41" * 200_000, "secret_key": SECRET}).encode()

    reply = await sqlite_call("POST", MAILS, raw=body, x_token=SECRET)

    assert (reply.status, reply.json()["code"]) == (413, "too_large")
    assert await stored_deliveries(sqlite_call) == []
    assert refusals(sqlite_call) == [("email_campaign", "too_large")]


async def test_redaction__masks_a_numeric_secret_but_not_within_longer_numbers(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "zoho", "12345678")

    await sqlite_call("POST", CRM, raw=b'{"ids": [1123456789], "token": 12345678, "n": 123456789}')

    (delivery,) = await stored_deliveries(sqlite_call)
    assert delivery.body == b'{"ids": [1123456789], "token": "********", "n": 123456789}'


async def test_redaction__leaves_a_compressed_body_without_the_secret_unchanged(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")
    body = gzip.compress(b'{"event_type":"EMAIL_SENT"}')

    await sqlite_call("POST", MAILS, raw=body, content_encoding="gzip", x_token=SECRET)

    (delivery,) = await stored_deliveries(sqlite_call)
    assert (delivery.body, delivery.headers["content-encoding"]) == (body, "gzip")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
async def test_signature_check__accepts_compressed_webhooks_of_a_tool_without_a_secret(
    sqlite_call: ApiClient, pack: Callable[[bytes], bytes]
) -> None:
    await connect(sqlite_call, "smartlead", SECRET, channel="email_campaign")
    await connect(sqlite_call, "instantly", channel="email_campaign")
    body = json.dumps({"event_type": "email_sent", "lead_email": "a@example.com", "email_account": "b@example.net"}).encode()
    encoding = {"content_encoding": "gzip"} if pack is gzip.compress else {}

    assert (await sqlite_call("POST", MAILS, raw=pack(body), **encoding)).status == 200


async def test_secret_rotation__recognises_a_repeat_under_the_other_token(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "odoo", SECRET, NEXT)

    for token in (SECRET, NEXT):
        await sqlite_call("POST", f"{CRM}?token={token}", raw=b"{}")

    (delivery,) = await stored_deliveries(sqlite_call)
    assert delivery.repeats == 1


# The address that was called.


@pytest.mark.parametrize(
    ("public_url", "base"),
    [("https://hooks.example.com/touch", "https://hooks.example.com/touch"), ("", "http://inside:8000")],
)
async def test_signature_check__verifies_the_address_by_the_public_url(
    memory: Store, make_client: MakeClient, public_url: str, base: str
) -> None:
    call = make_client(memory, senders=ADAPTERS, public_url=public_url)
    await call.settings("acme")
    await connect(call, "hubspot", SECRET)
    at = str(call.clock.now // 1000)

    def third(url: str) -> str:
        return b64encode(hmac.digest(SECRET.encode(), f"POST{url}[]{at}".encode(), "sha256")).decode()

    headers = {"x_hubspot_request_timestamp": at, "host": "inside:8000"}
    right = await call("POST", f"{CRM}?a=b", raw=b"[]", x_hubspot_signature_v3=third(f"{base}{CRM}?a=b"), **headers)
    wrong = await call("POST", f"{CRM}?a=b", raw=b"[]", x_hubspot_signature_v3=third(f"https://other.example.com{CRM}?a=b"), **headers)

    assert (right.status, wrong.status) == (200, 401)


async def test_signature_check__refuses_a_signature_with_an_expired_timestamp(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "twenty", SECRET)
    at = str(sqlite_call.clock.now // 1000)
    signature = hmac.new(SECRET.encode(), f"{at}:[]".encode(), sha256).hexdigest()
    headers = {"x_twenty_webhook_timestamp": at, "x_twenty_webhook_signature": signature}

    first = await sqlite_call("POST", CRM, raw=b"[]", **headers)
    sqlite_call.clock.now += 301 * SECOND
    replayed = await sqlite_call("POST", CRM, raw=b"[]", **headers)

    assert (first.status, replayed.status) == (200, 401)


# The two protocols.

MESSAGE = (
    b'<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body><notifications '
    b'xmlns="http://soap.sforce.com/2005/09/outbound"><SessionId>00D!AQ</SessionId></notifications></e:Body></e:Envelope>'
)


async def test_salesforce_outbound_message__is_stored_without_its_session_id_and_acknowledged(call: ApiClient) -> None:
    replies = [await call("POST", CRM, raw=MESSAGE, content_type="text/xml") for _ in range(2)]

    (delivery,) = await stored_deliveries(call)
    assert [reply.status for reply in replies] == [200, 200]
    assert [reply.headers["content-type"] for reply in replies] == ["text/xml; charset=utf-8"] * 2
    assert b"<Ack>true</Ack>" in replies[1].body
    assert delivery.body == MESSAGE.replace(b"00D!AQ", b"")
    assert delivery.repeats == 1


async def test_salesforce_outbound_message__is_not_acknowledged_when_not_verified(sqlite_call: ApiClient) -> None:
    await connect(sqlite_call, "salesforce", SECRET)

    assert await refused(sqlite_call, await sqlite_call("POST", CRM, raw=MESSAGE))
    assert b"<Ack>true</Ack>" in (await sqlite_call("POST", f"{CRM}?token={SECRET}", raw=MESSAGE)).body


async def test_challenge__is_returned_on_the_crm_channel_only(call: ApiClient) -> None:
    reply, other_mail = await call("POST", CRM, {"challenge": "abc"}), await call("POST", MAILS, {"challenge": "abc"})

    assert (reply.status, reply.headers["content-type"], json.loads(reply.body)) == (200, "application/json", {"challenge": "abc"})
    assert (other_mail.status, other_mail.body) == (200, b"")


async def test_get_delivery__reports_the_tool_and_whether_it_is_verified(call: ApiClient) -> None:
    await call("POST", CRM, raw=b"1")
    await connect(call, "attio", SECRET)
    await call("POST", CRM, **signed(b"2"))

    listed = (await call.get("/admin/v1/deliveries")).json()["data"]
    body = (await call.get(f"/admin/v1/deliveries/{listed[0]['id']}")).json()

    assert [(delivery["tool"], delivery["verified"]) for delivery in listed] == [("attio", True), (None, False)]
    assert body["verified"] is True
