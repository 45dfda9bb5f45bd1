"""First loads: a campaign tool's leads, messages and blocklist become records, timelines and do-not-contact entries at their own times.

The fake tools speak the published calls of the vendors; nothing was tried on a live account.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.enrichment.fake_tool_api import ADAPTERS, FakeApi, FakeResponse, ReceivedRequest, fake_api
from tests.house import House

from touchbase.clients.sql.stored_bytes import store_count
from touchbase.connections.sql.connections import list_connections
from touchbase.inbox.worker import InboxWorker
from touchbase.jobs.worker import JobWorker
from touchbase.loading import job as job_module
from touchbase.loading.job import MOST_FAILURES, LoadKind
from touchbase.loading.requests import SOURCES
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.projection.loaded_events import LOADED_TOOLS
from touchbase.sql.store import Store

TOKEN = "zq301loadtoken"
Answer = Callable[[ReceivedRequest, dict[str, str]], object]


@dataclass
class Loads:
    """A client with a connection to a fake tool."""

    house: House
    api: FakeApi
    jobs: JobWorker
    inbox: InboxWorker
    answer: Answer = lambda request, query: {}
    failures: list[FakeResponse] = field(default_factory=list)
    """Responses before the usual ones."""
    gone: set[str] = field(default_factory=set)
    """Paths that answer 404."""

    async def connect(self, tool: str) -> None:
        body = {"channel": "email_campaign", "tool": tool, "access_token": TOKEN, "settings": {"api_base": self.api.base}}
        response = await self.house.request("POST", f"/admin/v1/clients/{self.house.client_id}/connections", body)
        assert response.status == 201, response.body

    async def start(self, tool: str, expect: int = 201) -> Any:
        path = f"/admin/v1/clients/{self.house.client_id}/connections/email_campaign/{tool}/load"
        response = await self.house.request("POST", path, None)
        assert response.status == expect, response.body
        return response.json()

    async def run(self, job_id: int, hours: float = 2) -> Any:
        """Let time pass until the job has ended, and apply what it stored; return the job."""
        for _ in range(int(hours * 720)):
            await self.jobs.drain()
            job = (await self.house.request("GET", f"/public/v2/jobs/{job_id}")).json()
            if job["state"] in ("succeeded", "failed", "cancelled"):
                break
            self.house.call.clock.move(5)
        await self.inbox.drain()
        return job

    async def load(self, tool: str, answer: Answer) -> Any:
        self.answer = answer
        await self.connect(tool)
        return await self.run((await self.start(tool))["id"])

    async def contact(self, email: str) -> Any:
        response = await self.house.request("GET", f"/public/v2/contacts?email={email}&structure=FLAT")
        [contact] = response.json()["data"]
        return contact

    async def timeline(self, email: str) -> list[tuple[str, str]]:
        number = (await self.contact(email))["id"]
        response = await self.house.request("GET", f"/public/v2/contacts/{number}/timeline?limit=200")
        return [(event["event"], event["occurred_at"]) for event in response.json()["data"]]

    async def messages(self, email: str) -> list[tuple[str, str]]:
        number = (await self.contact(email))["id"]
        response = await self.house.request("GET", f"/public/v2/messages?contact_id={number}&limit=200")
        return [(message["direction"], message["text"]) for message in response.json()["data"]]

    async def replies(self) -> tuple[list[Any], list[Any]]:
        """The replies of Ann in her timeline, and the messages that she sent."""
        contacts = await self.house.listed(query="structure=FLAT")
        [contact] = [contact for contact in contacts if "ann" in f"{contact.get('email')} {contact.get('linkedin_url')}"]
        events = (await self.house.request("GET", f"/public/v2/contacts/{contact['id']}/timeline?limit=200")).json()["data"]
        messages = (await self.house.request("GET", f"/public/v2/messages?contact_id={contact['id']}&direction=received")).json()["data"]
        return [event for event in events if event["event"].endswith("replied")], messages

    async def replay(self) -> None:
        """Replay everything that came in."""
        deliveries = (await self.house.request("GET", f"/admin/v1/deliveries?client={self.house.client_id}&limit=200")).json()["data"]
        for delivery in deliveries:
            response = await self.house.request("POST", f"/admin/v1/deliveries/{delivery['id']}/replay", None)
            assert response.status == 202, response.body
        await self.inbox.drain()

    async def listed(self) -> set[str]:
        response = await self.house.request("GET", "/public/v2/suppressions?limit=200")
        return {entry["value"] for entry in response.json()["data"]}


@pytest.fixture
async def loads(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Loads]:
    opened: Loads | None = None

    def respond(request: ReceivedRequest) -> FakeResponse:
        assert opened is not None
        if opened.failures:
            return opened.failures.pop(0)
        if request.path in opened.gone:
            return 404, b"Not found"
        query = {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}
        return 200, opened.answer(request, query)

    async with fake_api(respond) as api:
        call: ApiClient = make_client(store, senders=ADAPTERS, fetch_allowed=(api.base,))
        jobs = JobWorker(store, clock, [LoadKind("touchbase/test", (api.base,))])
        inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=lambda number: store.read(list_connections(number)))
        opened = Loads(await House.of(call, "default"), api, jobs, inbox)
        yield opened


def instantly(request: ReceivedRequest, query: dict[str, str]) -> object:
    """Two pages of labels, two of leads, one of mails, and a blocklist."""
    path = urlsplit(request.path).path
    leads = [
        {"id": "l1", "email": "ann@acme.example", "first_name": "Ann", "status": 1, "lt_interest_status": 1, "campaign": "c1",
         "timestamp_created": "2026-03-01T08:00:00.000Z", "timestamp_updated": "2026-04-02T08:00:00.000Z",
         "timestamp_last_interest_change": "2026-04-01T10:00:00.000Z"},
        {"id": "l2", "email": "bob@acme.example", "status": -2, "campaign": "c1", "timestamp_created": "2026-03-01T08:00:00.000Z",
         "timestamp_updated": "2026-03-05T08:00:00.000Z"},
        {"id": "l3", "email": "cy@acme.example", "status": -1, "campaign": "c1", "timestamp_created": "2026-03-01T08:00:00.000Z",
         "timestamp_updated": "2026-03-06T08:00:00.000Z"},
        {"id": "l4", "email": "di@acme.example", "status": 1, "lt_interest_status": 7, "campaign": "c1",
         "timestamp_created": "2026-03-01T08:00:00.000Z", "timestamp_updated": "2026-03-06T08:00:00.000Z"},
    ]  # fmt: skip
    if path == "/lead-labels":
        first = {"items": [{"label": "Cold = lead", "interest_status": -7}], "next_starting_after": "2026-03-01T08:00:00.000Z"}
        return {"items": [{"label": "Hot lead", "interest_status": 7}]} if query.get("starting_after") else first
    if path == "/leads/list":
        start = request.json().get("starting_after")
        return {"items": leads[2:]} if start == "l2" else {"items": leads[:2], "next_starting_after": "l2"}
    if path == "/emails":
        common = {"lead": "ann@acme.example", "campaign_id": "c1", "eaccount": "sam@agency.example", "subject": "Hello"}
        return {
            "items": [
                {**common, "id": "e1", "ue_type": 1, "timestamp_email": "2026-03-02T09:00:00.000Z", "body": {"text": "Hi Ann"}},
                {**common, "id": "e2", "ue_type": 2, "timestamp_email": "2026-03-03T09:30:00.000Z", "body": {"text": "Tell me more"}},
                {**common, "id": "e3", "ue_type": 4, "timestamp_email": "2026-12-03T09:30:00.000Z", "body": {"text": "Planned"}},
            ]
        }
    return {"items": [{"bl_value": "rival.example"}, {"bl_value": "Dan@Acme.example"}, {"bl_value": "not an address"}]}


def test_joined_tools__are_those_with_a_load() -> None:
    assert SOURCES.keys() == LOADED_TOOLS


async def test_load_of_instantly__brings_leads_mails_and_blocklist_at_their_own_times(loads: Loads) -> None:
    job = await loads.load("instantly", instantly)

    assert (job["state"], job["error"]) == ("succeeded", None)
    counts = {"requests": 6, "rows": 12, "webhooks": 8, "blocked": 2, "left_out": 1, "without_address": 0, "unread": 0, "pages_left": 0}
    assert job["progress"] == {**counts, "percent": 100}
    ann = await loads.contact("ann@acme.example")
    assert ann["contact_status"] == "interested"
    assert ann["first_campaign_email_sent"] == "2026-03-02T09:00:00Z"
    assert ann["last_reply_received"] == "2026-03-03T09:30:00Z"
    assert await loads.messages("ann@acme.example") == [("received", "Tell me more"), ("sent", "Hi Ann")]
    assert (await loads.contact("bob@acme.example"))["contact_status"] == "do_not_contact"
    assert (await loads.contact("cy@acme.example"))["contact_status"] == "bounced"
    assert (await loads.contact("di@acme.example"))["contact_status"] == "Hot lead"
    assert {"rival.example", "dan@acme.example", "bob@acme.example"} <= await loads.listed()


async def test_blocklist__changes_no_entry_that_a_person_made(loads: Loads) -> None:
    await loads.house.request("POST", "/public/v2/suppressions", {"value": "dan@acme.example", "reason": "legal", "note": "by letter"})
    await loads.load("instantly", instantly)

    listed = (await loads.house.request("GET", "/public/v2/suppressions?value=dan@acme.example")).json()["data"]
    assert [(entry["reason"], entry["note"]) for entry in listed] == [("legal", "by letter")]


async def test_load__is_not_repeated_by_a_second_load_or_a_webhook(loads: Loads) -> None:
    await loads.load("instantly", instantly)
    before = await loads.timeline("ann@acme.example")
    reply = {
        "event_type": "reply_received", "timestamp": "2026-03-03T09:30:00.000Z", "lead_email": "ann@acme.example", "campaign_id": "c1",
        "email_account": "sam@agency.example", "email_id": "e2", "reply_subject": "Hello", "reply_text": "Tell me more", "workspace": "w1",
    }  # fmt: skip
    await loads.house.call("POST", f"/public/emailcampaign-webhook/{loads.house.client_id}", reply)
    again = await loads.run((await loads.start("instantly"))["id"])

    assert again["state"] == "succeeded"
    assert again["progress"]["webhooks"] == 0
    assert await loads.timeline("ann@acme.example") == before


LATER = "2026-03-03T09:30:04.250Z"
"""Time of a webhook about the reply that the fake tools have at 09:30."""
REPLY_WEBHOOKS: dict[str, dict[str, object]] = {
    "instantly": {
        "event_type": "reply_received", "timestamp": LATER, "lead_email": "ann@acme.example", "campaign_id": "c1", "reply_subject": "Hello",
        "email_account": "sam@agency.example", "email_id": "other", "reply_text": "Tell me more", "workspace": "w1",
    },
    "smartlead": {
        "event_type": "EMAIL_REPLY", "event_timestamp": LATER, "sl_lead_email": "ann@acme.example", "campaign_id": 7,
        "campaign_name": "Spring", "stats_id": "s1", "from_email": "sam@agency.example",
        "reply_message": {"message_id": "<m2>", "text": "Tell me more\n\n> Hi Ann", "time": LATER},
    },
    "heyreach": {
        "event_type": "EVERY_MESSAGE_REPLY_RECEIVED", "timestamp": LATER, "conversation_id": "c1",
        "campaign": {"id": 9, "name": "Linked / In"}, "sender": {"id": 4},
        "lead": {"profile_url": "https://www.linkedin.com/in/ann-acme", "first_name": "Ann", "last_name": "Acme"},
        "recent_messages": [{"creation_time": LATER, "message": "Tell me more", "is_reply": True}],
    },
    "woodpecker": {
        "method": "prospect_replied", "timestamp": "2026-03-03T09:34:00+0000", "firm_id": 14,
        "prospect": {"id": 1, "email": "ann@acme.example", "campaign_id": 7, "campaign_email": "sam@agency.example"},
        "email": {"id": 13, "date": "2026-03-03T09:29:00+0000", "email": "ann@acme.example", "message": "<p>Tell me more</p>"},
    },
    "reply_io": {
        "event": {"type": "email_replied", "date": LATER, "id": "33333333-0000-4000-8000-000000000003", "subscription_id": 7},
        "contact_fields": {"email": "ann@acme.example", "last_name": "Acme"}, "sequence_fields": {"id": 3, "name": "Spring / north"},
        "email_account_fields": {"email": "sam@agency.example"}, "reply_text": "Yes, please",
    },
}  # fmt: skip


TEXTS = {"reply_io": "Yes, please"}


@pytest.mark.parametrize("order", ["load first", "webhook first", "in one batch"])
@pytest.mark.parametrize("tool", REPLY_WEBHOOKS)
async def test_reply_that_a_load_and_a_webhook_bring__is_one(loads: Loads, tool: str, order: str) -> None:
    async def receive() -> None:
        address = f"/public/emailcampaign-webhook/{loads.house.client_id}"
        await loads.house.call("POST", address, REPLY_WEBHOOKS[tool])
        if order != "in one batch":
            await loads.inbox.drain()

    answers: dict[str, Answer] = {
        "instantly": instantly, "smartlead": smartlead, "heyreach": heyreach, "woodpecker": woodpecker, "reply_io": reply_io,
    }  # fmt: skip
    loads.gone = {"/inbox/GetChatroom/4/gone"}
    if order != "load first":
        await receive()
    await loads.load(tool, answers[tool])
    if order == "load first":
        await receive()
    before = await loads.replies()
    await loads.replay()

    assert [len(part) for part in before] == [1, 1]
    assert (before[1][0]["text"].splitlines()[0], before[1][0]["mailbox"] is None) == (TEXTS.get(tool, "Tell me more"), False)
    assert await loads.replies() == before


async def test_texts_that_are_written_twice__join_one_webhook_each(loads: Loads) -> None:
    def answer(request: ReceivedRequest, query: dict[str, str]) -> object:
        if request.path != "/inbox/GetConversationsV3":
            return {"items": [{"id": 9, "name": "Linked / In"}] if request.path == "/campaign/GetAll" else []}
        ok = [{"sender": "CORRESPONDENT", "createdAt": f"2026-03-03T09:{minute}:00Z", "body": "ok"} for minute in (30, 31)]
        conversation = {"id": "c1", "linkedInAccountId": 4, "totalMessages": 2, "messages": ok}
        return {"items": [{**conversation, "correspondentProfile": {"profileUrl": "https://www.linkedin.com/in/ann-acme"}}]}

    await loads.load("heyreach", answer)
    for minute in (30, 31, 32):
        at = f"2026-03-03T09:{minute}:02Z"
        messages = [{"creation_time": at, "message": "ok", "is_reply": True}]
        body = REPLY_WEBHOOKS["heyreach"] | {"timestamp": at, "recent_messages": messages}
        await loads.house.call("POST", f"/public/emailcampaign-webhook/{loads.house.client_id}", body)
    await loads.inbox.drain()

    events, messages = await loads.replies()
    times = ["2026-03-03T09:32:02Z", "2026-03-03T09:31:00Z", "2026-03-03T09:30:00Z"]
    assert [event["occurred_at"] for event in events] == [message["occurred_at"] for message in messages] == times
    [ann] = await loads.house.listed(query="structure=FLAT")
    assert ann["last_name"] == "Acme"


def smartlead(request: ReceivedRequest, query: dict[str, str]) -> object:
    """Two campaigns, of which one is empty; the replies of one lead."""
    assert query.pop("api_key") == TOKEN
    path = urlsplit(request.path).path
    if path == "/campaigns/":
        return [{"id": 7, "name": "Spring", "status": "ACTIVE"}, {"id": 8, "name": "Empty", "status": "DRAFTED"}]
    if path == "/campaigns/7/statistics":
        return {
            "total_stats": "2",
            "data": [
                {"stats_id": "s1", "lead_email": "ann@acme.example", "sequence_number": 1, "email_subject": "Hello",
                 "email_message": "<p>Hi Ann</p>", "sent_time": "2026-03-02T09:00:00.000Z", "reply_time": "2026-03-03T09:30:00.000Z",
                 "is_bounced": False, "is_unsubscribed": False},
                {"stats_id": "s2", "lead_email": "cy@acme.example", "sequence_number": 1, "email_subject": "Hello",
                 "email_message": "<p>Hi Cy</p>", "sent_time": "2026-03-02T09:01:00.000Z", "is_bounced": True, "is_unsubscribed": False},
            ],
        }  # fmt: skip
    if path == "/campaigns/7/leads":
        ann = {"campaign_lead_map_id": 70, "lead_category_id": 1, "status": "COMPLETED", "lead": {"id": 5, "email": "ann@acme.example"}}
        bob = {"campaign_lead_map_id": 71, "status": "STOPPED", "lead": {"id": 6, "email": "bob@acme.example", "is_unsubscribed": True}}
        return {"total_leads": "2", "data": [ann] if query.get("emailStatus") == "is_replied" else [ann, bob]}
    if path == "/campaigns/7/leads/5/message-history":
        return {
            "history": [
                {"type": "SENT", "stats_id": "s1", "message_id": "<m1>", "time": "2026-03-02T09:00:00.000Z", "email_body": "<p>Hi</p>"},
                {"type": "REPLY", "stats_id": "s1", "message_id": "<m2>", "time": "2026-03-03T09:30:00.000Z", "email_body": "Tell me more"},
            ]
        }
    if path == "/leads/get-domain-block-list":
        return [{"id": 1, "email_or_domain": "rival.example", "source": "manual"}]
    return {"data": []}


async def test_load_of_smartlead__brings_sends_replies_with_text_and_categories(loads: Loads) -> None:
    job = await loads.load("smartlead", smartlead)

    assert (job["state"], job["progress"]["pages_left"], job["progress"]["blocked"]) == ("succeeded", 0, 1)
    ann = await loads.contact("ann@acme.example")
    assert (ann["contact_status"], ann["last_reply_received"]) == ("interested", "2026-03-03T09:30:00Z")
    assert ann["last_campaign_email_sent"] == "2026-03-02T09:00:00Z"
    assert ("received", "Tell me more") in await loads.messages("ann@acme.example")
    assert (await loads.contact("cy@acme.example"))["contact_status"] == "bounced"
    assert {"rival.example", "bob@acme.example"} <= await loads.listed()
    assert TOKEN not in str((await loads.house.request("GET", "/public/v2/jobs?limit=10")).json())


def lemlist(request: ReceivedRequest, query: dict[str, str]) -> object:
    path = urlsplit(request.path).path
    if path == "/activities":
        assert query["version"] == "v2"
        full = [
            {"_id": f"act_{n}", "type": "emailsSent", "createdAt": "2026-03-02T09:00:00.000Z", "leadEmail": f"lead{n}@acme.example",
             "leadId": f"lea_{n}", "campaignId": "cam_1", "campaignName": "Spring"} for n in range(100)
        ]  # fmt: skip
        reply = {**full[0], "_id": "act_r", "type": "emailsReplied", "createdAt": "2026-03-03T09:30:00.000Z", "text": "Tell me more"}
        return full if query["offset"] == "0" else [reply]
    return [{"value": "gone@acme.example"}]


async def test_load_of_lemlist__reads_all_pages_of_activities(loads: Loads) -> None:
    job = await loads.load("lemlist", lemlist)

    assert job["state"] == "succeeded"
    assert (job["progress"]["rows"], job["progress"]["webhooks"]) == (102, 101)
    assert (await loads.contact("lead0@acme.example"))["last_reply_received"] == "2026-03-03T09:30:00Z"
    assert (await loads.contact("lead99@acme.example"))["first_campaign_email_sent"] == "2026-03-02T09:00:00Z"
    assert await loads.listed() == {"gone@acme.example"}


def heyreach(request: ReceivedRequest, query: dict[str, str]) -> object:
    """Two campaigns, with a conversation of both, whose messages are all in the list, one of 21 messages, and one that was deleted."""
    profile = {"profileUrl": "https://www.linkedin.com/in/ann-acme", "firstName": "Ann", "emailAddress": "ann@acme.example"}
    states = {"leadCampaignStatus": "Failed", "leadConnectionStatus": "ConnectionAccepted", "leadMessageStatus": "MessageReply"}
    ours = {"sender": "ME", "createdAt": "2026-03-02T09:00:00Z", "body": "Hi Ann"}
    theirs = {"sender": "CORRESPONDENT", "createdAt": "2026-03-03T09:30:00Z", "body": "Tell me more"}
    of_bob = {"correspondentProfile": {"profileUrl": "https://www.linkedin.com/in/bob-acme", "firstName": "Bob"}}
    if request.path == "/campaign/GetAll":
        return {"totalCount": 2, "items": [{"id": 9, "name": "Linked / In"}, {"id": 10, "name": "Second"}]}
    if request.path == "/campaign/GetLeadsFromCampaign":
        leads = [{"linkedInUserProfile": profile, "lastActionTime": "2026-03-04T09:30:00Z", **states}]
        assert request.json()["limit"] == 100
        return {"totalCount": 1, "items": leads if request.json()["campaignId"] == 9 else []}
    if request.path == "/inbox/GetConversationsV3":
        asked, short = request.json(), {"id": "c1", "linkedInAccountId": 4, "totalMessages": 2, "messages": [ours, theirs]}
        assert (asked["limit"], asked["filters"]) in [(100, {"campaignIds": [campaign]}) for campaign in (9, 10)]
        if asked["cursor"] is None:
            other = {"id": "c4", "linkedInAccountId": 4, "totalMessages": 1, "messages": [theirs], "campaignId": 8}
            other |= {"correspondentProfile": {"profileUrl": "https://www.linkedin.com/in/cy-acme"}}
            items = [{**short, "correspondentProfile": profile}, other]
            is_first = asked["filters"]["campaignIds"] == [9]
            return {"items": items if is_first else items[:1], "nextCursor": "a/b=" if is_first else None, "hasNextPage": is_first}
        assert asked["cursor"] == "a/b="
        long = {"id": "2-MTk/z==", "linkedInAccountId": "4", "totalMessages": 21, "messages": [theirs], **of_bob}
        return {"items": [long, {**long, "id": "gone"}], "nextCursor": None, "hasNextPage": False}
    if request.path == "/inbox/GetChatroom/4/2-MTk%2Fz%3D%3D":
        return {"messages": [{**ours, "createdAt": f"2026-04-{day:02}T09:00:00Z"} for day in range(1, 21)] + [{**theirs, "body": "No"}, {}]}
    if request.path == "/blacklist/GetLeads":
        leads = [{"email": "gone@acme.example"}, {"profileUrl": "https://www.linkedin.com/in/di-acme"}, {"fullName": "Ed Acme"}]
        return {"totalCount": "3", "items": leads}
    raise AssertionError(request.path)


async def test_load_of_heyreach__brings_invitations_and_messages_with_text(loads: Loads) -> None:
    loads.gone = {"/inbox/GetChatroom/4/gone"}
    job = await loads.load("heyreach", heyreach)

    assert (job["state"], job["error"]) == ("succeeded", None)
    assert {name: job["progress"][name] for name in ("webhooks", "unread", "blocked", "left_out")} == {
        "webhooks": 26, "unread": 1, "blocked": 2, "left_out": 1,
    }  # fmt: skip
    assert {*await loads.timeline("ann@acme.example")} >= {
        ("linkedin_invite_accepted", "2026-03-04T09:30:00Z"), ("linkedin_sent", "2026-03-02T09:00:00Z"),
        ("linkedin_replied", "2026-03-03T09:30:00Z"),
    }  # fmt: skip
    assert sorted(await loads.messages("ann@acme.example")) == [("received", "Tell me more"), ("sent", "Hi Ann")]
    contacts = {contact["linkedin_url"]: contact for contact in await loads.house.listed(query="structure=FLAT")}
    bob = next(contact for url, contact in contacts.items() if url.endswith("bob-acme"))
    messages = (await loads.house.request("GET", f"/public/v2/messages?contact_id={bob['id']}&limit=200")).json()["data"]
    assert (len(messages), [message["text"] for message in messages if message["direction"] == "received"]) == (21, ["No"])
    assert bob["first_name"] == "Bob"
    assert not any(url.endswith("cy-acme") for url in contacts)


def woodpecker(request: ReceivedRequest, query: dict[str, str]) -> object:
    """A full page of prospects and the vendor's sentence after it, the responses of one of two who replied, and both blocklists."""
    path = urlsplit(request.path).path
    if path.startswith("/rest/v2/blacklist/"):
        if query.get("page") == "1":
            # The first page of this fake is 0.
            return {"emails": [], "total": 1} if path.endswith("emails") else {"domains": [], "total": 1}
        return {"emails": ["gone@acme.example"], "total": 1} if path.endswith("emails") else {"domains": ["rival.example"], "total": 1}
    if path == "/rest/v2/prospects/1/responses":
        reply = {"response_id": 3, "campaign_id": 7, "subject": "Re:", "message": "Tell me more", "delivered": "2026-03-03T09:30:00+0000"}
        return {"prospect_id": 1, "email": "ann@acme.example", "responses": [reply]}
    if path == "/rest/v2/prospects/3/responses":
        return {"prospect_id": 3, "email": "cy@acme.example", "responses": []}
    if query["page"] == "2":
        return {"message": "There are no prospects matching the given criteria."}
    return [
        {"id": 1, "email": "ann@acme.example", "first_name": "Ann", "status": "REPLIED", "interested": "INTERESTED",
         "last_contacted": "2026-03-02T09:00:00+0000", "last_replied": "2026-03-03T09:30:00+0000", "updated": "2026-03-04T09:30:00+0000"},
        {"prospect": {"id": 2, "email": "bob@acme.example", "status": "BLACKLIST", "updated": "2026-03-04T09:30:00+0000"}},
        {"id": 3, "email": "cy@acme.example", "status": "REPLIED", "last_replied": "2026-03-05T09:30:00+0000"},
        *({} for _ in range(497)),
    ]  # fmt: skip


