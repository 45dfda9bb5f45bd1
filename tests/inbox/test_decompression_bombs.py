"""Small calls that would unfold to something huge: kept like any other, and never unfolded further than is safe."""

from __future__ import annotations

import gzip
import hmac
import json
import zlib
from collections.abc import Callable
from urllib.parse import quote_from_bytes

import pytest
from tests.asgi_client import MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.common.content_encoding import LARGEST, LARGEST_SIGNED
from touchbase.deliveries.limits import MAX_OBJECTS, MAX_VALUES, check_payload
from touchbase.errors import UnrecognisedPayload
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
HOOK = "/public/emailcampaign-webhook/default"
MIB = 1_048_576
PACKED: dict[str, Callable[[], bytes]] = {
    "larger than a call may be": lambda: gzip.compress(bytes(LARGEST + 1), 9),
    "a gigabyte": lambda: zlib.compress(bytes(1024 * MIB), 9),
    "empty objects": lambda: gzip.compress(b"[" + b"{}," * 5_000_000 + b"{}]"),
    "empty lists": lambda: gzip.compress(b"[" + b"[]," * 5_000_000 + b"[]]"),
    "numbers": lambda: gzip.compress(b"[" + b"0," * 15_000_000 + b"0]"),
    "a form of many fields": lambda: gzip.compress(b"a=1&" * 7_000_000),
    "objects in a form's field": lambda: gzip.compress(b"payload=" + quote_from_bytes(b"[" + b"{}," * 1_000_000 + b"{}]").encode()),
    "tags": lambda: gzip.compress(b"<?xml version='1.0'?><a>" + b"<b/>" * 5_000_000 + b"</a>"),
    "deep": lambda: gzip.compress(b"[" * 20_000_000),
}
"""Packed when the test runs: that takes seconds."""


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if "gigabyte" in name else []) for name in PACKED])
async def test_decompression_bomb__is_stored_and_becomes_unrecognised(memory: Store, make_client: MakeClient, name: str) -> None:
    body = PACKED[name]()
    here = make_client(memory, senders=ADAPTERS, protocol_answer=ADAPTERS.protocol_answer)
    encoding = "deflate" if body[:1] == b"x" else "gzip"

    stored = await here("POST", HOOK, raw=body, content_encoding=encoding)
    report = await InboxWorker(memory, ADAPTERS.translate, here.clock).drain()
    shown = (await here.get("/admin/v1/deliveries")).json()["data"][0]

    assert stored.status == 200
    assert report.ended == {"unrecognised": 1}
    # Both reasons are found before anything is parsed.
    assert "send fewer at a time" in shown["error"] or "decompresses to more than" in shown["error"]
    assert (await here.get(f"/admin/v1/deliveries/{shown['id']}")).status == 200


@pytest.mark.parametrize(("size", "status"), [(LARGEST_SIGNED, 200), (LARGEST_SIGNED + 1, 401)])
async def test_signature_check__decompresses_a_webhook_up_to_a_limit(
    memory: Store, make_client: MakeClient, size: int, status: int
) -> None:
    here = make_client(memory, senders=ADAPTERS)
    await here.settings("default")
    connection = {"channel": "crm", "tool": "attio", "secrets": ["a-secret-of-ours"]}
    assert (await here.post("/admin/v1/clients/default/connections", connection)).status == 201
    signature = hmac.new(b"a-secret-of-ours", bytes(size), "sha256").hexdigest()

    body = gzip.compress(bytes(size))
    reply = await here("POST", "/public/crm-webhook/default", raw=body, content_encoding="gzip", attio_signature=signature)

    assert reply.status == status


def test_check_payload__accepts_the_largest_batch_of_any_tool() -> None:
    event = {"msys": {"message_event": {"type": "delivery", "rcpt_to": "contact@example.com", "rcpt_meta": {}, "rcpt_tags": []}}}

    check_payload(json.dumps([event] * 10_000).encode())
    check_payload(b"x" * 10 * MAX_OBJECTS)


@pytest.mark.parametrize(
    "body", [b"[" * (MAX_OBJECTS + 1), b"%7B" * (MAX_OBJECTS + 1), b"<a>" * (MAX_OBJECTS + 1), b"0," * (MAX_VALUES + 1)]
)
def test_check_payload__refuses_one_more_object_or_value_than_the_limit(body: bytes) -> None:
    with pytest.raises(UnrecognisedPayload, match="send fewer at a time"):
        check_payload(body)
