"""After a refusal nothing is read from a caller for a moment; what it sends meanwhile waits."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.conftest import Start

from touchbase.server import limits
from touchbase.server.error_responses import TOO_MANY_REQUESTS, ErrorResponse
from touchbase.server.proxy_headers import TrustedProxies

HOST = b"Host: localhost\r\n"
GONE_WRONG = ErrorResponse(500, "internal_error", "Broken.")


class Once:
    """Refuses the first request, and notes what it sees."""

    def __init__(self, refusal: ErrorResponse = TOO_MANY_REQUESTS) -> None:
        self.paths: list[str] = []
        self._refusal = refusal

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        status = self._refusal.status if len(self.paths) == 1 else 200
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def test_backpressure__resumes_reading_a_refused_connection_after_the_pause(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAUSE_SECONDS", 0.01)
    caller = await (await start(Once())).call()

    await caller.send(b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n")
    refused = await caller.response()
    await caller.send(b"GET /second HTTP/1.1\r\n" + HOST + b"\r\n")
    served = await caller.response()

    assert (refused[0], served[0]) == (503, 200)


async def test_backpressure__during_the_pause_serves_other_connections_only(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PAUSE_SECONDS", 3600)
    app = Once()
    running = await start(app)
    refused, other_response = await running.call(), await running.call()

    await refused.send(b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n")
    await refused.response()
    await refused.send(b"GET /again HTTP/1.1\r\n" + HOST + b"\r\n")
    for _ in range(20):
        await other_response.send(b"GET /other HTTP/1.1\r\n" + HOST + b"\r\n")
        await other_response.response()

    assert app.paths == ["/first", *["/other"] * 20]


@pytest.mark.parametrize(("refusal", "proxies"), [(GONE_WRONG, None), (TOO_MANY_REQUESTS, TrustedProxies(["127.0.0.1"]))])
async def test_backpressure__pauses_neither_proxies_nor_connections_after_other_errors(
    start: Start, monkeypatch: pytest.MonkeyPatch, refusal: ErrorResponse, proxies: TrustedProxies | None
) -> None:
    monkeypatch.setattr(limits, "PAUSE_SECONDS", 3600)
    caller = await (await start(Once(refusal), proxies=proxies)).call()

    await caller.send(b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n")
    first = await caller.response()
    await caller.send(b"GET /second HTTP/1.1\r\n" + HOST + b"\r\n")
    second = await caller.response()

    assert (first[0], second[0]) == (refusal.status, 200)
