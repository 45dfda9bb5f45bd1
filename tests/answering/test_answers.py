"""Answers: a person's text goes out through the tool's API at most once, and appears in the conversation once.

The fake tools speak the published calls of the vendors; nothing was tried on a live account.
"""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Clock, MakeClient, Response
from tests.enrichment.fake_tool_api import ADAPTERS, FakeApi, FakeResponse, ReceivedRequest, fake_api
from tests.house import House

from touchbase.answering.worker import LEASE, AnswerWorker
from touchbase.common.timestamps import SECOND
from touchbase.connections.sql.connections import list_connections
from touchbase.conversations.answers import TOOLS
from touchbase.inbox.worker import InboxWorker
from touchbase.loading.requests import uses_of_api
from touchbase.outgoing.blocklist_tools import BLOCKLISTS
from touchbase.sql.operation import Command, Query
from touchbase.sql.store import Store

TOKEN = "zq301answertoken"
JANE = "jane@example.com"
TEXT = "Thursday at ten & no later.\nSam"
HTML = "Thursday at ten &amp; no later.<br>Sam"


def smartlead(number: int = 1, second: int = 0, text: str = "Tell me more") -> dict[str, Any]:
    """A reply, as Smartlead sends it."""
    return {
        "event_type": "EMAIL_REPLY", "sl_email_lead_map_id": "9001", "sl_lead_email": JANE, "to_email": JANE, "stats_id": f"st-{number}",
        "from_email": "sam@agency.example", "campaign_id": 77, "campaign_name": "Winter", "subject": "Roofs",
        "event_timestamp": f"2026-11-20T09:00:{second:02}Z", "app_url": "https://app.smartlead.ai/app/master-inbox?leadMap=9001",
        "reply_message": {"message_id": f"<r{number}@example.com>", "text": text, "time": f"2026-11-20T09:00:{second:02}Z"},
    }  # fmt: skip


@dataclass
class Answers:
    """A client with connections to a fake tool."""

    house: House
    store: Store
    api: FakeApi
    worker: AnswerWorker
    inbox: InboxWorker
    responses: list[FakeResponse | BaseException] = field(default_factory=list)
    """Responses before the usual one."""

    async def connect(self, tool: str, **more: Any) -> None:
        body = {"channel": "email_campaign", "tool": tool, "access_token": TOKEN, "settings": {"api_base": self.api.base}, **more}
        response = await self.house.request("POST", f"/admin/v1/clients/{self.house.client_id}/connections", body)
        assert response.status == 201, response.body

    async def receive(self, body: dict[str, Any]) -> None:
        response = await self.house.request("POST", f"/public/emailcampaign-webhook/{self.house.client_id}", body)
        assert response.status == 200, response.body
        await self.inbox.drain()

    async def conversation(self, contact: int = 1) -> Any:
        response = await self.house.call.get(f"/team/v1/conversations/{self.house.client_id}/{contact}")
        assert response.status == 200, response.body
        return response.json()

    async def answer(self, text: str = TEXT, query: str = "", contact: int = 1, key: str = "", **more: Any) -> Response:
        capability = (await self.conversation(contact))["reply_capability"]
        headers = {"idempotency_key": key} if key else {}
        body = {"message_id": capability["message_id"], "text": text, **more}
        return await self.house.call.post(f"/team/v1/conversations/{self.house.client_id}/{contact}/answers{query}", body, **headers)

    async def queue(self, **more: Any) -> int:
        response = await self.answer(**more)
        assert response.status == 201, response.body
        number: int = response.json()["id"]
        return number

    async def take_back(self, number: int, contact: int = 1) -> Response:
        return await self.house.call("DELETE", f"/team/v1/conversations/{self.house.client_id}/{contact}/answers/{number}")

    async def pass_time(self, seconds: float = 11) -> None:
        """Let time pass, and send what is due."""
        self.house.call.clock.move(seconds)
        await self.worker.drain()

    async def states(self, contact: int = 1) -> list[str]:
        return [answer["state"] for answer in (await self.conversation(contact))["answers"]]

    async def messages(self) -> list[tuple[str, str]]:
        response = await self.house.request("GET", "/public/v2/messages")
        return [(message["direction"], message["text"]) for message in response.json()["data"]]