async def test_load_of_woodpecker__brings_prospects_with_their_states_and_replies(loads: Loads) -> None:
    job = await loads.load("woodpecker", woodpecker)

    assert (job["state"], job["error"]) == ("succeeded", None)
    ann = await loads.contact("ann@acme.example")
    assert (ann["contact_status"], ann["last_reply_received"]) == ("interested", "2026-03-03T09:30:00Z")
    assert await loads.messages("ann@acme.example") == [("received", "Tell me more")]
    assert (await loads.contact("cy@acme.example"))["last_reply_received"] == "2026-03-05T09:30:00Z"
    assert {"gone@acme.example", "bob@acme.example", "rival.example"} <= await loads.listed()


def reply_io(request: ReceivedRequest, query: dict[str, str]) -> object:
    """Two pages of contacts, a sequence, a thread of two sequences with a reply among 21 messages, one without an answer, one
    of a person without an address, and a blocklist."""
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    ann, bob = {"email": "ann@acme.example", "id": 7}, {"email": "bob@acme.example", "id": 8}
    sent = {"messageId": "m0", "date": "2026-03-02T09:00:00Z", "isOutbound": True, "channel": "email", "body": "Hello"}
    answer = {"messageId": "m9", "date": "2026-03-03T09:30:00Z", "isOutbound": False, "channel": "email", "body": "Yes, please"}
    replied = {"id": 51, "contact": ann, "category": {"id": 1, "name": "Interested"}, "lastActivityDate": "2026-03-04T10:00:00Z"}
    profile = {"email": None, "id": 11, "linkedInProfile": "https://www.linkedin.com/in/ed-acme"}
    by_linkedin = {"date": "2026-03-05T09:30:00Z", "isOutbound": False, "channel": "linkedIn", "body": "Hello from LinkedIn"}
    pages = {
        "/v3/sequences/4/contacts 0": [],
        "/v3/inbox/threads/filter 4 inbox": [replied],
        "/v3/inbox/threads/filter 4 sent": [{"id": 53, "contact": profile}],
        "/v3/inbox/threads/53/messages 0": [by_linkedin],
        "/v3/contacts/filter 0": [{**ann, "firstName": "Ann", "addingDate": "2026-03-01T08:00:00Z"}, None],
        "/v3/contacts/filter 100": [{"id": 9, "email": "cy@acme.example", "optedOut": True, "addingDate": "2026-03-01T08:00:00Z"}],
        "/v3/sequences 0": [{"id": 3, "name": "Spring / north"}, {"id": 4, "name": "Autumn"}],
        "/v3/sequences/3/contacts 0": [{"contactId": 10, "email": "di@acme.example", "statusInSequence": "Bounced"}, {"contactId": 7}],
        "/v3/inbox/threads/filter 3 inbox": [replied],
        "/v3/inbox/threads/filter 3 sent": [{"id": 52, "contact": bob}],
        "/v3/inbox/threads/51/messages 0": [sent, None],
        "/v3/inbox/threads/51/messages 20": [answer],
        "/v3/inbox/threads/52/messages 0": [{**sent, "messageId": "m1"}],
    }
    path = urlsplit(request.path).path
    if path == "/v1/Blacklist":
        return {"emails": ["gone@acme.example"]} if query["outputType"] == "Emails" else ["firm.example"]
    if path == "/v3/inbox/threads/filter":
        path += f" {request.json()['sequenceIds'][0]} {request.json()['source']}"
    rows = pages[path if " " in path else f"{path} {query['skip']}"]
    return {"items": [row for row in rows if row], "hasMore": None in rows}


