"""Blocklists: entries of the do-not-contact list go to campaign tools, as their APIs have it, and what they do not take says why.

The fake tool speaks the published calls of the vendors; nothing was tried on a live account.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.enrichment.fake_tool_api import ADAPTERS, FakeApi, FakeResponse, ReceivedRequest, fake_api
from tests.house import House
from tests.outgoing.conftest import PATH, PLACE

from touchbase.common.timestamps import to_text
from touchbase.connections.sql.connections import list_connections
from touchbase.enrichment.http_client import HttpClient
from touchbase.inbox.worker import InboxWorker
from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.outgoing.blocklists import BlocklistClient
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import WebhookClient
from touchbase.outgoing.hubspot_client import HubSpotClient
from touchbase.outgoing.mail_client import MailClient, SenderByScheme
from touchbase.sql.store import Store

TOKEN = "zq201/blocklist+token"
QUOTED = "zq201%2Fblocklist%2Btoken"
ANN, ACME, PROFILE = ("email", "ann@acme.example"), ("domain", "acme.example"), ("linkedin_url", "https://www.linkedin.com/in/ann-acme")


@dataclass
class Tools:
    """A client with connections of campaign tools at one fake API, and its dispatcher."""

    house: House
    api: FakeApi
    dispatcher: Dispatcher
    inbox: InboxWorker
    answer: Callable[[ReceivedRequest], FakeResponse] = lambda request: (200, {"ok": True})

    async def connect(self, tool: str) -> None:
        body = {"channel": "email_campaign", "tool": tool, "access_token": TOKEN, "settings": {"api_base": self.api.base}}
        response = await self.house.request("POST", f"/admin/v1/clients/{self.house.client_id}/connections", body)
        assert response.status == 201, response.body

    async def add(self, tool: str) -> int:
        await self.connect(tool)
        response = await self.house.request("POST", PATH, {"kind": "blocklist", "tool": tool})
        assert response.status == 201, response.body
        return int(response.json()["id"])

    async def suppress(self, *addresses: tuple[str, str]) -> list[int]:
        entries = [{"kind": kind, "value": value} for kind, value in addresses]
        response = await self.house.request("POST", "/public/v2/suppressions", {"entries": entries})
        assert response.status in (200, 201), response.body
        return [saved["entry"]["id"] for saved in response.json()["data"]]

    async def deliver(self, seconds: float = 60) -> list[ReceivedRequest]:
        """Let a minute pass, in steps of a second, and return the requests of this time."""
        before = len(self.api.requests)
        for _ in range(int(seconds)):
            self.house.call.clock.move(1)
            await self.dispatcher.drain()
        return self.api.requests[before:]

    async def attempts(self) -> list[Any]:
        response = await self.house.request("GET", "/public/v2/webhook-attempts?limit=200")
        assert response.status == 200, response.body
        return list(response.json()["data"])


@asynccontextmanager
async def tools_of(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Tools]:
    tools: Tools | None = None

    def respond(request: ReceivedRequest) -> FakeResponse:
        assert tools is not None
        return tools.answer(request)

    async with fake_api(respond) as api:
        http = HttpClient("touchbase/test", [api.base])
        clients = (HubSpotClient(store, http.send, http.close), BlocklistClient(store, http.send, http.close))
        sender = SenderByScheme(WebhookClient("touchbase/test"), MailClient("", "", ()), *clients)
        dispatcher = Dispatcher(store, sender, clock, AS_IN_API, place=PLACE)
        call: ApiClient = make_client(
            store, senders=ADAPTERS, send_webhook=sender.post, on_endpoint=dispatcher.wake, fetch_allowed=(api.base,)
        )
        inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=lambda number: store.read(list_connections(number)))
        tools = Tools(await House.of(call, "default"), api, dispatcher, inbox)
        try:
            yield tools
        finally:
            await sender.close()


@pytest.fixture
async def tools(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Tools]:
    async with tools_of(store, make_client, clock) as opened:
        yield opened


PUBLISHED = {
    "instantly": ("/block-lists-entries", ("authorization", f"Bearer {TOKEN}"), {"bl_value": "ann@acme.example"}),
    "smartlead": (f"/leads/add-domain-block-list?api_key={QUOTED}", None, {"domain_block_list": ["ann@acme.example"]}),
    "lemlist": ("/v2/unsubscribes/variables/ann%40acme.example", ("authorization", "Basic OnpxMjAxL2Jsb2NrbGlzdCt0b2tlbg=="), None),
    "heyreach": ("/blacklist/AddLeads", ("x-api-key", TOKEN), {"leads": [{"email": "ann@acme.example"}]}),
    "reply_io": ("/v1/Blacklist?email=ann%40acme.example", ("x-api-key", TOKEN), None),
    "emailbison": ("/api/blacklisted-emails", ("authorization", f"Bearer {TOKEN}"), {"email": "ann@acme.example"}),
    "woodpecker": ("/rest/v2/blacklist/emails", ("x-api-key", TOKEN), {"emails": ["ann@acme.example"]}),
    "reachinbox": ("/api/v1/blocklist/add", ("authorization", f"Bearer {TOKEN}"), {"emails": ["ann@acme.example"]}),
}
"""By tool, what its API expects: path, header with the token, body."""


async def test_new_entry__goes_to_each_tool_as_its_api_has_it(tools: Tools) -> None:
    assert PUBLISHED.keys() == BLOCKLISTS.keys()
    for tool in PUBLISHED:
        await tools.add(tool)
    await tools.suppress(ANN)

    requests = await tools.deliver()

    got = {(request.method, request.path): request for request in requests}
    for tool, (path, header, body) in PUBLISHED.items():
        request = got["POST", path]
        assert header is None or request.headers[header[0]] == header[1], tool
        assert (json.loads(request.body) if request.body else None) == body, tool
    assert len(requests) == len(PUBLISHED)
    assert {attempt["outcome"] for attempt in await tools.attempts()} == {"delivered"}


async def test_opt_out_in_one_tool__blocks_the_person_in_the_others(tools: Tools) -> None:
    for tool in ("instantly", "heyreach"):
        await tools.add(tool)
    at = to_text(tools.house.call.clock())
    unsubscribed = {"event_type": "LEAD_UNSUBSCRIBED", "lead_email": "bob@acme.example", "campaign_id": 7, "event_timestamp": at}
    response = await tools.house.call("POST", f"/public/emailcampaign-webhook/{tools.house.client_id}", unsubscribed)
    assert response.status == 200
    await tools.inbox.drain()

    requests = await tools.deliver(2)

    assert {request.path: request.json() for request in requests} == {
        "/block-lists-entries": {"bl_value": "bob@acme.example"},
        "/blacklist/AddLeads": {"leads": [{"email": "bob@acme.example"}]},
    }


@pytest.mark.parametrize(
    ("tool", "address", "why"),
    [
        ("heyreach", ACME, "takes no domain, only email and linkedin_url"),
        ("instantly", PROFILE, "takes no linkedin_url, only email and domain"),
    ],
)
async def test_entry_of_a_kind_that_the_tool_does_not_take__is_skipped_with_the_reason(
    tools: Tools, tool: str, address: tuple[str, str], why: str
) -> None:
    await tools.add(tool)
    await tools.suppress(address)

    assert await tools.deliver(2) == []
    [attempt] = await tools.attempts()
    assert attempt["outcome"] == "skipped"
    assert why in attempt["error"]


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("emailbison", (422, {"data": {"message": "The email has already been taken."}})),
        ("instantly", (400, {"statusCode": 400, "message": "Entry already exists"})),
        ("lemlist", (409, b"Conflict")),
    ],
)
async def test_entry_that_the_tool_has_already__is_not_tried_again(tools: Tools, tool: str, response: FakeResponse) -> None:
    tools.answer = lambda request: response
    await tools.add(tool)
    await tools.suppress(ANN)

    assert len(await tools.deliver(120)) == 1
    [attempt] = await tools.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("skipped", response[0])
    assert "has it already" in attempt["error"]


@pytest.mark.parametrize(
    ("tool", "response", "outcome", "advice"),
    [
        ("smartlead", (200, {"success": False, "message": "Block list is full"}), "refused", "Smartlead answered 200, but"),
        ("heyreach", (200, {"added": 0, "validationErrors": ["email"]}), "refused", "the response has validationErrors"),
        ("instantly", (401, {"error": "Unauthorized"}), "refused", "give it a new one"),
        ("instantly", (403, {"error": "Forbidden"}), "refused", "may not change the blocklist"),
        ("woodpecker", (404, b"<html>not found</html>"), "refused", "correct the setting api_base"),
        ("reply_io", (503, b""), "refused", ""),
    ],
)
async def test_refused_entry__is_listed_with_the_tools_words_and_tried_again(
    tools: Tools, tool: str, response: FakeResponse, outcome: str, advice: str
) -> None:
    tools.answer = lambda request: response
    await tools.add(tool)
    await tools.suppress(ANN)
    await tools.deliver(2)
    [attempt] = await tools.attempts()
    assert attempt["outcome"] == outcome
    assert advice in attempt["error"]

    tools.answer = lambda request: (200, {"success": True})
    assert len(await tools.deliver(600)) == 1
    assert (await tools.attempts())[0]["outcome"] == "delivered"


PUSHES = "/admin/v1/clients/{}/connections/email_campaign/instantly/pushes"


async def test_push_that_the_tool_refused__is_listed_with_reason_and_advice_and_tried_again(tools: Tools) -> None:
    tools.answer = lambda request: (400, {"message": "not an address of this workspace"})
    await tools.add("instantly")
    await tools.add("lemlist")
    await tools.suppress(ANN, ("email", "bob@acme.example"), PROFILE)
    await tools.deliver(4)
    path = PUSHES.format(tools.house.client_id)

    listed = (await tools.house.request("GET", path)).json()["data"]

    assert [(push["kind"], push["value"], push["state"], push["status"]) for push in listed] == [
        ("email", "bob@acme.example", "waiting", 400), ("email", "ann@acme.example", "waiting", 400),
    ]  # fmt: skip
    assert "the tool answered 400" in listed[0]["reason"]
    assert "Read the tool's words" in listed[0]["advice"]
    assert "not an address of this workspace" in listed[0]["response_body"]
    first = (await tools.house.request("GET", f"{path}?limit=1")).json()
    second = (await tools.house.request("GET", f"{path}?limit=1&cursor={first['next_cursor']}")).json()
    assert (first["data"], second["data"], second["next_cursor"]) == (listed[:1], listed[1:], None)
    skipped = (await tools.house.request("GET", f"{path}?state=skipped")).json()["data"]
    assert [(push["value"], push["reason"]) for push in skipped] == [
        ("linkedin.com/in/ann-acme", "the blocklist of Instantly takes no linkedin_url, only email and domain")
    ]
    assert (await tools.house.request("GET", f"{path}?state=failed")).json()["data"] == []

    tools.answer = lambda request: (200, {"ok": True})
    retry = await tools.house.request("POST", f"{path}/retry", {"events": [listed[1]["event"]]})
    assert (retry.status, retry.json()) == (202, {"events": 1})
    assert next(request.json() for request in await tools.deliver(2) if request.path == "/block-lists-entries") == {"bl_value": ANN[1]}
    assert (await tools.house.request("POST", f"{path}/retry", {})).status == 202
    await tools.deliver(3)
    assert (await tools.house.request("GET", path)).json()["data"] == []


async def test_push_of_a_paused_endpoint__is_sent_by_a_retry(tools: Tools) -> None:
    tools.answer = lambda request: (401, {"message": "no"})
    number = await tools.add("instantly")
    for address in (ANN, ("email", "bob@acme.example")):
        await tools.suppress(address)
        for _ in range(90):
            tools.house.call.clock.move(3_600)
            await tools.dispatcher.drain()
    path = PUSHES.format(tools.house.client_id)
    push = (await tools.house.request("GET", path)).json()["data"][-1]
    assert (push["value"], push["state"], push["next_attempt_time"], push["status"]) == (ANN[1], "failed", None, 401)
    assert f"Endpoint {number} is paused" in push["advice"]

    tools.answer = lambda request: (200, {"ok": True})
    assert (await tools.house.request("POST", f"{path}/retry", {})).json() == {"events": 2}
    assert len(await tools.deliver(3)) == 2


@pytest.mark.parametrize(("body", "pointer"), [({"events": []}, "/events"), ({"events": ["first"]}, "/events/0")])
async def test_retry_of_no_event__is_refused_with_the_field(tools: Tools, body: dict[str, Any], pointer: str) -> None:
    await tools.add("instantly")
    response = await tools.house.request("POST", f"{PUSHES.format(tools.house.client_id)}/retry", body)
    assert (response.status, response.json()["errors"][0]["pointer"]) == (422, pointer)


async def test_retry_of_an_event_that_the_tool_was_never_sent__is_refused_and_sends_nothing(tools: Tools) -> None:
    await tools.add("instantly")
    await tools.suppress(ANN)
    await tools.deliver(1)
    of_instantly = (await tools.attempts())[0]["event"]

    response = await tools.house.request("POST", f"{PUSHES.format(tools.house.client_id)}/retry", {"events": [of_instantly, "evt_99"]})

    assert (response.status, [error["pointer"] for error in response.json()["errors"]]) == (422, ["/events/1"])
    assert "no attempt to send evt_99 to this tool is stored" in response.json()["errors"][0]["detail"]
    assert await tools.deliver(1) == []


async def test_answer_that_nests_deeply__is_an_attempt_like_any_other(tools: Tools) -> None:
    tools.answer = lambda request: (200, b"[" * 90_000)
    await tools.add("smartlead")
    await tools.suppress(ANN)
    test = await tools.house.request("POST", "/public/v2/webhook-endpoints/1/test", {})

    assert len(await tools.deliver(120)) == 1
    assert (test.status, test.json()["outcome"]) == (200, "delivered")
    assert [attempt["outcome"] for attempt in await tools.attempts()] == ["delivered", "delivered"]


REMOVALS = {
    "instantly": [
        ("GET", "/block-lists-entries?limit=100&search=ann%40acme.example", None),
        ("DELETE", "/block-lists-entries/b%2F7", None),
    ],
    "smartlead": [
        ("GET", f"/leads/get-domain-block-list?offset=0&limit=100&filter_email_or_domain=ann%40acme.example&api_key={QUOTED}", None),
        ("DELETE", f"/leads/delete-domain-block-list?id=b%2F7&api_key={QUOTED}", None),
    ],
    "lemlist": [("DELETE", "/v2/unsubscribes/variables/ann%40acme.example", None)],
    "heyreach": [("POST", "/blacklist/RemoveLeads", {"leads": [{"email": "ann@acme.example"}]})],
    "woodpecker": [("DELETE", "/rest/v2/blacklist/emails", {"emails": ["ann@acme.example"]})],
}
"""By tool, the requests that take an address off its list; the others publish none."""


def listing(request: ReceivedRequest) -> FakeResponse:
    """A list with the address and with one that only contains it."""
    row = {"bl_value": "joann@acme.example", "email_or_domain": "joann@acme.example", "id": "a1"}
    result = {"bl_value": "ann@acme.example", "email_or_domain": "ann@acme.example", "id": "b/7"}
    return 200, {"items": [row, result]} if request.method == "GET" else {"ok": True}


@pytest.mark.parametrize("tool", BLOCKLISTS)
async def test_removed_entry__is_taken_off_the_list_to_which_this_endpoint_added_it(tools: Tools, tool: str) -> None:
    tools.answer = listing
    await tools.add(tool)
    [number] = await tools.suppress(ANN)
    await tools.deliver(2)
    response = await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")
    assert response.status == 204

    requests = [(request.method, request.path, request.json() if request.body else None) for request in await tools.deliver(3)]

    assert requests == REMOVALS.get(tool, [])
    newest = (await tools.attempts())[0]
    assert (newest["type"], newest["outcome"]) == ("suppression.removed", "delivered" if tool in REMOVALS else "skipped")
    assert tool in REMOVALS or "take the address off there" in newest["error"]


async def test_removed_entry__that_the_tool_had_before_stays_there(tools: Tools) -> None:
    tools.answer = lambda request: (400, {"message": "Entry already exists"})
    await tools.add("instantly")
    [number] = await tools.suppress(ANN)
    await tools.deliver(2)
    await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")

    assert await tools.deliver(3) == []
    newest = (await tools.attempts())[0]
    assert newest["outcome"] == "skipped"
    assert "no attempt says that this endpoint has put the address on the list of Instantly" in newest["error"]


async def test_entry_that_the_tools_list_has_no_more__is_not_removed_by_a_guess(tools: Tools) -> None:
    tools.answer = lambda request: (200, {"items": [{"bl_value": "joann@acme.example", "id": "a1"}]})
    await tools.add("instantly")
    [number] = await tools.suppress(ANN)
    await tools.deliver(2)
    await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")

    assert [request.method for request in await tools.deliver(3)] == ["GET"]
    assert (await tools.attempts())[0]["error"] == "the list of Instantly has it no more"


FOUND = {"bl_value": "ann@acme.example", "id": "b7"}
NO_LISTS: dict[str, Any] = {
    "nested": b"[" * 200_000, "page": b"<html>Sign in</html>", "number": 5, "long": {"items": [FOUND] * 10_000},
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_LISTS)
async def test_search_of_a_list_that_is_answered_with_none__is_tried_again(tools: Tools, kind: str) -> None:
    """Else an answer of a gateway would leave the address on the tool's list for ever."""
    await tools.add("instantly")
    [number] = await tools.suppress(ANN)
    await tools.deliver(2)
    await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")
    tools.answer = lambda request: (200, NO_LISTS[kind])

    assert [request.method for request in await tools.deliver(3)] == ["GET"]
    attempt = (await tools.attempts())[0]
    assert (attempt["outcome"], "is no list of entries" in attempt["error"]) == ("unreachable", True)
    tools.answer = lambda request: (200, {"items": [{**FOUND, "id": "x" * 201}, {**FOUND, "id": {}}, FOUND]})
    assert [request.path for request in await tools.deliver(600)][-1:] == ["/block-lists-entries/b7"]


