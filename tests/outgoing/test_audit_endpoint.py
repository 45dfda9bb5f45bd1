"""Endpoint of the kind audit: the acts of all clients, signed, in the order of the audit log, and none is lost while nobody answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.auth.test_people import grants, office, quick_passwords
from tests.outgoing.conftest import URL, Receivers, Sent, Webhooks, dispatcher_of
from tests.outgoing.test_shared import OF_ALL

from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import UNREACHABLE

__all__ = ["office", "quick_passwords"]
SETTINGS = "/admin/v1/clients"


class Log:
    """Requests that are acts, and an endpoint that gets them."""

    def __init__(self, webhooks: Webhooks) -> None:
        self.webhooks, self.call = webhooks, webhooks.house.call

    async def ask(self, method: str, path: str = "", body: object = None, expect: int = 200) -> Any:
        reply = await self.call(method, OF_ALL + path, body)
        assert reply.status == expect, reply.body
        return reply.json() if reply.body else None

    async def add(self, **values: Any) -> Any:
        return await self.ask("POST", "", {"url": URL, "kind": "audit", **values}, 201)

    async def act(self, *names: str) -> None:
        for name in names:
            self.webhooks.clock.move(0.001)
            assert (await self.call("PUT", f"{SETTINGS}/{name}", {"settings": {}})).status == 201

    async def sent(self, seconds: float = 6) -> list[Sent]:
        return await self.webhooks.deliver(seconds)


@pytest.fixture
def log(webhooks: Webhooks) -> Log:
    return Log(webhooks)


def names(sent: list[Sent]) -> list[str]:
    """Targets of acts that were sent."""
    return [one.body["data"]["object"]["target"]["id"] for one in sent]


async def test_acts__are_sent_signed_in_their_order_after_a_moment(log: Log) -> None:
    await log.act("before")
    log.webhooks.clock.move(1)
    added = await log.add(description="SIEM")
    await log.act("first", "second", "third")
    at_once = await log.sent(0)

    sent = await log.sent()

    assert at_once == []
    assert [one.body["type"] for one in sent] == ["audit.endpoint.created", *["audit.client.created"] * 3]
    assert names(sent)[1:] == ["first", "second", "third"]
    listed = (await log.call("GET", "/team/v1/audit-events?after=oldest")).json()["data"]
    assert [one.body["data"]["object"] for one in sent] == listed[-4:]
    assert [one.id for one in sent] == [f"{act['id']}_{added['id']}" for act in listed[-4:]]
    assert all(one.headers["webhook-signature"].startswith("v1,") for one in sent)
    newest = (await log.call("GET", "/team/v1/webhook-attempts?limit=1")).json()["data"][0]["id"]
    rebuilt = (await log.call("GET", f"/team/v1/webhook-attempts/{newest}/request")).json()
    assert (rebuilt["headers"], rebuilt["body"]) == (sent[-1].headers, sent[-1].raw.decode())
    assert (added["secret"][:6], added["client_id"], added["clients"]) == ("whsec_", None, "all")
    assert await log.sent() == []


async def test_receiver_that_is_down__gets_all_acts_in_order_later(log: Log) -> None:
    added = await log.add()
    await log.act("first")
    await log.sent()
    down = ReceiverAnswer(1_000, failure=UNREACHABLE, error="refused")
    log.webhooks.receivers.answer = lambda sent: down
    await log.act("second", "third")
    tried = await log.sent()
    for _ in range(15):  # all attempts of another kind's event
        tried += await log.sent(400)
        await log.act(f"later-{_}")
    shown = await log.ask("GET", f"/{added['id']}")
    log.webhooks.restarted()
    log.webhooks.receivers.answer = lambda sent: 200

    sent = await log.sent(400)

    assert set(names(tried)) == {"second"}
    assert len(tried) > 10
    assert (shown["state"], shown["progress"]["waiting"], shown["progress"]["failed"]) == ("active", 17, 0)
    assert names(sent) == ["second", "third", *(f"later-{_}" for _ in range(15))]
    attempts = (await log.call("GET", f"/team/v1/webhook-attempts?endpoint={added['id']}&outcome=unreachable")).json()["data"]
    assert {(attempt["type"], attempt["client_id"]) for attempt in attempts} == {("audit.client.created", None)}


async def test_receiver_that_is_down_for_days__is_paused_and_goes_on_where_it_was(log: Log) -> None:
    added = await log.add()
    await log.sent()
    log.webhooks.receivers.answer = lambda sent: 500
    await log.act("first", "second")
    for _ in range(6):
        await log.sent(86_400)
    shown = await log.ask("GET", f"/{added['id']}")
    items = (await log.call("GET", "/team/v1/attention?kind=endpoint")).json()["data"]
    log.webhooks.receivers.answer = lambda sent: 200

    await log.ask("POST", f"/{added['id']}/resume")
    sent = await log.sent()

    assert (shown["state"], [(item["severity"], item["client_id"]) for item in items]) == ("paused", [("critical", None)])
    assert names(sent)[:2] == ["first", "second"]
    assert sent[-1].body["type"] == "audit.endpoint.resumed"


async def test_process_that_is_killed__repeats_acts_under_their_ids_and_loses_none(log: Log) -> None:
    log.webhooks.clock.move(1)
    await log.add()
    await log.act(*(f"c{number}" for number in range(6)))
    log.webhooks.clock.move(6)
    receivers, stuck = Receivers(), asyncio.Event()

    class Hanging(Receivers):
        async def post(self, url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
            answer = await receivers.post(url, headers, body)
            if len(receivers.sent) == 3:
                stuck.set()
                await asyncio.Event().wait()
            return answer

    killed = asyncio.create_task(dispatcher_of(log.call.parts.store, Hanging(), log.webhooks.clock).drain())
    await stuck.wait()
    killed.cancel()
    log.webhooks.restarted()

    sent = await log.sent()

    assert names(receivers.sent)[1:] == ["c0", "c1"]
    assert names(sent)[1:] == [f"c{number}" for number in range(6)]
    assert [one.id for one in sent[:3]] == [one.id for one in receivers.sent]


async def test_endpoint_of_the_audit_log__belongs_to_administrators_of_all_clients(log: Log, office: Any) -> None:
    body = {"url": URL, "kind": "audit"}
    one = await office.join("one@a.example", grants=grants(ours="admin", yours="admin"))
    added = (await office("POST", OF_ALL, body)).json()

    statuses = [
        (await one("POST", OF_ALL, body)).status,
        (await one("GET", f"{OF_ALL}/{added['id']}")).status,
        (await one("DELETE", f"{OF_ALL}/{added['id']}")).status,
    ]
    of_client = await one("POST", "/public/v2/webhook-endpoints", body, x_client_id="ours")

    assert statuses == [403, 403, 403]
    assert (of_client.status, of_client.problem["errors"][0]["pointer"]) == (422, "/kind")
    assert "audit" not in [shown["kind"] for shown in (await one("GET", OF_ALL)).json()["data"]]


async def test_settings_of_events__are_refused(log: Log) -> None:
    values = {"types": ["contact.created"], "fields": ["email"], "filter": {"contact": {"email": "a@b.example"}}, "ordering": "none"}

    refused = await log.ask("POST", "", {"url": URL, "kind": "audit", **values}, 422)

    assert sorted(fault["pointer"] for fault in refused["errors"]) == ["/fields", "/filter", "/ordering", "/types"]


async def test_change_test_and_removal(log: Log) -> None:
    added = await log.add(format="cloudevents")
    await log.sent()
    await log.ask("PATCH", f"/{added['id']}", {"url": f"{URL}/other", "disabled": True})
    await log.act("while-off")
    off = await log.sent()
    await log.ask("PATCH", f"/{added['id']}", {"disabled": False})
    on = await log.sent()
    tested = await log.ask("POST", f"/{added['id']}/test")
    rotated = await log.ask("POST", f"/{added['id']}/rotate-secret", {})
    copies = [one for one in (await log.ask("GET"))["data"] if one["shared_id"] is not None]

    await log.ask("DELETE", f"/{added['id']}", expect=204)

    assert off == []
    assert [(one.url, one.body["type"], one.body["source"]) for one in on[:2]] == [
        (f"{URL}/other", "audit.endpoint.changed", "/clients/"), (f"{URL}/other", "audit.client.created", "/clients/while-off"),
    ]  # fmt: skip
    assert (tested["outcome"], rotated["secret"] != added["secret"], copies) == ("delivered", True, [])
    assert await log.sent() == []