async def test_load_of_reply_io__brings_messages_states_and_the_blocklist(loads: Loads) -> None:
    job = await loads.load("reply_io", reply_io)

    assert job["state"] == "succeeded", job
    ann, bob = await loads.contact("ann@acme.example"), await loads.contact("bob@acme.example")
    assert (ann["first_name"], ann["contact_status"], ann["last_reply_received"]) == ("Ann", "interested", "2026-03-03T09:30:00Z")
    assert sorted(await loads.messages("ann@acme.example")) == [("received", "Yes, please"), ("sent", "Hello")]
    assert (bob["contact_status"], bob["first_campaign_email_sent"]) == ("contacted", "2026-03-02T09:00:00Z")
    assert (await loads.contact("di@acme.example"))["contact_status"] == "bounced"
    [ed] = [contact for contact in await loads.house.listed(query="structure=FLAT") if "ed-acme" in contact.get("linkedin_url", "")]
    messages = (await loads.house.request("GET", f"/public/v2/messages?contact_id={ed['id']}")).json()["data"]
    assert [(message["channel"], message["text"]) for message in messages] == [("linkedin", "Hello from LinkedIn")]
    assert await loads.listed() == {"gone@acme.example", "firm.example", "cy@acme.example", "di@acme.example"}


AT = "2026-03-02T09:00:00Z"
NAMELESS: dict[str, dict[str, object]] = {
    "instantly": {
        "/lead-labels": {"items": []},
        "/leads/list": {"items": [{"id": "l1", "email": None, "status": -1, "lt_interest_status": 1, "timestamp_updated": AT}]},
        "/emails": {"items": [{"id": "e1", "ue_type": 2, "lead": None, "timestamp_email": AT}, {"id": "e2", "ue_type": 4}]},
        "/block-lists-entries": {"items": []},
    },
    "smartlead": {
        "/campaigns/": [{"id": 7}],
        "/campaigns/7/statistics": {"data": [{"stats_id": "s", "lead_email": None, "sent_time": AT, "is_bounced": True}]},
        "/campaigns/7/leads": {"data": [{"lead_category_id": 1, "lead": {"id": 5, "email": ""}}]},
        "/leads/get-domain-block-list": [],
    },
    "lemlist": {"/activities": [{"_id": "act_1", "type": "emailsSent", "createdAt": AT}], "/v2/unsubscribes/variables": []},
    "heyreach": {
        "/campaign/GetAll": {"items": [{"id": 9}]},
        "/campaign/GetLeadsFromCampaign": {"items": [{"leadConnectionStatus": "ConnectionSent", "lastActionTime": AT}]},
        "/inbox/GetConversationsV3": {"items": [{"id": "c", "linkedInAccountId": 1, "messages": [{"createdAt": AT}]}]},
        "/blacklist/GetLeads": {"items": []},
    },
    "woodpecker": {
        "/rest/v1/prospects": [{"id": 1, "email": None, "status": "BOUNCED", "last_contacted": AT}],
        "/rest/v2/blacklist/emails": {"emails": []},
        "/rest/v2/blacklist/domains": {"domains": []},
    },
    "reply_io": {
        "/v3/contacts/filter": {"items": [{"id": 5, "optedOut": True}]},
        "/v3/sequences": {"items": [{"id": 3}]},
        "/v3/sequences/3/contacts": {"items": [{"statusInSequence": "Bounced"}]},
        "/v3/inbox/threads/filter": {"items": []},
        "/v1/Blacklist": [],
    },
}
"""By tool and path, pages whose rows name nobody."""


