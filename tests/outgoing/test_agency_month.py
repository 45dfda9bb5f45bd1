"""A month of an agency: Calendly, Smartlead, HeyReach, HubSpot and Airtable, in any order and with repeats.

It begins with a load of what Smartlead knows, and ends with the same statuses and meetings in every order; the tools' blocklists
hold what the do-not-contact list holds. The bodies have the published form of each tool; rows of Airtable come from an automation's script,
read by a mapping, and by a webhook of its API, whose changes are read by a cursor.
"""

from __future__ import annotations

import json
import random
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from tests.asgi_client import Clock, MakeClient
from tests.enrichment.fake_tool_api import ADAPTERS, FakeResponse, ReceivedRequest
from tests.enrichment.fake_tool_api import TOKEN as AIRTABLE_TOKEN
from tests.enrichment.test_lists import PEOPLE as TABLE
from tests.enrichment.test_lists import PING, Airtable
from tests.loading.test_load import TOKEN as SMARTLEAD_TOKEN
from tests.loading.test_load import smartlead as smartlead_history
from tests.outgoing.test_blocklists import TOKEN, Tools, tools_of

from touchbase.common.timestamps import from_text
from touchbase.consistency.service import Verified, verify
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.jobs.worker import JobWorker
from touchbase.loading.job import LoadKind
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.store import Store

BEGAN = datetime.fromisoformat("2026-10-01T08:00:00+00:00")
PEOPLE = range(25)
ROWS = (14, 15, 16)
"""People in a base of Airtable: the first row was changed, the last one was deleted."""
Call = tuple[str, Any]


def mail(number: int) -> str:
    return f"p{number}@firm{number}.example"


def at(day: int, hour: int = 0) -> str:
    return (BEGAN + timedelta(days=day, hours=hour)).strftime("%Y-%m-%dT%H:%M:%SZ")


def smartlead(event: str, number: int, day: int, **more: object) -> Call:
    about = {"sl_lead_email": mail(number), "campaign_id": 7, "campaign_name": "Autumn", "stats_id": f"s{number}-{event}"}
    return "emailcampaign", {"event_type": event, "event_timestamp": at(day), **about, **more}


def heyreach(event: str, number: int, day: int) -> Call:
    lead = {"profile_url": f"https://www.linkedin.com/in/person-{number}", "email_address": mail(number), "first_name": f"P{number}"}
    return "emailcampaign", {"event_type": event, "timestamp": at(day), "lead": lead, "campaign": {"id": 3, "name": "Founders"}}


def calendly(event: str, number: int, day: int, invitee: str, **more: object) -> Call:
    base = "https://api.calendly.com/scheduled_events/E"
    meeting = {"uri": f"{base}{number}", "name": "Discovery", "start_time": at(day + 2)}
    payload = {
        "uri": f"{base}{number}/invitees/{invitee}", "email": mail(number), "name": f"P{number} Last", "event": f"{base}{number}",
        "rescheduled": False, "old_invitee": None, "new_invitee": None, "scheduled_event": meeting, **more,
    }  # fmt: skip
    return "emailcampaign", {"event": event, "created_at": at(day), "created_by": "https://api.calendly.com/users/U", "payload": payload}


def hubspot(number: int, day: int, status: str) -> Call:
    changed = "contact.propertyChange"
    changes = [(changed, "email", mail(number)), ("contact.creation", None, None), (changed, "hs_lead_status", status)]
    when = int((BEGAN + timedelta(days=day)).timestamp() * 1000)
    return "crm", [
        {"portalId": 4, "appId": 2, "subscriptionId": 8, "eventId": 100 * number + place, "subscriptionType": kind,
         "objectId": 500 + number, "occurredAt": when + place,
         **({"propertyName": name, "propertyValue": value} if name else {"changeFlag": "NEW"})}
        for place, (kind, name, value) in enumerate(changes)
    ]  # fmt: skip


def airtable(event: str, number: int, day: int) -> Call:
    row = {"id": f"rec{number}", "fields": {"E-mail": mail(number), "Budget": 10 * number}}
    return "crm", {"kind": event, "when": at(day), "rows": [row]}


