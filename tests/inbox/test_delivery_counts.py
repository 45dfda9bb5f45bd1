"""Counts of deliveries by tool and state, for administrators."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient
from tests.inbox.test_deliveries import work

from touchbase.inbox.sql.queries import count_states


def row(tool: str | None, state: str, count: int = 1) -> dict[str, object]:
    return {"channel": "crm", "tool": tool, "state": state, "count": count}


async def counted(call: ApiClient, query: str = "client=abc") -> object:
    reply = await call.get(f"/admin/v1/deliveries/counts?{query}")
    assert reply.status == 200, reply.body
    return reply.json()


async def receive(call: ApiClient, *bodies: bytes, client: str = "abc") -> None:
    for body in bodies:
        await call("POST", f"/public/crm-webhook/{client}", raw=body)
        call.clock.move(1)


async def test_counts__are_by_tool_and_state_of_one_client(call: ApiClient) -> None:
    await receive(call, b"1", b"2", b"riddle")
    await work(call)
    await receive(call, b"3", b"4")
    await receive(call, b"5", client="other")

    waiting, read = row(None, "received", 2), [row("instantly", "applied"), row("instantly", "ignored")]
    assert await counted(call) == {"data": [waiting, row(None, "unrecognised"), *read], "complete": True}
    assert await counted(call, "client=abc&received_since=2026-11-20T09:30:03Z") == {"data": [waiting], "complete": True}
    assert await counted(call, "client=abc&tool=instantly&channel=crm") == {"data": read, "complete": True}
    assert await counted(call, "client=abc&channel=email_campaign") == {"data": [], "complete": True}


async def test_counts__of_the_newest_only_say_that_they_are_not_complete(call: ApiClient) -> None:
    await receive(call, b"1", b"2", b"3", b"4")
    client, store = call.kept[0], call.parts.store
    third = call.clock.now - 2_000_000

    newest = await store.read(count_states(client, most=2))
    since = await store.read(count_states(client, received_since_us=third, most=3))

    assert ([item.count for item in newest.counts], newest.is_complete) == ([2], False)
    assert ([item.count for item in since.counts], since.is_complete) == ([2], True), "an older one was read, so none is missing"


@pytest.mark.parametrize(
    ("query", "pointer"), [("client=nobody", "?client"), ("channel=fax", "?channel"), ("state=applied", "?state"), ("", "?client")]
)
async def test_counts__refuse_an_invalid_filter_and_name_it(call: ApiClient, query: str, pointer: str) -> None:
    await receive(call, b"1")
    await receive(call, b"1", client="other")

    reply = await call.get(f"/admin/v1/deliveries/counts?{query}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)