@pytest.mark.parametrize("tool", SOURCES)
async def test_rows_without_an_address__are_counted_and_store_nothing(loads: Loads, tool: str) -> None:
    job = await loads.load(tool, lambda request, query: NAMELESS[tool][urlsplit(request.path).path])

    assert (job["state"], job["progress"]["webhooks"]) == ("succeeded", 0)
    assert job["progress"]["without_address"] == (1 if tool in ("lemlist", "woodpecker") else 2)


def test_every_tool_with_a_load__has_a_test() -> None:
    assert {*SOURCES} == {"instantly", "smartlead", "lemlist", "heyreach", "woodpecker", "reply_io"}
    assert {*SOURCES} <= {*BLOCKLISTS}


async def test_load__goes_on_after_failures_as_the_tool_says(loads: Loads) -> None:
    loads.failures = [(429, b"", {"retry-after": "30"}), (503, b""), (200, instantly(ReceivedRequest("GET", "/emails", {}, b""), {}))]
    loads.failures.pop()
    job = await loads.load("instantly", instantly)

    assert (job["state"], job["progress"]["webhooks"]) == ("succeeded", 8)


async def test_token_that_is_revoked_in_the_middle__keeps_what_was_read(loads: Loads) -> None:
    loads.answer = lambda request, query: {"items": []} if "block" in request.path else instantly(request, query)
    await loads.connect("instantly")
    job = await loads.start("instantly")
    for _ in range(4):
        await loads.jobs.drain()
        loads.house.call.clock.move(5)
    loads.failures = [(401, b"Invalid API key")]

    ended = await loads.run(job["id"])

    assert (ended["state"], ended["progress"]["webhooks"]) == ("failed", 6)
    assert ended["error"].startswith("Instantly answered 401 to the page emails; the load stopped with 2 pages left.")
    assert (await loads.contact("ann@acme.example"))["contact_status"] == "interested"