@pytest.fixture
async def answers(store: Store, make_client: MakeClient, clock: Clock) -> AsyncIterator[Answers]:
    opened: Answers | None = None

    def respond(request: ReceivedRequest) -> FakeResponse:
        assert opened is not None
        response = opened.responses.pop(0) if opened.responses else (200, {"ok": True})
        if isinstance(response, BaseException):
            raise response
        return response

    async with fake_api(respond) as api:
        call: ApiClient = make_client(store, senders=ADAPTERS, fetch_allowed=(api.base,))
        inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=lambda number: store.read(list_connections(number)))
        opened = Answers(await House.of(call, "default"), store, api, AnswerWorker(store, clock, "test", (api.base,)), inbox)
        yield opened


async def test_answer__goes_out_once_after_ten_seconds_and_is_shown_once(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())

    capability = (await answers.conversation())["reply_capability"]
    response = await answers.answer(close=True)
    await answers.pass_time(9)
    early = len(answers.api.requests)
    await answers.pass_time(2)
    await answers.pass_time(600)

    assert capability == {
        "how": "api", "tool": "smartlead", "message_id": 1, "channel": "email", "mailbox": "sam@agency.example", "recipient": JANE,
        "url": "https://app.smartlead.ai/app/master-inbox?leadMap=9001", "reason": None, "advice": None,
    }  # fmt: skip
    queued = response.json()
    assert (response.status, queued["state"], queued["send_at"]) == (201, "queued", "2026-11-20T09:30:10Z")
    assert early == 0
    [request] = answers.api.requests
    assert (request.method, request.path) == ("POST", f"/campaigns/77/reply-email-thread?api_key={TOKEN}")
    assert request.json() == {
        "email_stats_id": "st-1", "email_body": HTML, "reply_message_id": "<r1@example.com>", "reply_email_time": "2026-11-20T09:00:00Z",
        "reply_email_body": "Tell me more",
    }  # fmt: skip
    conversation = await answers.conversation()
    [sent] = conversation["answers"]
    assert (sent["state"], sent["text"], conversation["state"]) == ("sent", "", "done")
    assert [(message["direction"], message["text"]) for message in conversation["messages"]] == [
        ("sent", TEXT), ("received", "Tell me more"),
    ]  # fmt: skip
    shown = conversation["messages"][0]
    assert (shown["id"], shown["subject"], shown["mailbox"], shown["tool"]) == (
        sent["sent_message_id"], "Re: Roofs", "sam@agency.example", "smartlead",
    )  # fmt: skip
    timeline = (await answers.house.request("GET", "/public/v2/contacts/1/timeline")).json()["data"]
    assert [event["event"] for event in timeline].count("message.sent") == 1
    events = (await answers.house.request("GET", "/public/v2/events")).json()["data"]
    assert [event["type"] for event in events][-3:] == ["conversation.done", "message.sent", "conversation.answered"]
    assert events[-1]["data"]["object"]["text"] == TEXT