async def test_removed_entry__that_is_listed_again_stays_on_the_tools_list(tools: Tools) -> None:
    await tools.add("lemlist")
    [number] = await tools.suppress(ANN)
    await tools.deliver(2)
    await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")
    await tools.suppress(ANN)

    assert [request.method for request in await tools.deliver(5)] == ["POST"]


async def test_entry_that_ended_before_a_late_attempt__is_not_sent(tools: Tools) -> None:
    tools.answer = lambda request: (503, b"")
    await tools.add("instantly")
    [number] = await tools.suppress(ANN)
    assert len(await tools.deliver(2)) == 1
    await tools.house.request("DELETE", f"/public/v2/suppressions/{number}")

    assert await tools.deliver(600) == []
    assert {attempt["error"] for attempt in await tools.attempts() if attempt["outcome"] == "skipped"} == {
        "this entry has left the do-not-contact list",
        "no attempt says that this endpoint has put the address on the list of Instantly: if the person may be contacted again, take the "
        "address off there",
    }


async def suppress_for_all(tools: Tools, *addresses: tuple[str, str], **more: str) -> list[int]:
    entries = [{"kind": kind, "value": value, **more} for kind, value in addresses]
    response = await tools.house.request("POST", "/admin/v1/suppressions", {"entries": entries})
    assert response.status in (200, 201), response.body
    return [saved["entry"]["id"] for saved in response.json()["data"]]


