"""Every answer carries a request id that the log knows it by, whoever gives it."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from tests.server.conftest import Start, dispatched, echo

from touchbase.server.health import Operations
from touchbase.server.metrics import ProcessMetrics
from touchbase.server.origin_guard import Cors, CorsHeaders, OriginGuard
from touchbase.sql.store import Store

SITE = b"https://app.example.com"


async def broken(scope: Any, receive: Any, send: Any) -> None:
    raise ZeroDivisionError


class Noted:
    """The ids that the log lines of ended requests have."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def __call__(self, cycle: Any) -> None:
        self.ids.append(cycle.scope["touchbase.request_id"])


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /health/live", 200), (b"GET /health/ready", 200), (b"GET /metrics", 200), (b"POST /metrics", 405), (b"GET /broken", 500),
        (b"GET http://evil.example/", 421),
    ],
)  # fmt: skip
async def test_request_id__of_responses_by_the_server_itself_is_in_the_log(
    start: Start, memory: Store, caplog: pytest.LogCaptureFixture, request_line: bytes, status: int
) -> None:
    noted = Noted()
    operations = dispatched(Operations(memory, lambda: 0, ProcessMetrics()), broken)
    caller = await (await start(operations, observe=noted, origin_guard=OriginGuard(()))).call()
    host = b"evil.example" if status == 421 else b"localhost"

    await caller.send(request_line + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    result, headers, _ = await caller.response()

    assert result == status
    assert noted.ids == [headers["x-request-id"]]
    assert (headers["x-request-id"] in caplog.text) == (status == 500)


async def test_request_id__of_a_preflight_response_is_in_the_log(start: Start) -> None:
    noted = Noted()
    caller = await (await start(Cors(echo, [SITE.decode()]), observe=noted)).call()

    await caller.send(b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: " + SITE + b"\r\nAccess-Control-Request-Method: POST\r\n\r\n")
    status, headers, _ = await caller.response()

    assert (status, noted.ids) == (204, [headers["x-request-id"]])


async def test_cors__lets_a_listed_origin_read_an_overload_response(start: Start) -> None:
    running = await start(max_requests=0, wrap_app=partial(Cors, origins=[SITE.decode()]))
    caller = await running.call()

    await caller.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: " + SITE + b"\r\n\r\n")
    status, headers, body = await caller.response()

    assert (status, json.loads(body)["code"], headers["access-control-allow-origin"]) == (503, "overloaded", SITE.decode())
    assert {"Retry-After", "Idempotency-Replayed", "X-Request-Id"} <= set(headers["access-control-expose-headers"].split(", "))


HEAD = b" HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: shop-17\r\nOrigin: " + SITE + b"\r\n"
REFUSED = {
    "bad path": (b"GET /a#b" + HEAD + b"\r\n", 400),
    "another host": (b"GET http://other.example/" + HEAD + b"\r\n", 400),
    "too many headers": (b"GET /" + HEAD + b"A: b\r\n" * 30 + b"\r\n", 431),
    "headers too large": (b"GET /" + HEAD + b"A: " + b"b" * 3000 + b"\r\n\r\n", 431),
    "two lengths": (b"POST /" + HEAD + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    "a broken header": (b"GET /" + HEAD + b"Accept: */*\r\nno colon\r\n\r\n", 400),
    "a broken body": (b"POST /" + HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
    "a fault": (b"GET /broken" + HEAD + b"\r\n", 500),
    "health": (b"GET /health/live" + HEAD + b"\r\n", 200),
}


@pytest.mark.parametrize(("said", "status"), REFUSED.values(), ids=REFUSED)
async def test_response_by_the_server_itself__echoes_the_request_id_and_has_cors_headers(
    start: Start, memory: Store, said: bytes, status: int
) -> None:
    origins = [SITE.decode()]
    served = dispatched(Operations(memory, lambda: 0, ProcessMetrics()), broken if status == 500 else echo)
    running = await start(Cors(served, origins), wrap_app=partial(Cors, origins=origins), cors_headers=CorsHeaders(origins))
    caller = await running.call()

    await caller.send(said)
    result, headers, body = await caller.response()

    assert (result, headers["x-request-id"]) == (status, "shop-17")
    assert (headers["access-control-allow-origin"], headers["vary"]) == (SITE.decode(), "origin")
    assert status == 200 or json.loads(body)["request_id"] == "shop-17"


@pytest.mark.parametrize("value", [b"two words", b"x" * 200, b'"', b""])
async def test_request_id__replaces_an_invalid_value(start: Start, value: bytes) -> None:
    caller = await (await start()).call()

    await caller.send(b"GET /a#b HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: " + value + b"\r\n\r\n")
    _, headers, _ = await caller.response()

    assert len(headers["x-request-id"]) == 32


async def test_malformed_request__gets_no_cors_headers_or_request_id_of_the_previous_request(start: Start) -> None:
    caller = await (await start(cors_headers=CorsHeaders([SITE.decode()]))).call()
    await caller.send(b"GET /" + HEAD + b"\r\n")
    await caller.response()

    await caller.send(b"\0\0 / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status, headers, _ = await caller.response()

    assert (status, "access-control-allow-origin" in headers) == (400, False)
    assert headers["x-request-id"] != "shop-17"
