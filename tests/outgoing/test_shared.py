"""Endpoints of all clients: each client has a copy, later clients too, and what changes at the one changes at all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conftest import ExecuteSql
from tests.house import House
from tests.outgoing.conftest import SLACK_URL, URL, Sent, Webhooks

from touchbase.doctor import _webhooks
from touchbase.outgoing.http_client import ReceiverAnswer

OF_ALL = "/team/v1/webhook-endpoints"


class Shared:
    """Requests about endpoints of all clients, and two clients with events."""

    def __init__(self, webhooks: Webhooks, beside: House) -> None:
        self.webhooks, self.houses = webhooks, [webhooks.house, beside]

    async def ask(self, method: str, path: str = "", body: object = None, expect: int = 200) -> Any:
        reply = await self.webhooks.house.call(method, OF_ALL + path, body)
        assert reply.status == expect, reply.body
        return reply.json() if reply.body else None

    async def add(self, **values: Any) -> Any:
        return await self.ask("POST", "", {"url": URL, "types": ["contact.created"], **values}, 201)

    async def clients_told(self, email: str) -> list[str]:
        """Create a contact at each client, deliver, and return whose events were sent."""
        for house in self.houses:
            await house.contact(email=email)
        return [sent.body["data"]["client_id"] for sent in await self.webhooks.deliver(2)]


@pytest.fixture
async def shared(webhooks: Webhooks) -> Shared:
    return Shared(webhooks, await House.of(webhooks.house.call, "beside"))


async def test_endpoint_of_all_clients__gets_the_events_of_all_and_of_later_clients(shared: Shared) -> None:
    await shared.webhooks.house.contact(email="before@x.example")
    await shared.webhooks.deliver(2)
    made = await shared.add(description="One channel")
    await shared.houses[0].contact(email="between@x.example")

    told = await shared.clients_told("ann@x.example")
    await shared.webhooks.house.call.settings("later")
    shared.houses.append(House(shared.webhooks.house.call, "later"))
    later = await shared.clients_told("bob@x.example")

    assert sorted(told) == ["beside", "default", "default"]
    assert sorted(later) == ["beside", "default", "later"]
    shown = await shared.ask("GET", f"/{made['id']}")
    assert (shown["clients"], shown["client_id"], "secret" in shown) == ("all", None, False)
    assert shown["copies"] == {"clients": 3, "active": 3, "paused": 0, "disabled": 0, "failing": 0, "failed": 0}
    listed = (await shared.ask("GET", ""))["data"]
    assert [(one["client_id"], one["clients"], one["shared_id"]) for one in listed] == [
        (None, "all", None), ("default", "one", made["id"]), ("beside", "one", made["id"]), ("later", "one", made["id"]),
    ]  # fmt: skip
    assert [one["id"] for one in (await shared.ask("GET", "?shared=true"))["data"]] == [made["id"]]
    assert [one["client_id"] for one in (await shared.ask("GET", "?client=beside"))["data"]] == ["beside"]


async def test_changes__reach_all_copies_and_removal_ends_them(shared: Shared) -> None:
    made = await shared.add()
    await shared.clients_told("ann@x.example")

    await shared.ask("PATCH", f"/{made['id']}", {"url": f"{URL}/other"})
    rotated = await shared.ask("POST", f"/{made['id']}/rotate-secret", {"overlap_hours": 1})
    for house in shared.houses:
        await house.contact(email="bob@x.example")
    sent = await shared.webhooks.deliver(2)
    await shared.ask("PATCH", f"/{made['id']}", {"disabled": True})
    stopped = await shared.clients_told("eve@x.example")
    await shared.ask("POST", f"/{made['id']}/resume")
    resumed = [one.body["data"]["client_id"] for one in await shared.webhooks.deliver(2)]
    await shared.ask("DELETE", f"/{made['id']}", expect=204)
    removed = await shared.clients_told("dan@x.example")

    assert {one.url for one in sent} == {f"{URL}/other"}
    assert {len(one.headers["webhook-signature"].split()) for one in sent} == {2}
    assert rotated["secret"] != made["secret"]
    assert (stopped, sorted(resumed), removed) == ([], ["beside", "default"], [])
    assert (await shared.ask("GET", ""))["data"] == []


async def test_copy__can_be_disabled_and_nothing_else(shared: Shared) -> None:
    made = await shared.add()
    await shared.clients_told("ann@x.example")
    [copy] = (await shared.webhooks.ask("GET", ""))["data"]
    assert (made["url"], copy["url"]) == (URL, "https://receiver.example/...")

    refused = [
        await shared.webhooks.ask("PATCH", f"/{copy['id']}", {"description": "mine"}, 409),
        await shared.webhooks.ask("POST", f"/{copy['id']}/rotate-secret", {}, 409),
        await shared.webhooks.ask("DELETE", f"/{copy['id']}", expect=409),
    ]
    await shared.webhooks.ask("PATCH", f"/{copy['id']}", {"disabled": True})
    told = await shared.clients_told("bob@x.example")
    await shared.ask("PATCH", f"/{made['id']}", {"description": "another"})
    still = await shared.clients_told("eve@x.example")

    assert all(f"copy of endpoint {made['id']}" in problem["detail"] for problem in refused)
    assert (told, still) == (["beside"], ["beside"])
    assert (await shared.ask("GET", f"/{made['id']}"))["copies"]["disabled"] == 1


async def test_failing_copy__stops_no_other_and_is_one_problem(shared: Shared) -> None:
    await shared.add()
    shared.webhooks.receivers.answer = lambda sent: 410 if sent.body["data"]["client_id"] == "beside" else 200

    await shared.clients_told("ann@x.example")
    told = await shared.clients_told("bob@x.example")
    shared.webhooks.receivers.answer = lambda sent: 410
    await shared.clients_told("eve@x.example")

    items = (await shared.webhooks.house.call("GET", "/team/v1/attention?kind=endpoint")).json()["data"]
    assert told == ["default"]
    assert [(item["count"], item["severity"]) for item in items] == [(2, "critical")]


async def test_slack__names_the_client(shared: Shared) -> None:
    await shared.webhooks.house.call("PATCH", "/admin/v1/clients/beside", {"name": "Alder & Co"})
    made = await shared.ask("POST", "", {"kind": "slack", "url": SLACK_URL, "types": ["contact.created"]}, 201)

    test = await shared.ask("POST", f"/{made['id']}/test")
    await shared.houses[1].contact(email="ann@x.example")
    sent: list[Sent] = await shared.webhooks.deliver(2)

    assert (test["outcome"], made["url"]) == ("delivered", "https://hooks.slack.example/...")
    assert [one.body["text"] for one in sent] == ["Alder &amp; Co: ann@x.example: contact.created"]


async def test_endpoint_of_all_clients__is_for_kinds_without_a_connection(shared: Shared) -> None:
    refused = await shared.ask("POST", "", {"kind": "hubspot"}, 422)

    assert [(fault["pointer"], "one client" in fault["detail"]) for fault in refused["errors"]] == [("/kind", True)]


async def test_deleted_client__has_no_copy(shared: Shared) -> None:
    made = await shared.add()
    await shared.clients_told("ann@x.example")

    reply = await shared.webhooks.house.call("DELETE", "/admin/v1/clients/beside?confirm=beside")
    shared.houses.pop()
    told = await shared.clients_told("bob@x.example")

    assert (reply.status, told) == (202, ["default"])
    assert (await shared.ask("GET", f"/{made['id']}"))["clients"] == "all"


async def test_erased_person__leaves_no_answer_that_repeats_the_request(shared: Shared) -> None:
    await shared.add()
    shared.webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 400, body=sent.raw.decode())
    await shared.clients_told("ann@x.example")
    [contact] = [item["id"] for item in await shared.houses[1].listed()]

    async def bodies() -> dict[str, bool]:
        attempts = (await shared.webhooks.house.call("GET", "/team/v1/webhook-attempts")).json()["data"]
        return {attempt["client_id"]: "ann@x.example" in attempt["response_body"] for attempt in attempts}

    before = await bodies()
    assert (await shared.houses[1].request("DELETE", f"/public/v2/contacts/{contact}?erase=true")).status == 200

    assert (before, await bodies()) == ({"default": True, "beside": True}, {"default": True, "beside": False})
    [attempt] = (await shared.houses[1].request("GET", "/public/v2/webhook-attempts?outcome=refused")).json()["data"]
    shown = (await shared.houses[1].request("GET", f"/public/v2/webhook-attempts/{attempt['id']}/request")).json()
    assert (shown["url"], shown["changed"]) == ("https://receiver.example/...", ["the record does not exist any more"])
    assert "ann@x.example" not in json.dumps(shown)
    assert "/hooks" not in json.dumps(shown)


async def test_erased_person__leaves_no_answer_about_a_contact_that_was_merged(shared: Shared) -> None:
    await shared.add()
    shared.webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 400, body=sent.raw.decode())
    house = shared.houses[1]
    survivor, merged = [await house.contact(email=f"{name}@x.example", first_name=name) for name in ("ann", "mary-ann")]
    await shared.webhooks.deliver(2)
    await house.merge(survivor, merged)
    attempts = "/team/v1/webhook-attempts"
    assert b"mary-ann" in (await shared.webhooks.house.call("GET", attempts)).body

    assert (await house.request("DELETE", f"/public/v2/contacts/{survivor}?erase=true")).status == 200

    assert b"mary-ann" not in (await shared.webhooks.house.call("GET", attempts)).body


async def test_verify_and_doctor__take_copies_as_endpoints_of_their_clients(shared: Shared, execute_sql: ExecuteSql) -> None:
    await shared.add()
    audit = await shared.add(kind="audit", types=[])
    await shared.clients_told("ann@x.example")
    store, clock = shared.webhooks.house.call.parts.store, shared.webhooks.clock
    fine = (await shared.houses[1].differences(), [item async for item in _webhooks(store, clock())])
    shared.webhooks.receivers.answer = lambda sent: 500
    await shared.clients_told("bob@x.example")
    await shared.webhooks.deliver(3_600)

    problems = [text async for _, text, _ in _webhooks(store, clock())]

    assert fine == ([], [("ok", "no webhook endpoint fails or is paused", None)])
    assert [text.partition(" (")[0].partition(" of ")[2] for text in problems] == ["the audit log", "beside", "default"]
    assert f"webhook endpoint {audit['id']} of the audit log" in problems[0]
    assert await shared.houses[1].differences() == []


@pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)
async def test_thousands_of_clients__cost_no_read_for_each_when_one_has_an_event(
    shared: Shared, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = "client_id, handle, created_us, settings, state, made_by"
    await execute_sql(
        f"WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 2099) INSERT INTO client (id, {columns}) "
        "SELECT i, 'c' || i, 'c' || i, created_us, settings, state, made_by FROM n CROSS JOIN client WHERE client_id = 'beside'"
    )
    added = await shared.add()
    while (await shared.ask("GET", f"/{added['id']}"))["copies"]["clients"] < 2_002:
        await shared.webhooks.deliver(2)
    reads: list[object] = []
    store = shared.webhooks.house.call.parts.store
    read = store.read

    async def counted(query: Any) -> Any:
        reads.append(query)
        return await read(query)

    await shared.houses[1].contact(email="ann@x.example")
    monkeypatch.setattr(store, "read", counted)
    sent = await shared.webhooks.deliver(2)

    assert [one.body["data"]["client_id"] for one in sent] == ["beside"]
    assert len(reads) < 40