async def test_list_of_the_installation__fills_blocklists_also_of_endpoints_that_come_later(tools: Tools) -> None:
    tools.answer = listing
    first = await tools.add("instantly")
    await suppress_for_all(tools, ANN, ACME)

    assert sorted(request.json()["bl_value"] for request in await tools.deliver(5)) == ["acme.example", "ann@acme.example"]

    await tools.add("lemlist")
    assert sorted(request.path for request in await tools.deliver(5)) == [
        "/v2/unsubscribes/variables/acme.example", "/v2/unsubscribes/variables/ann%40acme.example",
    ]  # fmt: skip
    assert await tools.deliver(1_300) == []
    attempts = await tools.attempts()
    assert {attempt["outcome"] for attempt in attempts} == {"delivered"}
    assert sum(attempt["endpoint_id"] == first for attempt in attempts) == 2
    event = (await tools.house.request("GET", "/public/v2/events?types=installation_suppression.added")).json()["data"][0]["data"]
    assert (event["object"]["endpoint_id"], event["object"]["value"]) == (first, "ann@acme.example")


async def test_entry_removed_from_the_list_of_the_installation__leaves_the_tools_list(tools: Tools) -> None:
    tools.answer = listing
    await tools.add("instantly")
    [number] = await suppress_for_all(tools, ANN)
    await tools.deliver(2)
    assert (await tools.house.request("DELETE", f"/admin/v1/suppressions/{number}")).status == 204

    assert [(request.method, request.path) for request in await tools.deliver(3)] == [call[:2] for call in REMOVALS["instantly"]]

    await suppress_for_all(tools, ANN)
    assert [request.method for request in await tools.deliver(3)] == ["POST"]