async def test_answer_that_is_taken_back__is_never_sent(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    number = await answers.queue(close=True)
    closed = (await answers.conversation())["state"]

    taken = await answers.take_back(number)
    await answers.pass_time(60)
    again = await answers.take_back(number)

    assert (taken.status, again.status) == (204, 404)
    assert answers.api.requests == []
    conversation = await answers.conversation()
    assert (closed, conversation["state"], conversation["answers"]) == ("done", "open", [])


async def test_sent_answer__cannot_be_taken_back(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    number = await answers.queue()
    await answers.pass_time()

    response = await answers.take_back(number)

    assert (response.status, response.problem["code"]) == (409, "conflict")


async def test_answer_without_a_response__is_unknown_and_not_repeated(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    answers.responses = [ConnectionError()]
    number = await answers.queue()

    await answers.pass_time()
    await answers.pass_time(3600)

    [answer] = (await answers.conversation())["answers"]
    assert (answer["state"], answer["text"]) == ("unknown", TEXT)
    assert "look into the conversation in Smartlead" in answer["reason"]
    assert len(answers.api.requests) == 1
    same = await answers.answer()
    assert same.status == 409
    assert (await answers.take_back(number)).status == 204
    await answers.queue()
    await answers.pass_time()
    assert (len(answers.api.requests), await answers.states()) == (2, ["sent"])


async def test_stopped_worker__leaves_an_answer_unknown_whose_response_drips(answers: Answers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.answering.worker.GRACE_SECONDS", 0.01)
    answers.api.drips = True
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue()
    answers.house.call.clock.move(11)

    async with asyncio.timeout(20):  # less than a response may take
        running = asyncio.create_task(answers.worker.run())
        await answers.api.received.wait()
        answers.worker.stop()
        await running

    [answer] = (await answers.conversation())["answers"]
    assert answer["state"] == "unknown"
    assert answer["reason"].startswith("the server was stopped before the response was complete: look into the conversation in Smartlead")


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ((401, {"error": "no"}), "Smartlead answered 401: the access token of the connection may not send"),
        ((404, {}), "Smartlead answered 404: it does not know the conversation"),
        ((200, {"success": False}), "Smartlead answered 200, but the response says that it did not succeed"),
        ((302, {}, {"location": "https://elsewhere.example"}), "Smartlead answered 302"),
    ],
)
async def test_refused_answer__fails_and_its_text_stays(answers: Answers, response: FakeResponse, reason: str) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    answers.responses = [response]
    await answers.queue(close=True)

    await answers.pass_time()
    await answers.pass_time(3600)

    conversation = await answers.conversation()
    [answer] = conversation["answers"]
    assert (answer["state"], answer["text"], conversation["state"]) == ("failed", TEXT, "open")
    assert answer["reason"].startswith(reason)
    assert len(answers.api.requests) == 1


@pytest.mark.parametrize("status", [408, 500, 502, 503])
async def test_response_that_says_nothing_certain__is_unknown(answers: Answers, status: int) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    answers.responses = [(status, "<html>")]
    await answers.queue()

    await answers.pass_time()
    await answers.pass_time(3600)

    assert (await answers.states(), len(answers.api.requests)) == (["unknown"], 1)


async def test_tool_that_cannot_be_reached__fails(answers: Answers) -> None:
    await answers.connect("smartlead", settings={"api_base": "https://127.0.0.1:9"})
    await answers.receive(smartlead())
    await answers.queue()

    await answers.pass_time()

    [answer] = (await answers.conversation())["answers"]
    assert answer["state"] == "failed"
    assert "which is not a public address" in answer["reason"]


async def test_refused_connection__fails_because_nothing_was_sent(store: Store, make_client: MakeClient, clock: Clock) -> None:
    async with fake_api(lambda request: (200, {})) as api:
        call: ApiClient = make_client(store, senders=ADAPTERS, fetch_allowed=(api.base,))
        inbox = InboxWorker(store, ADAPTERS.translate, clock, connections=lambda number: store.read(list_connections(number)))
        answers = Answers(await House.of(call, "default"), store, api, AnswerWorker(store, clock, "test", (api.base,)), inbox)
        await answers.connect("smartlead")
        await answers.receive(smartlead())
        await answers.queue()

    await answers.pass_time()

    [answer] = (await answers.conversation())["answers"]
    assert (answer["state"], "nothing was sent" in answer["reason"]) == ("failed", True)


async def test_rate_limit__holds_up_all_answers_through_the_tool_for_retry_after(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    answers.responses = [(429, {}, {"retry-after": "40"})]
    await answers.queue()
    await answers.queue(text="And another")

    await answers.pass_time()
    first = len(answers.api.requests)
    await answers.pass_time(20)
    waiting = await answers.states()
    await answers.pass_time(21)

    assert (first, waiting, await answers.states()) == (1, ["queued", "queued"], ["sent", "sent"])
    assert len(answers.api.requests) == 3


async def test_repeated_request__queues_one_answer(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())

    replies = [await answers.answer(key="once") for _ in range(2)]
    other_answer = await answers.answer()
    await answers.pass_time()

    assert [reply.json()["id"] for reply in replies] == [1, 1]
    assert (other_answer.status, other_answer.problem["detail"]) == (
        409,
        "this text was given as an answer to this message already: answer 1 is queued",
    )
    assert len(answers.api.requests) == 1


async def test_dry_run__checks_and_queues_nothing(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())

    response = await answers.answer(query="?dry_run=true", key="again")
    real = await answers.answer(key="again")

    assert (response.status, response.json()["id"], response.json()["state"]) == (200, None, "queued")
    assert (real.status, real.json()["state"], len((await answers.conversation())["answers"])) == (201, "queued", 1)


async def test_answer_to_a_blocked_contact__is_refused_until_somebody_confirms_it(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue(text="First")
    await answers.house.request("POST", "/public/v2/contacts/1/block", {"reason": "requested"})

    await answers.pass_time()
    refused = await answers.answer(text="Second")
    confirmed = await answers.answer(text="Second", confirm_blocked=True)
    await answers.pass_time()

    states = {answer["reason"]: answer["state"] for answer in (await answers.conversation())["answers"]}
    assert [*states.values()] == ["failed", "sent"]
    assert "must not be contacted any more" in next(iter(states))
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/confirm_blocked")
    assert (confirmed.status, len(answers.api.requests)) == (201, 1)


async def test_colleague_who_is_blocked__is_asked_about_too(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive({**smartlead(), "to_email": "colleague@example.com"})
    await answers.house.request(
        "POST", "/public/v2/suppressions", {"kind": "email", "value": "colleague@example.com", "reason": "requested"}
    )

    capability = (await answers.conversation())["reply_capability"]
    refused = await answers.answer()

    assert capability["recipient"] == "colleague@example.com"
    assert (refused.status, refused.problem["errors"][0]["code"]) == (422, "blocked")


async def test_closing__leaves_a_reply_open_that_came_after_the_answer(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue(close=True)
    answers.house.call.clock.move(1)
    await answers.receive(smartlead(2, second=30, text="One more thing"))

    await answers.pass_time()

    conversation = await answers.conversation()
    assert (conversation["state"], conversation["newest"]["text"]) == ("open", "One more thing")


async def test_answer_to_a_conversation_that_changed__is_refused(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    version = (await answers.conversation())["version"]
    await answers.receive(smartlead(2, second=30, text="One more thing"))

    refused = await answers.house.call.post(
        "/team/v1/conversations/default/1/answers", {"message_id": 1, "text": TEXT, "close": True}, if_match=f'"{version}"'
    )

    assert (refused.status, (await answers.conversation())["state"]) == (412, "open")


async def test_answer_that_waited_through_an_outage__is_not_sent(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue()

    await answers.pass_time(3600)

    assert (await answers.states(), answers.api.requests) == (["failed"], [])


class Killed(BaseException):
    """The process dies here."""


@dataclass
class DyingStore:
    """A store whose process dies before or after one of its calls."""

    store: Store
    left: int

    def _step(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed

    async def read(self, call: Query[Any]) -> Any:
        self._step()
        result = await self.store.read(call)
        self._step()
        return result

    async def write(self, call: Command[Any]) -> Any:
        self._step()
        result = await self.store.write(call)
        self._step()
        return result


async def test_process_that_dies_at_any_step__sends_nothing_twice(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    ends: list[tuple[str, int]] = []
    for step in range(1, 100):
        before = len(answers.api.requests)
        number = await answers.queue(text=f"Answer {step}")
        answers.house.call.clock.move(11)
        dying = AnswerWorker(DyingStore(answers.store, step), answers.house.call.clock, "test", (answers.api.base,))  # type: ignore[arg-type]
        try:
            await dying.drain()
        except Killed:
            died = True
        else:
            died = False
        await answers.worker.drain()
        await answers.pass_time(LEASE / SECOND + 1)
        await answers.pass_time(LEASE / SECOND + 1)
        [answer] = [answer for answer in (await answers.conversation())["answers"] if answer["id"] == number]
        ends.append((answer["state"], len(answers.api.requests) - before))
        if not died:
            break

    assert {*ends} == {("sent", 1), ("unknown", 0), ("unknown", 1)}
    assert ends[-1] == ("sent", 1)
    assert len(ends) > 10


async def test_two_workers__send_an_answer_once(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue()
    answers.house.call.clock.move(11)
    other_answer_worker = AnswerWorker(answers.store, answers.house.call.clock, "test", (answers.api.base,))

    await asyncio.gather(*(worker.drain() for worker in (answers.worker, other_answer_worker) * 4))

    assert (len(answers.api.requests), await answers.states()) == (1, ["sent"])


async def test_erased_person__leaves_no_answer(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue(text="Something about Jane", key="k")

    export = (await answers.house.request("GET", "/public/v2/contacts/1/export")).json()
    erased = await answers.house.request("DELETE", "/public/v2/contacts/1?erase=true")
    await answers.pass_time()

    assert [answer["text"] for answer in export["answers"]] == ["Something about Jane"]
    assert erased.status in (200, 202), erased.body
    assert answers.api.requests == []


async def test_merged_contact__has_the_answers_of_both_until_the_merge_is_undone(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.receive({**smartlead(2), "sl_lead_email": "joe@example.com", "to_email": "joe@example.com"})
    await answers.queue(contact=2)

    merge = (await answers.house.request("POST", "/public/v2/contacts/1/merge", {"with": [2]})).json()
    merged = await answers.states()
    await answers.house.request("POST", f"/public/v2/contacts/1/merge/{merge['merge_id']}/undo", {})

    assert (merged, await answers.states(1), await answers.states(2)) == (["queued"], [], ["queued"])


async def test_webhook_that_tells_of_the_answer__shows_nothing_twice(answers: Answers) -> None:
    await answers.connect("instantly")
    common = {"workspace": "w1", "campaign_id": "c1", "campaign_name": "Autumn", "email_account": "sam@agency.example", "lead_email": JANE}
    await answers.receive(
        {**common, "timestamp": "2026-11-20T09:00:00Z", "event_type": "reply_received", "email_id": "in-1", "reply_text": "Tell me more",
         "reply_subject": "Re: Roofs", "unibox_url": "https://app.instantly.ai/app/unibox"}
    )  # fmt: skip
    answers.responses = [(200, {"id": "out-1", "message_id": "<x@mail.example>"})]
    await answers.queue()
    await answers.pass_time()

    await answers.receive(
        {**common, "timestamp": "2026-11-20T09:30:12Z", "event_type": "email_sent", "email_id": "out-1", "email_text": TEXT}
    )

    assert await answers.messages() == [("sent", TEXT), ("received", "Tell me more")]
    timeline = (await answers.house.request("GET", "/public/v2/contacts/1/timeline")).json()["data"]
    assert [event["event"] for event in timeline if "sent" in event["event"]] == ["email_sent"]
    [request] = answers.api.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert (request.path, request.json()) == (
        "/emails/reply",
        {"reply_to_uuid": "in-1", "eaccount": "sam@agency.example", "subject": "Re: Roofs",
         "body": {"html": "Thursday at ten &amp; no later.<br/>Sam"}},
    )  # fmt: skip


LEMLIST = {
    "_id": "act_1", "type": "emailsReplied", "createdAt": "2026-11-20T09:00:00.000Z", "leadEmail": JANE, "campaignId": "cam_1",
    "leadId": "lea_1", "contactId": "ctc_1", "subject": "Re: Roofs", "text": "Call me",
}  # fmt: skip
LATER = "2026-11-20T09:30:12Z"
EMAILBISON: dict[str, Any] = {"workspace_id": 1, "lead": {"id": 2, "email": JANE}, "sender_email": {"id": 5, "email": "sam@agency.example"}}
HEYREACH: dict[str, Any] = {
    "correlation_id": "c", "conversation_id": "cv-1", "sender": {"id": 789, "full_name": "Sam"}, "campaign": {"id": 4, "name": "Founders"},
    "lead": {"profile_url": "https://www.linkedin.com/in/jane", "email_address": JANE},
}  # fmt: skip
TOLD: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "smartlead": (
        smartlead(),
        {
            "event_type": "EMAIL_SENT", "sl_lead_email": JANE, "to_email": JANE, "stats_id": "st-2", "from_email": "sam@agency.example",
            "campaign_id": 77, "event_timestamp": LATER,
            "sent_message": {
                "message_id": "<s2@agency.example>", "time": LATER,
                "html": f"<div>{HTML}</div><br><div>On Friday Jane wrote:<blockquote>Tell me more</blockquote></div>",
            },
        },
    ),
    "emailbison": (
        {
            "event": {"type": "LEAD_REPLIED", "workspace_id": 1},
            "data": {
                **EMAILBISON,
                "reply": {
                    "id": 7, "from_email_address": JANE, "text_body": "Tell me more", "date_received": "2026-11-20T09:00:00Z",
                    "raw_message_id": "<r1@example.com>",
                },
            },
        },
        {
            "event": {"type": "MANUAL_EMAIL_SENT", "workspace_id": 1},
            "data": {
                **EMAILBISON, "campaign_event": {"id": 6, "created_at": LATER},
                "scheduled_email": {"id": 4, "sent_at": LATER, "email_body": f"{TEXT}\n\n> Tell me more"},
            },
        },
    ),
    "heyreach": (
        {
            **HEYREACH, "event_type": "every_message_reply_received", "timestamp": "2026-11-20T09:00:00Z",
            "recent_messages": [{"creation_time": "2026-11-20T09:00:00Z", "message": "Tell me more", "is_reply": True}],
        },
        {
            **HEYREACH, "event_type": "message_sent", "timestamp": LATER,
            "recent_messages": [
                {"creation_time": "2026-11-20T09:00:00Z", "message": "Tell me more", "is_reply": True},
                {"creation_time": LATER, "message": TEXT, "is_reply": False},
            ],
        },
    ),
    "lemlist": (
        {**LEMLIST, "text": "Tell me more", "sendUserId": "u", "sendUserEmail": "sam@agency.example", "sendUserMailboxId": "m"},
        {
            "_id": "act_9", "type": "emailsSent", "createdAt": LATER, "leadEmail": JANE, "campaignId": "cam_1", "leadId": "lea_1",
            "sendUserEmail": "sam@agency.example", "emailId": "eml_9",
        },
    ),
}  # fmt: skip
"""By tool: a reply, and the webhook about the answer to it."""


@pytest.mark.parametrize("is_first", [False, True], ids=["after", "before"])
@pytest.mark.parametrize("tool", TOLD)
async def test_webhook_about_an_answer__is_one_message_with_it_in_any_order(answers: Answers, tool: str, is_first: bool) -> None:
    reply, reported = TOLD[tool]
    await answers.connect(tool)
    await answers.receive(reply)
    await answers.queue()
    for step in (answers.receive(reported), answers.pass_time())[:: 1 if is_first else -1]:
        await step
    await answers.receive(reported)

    messages = await answers.messages()
    assert [direction for direction, _ in messages] == ["sent", "received"]
    assert messages[0][1].startswith("Thursday at ten & no later.\nSam")
    conversation = await answers.conversation()
    [sent] = [message["id"] for message in conversation["messages"] if message["direction"] == "sent"]
    assert [(answer["state"], answer["sent_message_id"]) for answer in conversation["answers"]] == [("sent", sent)]
    events = (await answers.house.request("GET", "/public/v2/events?types=message.sent")).json()["data"]
    assert len(events) == 1
    assert (await answers.answer(text=TEXT)).status == 409


async def test_another_mail_of_the_tool__is_no_answer(answers: Answers) -> None:
    reply, reported = TOLD["smartlead"]
    await answers.connect("smartlead")
    await answers.receive(reply)
    await answers.queue()
    await answers.pass_time()

    for number, text in enumerate(("Thursday at ten & no later.\nSam Smith", "Thursday", "Sam"), 1):
        message = {"message_id": f"<o{number}@agency.example>", "time": LATER, "text": text}
        await answers.receive({**reported, "stats_id": f"o-{number}", "sent_message": message})
    await answers.receive(
        {**reported, "event_timestamp": "2026-11-20T11:30:12Z", "sent_message": reported["sent_message"] | {"time": None}}
    )

    assert [direction for direction, _ in await answers.messages()].count("sent") == 5


async def test_emailbison__gets_the_answer_with_sender_and_recipient(answers: Answers) -> None:
    await answers.connect("emailbison")
    await answers.receive(
        {"event": {"type": "LEAD_REPLIED", "name": "Lead Replied", "instance_url": "https://bison.example.net", "workspace_id": 1},
         "data": {"reply": {"id": 21, "email_subject": "Re: Roofs", "text_body": "Call me", "raw_message_id": "<r21@example.com>",
                            "from_email_address": JANE, "date_received": "2026-11-20T09:00:00Z", "automated_reply": False},
                  "lead": {"id": 2, "email": JANE}, "campaign": {"id": 3, "name": "Dentists"},
                  "sender_email": {"id": 5, "email": "sam@agency.example"}}}
    )  # fmt: skip
    await answers.queue()

    await answers.pass_time()

    [request] = answers.api.requests
    assert (request.path, request.json()) == (
        "/api/replies/21/reply",
        {"message": TEXT, "content_type": "text", "sender_email_id": 5, "to_emails": [{"name": None, "email_address": JANE}],
         "inject_previous_email_body": True},
    )  # fmt: skip
    assert await answers.states() == ["sent"]


async def test_heyreach__gets_the_answer_into_its_conversation(answers: Answers) -> None:
    await answers.connect("heyreach")
    answers.responses = [(200, b"")]
    await answers.receive(
        {"event_type": "every_message_reply_received", "correlation_id": "c",
         "conversation_id": "cv-1", "timestamp": "2026-11-20T09:00:00Z",
         "recent_messages": [{"creation_time": "2026-11-20T09:00:00Z", "message": "Hello", "is_reply": True}],
         "sender": {"id": 789, "full_name": "Sam"}, "campaign": {"id": 4, "name": "Founders"},
         "lead": {"profile_url": "https://www.linkedin.com/in/jane", "email_address": JANE}}
    )  # fmt: skip
    await answers.queue()

    await answers.pass_time()

    [request] = answers.api.requests
    assert (request.path, request.headers["x-api-key"]) == ("/inbox/SendMessage", TOKEN)
    assert request.json() == {"conversationId": "cv-1", "linkedInAccountId": 789, "message": TEXT}
    [sent] = [message for message in (await answers.conversation())["messages"] if message["direction"] == "sent"]
    assert (sent["channel"], sent["subject"]) == ("linkedin", None)


async def test_lemlist__is_asked_for_the_mailbox_that_the_webhook_lacks(answers: Answers) -> None:
    await answers.connect("lemlist")
    item = {"sendUserId": "usr_1", "sendUserEmail": "sam@agency.example", "sendUserMailboxId": "usm_1"}
    answers.responses = [
        (200, [{"createdAt": "2026-01-01T00:00:00Z", "sendUserId": "old"}, {"createdAt": "2026-11-20T09:00:00Z", **item}]),
    ]
    await answers.receive(LEMLIST)
    await answers.queue()

    await answers.pass_time()

    look_up, request = answers.api.requests
    assert (look_up.method, look_up.path) == ("GET", "/inbox/ctc_1?limit=20")
    assert request.headers["authorization"] == f"Basic {base64.b64encode(f':{TOKEN}'.encode()).decode()}"
    assert (request.path, request.json()) == (
        "/inbox/email",
        {**item, "contactId": "ctc_1", "leadId": "lea_1", "subject": "Re: Roofs", "message": HTML, "cc": []},
    )


@pytest.mark.parametrize("response", [(200, []), (200, {"error": "no"}), (500, {}), ConnectionError(), (200, b"[" * 5000)])
async def test_look_up_without_a_result__sends_nothing(answers: Answers, response: Any) -> None:
    await answers.connect("lemlist")
    answers.responses = [response]
    await answers.receive(LEMLIST)
    await answers.queue()

    await answers.pass_time()

    assert (await answers.states(), [request.method for request in answers.api.requests]) == (["failed"], ["GET"])


async def test_lemlist_on_linkedin__answers_there(answers: Answers) -> None:
    await answers.connect("lemlist")
    await answers.receive(
        {"_id": "act_2", "type": "linkedinReplied", "createdAt": "2026-11-20T09:00:00.000Z", "leadId": "lea_1", "contactId": "ctc_1",
         "leadEmail": JANE, "linkedinUrl": "https://www.linkedin.com/in/jane", "sendUserId": "usr_1", "text": "Hi"}
    )  # fmt: skip
    await answers.queue()

    await answers.pass_time()

    [request] = answers.api.requests
    assert (request.path, request.json()) == (
        "/inbox/linkedin",
        {"sendUserId": "usr_1", "contactId": "ctc_1", "leadId": "lea_1", "message": TEXT},
    )


async def test_capability__says_why_only_a_link_is_possible(answers: Answers) -> None:
    await answers.receive(smartlead())

    without = (await answers.conversation())["reply_capability"]
    refused = await answers.answer()
    await answers.connect("smartlead")
    connected = (await answers.conversation())["reply_capability"]

    assert (without["how"], without["reason"]) == ("link", "Smartlead is not connected with an access token")
    assert without["advice"] == "Give the connection of Smartlead a token that may send. Answer in the tool."
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/message_id")
    assert connected["how"] == "api"


_FIXTURE = Path("src/touchbase/adapters/email_campaign/reachinbox/fixtures/REPLY_RECEIVED.json")
REACHINBOX = json.loads(_FIXTURE.read_text())["request"]["body"]


async def test_capability__of_other_tools_and_of_a_contact_who_never_wrote(answers: Answers) -> None:
    await answers.receive(REACHINBOX)
    silent = await answers.house.contact(email="joe@example.com")

    second = (await answers.conversation())["reply_capability"]
    nothing = (await answers.conversation(silent))["reply_capability"]

    assert (second["how"], second["reason"]) == ("none", "answers through the API of reachinbox are not supported")
    assert (nothing["how"], nothing["reason"], nothing["message_id"]) == ("none", "the contact has not written", None)


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"message_id": 1, "text": " \n "}, 422, "/text"),
        ({"message_id": 1, "text": "a\x00b"}, 422, "/text"),
        ({"message_id": 1, "text": "x" * 20_001}, 422, "/text"),
        ({"message_id": 99, "text": "Hi"}, 404, None),
        ({"text": "Hi"}, 422, "/message_id"),
    ],
)
async def test_bad_answer__is_refused(answers: Answers, body: dict[str, Any], status: int, pointer: str | None) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())

    response = await answers.house.call.post("/team/v1/conversations/default/1/answers", body)

    assert response.status == status, response.body
    assert pointer is None or response.problem["errors"][0]["pointer"] == pointer


async def test_message_of_another_contact_or_a_sent_one__cannot_be_answered(answers: Answers) -> None:
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.receive({**smartlead(2), "sl_lead_email": "joe@example.com", "to_email": "joe@example.com"})
    await answers.queue()
    await answers.pass_time()
    sent = (await answers.conversation())["answers"][0]["sent_message_id"]

    path = "/team/v1/conversations/default/1/answers"
    others = await answers.house.call.post(path, {"message_id": 2, "text": "Hi"})
    own = await answers.house.call.post(path, {"message_id": sent, "text": "Hi"})

    assert (others.status, own.status) == (404, 422)


async def test_client_that_stores_no_texts__gets_the_answer_without_its_text(answers: Answers) -> None:
    await answers.house.call.settings("default", store_message_bodies=False)
    await answers.connect("smartlead")
    await answers.receive(smartlead())
    await answers.queue()

    await answers.pass_time()

    assert answers.api.requests[0].json()["email_body"] == HTML
    [sent] = [message for message in (await answers.conversation())["messages"] if message["direction"] == "sent"]
    assert (sent["text"], sent["subject"]) == (None, None)


def test_answering_tools__have_an_api_and_are_listed() -> None:
    for tool, answered in TOOLS.items():
        assert BLOCKLISTS[tool].name == answered.name
        assert "answer" in uses_of_api("email_campaign", tool)
        assert (BLOCKLISTS[tool].base is None) == answered.has_own_base