async def test_load__fails_with_the_reason_when_the_tool_stays_away(loads: Loads) -> None:
    loads.failures = [(500, b"down")] * MOST_FAILURES
    job = await loads.load("instantly", instantly)

    assert job["state"] == "failed"
    assert job["error"] == (
        "Instantly answered 500 to the page labels; the load stopped with 3 pages left. Fix the connection, and start the load again"
    )
    assert (await loads.run((await loads.start("instantly"))["id"]))["state"] == "succeeded"


@pytest.mark.parametrize("status", [302, 403])
async def test_load__fails_at_once_for_a_token_that_may_not_and_a_redirect(loads: Loads, status: int) -> None:
    loads.failures = [(status, {"error": "Forbidden"})]
    job = await loads.load("instantly", instantly)

    assert (job["state"], len(loads.api.requests)) == ("failed", 1)


@pytest.mark.parametrize("body", [b"<html>", b'{"items": 5}', b"[" * 100_000, b'{"items": [1, null, "x", {}]}'])
async def test_page_that_is_none__fails_the_load_and_not_the_server(loads: Loads, body: bytes) -> None:
    loads.failures = [(200, body)]
    job = await loads.load("instantly", instantly)

    assert job["state"] == ("succeeded" if b"null" in body else "failed")
    assert job["error"] is None or "cannot be read" in job["error"]


