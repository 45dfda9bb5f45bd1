"""A time that names no zone never lies ahead of its call, unless the client has named the zone."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.common import timestamps
from touchbase.common.timestamps import to_text
from touchbase.connections.service import Connections
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
NOW = "2026-11-20T09:30:00Z"
LEAD = {"doctype": "CRM Lead", "name": "L-1", "email": "ann@example.com", "first_name": "Ann", "status": "New"}
FRAPPE = {"channel": "crm", "tool": "frappe"}


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    """The application with all adapters and the client default."""
    client = make_client(store, senders=ADAPTERS)
    await client.settings()
    return client


async def came(call: ApiClient, body: dict[str, Any]) -> None:
    default = await call("POST", "/public/crm-webhook/default", raw=json.dumps(body).encode())
    assert default.status == 200
    store = call.parts.store
    await InboxWorker(store, ADAPTERS.translate, call.clock, connections=Connections(store, call.clock).of).drain()


async def history(call: ApiClient) -> list[tuple[str, str, bool]]:
    """The events of contact 1, oldest first: what, when, and whether that is unsure."""
    history = await call.parts.store.read(get_history(1, CONTACT, 1))
    return [(event.event, to_text(event.occurred_us), event.detail.get("time_unsure", False)) for event in history]


async def test_future_time_without_a_zone__is_replaced_by_the_time_of_receipt(call: ApiClient) -> None:
    await came(call, {**LEAD, "modified": "2026-11-20 15:00:00"})  # 09:30 in India

    assert {item[1:] for item in await history(call)} == {(NOW, True)}


@pytest.mark.parametrize("written", ["2026-11-20 09:32:00", "2026-11-20 04:30:00", "2026-11-20T15:00:00+05:30", "2026-11-21T09:00:00Z"])
async def test_plausible_time__is_accepted(call: ApiClient, written: str) -> None:
    await came(call, {**LEAD, "modified": written})

    assert {unsure for _, _, unsure in await history(call)} == {False}
    assert NOW not in {at for _, at, _ in await history(call)} or written.endswith("+05:30")


async def test_time_without_a_zone__is_read_in_the_zone_of_the_connection(call: ApiClient) -> None:
    response = await call.post("/admin/v1/clients/default/connections", {**FRAPPE, "settings": {"time_zone": "Asia/Kolkata"}})
    assert response.json()["settings"]["time_zone"] == "Asia/Kolkata"

    await came(call, {**LEAD, "modified": "2026-11-20 14:58:00"})

    assert {item[1:] for item in await history(call)} == {("2026-11-20T09:28:00Z", False)}


async def test_reply_after_a_lead_with_a_future_time__sets_the_status(call: ApiClient) -> None:
    await came(call, {**LEAD, "modified": "2026-11-20 15:00:00"})
    reply = {
        "event_type": "reply_received",
        "lead_email": LEAD["email"],
        "timestamp": call.clock.move(60),
        "campaign_name": "C",
        "workspace": "w",
    }
    await call.post("/public/emailcampaign-webhook/default", reply)
    await InboxWorker(call.parts.store, ADAPTERS.translate, call.clock).drain()

    record = (await call.get("/public/v2/contacts/1")).json()

    assert record["last_reply_received"] == "2026-11-20T09:31:00Z"
    assert record["contact_status"] == "replied", "a reply tells more than a CRM's New (decision 3)"


@pytest.mark.parametrize("zone", ["Europe/Berln", "CET+1", "../UTC", "right/UTC", "localtime", "x" * 200])
async def test_time_zone_setting__refuses_an_unknown_zone_with_examples(call: ApiClient, zone: str) -> None:
    reply = await call.post("/admin/v1/clients/default/connections", {**FRAPPE, "settings": {"time_zone": zone}})

    (error,) = reply.problem["errors"]
    assert (reply.status, error["pointer"]) == (422, "/settings/time_zone")
    assert "Europe/Berlin, Asia/Kolkata" in error["detail"]


async def test_time_zone_setting__reports_missing_time_zone_data(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> ZoneInfo:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr(timestamps, "ZoneInfo", nowhere)

    reply = await call.post("/admin/v1/clients/default/connections", {**FRAPPE, "settings": {"time_zone": "Europe/Berlin"}})

    assert reply.status == 422
    assert "no time zone data; install its package tzdata" in reply.problem["errors"][0]["detail"]
