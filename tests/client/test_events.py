"""The feed: pages, waiting requests and streams, which go on after a broken connection without a gap or a repetition."""

from __future__ import annotations

import json
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.client.conftest import Served
from tests.client.proxy import Proxy
from tests.client.test_retries import through

from touchbase_client import AsyncTouchbase, ConnectionFailed, CursorExpired, InsufficientScope, Retries, Touchbase
from touchbase_client.feed import Reader, Stream


def create(tb: Touchbase, *numbers: int) -> None:
    for number in numbers:
        tb.contacts.create({"email": f"{number}@example.com"})


def test_follow__gives_each_event_once_over_broken_connections(served: Served, tb: Touchbase, caplog: pytest.LogCaptureFixture) -> None:
    """The first answer passes; then two connections break, while an event happens."""
    create(tb, 1, 2)
    breaking = {1: "lose", 2: "refuse"}
    with (
        Proxy(served.port, lambda number, _: breaking.get(number, "pass")) as proxy,
        through(proxy, tb, retries=Retries(2, 0.01)) as unlucky,
    ):
        follower = unlucky.events.follow(None, types="contact.created")
        events = [next(follower)["data"] for _ in range(2)]
        create(tb, 3)
        events.append(next(follower)["data"])

    assert [event["object"]["email"] for event in events if event["object"]] == ["1@example.com", "2@example.com", "3@example.com"]
    assert follower.cursor == events[-1]["id"]
    assert "Going on after" in caplog.text
    assert served.key not in caplog.text


@pytest.mark.parametrize("stream", [False, True])
async def test_async_follow__begins_after_its_cursor(atb: AsyncTouchbase, tb: Touchbase, stream: bool) -> None:
    create(tb, 1, 2)
    first = (await anext(atb.events.iterate()))["data"]["id"]

    follower = atb.events.follow(first, stream=stream)
    event = await anext(follower)
    await follower.aclose()

    assert event["data"]["object"] is not None
    assert event["data"]["object"]["email"] == "2@example.com"


def test_follow_latest__misses_nothing_between_its_start_and_its_first_answer(served: Served, tb: Touchbase) -> None:
    """The first waiting request is lost, and an event happens before the second."""
    create(tb, 1)
    lost: list[bytes] = []

    def plan(_: int, request: bytes) -> str:
        if b"wait=" in request and not lost:
            create(tb, 2)
            lost.append(request)
            return "refuse"
        return "refuse" if b"wait=" in request and b"after=latest" in request else "pass"

    with Proxy(served.port, plan) as proxy, through(proxy, tb) as unlucky:
        event = next(unlucky.events.follow())

    assert event["data"]["object"] is not None
    assert event["data"]["object"]["email"] == "2@example.com"


def test_follow__raises_what_does_not_pass(served: Served, admin: Touchbase, client_id: str) -> None:
    created = admin.admin.keys.create({"client_id": client_id, "name": "writer", "scopes": ["records:write"]})
    with Touchbase(served.url, created["key"]) as writer, pytest.raises(InsufficientScope):
        next(writer.events.follow())
    with pytest.raises(CursorExpired) as expired:
        next(admin.for_client(client_id).events.follow("evt_999999999"))
    with Proxy(0) as gone:
        pass
    with Touchbase(gone.url, retries=Retries(1)) as nowhere, pytest.raises(ConnectionFailed):
        next(nowhere.events.follow())

    assert expired.value.valid_cursor is not None


def test_follow__goes_on_after_the_server_has_started_again(served: Served, tb: Touchbase, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "touchbase_client")
    create(tb, 1)
    follower = tb.events.follow(None, stream=True)
    first = next(follower)
    served.stop()
    served.start()
    create(tb, 2)

    assert next(follower)["data"]["id"] > first["data"]["id"]
    assert "Going on after" in caplog.text


EVENTS = st.lists(st.tuples(st.integers(1, 99), st.text()), max_size=5)


@given(EVENTS, st.lists(st.integers(1, 40), max_size=30), st.sampled_from(["\n", "\r\n"]))
def test_stream__reads_the_same_events_for_any_division_into_pieces(events: list[tuple[int, str]], sizes: list[int], end: str) -> None:
    created = [{"type": "contact.created", "data": {"id": f"evt_{number}", "text": text}} for number, text in events]
    lines = ["retry: 2000", "", *(line for item in created for line in ("event: contact.created", f"data: {json.dumps(item)}", ""))]
    raw = end.join([*lines, ": the cursor is evt_100", "", ""]).encode()
    reader = Reader(None, None)
    stream, result = Stream(reader), []
    for size in [*sizes, len(raw)]:
        piece, raw = raw[:size], raw[size:]
        result += [*stream.read(piece)]

    assert result == created
    assert reader.cursor == "evt_100"