def month() -> list[Call]:
    """About 200 calls: each tool's own for each person, a third of them twice."""
    calls = [smartlead("EMAIL_SENT", number, 1) for number in PEOPLE]
    for event, day in (("CONNECTION_REQUEST_SENT", 2), ("CONNECTION_REQUEST_ACCEPTED", 3)):
        calls += [heyreach(event, number, day) for number in PEOPLE]
    calls += [smartlead("EMAIL_OPEN", number, 4) for number in PEOPLE]
    calls += [airtable("row changed", number, 5) for number in PEOPLE]
    calls += [smartlead("EMAIL_REPLY", number, 6, reply_message={"text": "Yes", "time": at(6)}) for number in PEOPLE if number % 3 == 0]
    calls += [heyreach("MESSAGE_REPLY_RECEIVED", 5, 7), smartlead("LEAD_UNSUBSCRIBED", 4, 8), smartlead("LEAD_UNSUBSCRIBED", 11, 8)]
    calls += [airtable("stop", 13, 9), *(("crm", PING | {"timestamp": at(day)}) for day in (5, 9, 20))]
    calls += [calendly("invitee.created", number, 10, "I1") for number in (0, 3, 6)]
    calls += [calendly("invitee.canceled", 3, 11, "I1")]
    again = "https://api.calendly.com/scheduled_events/E6/invitees/I2"
    calls += [calendly("invitee.canceled", 6, 12, "I1", rescheduled=True, new_invitee=again)]
    calls += [calendly("invitee.created", 6, 12, "I2", old_invitee=again.replace("I2", "I1"))]
    calls += [calendly("invitee_no_show.created", 0, 13, "I1", no_show={"uri": "x", "created_at": at(13)}), hubspot(6, 15, "OPEN_DEAL")]
    return calls + calls[::3]


MAPPING = {
    "fields": {
        "event": "kind", "occurred_at": "when", "id": "rows[].id", "email": "rows[].fields.E-mail", "custom.Budget": "rows[].fields.Budget",
    },
    "events": {"row changed": "contact.updated", "stop": "email_unsubscribed"},
}  # fmt: skip


class ToolApis:
    """Blocklists of Smartlead, lemlist and HeyReach, as their APIs change them; a base of Airtable; Smartlead from before."""

    def __init__(self) -> None:
        self.lemlist: set[str] = set()
        self.heyreach: set[str] = set()
        self.smartlead: list[str | None] = ["rival.example"]
        """Entries, of which each has its place as id; None: removed."""
        self.airtable = Airtable()

    def answer(self, request: ReceivedRequest) -> FakeResponse:
        url = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path.startswith("/v0/"):
            return self.airtable.respond(request)
        if url.path.startswith("/v2/unsubscribes/variables/"):
            value = unquote(url.path.rpartition("/")[2])
            (self.lemlist.add if request.method == "POST" else self.lemlist.discard)(value)
        elif url.path.startswith("/blacklist/"):
            for lead in json.loads(request.body)["leads"]:
                (self.heyreach.add if url.path.endswith("AddLeads") else self.heyreach.discard)(lead["email"])
        elif url.path == "/leads/add-domain-block-list":
            self.smartlead += json.loads(request.body)["domain_block_list"]
        elif url.path == "/leads/delete-domain-block-list":
            self.smartlead[int(query["id"])] = None
        elif url.path == "/leads/get-domain-block-list":
            looked_for = query.get("filter_email_or_domain")
            entries = [{"id": place, "email_or_domain": value} for place, value in enumerate(self.smartlead) if value]
            return 200, [entry for entry in entries if looked_for in (None, entry["email_or_domain"])]
        else:
            return 200, smartlead_history(request, query)
        return 200, {"ok": True}


async def connect(tools: Tools, channel: str, tool: str, **settings: object) -> None:
    tokens = {"lemlist": TOKEN, "heyreach": TOKEN, "smartlead": SMARTLEAD_TOKEN, "airtable": AIRTABLE_TOKEN}
    token = {"access_token": tokens[tool]} if tool in tokens else {}
    settings |= {"api_base": tools.api.base} if token else {}
    body = {"channel": channel, "tool": tool, "settings": {"create_unknown": True, **settings}, **token}
    response = await tools.house.request("POST", f"/admin/v1/clients/{tools.house.client_id}/connections", body)
    assert response.status == 201, response.body


async def load_history(tools: Tools, store: Store) -> None:
    """Load what Smartlead knows, as a job does."""
    house = tools.house
    path = f"/admin/v1/clients/{house.client_id}/connections/email_campaign/smartlead/load"
    number = (await house.request("POST", path, None)).json()["id"]
    jobs = JobWorker(store, house.call.clock, [LoadKind("touchbase/test", (tools.api.base,))])
    job = {"state": ""}
    for _ in range(200):
        await jobs.drain()
        job = (await house.request("GET", f"/public/v2/jobs/{number}")).json()
        if job["state"] == "succeeded":
            break
        house.call.clock.move(5)
    assert job["state"] == "succeeded", job
    await tools.inbox.drain()


async def fetch_rows(tools: Tools, store: Store) -> None:
    """Fetch the rows that Airtable's changes name."""
    caller, sandbox, clock = HttpClient("touchbase/test", [tools.api.base]), Sandbox("fetch"), tools.house.call.clock

    async def sleep(seconds: float) -> None:
        clock.move(seconds)

    fetch = FetchWorker(store, ADAPTERS, caller.send, clock, sleep=sleep, sandbox=sandbox)
    for _ in range(20):
        clock.move(3)
        await fetch.drain()
        await tools.inbox.drain()
    sandbox.close()
    await caller.close()


