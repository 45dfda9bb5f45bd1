"""How a body arrives: in pieces, too slowly, or not to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response, scope_of

from touchbase.http.dependencies import RequestLimits
from touchbase.http.request_body import SLOWEST_FILE
from touchbase.imports.preview import MAX_UPLOADS
from touchbase.sql.store import Store

TARGETS = ["/public/v2/contacts", "/public/crm-webhook/abc"]


class Dripping:
    """A caller that sends a piece, waits for a while, sends the next; the last piece may never come."""

    def __init__(self, *pieces: bytes, pause: float, ends: bool) -> None:
        self._pieces = list(pieces)
        self._pause = pause
        self._ends = ends
        self.receives = 0

    async def __call__(self) -> dict[str, Any]:
        self.receives += 1
        if self.receives > 1:
            await asyncio.sleep(self._pause)
        if not self._pieces:
            await asyncio.Event().wait()
        piece = self._pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(self._pieces) or not self._ends}


@pytest.mark.parametrize("target", TARGETS)
async def test_body_in_pieces__is_joined(sqlite_call: ApiClient, target: str) -> None:
    reply = await sqlite_call.in_pieces("POST", target, [b'{"first', b'_name": ', b"", b'"Jane"}'])

    assert reply.status in (200, 201)


async def test_slow_body__within_the_time_limit_is_accepted(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.with_receive(scope_of("POST", TARGETS[0], {}), Dripping(b'{"origin": "a"', b"}", pause=0.01, ends=True))

    assert reply.status == 201


async def test_slow_body__whose_first_piece_is_late_is_accepted(sqlite_call: ApiClient) -> None:
    async def late() -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b'{"origin": "a"}', "more_body": False}

    reply = await sqlite_call.with_receive(scope_of("POST", TARGETS[0], {}), late)

    assert reply.status == 201


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("limits", "pieces", "pause"),
    [
        (RequestLimits(body_idle_seconds=0.02), [], 0),
        (RequestLimits(body_idle_seconds=0.02), [b"{"], 0),
        (RequestLimits(body_seconds=0.05), [b" "] * 1000, 0.001),
    ],
    ids=["never begins", "pauses for too long", "drips for too long"],
)
async def test_slow_body__ends_with_408(
    memory: Store, make_client: MakeClient, target: str, limits: RequestLimits, pieces: list[bytes], pause: float
) -> None:
    call = make_client(memory, limits=limits)

    reply = await call.with_receive(scope_of("POST", target, {}), Dripping(*pieces, pause=pause, ends=False))

    assert (reply.status, reply.headers["connection"]) == (408, "close")
    assert reply.problem["code"] == "body_too_slow"


async def test_file__that_drips_ends_with_408_and_frees_its_place(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(body_seconds=0.05))
    target = scope_of("POST", "/public/v2/contacts/imports", {"content-type": "text/csv"})

    for _ in range(MAX_UPLOADS + 1):
        caller = Dripping(b"email\n" * SLOWEST_FILE, *[b"a"] * 1000, pause=0.005, ends=False)
        reply = await call.with_receive(target, caller)

        assert (reply.status, reply.problem["code"]) == (408, "body_too_slow")
        assert "1,024 bytes a second" in reply.problem["detail"]
        assert caller.receives < 100


async def test_file__that_arrives_slowly_but_steadily_is_accepted(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(body_seconds=0.2))
    rows = [f"somebody.with.a.long.name.{number}@example.com\n".encode() for number in range(100)]

    caller = Dripping(b"email\n", *rows, pause=0.005, ends=True)
    reply = await call.with_receive(scope_of("POST", "/public/v2/contacts/imports", {"content-type": "text/csv"}), caller)

    assert (reply.status, reply.json()["state"]) == (201, "preview")


async def test_expect_100_continue__with_a_too_large_content_length_gets_413_unread(sqlite_call: ApiClient) -> None:
    caller = Dripping(b"", pause=0, ends=True)
    scope = scope_of("POST", TARGETS[0], {"content-length": "2000000", "expect": "100-continue"})

    reply = await sqlite_call.with_receive(scope, caller)

    assert (reply.status, caller.receives) == (413, 0)


async def test_drained_bytes__limits_reading_of_a_too_large_body(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limits=RequestLimits(api_body_bytes=10, drained_bytes=100))
    caller = Dripping(*[b" " * 20] * 1000, pause=0, ends=True)

    reply = await call.with_receive(scope_of("POST", TARGETS[0], {}), caller)

    assert reply.status == 413
    assert caller.receives <= 7


async def test_disconnect_during_the_body__sends_no_response_and_stores_nothing(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.send(scope_of("POST", TARGETS[0], {}), [{"type": "http.request", "body": b"{", "more_body": True}])

    assert reply == Response(0, {}, b"")
    assert (await sqlite_call.get(TARGETS[0])).json()["data"] == []