async def test_entry_that_ends_on_the_list_of_the_installation__leaves_the_tools_list(tools: Tools) -> None:
    tools.answer = listing
    await tools.add("instantly")
    await suppress_for_all(tools, ANN, until=to_text(tools.house.call.clock() + 60_000_000))
    assert [request.method for request in await tools.deliver(50)] == ["POST"]

    assert [request.method for request in await tools.deliver(700)] == ["GET", "DELETE"]


async def test_entry_of_both_lists__leaves_the_tools_list_with_the_second_removal(tools: Tools) -> None:
    tools.answer = listing
    await tools.add("instantly")
    [own] = await tools.suppress(ANN)
    await tools.deliver(2)
    [shared] = await suppress_for_all(tools, ANN)
    await tools.deliver(2)

    await tools.house.request("DELETE", f"/public/v2/suppressions/{own}")
    assert await tools.deliver(3) == []
    await tools.house.request("DELETE", f"/admin/v1/suppressions/{shared}")
    assert [request.method for request in await tools.deliver(3)] == ["GET", "DELETE"]


async def test_addition_that_waits__goes_before_the_removal_of_its_entry(tools: Tools) -> None:
    tools.answer = lambda request: (500, b"")
    await tools.add("lemlist")
    [number] = await suppress_for_all(tools, ANN)
    assert [request.method for request in await tools.deliver(2)] == ["POST"]
    await tools.house.request("DELETE", f"/admin/v1/suppressions/{number}")
    tools.answer = lambda request: (200, {"ok": True})

    assert await tools.deliver(30) == []
    assert [(attempt["type"], attempt["outcome"]) for attempt in reversed(await tools.attempts())] == [
        ("installation_suppression.added", "refused"),
        ("installation_suppression.added", "skipped"),
        ("installation_suppression.removed", "skipped"),
    ]