@pytest.mark.parametrize("seed", [1, 2])
async def test_month_of_an_agency__ends_the_same_in_every_order(store: Store, make_client: MakeClient, clock: Clock, seed: int) -> None:
    async with tools_of(store, make_client, clock) as tools:
        house, apis = tools.house, ToolApis()
        tools.answer = apis.answer
        house.call.clock.now = from_text("2026-11-02T08:00:00Z")
        for tool in ("smartlead", "calendly", "lemlist"):
            await connect(tools, "email_campaign", tool)
        await connect(tools, "email_campaign", "heyreach", linkedin_reply_counts=True)
        await connect(tools, "crm", "hubspot", status_property={"contact": "hs_lead_status"})
        await connect(tools, "crm", "airtable")
        await connect(tools, "crm", "generic", **MAPPING)
        for tool in ("smartlead", "lemlist", "heyreach"):
            assert (await house.request("POST", "/public/v2/webhook-endpoints", {"kind": "blocklist", "tool": tool})).status == 201
        await load_history(tools, store)
        for number in ROWS:
            apis.airtable.change(TABLE, f"rec{number:014}", Email=mail(number), Tier=f"T{number}")
        apis.airtable.change(TABLE, f"rec{ROWS[0]:014}", Tier="T0")
        apis.airtable.destroy(TABLE, f"rec{ROWS[-1]:014}")
        calls = month()
        random.Random(seed).shuffle(calls)
        assert len(calls) > 180

        for place, (channel, body) in enumerate(calls):
            house.call.clock.move(7)
            response = await house.call("POST", f"/public/{channel}-webhook/{house.client_id}", raw=json.dumps(body).encode())
            assert response.status == 200, response.body
            if place % 40 == 39:
                await tools.inbox.drain()
        await tools.inbox.drain()
        await fetch_rows(tools, store)
        await tools.deliver(10)

        contacts = {contact["email"]: contact for contact in await house.listed(query="structure=FLAT")}
        special = {0: "no_show", 3: "meeting_booked", 6: "OPEN_DEAL", 5: "replied", **dict.fromkeys((4, 11, 13), "do_not_contact")}
        expected = {mail(number): special.get(number, "contacted" if number % 3 else "replied") for number in PEOPLE}
        expected |= {"ann@acme.example": "interested", "bob@acme.example": "do_not_contact", "cy@acme.example": "bounced"}
        assert {email: contact["contact_status"] for email, contact in contacts.items()} == expected
        assert contacts["ann@acme.example"]["last_reply_received"] == "2026-03-03T09:30:00Z"
        assert contacts[mail(7)]["contact_custom_fields"]["Budget"] == "70"
        assert [contacts[mail(number)]["contact_custom_fields"].get("Tier") for number in ROWS] == ["T0", "T15", None]
        types = ",".join(f"contact.meeting_{what}" for what in ("booked", "canceled", "rescheduled", "no_show"))
        events = (await house.request("GET", f"/public/v2/events?types={types}&limit=200")).json()["data"]
        meetings = sorted((event["type"].partition("meeting_")[2], event["data"]["object"]["email"]) for event in events)
        assert meetings == [
            ("booked", mail(0)), ("booked", mail(3)), ("booked", mail(6)), ("canceled", mail(3)), ("no_show", mail(0)),
            ("rescheduled", mail(6)),
        ]  # fmt: skip
        assert {event["data"]["meeting"]["start"] for event in events} == {at(day + 2) for day in (10, 11, 12, 13)}
        stopped = {mail(4), mail(11), mail(13), "bob@acme.example", "cy@acme.example"}
        assert await listed(tools) == apis.lemlist == {*apis.smartlead} == stopped | {"rival.example"}
        assert apis.heyreach == stopped  # it takes no domains

        [entry] = (await house.request("GET", f"/public/v2/suppressions?value={mail(11)}&kind=email")).json()["data"]
        await house.request("DELETE", f"/public/v2/suppressions/{entry['id']}")
        await tools.deliver(10)

        assert await listed(tools) == apis.lemlist == {*apis.smartlead} - {None} == stopped - {mail(11)} | {"rival.example"}
        assert apis.heyreach == stopped - {mail(11)}
        assert [fault async for fault in verify(store, house.number, Verified())] == []


async def listed(tools: Tools) -> set[str]:
    """Return the addresses on the client's list."""
    return {entry["value"] for entry in (await tools.house.request("GET", "/public/v2/suppressions?limit=200")).json()["data"]}