async def test_answer_of_200_that_refuses__fails_the_load_with_that_reason(loads: Loads) -> None:
    loads.failures = [(200, {"success": False, "message": "The plan has ended"})]
    job = await loads.load("smartlead", smartlead)

    assert (job["state"], job["error"]) == (
        "failed", "the page campaigns of Smartlead cannot be read: the response says that it did not succeed",
    )  # fmt: skip


async def test_load__is_refused_beside_another_one_and_for_other_tools(loads: Loads) -> None:
    await loads.connect("instantly")
    await loads.connect("emailbison")
    first = await loads.start("instantly")

    second = await loads.start("instantly", 409)
    other = await loads.start("emailbison", 422)

    assert f"job {first['id']} loads the history of instantly already" in second["detail"]
    assert "only that of instantly, smartlead" in other["errors"][0]["detail"]


async def test_cancelled_load__stops_and_can_be_started_again(loads: Loads) -> None:
    loads.answer = instantly
    await loads.connect("instantly")
    job = await loads.start("instantly")
    await loads.jobs.drain()
    await loads.house.request("POST", f"/public/v2/jobs/{job['id']}/cancel", None)

    assert (await loads.run(job["id"]))["state"] == "cancelled"
    assert len(loads.api.requests) == 1
    assert (await loads.run((await loads.start("instantly"))["id"]))["state"] == "succeeded"