async def test_earlier_entries__are_sent_by_a_replay(tools: Tools) -> None:
    began = to_text(tools.house.call.clock())
    await tools.suppress(ANN, ACME)
    number = await tools.add("instantly")
    assert await tools.deliver(2) == []

    response = await tools.house.request("POST", f"{PATH}/{number}/replay", {"missing_since": began})
    assert response.json() == {"events": 2}
    values = [request.json()["bl_value"] for request in await tools.deliver(5)]
    assert sorted(values) == ["acme.example", "ann@acme.example"]


async def test_token__is_shown_nowhere(tools: Tools) -> None:
    tools.answer = lambda request: (400, {"error": f"bad key {TOKEN} in {request.path}"})
    number = await tools.add("smartlead")
    await tools.suppress(ANN)
    await tools.deliver(2)
    preview = await tools.house.request("POST", f"{PATH}/preview", {"kind": "blocklist", "tool": "smartlead"})
    test = await tools.house.request("POST", f"{PATH}/{number}/test", None)

    assert preview.json()["requests"] == ["POST /leads/add-domain-block-list"]
    assert preview.json()["body"] == {"domain_block_list": ["ann@example.com"]}
    assert tools.api.requests[-1].path == f"/leads/get-domain-block-list?offset=0&limit=1&api_key={QUOTED}"
    shown = json.dumps([await tools.attempts(), preview.json(), test.json()])
    assert TOKEN not in shown
    assert QUOTED not in shown


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        ({}, "/tool", "give one of instantly, smartlead"),
        ({"tool": "instanly"}, "/tool", "did you mean 'instantly'?"),
        ({"tool": "instantly"}, "/kind", "Instantly is not connected with an access token"),
        ({"tool": "smartlead", "url": "https://example.com"}, "/url", "the connection of the tool says where its API is"),
        ({"tool": "smartlead", "types": ["contact.replied"]}, "/types/0", "only suppression.added and suppression.removed"),
        ({"tool": "smartlead", "template": "x"}, "/template", "leave it out for blocklist"),
    ],
)
async def test_endpoint_that_cannot_fill_a_blocklist__is_refused(tools: Tools, body: dict[str, Any], pointer: str, detail: str) -> None:
    await tools.connect("smartlead")

    response = await tools.house.request("POST", PATH, {"kind": "blocklist", **body})

    assert response.status == 422
    [fault] = [fault for fault in response.json()["errors"] if fault["pointer"] == pointer]
    assert detail in fault["detail"]


async def test_emailbison__needs_the_address_of_its_api(tools: Tools) -> None:
    body = {"channel": "email_campaign", "tool": "emailbison", "access_token": TOKEN}
    await tools.house.request("POST", f"/admin/v1/clients/{tools.house.client_id}/connections", body)

    response = await tools.house.request("POST", PATH, {"kind": "blocklist", "tool": "emailbison"})

    assert response.status == 422
    assert "set its setting api_base" in response.json()["errors"][0]["detail"]


async def test_access_token__of_a_campaign_tool_without_a_blocklist_is_refused(tools: Tools) -> None:
    body = {"channel": "email_campaign", "tool": "sendgrid", "access_token": TOKEN}
    response = await tools.house.request("POST", f"/admin/v1/clients/{tools.house.client_id}/connections", body)

    assert response.status == 422
    assert "nothing is fetched from sendgrid or written there" in response.json()["errors"][0]["detail"]
