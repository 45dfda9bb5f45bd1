"""Endpoints of the kind slack: what a channel gets, within Slack's limits, and what becomes of its refusals."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.outgoing.conftest import PATH, SLACK_URL, Webhooks

from touchbase.outgoing.attempts import without_secrets
from touchbase.outgoing.http_client import ReceiverAnswer, WebhookClient
from touchbase.outgoing.models import RESPONSE_BYTES, Endpoint, Installation, Secret
from touchbase.outgoing.notices import notice_of, values_of
from touchbase.outgoing.samples import COMPANY, CONTACT, MESSAGE
from touchbase.outgoing.slack import slack_body

PLACE = Installation("https://touchbase.example")


def faults_of(body: Any) -> list[str]:
    """What Slack would refuse in the body of a request to an incoming webhook."""
    blocks = body.get("blocks", [])
    texts = [block["text"]["text"] for block in blocks if block["type"] == "section"]
    result = [] if body.get("text") and len(body["text"]) <= 4_000 else ["no_text"]
    result += [] if 0 < len(blocks) <= 50 or "blocks" not in body else ["invalid_blocks: number"]
    result += [f"invalid_blocks: section of {len(text)}" for text in texts if not 0 < len(text.strip()) <= len(text) <= 3_000]
    result += [f"invalid_blocks: {block['type']}" for block in blocks if block["type"] not in ("section", "context")]
    for block in blocks:
        elements = block.get("elements", [block.get("text")])
        result += [] if 0 < len(elements) <= 10 else ["invalid_blocks: elements"]
        result += ["invalid_blocks: text" for element in elements if element["type"] != "mrkdwn" or not 0 < len(element["text"]) <= 3_000]
        texts += [element["text"] for element in elements]
    return result + (["msg_blocks_too_long"] if sum(map(len, texts)) > 20_000 else [])


def body_about(message: dict[str, Any], template: str = "", contact: Any = CONTACT) -> Any:
    """The body about a reply with this message."""
    event = {
        "type": "message.received", "timestamp": "2026-11-20T09:30:00Z",
        "data": {"id": "evt_3", "client_id": "acme", "record_id": 1042, "object": {**MESSAGE, **message}, "changed": {}, "cause": {}},
    }  # fmt: skip
    notice = notice_of(event, contact, COMPANY, PLACE)
    return slack_body(notice, template, values_of(event, contact, COMPANY, notice))


def shown(body: Any) -> str:
    return "\n".join(block["text"]["text"] for block in body["blocks"] if block["type"] == "section")


async def test_reply__reaches_the_channel_with_the_person_and_a_link(webhooks: Webhooks) -> None:
    firm = await webhooks.house.company("acme.example", name="Acme & Sons")
    created = await webhooks.add(kind="slack")
    person = await webhooks.reply("ada@acme.example", first_name="Ada", last_name="Lovelace", company_id=firm)

    [sent] = await webhooks.deliver()

    assert created["types"] == ["message.received", "contact.replied"]
    assert sent.url == SLACK_URL
    assert sent.headers == {"content-type": "application/json"}
    assert sent.body["text"] == "Ada Lovelace (ada@acme.example, Acme &amp; Sons) replied"
    assert shown(sent.body) == "*Ada Lovelace (ada@acme.example, Acme &amp; Sons) replied*"
    assert [element["text"] for element in sent.body["blocks"][-1]["elements"]] == [
        "Tool: camp",
        f"<https://touchbase.example/console/{await webhooks.handle()}/contacts/{person}|Open the record>",
    ]
    assert faults_of(sent.body) == []


def test_link__opens_the_page_of_a_company_for_its_client() -> None:
    event = {"type": "company.status_changed", "data": {"id": "evt_3", "client_id": "acme & co", "record_id": 17, "object": COMPANY}}

    assert notice_of(event, None, COMPANY, replace(PLACE, client_handle="abcdefgh")).link == (
        "https://touchbase.example/console/abcdefgh/companies/17"
    )
    assert notice_of(event, None, COMPANY, PLACE).link == "https://touchbase.example/console/all/companies/17"


def test_text_of_a_reply__is_quoted_and_escaped() -> None:
    body = body_about({"text": "Yes <!channel> & <https://evil.example|ours>\n\nAda"})

    assert shown(body).split("\n", 2)[2] == "> Yes &lt;!channel&gt; &amp; &lt;https://evil.example|ours&gt;\n> \n> Ada"
    assert [element["text"] for element in body["blocks"][-1]["elements"]][:2] == ["Campaign: Autumn", "Tool: smartlead"]


def test_names__bring_no_mention_into_headline_and_fallback() -> None:
    body = body_about({"subject": "<!here>", "campaign_name": "<@U1>"}, contact={**CONTACT, "first_name": "<!everyone>\nAda"})

    assert body["text"].startswith("&lt;!everyone&gt; Ada Lovelace")
    assert "<!" not in json.dumps(body)
    assert "<@" not in json.dumps(body)


LINES = st.text(alphabet="a&<> \n*_💌é", min_size=1, max_size=12)
TEXTS = st.builds(lambda line, times: line * times, LINES, st.sampled_from((1, 300, 3_000)))
TEMPLATES = st.sampled_from(("", "{{text}}", "*{{person}}*\n{{text}}"))


@settings(max_examples=examples(50))
@given(text=TEXTS, subject=st.text(max_size=400), name=st.text(max_size=400), template=TEMPLATES)
def test_any_reply__stays_within_slacks_limits(text: str, subject: str, name: str, template: str) -> None:
    body = body_about({"text": text, "subject": subject, "campaign_name": name}, template, {**CONTACT, "last_name": name})

    assert faults_of(body) == []
    cut = [part for section in body["blocks"] for part in str(section).split("&")[1:]]
    assert all(part.startswith(("amp;", "lt;", "gt;")) for part in cut), "an escape was cut"


def test_long_reply__says_that_it_is_cut() -> None:
    body = body_about({"text": "A sentence of some length. " * 2_000})

    assert len([block for block in body["blocks"] if block["type"] == "section"]) == 5
    assert body["blocks"][-2]["text"]["text"].endswith("… (cut)")


def test_template__replaces_the_text_and_is_escaped() -> None:
    body = body_about(
        {"text": "1 < 2"}, "*{{contact.first_name}}* of {{company.name}} ({{cf.Seats}} seats): {{text}}{{contact.linkedin_url}}"
    )

    assert shown(body) == "*Ada* of Acme (40 seats): 1 &lt; 2"


async def test_url__is_shown_to_no_one_and_can_be_changed(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="slack")
    shown_again = await webhooks.ask("GET", f"/{created['id']}")
    changed = await webhooks.ask("PATCH", f"/{created['id']}", {"url": "https://chat.example/hooks/other", "description": "Chat"})
    await webhooks.ask("PATCH", f"/{created['id']}", {"description": "Team chat"})
    await webhooks.reply("ada@example.com")

    assert "secret" not in created
    assert created["url"] == shown_again["url"] == "https://hooks.slack.example/..."
    assert changed["url"] == "https://chat.example/..."
    assert [sent.url for sent in await webhooks.deliver()] == ["https://chat.example/hooks/other"]
    for row in await webhooks.house.listed("webhook-endpoints"):
        assert "zq093slackqz" not in json.dumps(row)


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({"kind": "slack"}, "/url", "give the address"),
        ({"kind": "slack", "url": "http://hooks.slack.com/services/x"}, "/url", "https"),
        ({"kind": "slack", "url": "https://10.0.0.1/x"}, "/url", "public"),
        ({"kind": "slack", "url": SLACK_URL, "to": ["a@example.com"]}, "/to", "kind email"),
        ({"kind": "slack", "url": SLACK_URL, "template_subject": "x"}, "/template_subject", "kind email"),
        ({"kind": "slack", "url": SLACK_URL, "fields": ["email"]}, "/fields", "template"),
        ({"kind": "slack", "url": SLACK_URL, "format": "cloudevents"}, "/format", "leave it out"),
        ({"kind": "slack", "url": SLACK_URL, "template": "{{contact.emial}}"}, "/template", "'contact.email'"),
        ({"kind": "slack", "url": SLACK_URL, "template": "{{person}} {{oops"}, "/template", "braces"),
        ({"kind": "slack", "url": SLACK_URL, "template": "{{contact.__class__}}"}, "/template", "there is no value"),
        ({"url": "https://crm.example.com", "template": "{{person}}"}, "/template", "slack and email"),
        ({"kind": "teams", "url": SLACK_URL}, "/kind", ""),
    ],
)
async def test_add__names_the_fault(webhooks: Webhooks, body: dict[str, object], pointer: str, says: str) -> None:
    reply = await webhooks.house.request("POST", PATH, body)

    assert reply.status == 422
    fault, *more = reply.json()["errors"]
    assert fault["pointer"] == pointer
    assert not more or pointer == "/kind"
    assert says in fault["detail"]


async def test_rotate_secret__is_refused(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="slack")

    refused = await webhooks.ask("POST", f"/{created['id']}/rotate-secret", {}, expect=409)

    assert "slack signs nothing" in refused["detail"]


async def test_archived_channel__is_tried_again_and_shown(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="slack")
    webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 410, body="channel_is_archived")
    await webhooks.reply("ada@example.com")

    assert len(await webhooks.deliver()) == 1
    shown_again = await webhooks.ask("GET", f"/{created['id']}")
    [attempt] = await webhooks.attempts("outcome=refused")
    assert (attempt["status"], attempt["response_body"]) == (410, "channel_is_archived")
    assert (shown_again["state"], shown_again["progress"]["waiting"]) == ("active", 1)
    webhooks.receivers.answer = lambda sent: 200
    assert len(await webhooks.deliver(10)) == 1


async def test_too_many_requests__wait_as_slack_says(webhooks: Webhooks) -> None:
    await webhooks.add(kind="slack")
    webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 429, {"retry-after": "30"}, "rate_limited")
    await webhooks.reply("ada@example.com")
    await webhooks.deliver()
    webhooks.receivers.answer = lambda sent: 200

    assert await webhooks.deliver(20) == []
    assert len(await webhooks.deliver(20)) == 1


async def test_status_change__says_before_and_after(webhooks: Webhooks) -> None:
    await webhooks.add(kind="slack", types=["contact.status_changed", "contact.deleted"])
    person = await webhooks.house.contact(email="ada@example.com", contact_status="new")
    await webhooks.house.request("PATCH", f"/public/v2/contacts/{person}", {"contact_status": "won"})
    [changed] = await webhooks.deliver()
    await webhooks.house.delete(person)
    [deleted] = await webhooks.deliver(1)  # Slack gets one message a second

    assert changed.body["text"] == "ada@example.com: new → won"
    assert deleted.body["text"] == f"Record {person}: contact.deleted"


async def test_reply_with_its_message__is_sent_once_with_the_text(webhooks: Webhooks) -> None:
    await webhooks.add(kind="slack", rate_limit=0)
    await webhooks.add()

    for name in ("ada", "grace"):
        await webhooks.house.contact(email=f"{name}@example.com", first_name=name.title())
    said = [
        {"event": "email_replied", "email": "ada@example.com", "at": 5, "campaign": "Autumn", "message": {"text": "Yes & no"}},
        {"event": "email_replied", "email": "grace@example.com", "at": 6},
    ]
    await webhooks.house.hook("camp", *said)
    sent = await webhooks.deliver()

    slack = sorted((item.body for item in sent if item.url == SLACK_URL), key=lambda body: body["text"])
    assert [item["text"] for item in slack] == ["Ada (ada@example.com) replied", "Grace (grace@example.com) replied"]
    assert shown(slack[0]).endswith("> Yes &amp; no"), "the reply with a text"
    assert slack[0]["blocks"][-1]["elements"][0]["text"] == "Campaign: Autumn"
    to_programs = [item.body for item in sent if item.url != SLACK_URL]
    assert sorted(first["type"] for first in to_programs).count("contact.replied") == 2, "programs get both types"
    [message] = [first["data"]["object"] for first in to_programs if first["type"] == "message.received"]
    assert (message["text"], message["contact_email"], message["direction"]) == ("Yes & no", "ada@example.com", "received")


class FakeSlack:
    """An incoming webhook on loopback, which checks what it gets as Slack does."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.texts: list[str] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        body = json.loads(await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])))
        self.texts.append(body["text"])
        answer = b"200 OK\r\n\r\nok"
        if b"content-type: application/json" not in head or faults_of(body):
            answer = f"400 Bad Request\r\n\r\n{faults_of(body)}".encode()
        elif self.answers:
            answer = self.answers.pop(0)
        writer.write(b"HTTP/1.1 " + answer.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
        writer.close()


@pytest.fixture
async def slack() -> AsyncIterator[tuple[FakeSlack, str]]:
    fake_slack = FakeSlack()
    server = await asyncio.start_server(fake_slack.handle, "127.0.0.1", 0)
    yield fake_slack, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_real_request__is_accepted_as_slack_accepts_it(webhooks: Webhooks, slack: tuple[FakeSlack, str]) -> None:
    first_slack, origin = slack
    first_slack.answers = [b"403 Forbidden\r\n\r\ninvalid_token"]
    client = WebhookClient("touchbase/test", [origin])
    created = await webhooks.add(kind="slack")
    await webhooks.reply("ada@example.com", first_name="<Ada>")
    [sent] = await webhooks.deliver()

    refused = await client.post(f"{origin}/services/x", sent.headers, sent.raw)
    accepted = await client.post(f"{origin}/services/x", sent.headers, sent.raw)
    test = await webhooks.ask("POST", f"/{created['id']}/test")
    [tested] = webhooks.receivers.take()
    tried = await client.post(f"{origin}/services/x", tested.headers, tested.raw)
    await client.close()

    assert (refused.status, refused.body) == (403, "invalid_token")
    assert (accepted.status, accepted.body) == (tried.status, tried.body) == (200, "ok")
    assert first_slack.texts[-1] == "Ada Lovelace (ada@acme.example, Acme) replied"
    assert test["type"] == "message.received"


@pytest.mark.parametrize(
    "form",
    [
        "{url}", "{path}", "{token}", "{token_in_capitals}", "{encoded}", "{twice}", "{json}", "sent to {encoded_in_small_letters} today",
    ],
)  # fmt: skip
def test_secret_that_a_receiver_repeats__is_struck_from_the_stored_attempt(form: str) -> None:
    url, token = "https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcDEF123456ghiJKL7890mn", "abcDEF123456ghiJKL7890mn"
    endpoint = Endpoint(1, 7, "https://hooks.slack.com/...", 0, 0, kind="slack", secrets=[Secret(url)])
    forms = {
        "url": url, "path": url.removeprefix("https://hooks.slack.com"), "token": token, "token_in_capitals": token.upper(),
        "encoded": quote(url, safe=""), "encoded_in_small_letters": quote(url, safe="").replace("%2F", "%2f"),
        "twice": quote(quote(url, safe=""), safe=""), "json": url.replace("/", "\\/"),
    }  # fmt: skip

    text = without_secrets(f"error for {form.format_map(forms)}: no", endpoint)

    assert token.lower() not in text.lower()
    assert (text[:6], text[-3:]) == ("error ", " no")
    assert "B0BBBBBBB" not in text


ESCAPES = ("{0}", "\\{0}", "%{1:02x}", "%25{1:02X}", "%2525{1:02x}", "\\u{1:04x}")


@given(st.lists(st.sampled_from(ESCAPES), min_size=24, max_size=24))
def test_any_escapes_of_a_secret__are_struck(escapes: list[str]) -> None:
    token = "abcDEF123456ghiJKL7890mn"
    endpoint = Endpoint(1, 7, "https://hooks.slack.com/...", 0, 0, secrets=[Secret(f"https://hooks.slack.com/services/{token}")])
    form = "".join(escape.format(letter, ord(letter)) for escape, letter in zip(escapes, token, strict=True))

    assert without_secrets(f"got {form} instead", endpoint) == "got *** instead"


def test_long_secret__is_struck_without_compiling_an_expression_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("compiled")

    url = "https://hooks.slack.com/services/" + "/".join(f"{number:08}" for number in range(200))
    monkeypatch.setattr(re, "compile", refuse)

    text = without_secrets(f"got {url}", Endpoint(1, 7, "https://hooks.slack.com/...", 0, 0, secrets=[Secret(url)]))

    assert text == "got ***"


@pytest.mark.parametrize("length", [8, 12, 20])
def test_secret_that_is_cut_at_the_end_of_an_answer__is_struck_too(length: int) -> None:
    url = "https://hooks.slack.com/services/T0AAAAAAA/B0BBBBBBB/abcDEF123456ghiJKL7890mn"
    endpoint = Endpoint(1, 7, "https://hooks.slack.com/...", 0, 0, kind="slack", secrets=[Secret(url)])

    text = without_secrets("x" * (RESPONSE_BYTES - length) + "abcDEF123456ghiJKL7890mn"[:length], endpoint)

    assert "abcDEF12" not in text