def campaigns(request: ReceivedRequest, query: dict[str, str]) -> object:
    """More campaigns than a page may have pages after it."""
    return [{"id": number} for number in range(4_000)] if urlsplit(request.path).path == "/campaigns/" else {"data": []}


def campaigns_with_long_ids(request: ReceivedRequest, query: dict[str, str]) -> object:
    return [{"id": "1" * 1_000_000}] if urlsplit(request.path).path == "/campaigns/" else {"data": []}


def campaigns_with_paths(request: ReceivedRequest, query: dict[str, str]) -> object:
    return [{"id": "../x?y#"}] if urlsplit(request.path).path == "/campaigns/" else {"data": []}


def two_pages_in_a_circle(request: ReceivedRequest, query: dict[str, str]) -> object:
    return {"items": [{"id": len(request.path)}], "next_starting_after": "a" if "bb" in request.path else "bb"}


def empty_pages(request: ReceivedRequest, query: dict[str, str]) -> object:
    """Pages without a row, each unlike the one before."""
    return {"items": [], "hasMore": True, "skip": query.get("skip")}


HOSTILE: dict[str, tuple[str, Answer, str]] = {
    "rows": ("instantly", lambda request, query: {"items": [{}] * 10_001}, "has 10,001 rows, and the most are 10,000"),
    "pages": ("smartlead", campaigns, "has 12,000 pages that follow it, and the most are 10,000"),
    "ids": ("smartlead", campaigns_with_long_ids, f"a row of the page has the id {'1' * 40!r}, and ids are numbers"),
    "digits": ("heyreach", lambda request, query: {"items": [{"id": "\u00b2"}]}, "has the id '\u00b2', and ids are numbers"),
    "paths": ("smartlead", campaigns_with_paths, "a row of the page has the id '../x?y#', and ids are numbers"),
    "cursors": (
        "instantly",
        lambda request, query: {"items": [], "next_starting_after": "x" * 2_001},
        "has 2,001 characters that say where the next one begins, and the most are 2,000",
    ),
    "circle": ("instantly", two_pages_in_a_circle, "Instantly sends the same page labels again and again"),
    "empty": ("reply_io", empty_pages, "Reply.io sends page after page contacts without a row"),
    "itself": (
        "instantly",
        lambda request, query: {"items": [], "next_starting_after": "again"},
        "the page labels says that it follows itself, so the list has no end",
    ),
    "same": (
        "lemlist",
        lambda request, query: [{"_id": str(number), "type": "emailsSent"} for number in range(100)],
        "lemlist sends the same page activities again and again",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
async def test_page_without_bounds__fails_the_load(loads: Loads, kind: str) -> None:
    tool, answer, error = HOSTILE[kind]
    job = await loads.load(tool, answer)

    assert (job["state"], len(loads.api.requests) <= {"circle": 5, "empty": 100}.get(kind, 2)) == ("failed", True)
    assert error in job["error"]


async def test_long_name_of_a_campaign__is_cut_in_what_repeats_it(loads: Loads) -> None:
    def answer(request: ReceivedRequest, query: dict[str, str]) -> object:
        if urlsplit(request.path).path == "/campaigns/":
            return [{"id": 1, "name": "n" * 100_000}]
        sent = {"lead_email": "ann@acme.example", "sent_time": "2026-03-02T09:00:00.000Z"}
        return {"data": [sent] if "/statistics" in request.path else []}

    job = await loads.load("smartlead", answer)

    assert (job["state"], job["progress"]["webhooks"]) == ("succeeded", 1)
    deliveries = (await loads.house.request("GET", "/admin/v1/deliveries")).json()["data"]
    shown = (await loads.house.request("GET", f"/admin/v1/deliveries/{deliveries[0]['id']}")).json()
    assert "n" * 200 in str(shown)
    assert "n" * 201 not in str(shown)


async def test_long_blocklist__is_stored_in_steps_and_counted_once(loads: Loads) -> None:
    entries = [{"bl_value": f"p{number}@acme.example"} for number in range(1_200)] + [{"bl_value": "P1@acme.example"}, {"bl_value": "no"}]

    def answer(request: ReceivedRequest, query: dict[str, str]) -> object:
        return {"items": entries if "block-lists" in request.path else []}

    job = await loads.load("instantly", answer)

    assert (job["progress"]["blocked"], job["progress"]["left_out"], job["progress"]["requests"]) == (1_200, 1, 4)


async def test_load__stops_where_the_client_may_store_no_more(loads: Loads) -> None:
    loads.answer = instantly
    await loads.connect("instantly")
    await loads.house.call.settings(max_stored_bytes=1_000_000)
    job = await loads.start("instantly")
    await loads.jobs.drain()
    await loads.house.call.parts.store.write(store_count(loads.house.number, 2_000_000, loads.house.call.clock.now, 0))

    ended = await loads.run(job["id"])

    assert (ended["state"], len(loads.api.requests)) == ("failed", 1)
    assert "may store 1000000" in ended["error"]


def new_pages(request: ReceivedRequest, query: dict[str, str]) -> object:
    """A list that never ends: each page has a new lead and a new cursor."""
    if "leads" not in request.path:
        return {"items": []}
    start = int(request.json().get("starting_after", 0))
    if start >= 7:
        return {"items": []}
    return {"items": [{"id": start, "email": f"p{start}@acme.example", "timestamp_created": AT}], "next_starting_after": start + 1}


@pytest.mark.parametrize(
    ("limit", "value", "most"),
    [("MOST_PAGES", 6, "read 6 pages"), ("MOST_BYTES", 500, "read 500 bytes"), ("MOST_DAYS", 30 / 86_400, "taken")],
)
async def test_load_of_a_list_without_end__stops_at_its_limit_and_goes_on_from_there(
    loads: Loads, monkeypatch: pytest.MonkeyPatch, limit: str, value: float, most: str
) -> None:
    def starts() -> list[str | None]:
        return [request.json().get("starting_after") for request in loads.api.requests if "leads" in request.path]

    monkeypatch.setattr(job_module, limit, value)
    stopped = await loads.load("instantly", new_pages)

    assert (stopped["state"], stopped["progress"]["pages_left"]) == ("failed", 3)
    assert stopped["error"].startswith(f"the load has {most}")
    assert "the most of one load, and 3 pages that it knows are left. Start it again, and it goes on" in stopped["error"]
    assert starts() == [None, "1", "2", "3", "4"]

    ended = await loads.run((await loads.start("instantly"))["id"])

    assert (ended["state"], starts()[5:8]) == ("succeeded", ["5", "6", "7"])
    assert [(await loads.contact(f"p{number}@acme.example"))["email"] for number in (0, 6)] == ["p0@acme.example", "p6@acme.example"]
    monkeypatch.undo()
    assert (await loads.run((await loads.start("instantly"))["id"]))["error"] is None
    assert starts()[8] is None
