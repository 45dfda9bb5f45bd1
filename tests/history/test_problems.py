"""Problems: what an applied call could not do is listed, counted and shown at its event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.connections.service import Connections
from touchbase.consistency.service import Verified, verify
from touchbase.deliveries.work import WorkReport
from touchbase.inbox.worker import InboxWorker, count_report
from touchbase.server.metrics import ProcessMetrics
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
MAIL = "/public/emailcampaign-webhook/acme"
SENT = {"event_type": "email_sent", "lead_email": "ann@example.com", "timestamp": "2026-11-20T08:00:00Z"}
REPLY = {"event_type": "reply_received", "lead_email": "ann@example.com", "timestamp": "2026-11-20T09:00:00Z"}
SENT_AGAIN = {"event_type": "email_sent", "lead_email": "ann@example.com", "timestamp": "2026-11-20T09:10:00Z"}
STATUSES = {"statuses": ["contacted", "Interested"], "transitions": {}}


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(store, senders=ADAPTERS)
    await client.settings("acme", contact_statuses=STATUSES)
    return client


async def tell(call: ApiClient, *bodies: dict[str, Any]) -> WorkReport:
    for body in bodies:
        assert (await call("POST", MAIL, raw=json.dumps({"email_account": "us@example.net", **body}).encode())).status == 200
    return await apply(call)


async def apply(call: ApiClient) -> WorkReport:
    store = call.parts.store
    return await InboxWorker(store, ADAPTERS.translate, call.clock, connections=Connections(store, call.clock).of).drain()


async def listed(call: ApiClient, choice: str = "?problems=true") -> list[dict[str, Any]]:
    item: list[dict[str, Any]] = (await call.get(f"/admin/v1/deliveries{choice}")).json()["data"]
    return item


async def contact(call: ApiClient) -> dict[str, Any]:
    (result,) = (await call.get("/public/v2/contacts", x_client_id="acme")).json()["data"]
    assert isinstance(result, dict)
    return result


async def timeline(call: ApiClient) -> list[dict[str, Any]]:
    number = (await contact(call))["id"]
    result: list[dict[str, Any]] = (await call.get(f"/public/v2/contacts/{number}/timeline", x_client_id="acme")).json()["data"]
    return result


async def test_status_outside_the_set_of_the_client__is_a_problem_of_the_delivery(call: ApiClient) -> None:
    report = await tell(call, SENT, REPLY)

    (result,) = await listed(call)
    assert (await contact(call))["contact_status"] == "contacted"
    assert (await contact(call))["last_reply_received"] == "2026-11-20T09:00:00Z"
    assert result["state"] == "applied"
    (problem,) = result["problems"]
    assert problem["code"] == "status_refused"
    assert "'replied'" in problem["detail"]
    assert "add it to the set, or merge it into one of the set" in problem["detail"]
    assert [(item["event"], [first_problem["code"] for first_problem in item["problems"]]) for item in await timeline(call)] == [
        ("email_replied", ["status_refused"]),
        ("email_sent", []),
    ]
    assert report.problems == {"status_refused": 1}
    metrics = ProcessMetrics()
    count_report(metrics, lambda: 0, report)
    assert metrics.registry.get_sample_value("touchbase_delivery_problems_total", {"code": "status_refused"}) == 1
    assert len(await listed(call, "")) == len(await listed(call, "?problems=false")) == 2
    assert [item async for item in verify(call.parts.store, 1, Verified())] == []


async def test_replay__leaves_the_problem_and_counts_it_once(call: ApiClient) -> None:
    await tell(call, SENT, REPLY)
    await call.settings("acme", contact_statuses={"statuses": ["contacted", "replied"], "transitions": {}})
    (result,) = await listed(call)

    await call.post(f"/admin/v1/deliveries/{result['id']}/replay")
    report = await apply(call)

    assert [item["problems"] for item in await listed(call)] == [result["problems"]]
    assert report.problems == {}


async def test_status_labels__rename_statuses_and_leave_their_effect(call: ApiClient) -> None:
    await call.post(
        "/admin/v1/clients/acme/connections",
        {"channel": "email_campaign", "tool": "instantly", "settings": {"status_labels": {"replied": "Interested", "bounced": None}}},
    )
    await tell(
        call,
        SENT,
        REPLY,
        SENT_AGAIN,
        {"event_type": "email_bounced", "lead_email": "ann@example.com", "timestamp": "2026-11-20T09:20:00Z", "bounce_type": "hard"},
    )

    result = await contact(call)
    assert (result["contact_status"], result["previous_status"]) == ("Interested", "contacted")
    assert result["last_campaign_email_sent"] == "2026-11-20T09:10:00Z"
    assert await listed(call) == []
    assert [str(item) async for item in verify(call.parts.store, 1, Verified())] == []


async def test_time_ahead__is_a_problem_of_the_delivery(call: ApiClient) -> None:
    await tell(call, {**SENT, "timestamp": "2026-11-23T08:00:00Z"})

    assert [[problem["code"] for problem in item["problems"]] for item in await listed(call)] == [["time_ahead"]]
    assert (await contact(call))["last_campaign_email_sent"] == "2026-11-20T09:30:00Z"
