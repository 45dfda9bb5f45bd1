"""Endpoints of the kind email: what is handed in to a mail server, and what becomes of its refusals."""

from __future__ import annotations

import asyncio
import re
import smtplib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient
from tests.examples import examples
from tests.outgoing.conftest import PATH, PLACE, Webhooks, dispatcher_of

from touchbase.config import BadSettings, Settings
from touchbase.config_values import mail_server
from touchbase.enrichment.http_client import HttpClient
from touchbase.outgoing import mail_client
from touchbase.outgoing.blocklists import BlocklistClient
from touchbase.outgoing.content import mail_source
from touchbase.outgoing.http_client import ReceiverAnswer, WebhookClient
from touchbase.outgoing.hubspot_client import HubSpotClient
from touchbase.outgoing.mail_client import REPLY_BYTES, MailClient, SenderByScheme, why_not_mailed
from touchbase.outgoing.models import UNREACHABLE, Installation
from touchbase.outgoing.notices import notice_of, values_of
from touchbase.outgoing.samples import COMPANY, CONTACT, MESSAGE
from touchbase.sql.store import Store

TO = ["sales@agency.example", "sam@agency.example"]


@dataclass
class MailServer:
    """A mail server on loopback; `answers` by the beginning of a command."""

    answers: dict[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    commands: list[str] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)
    port: int = 0
    silent_at: str = "never"
    slow_at: str = "never"
    """The command that is answered a byte at a time, for ever."""
    is_silent: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example\r\n")
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            word = line.lower()
            if word.startswith(self.silent_at):
                self.is_silent.set()
                continue
            while word.startswith(self.slow_at):
                writer.write(b"2")
                await writer.drain()
                await asyncio.sleep(0)
            answer = next((answer for begins, answer in self.answers.items() if word.startswith(begins)), "250 2.0.0 queued as 7")
            if word == "data" and answer.startswith("250"):
                writer.write(b"354 go on\r\n")
                self.mails.append(await reader.readuntil(b"\r\n.\r\n"))
            if word.startswith("ehlo"):
                answer = "".join(f"250-{extension}\r\n" for extension in ("mail.example", *self.extensions)) + "250 HELP"
            writer.write(f"{answer}\r\n".encode())
            if word == "quit":
                break
        writer.close()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"


@pytest.fixture
async def server() -> AsyncIterator[MailServer]:
    first_mail_server = MailServer()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):  # the client may hang up in the middle of a reply
            await first_mail_server.handle(reader, writer)

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    first_mail_server.port = listening.sockets[0].getsockname()[1]
    yield first_mail_server
    listening.close()


def sender_to(url: str, *domains: str) -> SenderByScheme:
    """The sender of a process whose e-mails may go to some domains."""
    tools = HttpClient("touchbase/test")
    clients = [client(cast(Store, None), tools.send, tools.close) for client in (HubSpotClient, BlocklistClient)]
    return SenderByScheme(WebhookClient("touchbase/test"), MailClient(url, PLACE.mail_from, domains), *clients)


async def handed_in(url: str, source: bytes = b"Subject: x\r\n\r\n.x\r\n", to: list[str] = TO) -> ReceiverAnswer:
    client = sender_to(url, *PLACE.mail_domains)
    answer = await client.post("mailto:" + ",".join(to), {}, source)
    await client.close()
    return answer


def read(source: bytes) -> EmailMessage:
    mail = message_from_bytes(source, policy=SMTP)
    assert isinstance(mail, EmailMessage)
    return mail


def text_of(mail: EmailMessage) -> str:
    return str(mail.get_content()).replace("\r\n", "\n")


async def test_reply__becomes_a_mail_to_all_addresses(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="email", to=TO)
    person = await webhooks.reply("ada@example.com", first_name="Ada", last_name="Lovelace")

    [sent] = await webhooks.deliver()

    mail = read(sent.raw)
    assert (created["url"], created["to"], created["types"], created["rate_limit"]) == (
        f"mailto:{','.join(TO)}",
        TO,
        ["message.received", "contact.replied"],
        5,
    )
    assert sent.url == created["url"]
    assert mail["To"] == ", ".join(TO)
    assert mail["From"] == PLACE.mail_from
    assert mail["Subject"] == "Ada Lovelace (ada@example.com) replied"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["X-Auto-Response-Suppress"] == "All"
    assert f"Record: https://touchbase.example/console/{await webhooks.handle()}/contacts/{person}\n" in text_of(mail)


async def test_repeat__has_the_same_source(webhooks: Webhooks) -> None:
    first_item, second = await webhooks.add(kind="email", to=TO), await webhooks.add(kind="email", to=TO[:1])
    webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 451, body="4.3.0 try later")
    await webhooks.reply("ada@example.com")
    first = {sent.url: sent.raw for sent in await webhooks.deliver()}
    webhooks.receivers.answer = lambda sent: ReceiverAnswer(1_000, 250)
    again = {sent.url: sent.raw for sent in await webhooks.deliver(10)}

    assert first == again
    ids = [read(first[item["url"]])["Message-ID"] for item in (first_item, second)]
    assert all(
        re.fullmatch(rf"<evt_\d+_{item['id']}\.[0-9a-f]+@agency\.example>", of) for item, of in zip((first_item, second), ids, strict=True)
    )


@pytest.mark.parametrize("command", ["ehlo", "mail", "data"])
async def test_mail__fails_if_a_reply_of_the_server_does_not_end(server: MailServer, command: str) -> None:
    server.answers = {command: "250-more\r\n" * (2 * REPLY_BYTES // 10)}
    server.extensions = ("LONG",) * (2 * REPLY_BYTES // 10) if command == "ehlo" else ()

    answer = await handed_in(server.url)

    assert answer.failure == UNREACHABLE
    assert f"a reply has more than {REPLY_BYTES} bytes" in answer.error


@pytest.mark.parametrize("how", ["slow_at", "silent_at"])
async def test_mail__fails_if_the_server_answers_a_byte_now_and_then_or_none(
    server: MailServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Four of them would hold up all mails, those of sign-in links too."""
    monkeypatch.setattr(mail_client, "MOST_SECONDS", 0.5)
    monkeypatch.setattr(mail_client, "REPLY_BYTES", 1 << 40)
    monkeypatch.setattr(smtplib, "_MAXLINE", 1 << 40)
    setattr(server, how, "mail")

    answer = await handed_in(server.url)

    assert (answer.failure, "the mail is not taken within 0.5 seconds" in answer.error) == (UNREACHABLE, True)


async def test_refusals__show_the_servers_words_and_are_tried_again(webhooks: Webhooks) -> None:
    await webhooks.add(kind="email", to=TO)
    words = {451: "4.7.1 greylisted", 550: "5.1.1 no such user", 250: "ok"}
    answers = iter([ReceiverAnswer(1_000, status, body=said) for status, said in words.items()])
    webhooks.receivers.answer = lambda sent: next(answers)
    await webhooks.reply("ada@example.com")

    assert [len(await webhooks.deliver(seconds)) for seconds in (0, 10, 400)] == [1, 1, 1]

    tried = [(attempt["outcome"], attempt["status"], attempt["response_body"]) for attempt in reversed(await webhooks.attempts())]
    assert tried == [("delivered" if status == 250 else "refused", status, said) for status, said in words.items()]


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({}, "/to", "1 to 20"),
        ({"to": []}, "/to", "1 to 20"),
        ({"to": ["sales"]}, "/to/0", "e-mail address"),
        ({"to": ["Sales <sales@agency.example>"]}, "/to/0", "without a name"),
        ({"to": ["a@agency.example\r\nBcc: b@evil.example"]}, "/to/0", "one e-mail address"),
        ({"to": ["a@agency.example,b@agency.example"]}, "/to/0", "one e-mail address"),
        ({"to": ["é@agency.example"]}, "/to/0", "ASCII"),
        ({"to": [TO[0], TO[0]]}, "/to/1", "twice"),
        (
            {"to": [TO[0], "eve@evil.example"]},
            "/to/1",
            "'eve@evil.example': the allowed domains are agency.example; ask the operator to add evil",
        ),
        ({"to": ["eve@evilagency.example"]}, "/to/0", "add evilagency.example to TOUCHBASE_MAIL_DOMAINS"),
        ({"to": TO, "url": "https://crm.example.com"}, "/url", "give `to`"),
        ({"to": TO, "template_subject": "{{contact.nmae}}"}, "/template_subject", "'contact."),
    ],
)
async def test_add__names_the_fault(webhooks: Webhooks, body: dict[str, object], pointer: str, says: str) -> None:
    reply = await webhooks.house.request("POST", PATH, {"kind": "email", **body})

    assert reply.status == 422
    [fault] = reply.json()["errors"]
    assert fault["pointer"] == pointer
    assert says in fault["detail"]


async def test_add__is_refused_without_a_mail_server(call: Any) -> None:
    reply = await call("POST", PATH, {"kind": "email", "to": TO}, x_client_id="default")

    assert reply.status == 422
    [fault] = reply.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/kind", "mail_server")
    assert "TOUCHBASE_SMTP_URL" in fault["detail"]


async def test_stop__works_without_a_mail_server(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="email", to=TO)
    parts = replace(webhooks.house.call.parts, installation=Installation())
    call = ApiClient(parts, webhooks.clock, [])

    changed = await call("PATCH", f"{PATH}/{created['id']}", {"disabled": True}, x_client_id="default")

    assert (changed.status, changed.json()["state"]) == (200, "disabled")


async def test_change__of_recipients_is_refused_outside_the_allowed_domains(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="email", to=["sam@Sales.Agency.Example"])

    refused = await webhooks.ask("PATCH", f"/{created['id']}", {"to": ["eve@evil.example"]}, expect=422)

    [fault] = refused["errors"]
    assert (fault["pointer"], fault["code"]) == ("/to/0", "mail_domain")
    assert "'eve@evil.example'" in fault["detail"]
    assert (await webhooks.ask("GET", f"/{created['id']}"))["to"] == ["sam@Sales.Agency.Example"]


async def test_stop__works_when_the_domain_is_not_allowed_any_more(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="email", to=TO)
    parts = replace(webhooks.house.call.parts, installation=replace(PLACE, mail_domains=("other.example",)))

    changed = await ApiClient(parts, webhooks.clock, [])("PATCH", f"{PATH}/{created['id']}", {"disabled": True}, x_client_id="default")

    assert (changed.status, changed.json()["state"]) == (200, "disabled")


async def test_preview__refuses_recipients_elsewhere_and_needs_none(webhooks: Webhooks) -> None:
    refused = await webhooks.ask("POST", "/preview", {"kind": "email", "to": ["eve@evil.example"]}, expect=422)
    shown = await webhooks.ask("POST", "/preview", {"kind": "email"})

    assert [fault["pointer"] for fault in refused["errors"]] == ["/to/0"]
    assert shown["headers"]["To"] == "you@example.com"


async def test_known_endpoint__sends_nothing_to_a_domain_that_is_not_allowed_until_it_is(webhooks: Webhooks, server: MailServer) -> None:
    created = await webhooks.add(kind="email", to=TO)
    without, with_domain = sender_to(server.url, "other.example"), sender_to(server.url, "agency.example")
    webhooks.dispatcher = dispatcher_of(webhooks.house.call.parts.store, without, webhooks.clock)
    await webhooks.reply("ada@example.com")

    await webhooks.deliver()

    assert server.commands == []
    [attempt] = await webhooks.attempts()
    assert (attempt["outcome"], attempt["status"]) == ("unreachable", None)
    assert attempt["error"] == (
        "no e-mail may be sent to 'sales@agency.example': the allowed domains are other.example; "
        "ask the operator to add agency.example to TOUCHBASE_MAIL_DOMAINS"
    )
    progress = (await webhooks.ask("GET", f"/{created['id']}"))["progress"]
    assert (progress["waiting"], progress["failing_since_time"] is not None) == (1, True)

    webhooks.clock.move(11)  # the lease of the first process ends
    webhooks.dispatcher = dispatcher_of(webhooks.house.call.parts.store, with_domain, webhooks.clock)
    await webhooks.deliver()

    assert len(server.mails) == 1
    assert [first_attempt["outcome"] for first_attempt in await webhooks.attempts()] == ["delivered", "unreachable"]
    await without.close()
    await with_domain.close()


async def test_test__fails_with_the_domain_that_is_not_allowed(webhooks: Webhooks, server: MailServer) -> None:
    created = await webhooks.add(kind="email", to=TO)
    sender = sender_to(server.url, "other.example")
    call = ApiClient(replace(webhooks.house.call.parts, send_webhook=sender.post), webhooks.clock, [])

    tested = (await call("POST", f"{PATH}/{created['id']}/test", x_client_id="default")).json()
    await sender.close()

    assert (tested["outcome"], server.commands) == ("unreachable", [])
    assert "add agency.example to TOUCHBASE_MAIL_DOMAINS" in tested["error"]


LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?", fullmatch=True).filter(lambda label: "--" not in label)


@settings(max_examples=examples(60), deadline=None)
@given(labels=st.lists(LABELS, max_size=4), in_capitals=st.booleans())
def test_any_subdomain__is_allowed_with_its_domain_and_no_other(labels: list[str], in_capitals: bool) -> None:
    below = "".join(f"{label}." for label in labels)
    address = f"sam@{below}agency.example"

    assert why_not_mailed(address.upper() if in_capitals else address, ["other.example", "agency.example"]) is None
    assert why_not_mailed(f"sam@{below}elsewhere.example", ["*"]) is None
    for outside in (f"sam@{below}x-agency.example", f"sam@agency.example.{below}com", f"sam@{below}example.com"):
        assert why_not_mailed(outside, ["other.example", "agency.example"]) is not None


def test_refusal__lists_few_of_many_domains() -> None:
    why = why_not_mailed("eve@evil.example", [f"d{number}.example" for number in range(40)])

    assert why is not None
    assert "the allowed domains are d0.example, d1.example, d2.example and 37 more; ask" in why


def source_of(message: dict[str, Any], first_name: str, templates: tuple[str, str] = ("", "")) -> bytes:
    contact = {**CONTACT, "first_name": first_name}
    event = {
        "type": "message.received", "timestamp": "2026-11-20T09:30:00Z",
        "data": {"id": "evt_3", "client_id": "acme", "record_id": 1042, "object": {**MESSAGE, **message}, "changed": {}, "cause": {}},
    }  # fmt: skip
    notice = notice_of(event, contact, COMPANY, PLACE)
    return mail_source("evt_3_1", 5, PLACE.mail_from, TO, notice, templates, values_of(event, contact, COMPANY, notice))


def test_text_of_a_reply__is_quoted() -> None:
    mail = read(source_of({}, "Ada"))

    assert mail["Subject"] == "Ada Lovelace (ada@acme.example, Acme) replied: Re: A question"
    assert mail["Date"] == "Fri, 20 Nov 2026 09:30:00 +0000"
    assert "\n> Yes, tell me more.\n> Does Tuesday suit?\n\nCampaign: Autumn\nTool: smartlead\n" in text_of(mail)


NASTY = st.text(alphabet=st.sampled_from('aé→ \r\n\t\x0b\x1c\u2028\u202e:;,<>@"=?'), max_size=120)
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "X-Auto-Response-Suppress"]


@settings(max_examples=examples(40), deadline=None)
@given(name=NASTY, subject=NASTY, text=NASTY, template=st.sampled_from(("", "{{contact.first_name}} {{subject}}\r\nBcc: x@evil.example")))
def test_any_values__add_no_header(name: str, subject: str, text: str, template: str) -> None:
    mail = read(source_of({"subject": f"{subject}\r\nBcc: x@evil.example", "text": text}, name, (template, "")))

    assert mail.keys()[: len(HEADERS)] == HEADERS
    assert {*mail.keys()[len(HEADERS) :]} == {"Content-Type", "Content-Transfer-Encoding", "MIME-Version"}
    assert mail["To"] == ", ".join(TO)
    assert mail.defects == []


@pytest.mark.parametrize("word", ["=?utf-8?q?=0d=0aBcc:_x@evil.example?=", "=?utf-8?b?DQpCY2M6IHhAZXZpbC5leGFtcGxl?="])
def test_encoded_word__is_text_as_it_stands(word: str) -> None:
    mail = read(source_of({"subject": f"Re: {word}"}, word))

    assert mail["Subject"].startswith(f"{word.replace('=?', '= ?')} Lovelace")
    assert mail["Subject"].isprintable()


async def test_send__hands_in_one_mail_for_all_recipients(server: MailServer) -> None:
    answer = await handed_in(server.url)

    assert (answer.status, answer.body, answer.error) == (250, "2.0.0 queued as 7", "")
    assert server.commands[1:4] == ["mail FROM:<touchbase@agency.example>", *(f"rcpt TO:<{item}>" for item in TO)]
    assert server.mails == [b"Subject: x\r\n\r\n..x\r\n.\r\n"]


@pytest.mark.parametrize(
    ("begins", "words", "status", "says"),
    [
        ("mail", "451 4.3.0 try later", 451, "4.3.0 try later"),
        ("rcpt to:<sam@", "550 5.1.1 no such user", 550, "5.1.1 no such user (for sam@agency.example)"),
        ("data", "554 5.7.1 refused", 554, "5.7.1 refused"),
    ],
)
async def test_send__hands_in_nothing_if_the_server_refuses(server: MailServer, begins: str, words: str, status: int, says: str) -> None:
    server.answers[begins] = words

    answer = await handed_in(server.url)

    assert (answer.status, answer.body) == (status, says)
    assert server.mails == []


async def test_send__hands_in_nothing_if_one_recipient_is_elsewhere(server: MailServer) -> None:
    answer = await handed_in(server.url, to=[*TO, "eve@evil.example"])

    assert (answer.failure, server.commands) == ("unreachable", [])
    assert "'eve@evil.example'" in answer.error


async def test_send__counts_as_delivered_whatever_follows_the_acceptance(server: MailServer) -> None:
    server.answers["quit"] = "500 what?"

    assert (await handed_in(server.url)).status == 250


async def test_close__ends_a_mail_whose_server_is_silent(server: MailServer) -> None:
    server.silent_at = "mail"
    client = MailClient(server.url, PLACE.mail_from, PLACE.mail_domains)
    sending = asyncio.create_task(client.send(TO, b"x"))
    await server.is_silent.wait()

    client.close()

    answer = await sending
    assert (answer.status, answer.failure) == (None, "unreachable")


async def test_send__shows_no_password(server: MailServer) -> None:
    server.extensions, server.answers["auth"] = ("AUTH PLAIN",), "535 5.7.8 zq094mailqz is wrong"

    answer = await handed_in(server.url.replace("//", "//sam:zq094mailqz@"))

    assert (answer.status, answer.body) == (535, "5.7.8 *** is wrong")
    assert "zq094mailqz" not in repr(mail_server("smtp://sam:zq094mailqz@mail.example.com"))
    assert "zq094mailqz" not in repr(Settings(smtp_url="smtp://sam:zq094mailqz@mail.example.com"))


async def test_send__says_nothing_unencrypted_to_a_server_elsewhere(server: MailServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.config_values.is_loopback", lambda host: False)

    answer = await handed_in(server.url)

    assert answer.failure == "unreachable"
    assert "STARTTLS" in answer.error
    assert [line[:4] for line in server.commands] == ["ehlo"]


async def test_send__without_a_server_fails_and_says_what_to_set() -> None:
    refused = await handed_in("smtp://127.0.0.1:9")

    assert refused.failure == "unreachable"
    assert (await handed_in("")).error == "TOUCHBASE_SMTP_URL is not set in the process that sends"


@pytest.mark.parametrize(
    ("url", "host", "port", "tls", "starttls"),
    [
        ("smtp://a%40b:p%2Fq@mail.example.com", "mail.example.com", 587, False, True),
        ("smtps://mail.example.com", "mail.example.com", 465, True, False),
        ("smtp://relay:25?tls=off", "relay", 25, False, False),
        ("smtp://localhost:1025", "localhost", 1025, False, False),
    ],
)
def test_mail_server__is_read_from_a_url(url: str, host: str, port: int, tls: bool, starttls: bool) -> None:
    result = mail_server(url)

    assert (result.host, result.port, result.tls, result.starttls) == (host, port, tls, starttls)
    if "%40" in url:
        assert (result.user, result.password) == ("a@b", "p/q")


@pytest.mark.parametrize(
    ("url", "sender", "says"),
    [
        ("http://mail.example.com", "a@example.com", "TOUCHBASE_SMTP_URL must be the address of a mail server"),
        ("smtp://sam@mail.example.com", "a@example.com", "TOUCHBASE_SMTP_URL must be"),
        ("smtp://sam:zq094mailqz@mail.example.com/x", "a@example.com", "TOUCHBASE_SMTP_URL must be"),
        ("smtp://mail.example.com", "nobody", "TOUCHBASE_SMTP_FROM must be an e-mail address"),
        ("smtp://mail.example.com", "", "belong together"),
        ("", "a@example.com", "belong together"),
    ],
)
def test_settings__refuse_what_is_no_mail_server_or_sender(url: str, sender: str, says: str) -> None:
    with pytest.raises(BadSettings, match=re.escape(says)) as raised:
        Settings.read({"TOUCHBASE_SMTP_URL": url, "TOUCHBASE_SMTP_FROM": sender})

    assert "zq094mailqz" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "domains"),
    [
        ("", ("agency.example",)),
        ("Example.COM, b\u00fccher.example", ("example.com", "xn--bcher-kva.example")),
        ("www.example.com", ("www.example.com",)),
        ("*", ("*",)),
    ],
)
def test_domains_of_recipients__are_in_normal_form_and_by_default_the_senders(text: str, domains: tuple[str, ...]) -> None:
    mail = {"TOUCHBASE_SMTP_URL": "smtp://mail.example.com", "TOUCHBASE_SMTP_FROM": "Touchbase <touchbase@Agency.example>"}

    assert Settings.read({**mail, "TOUCHBASE_MAIL_DOMAINS": text}).recipient_domains == domains


def test_domains_of_recipients__are_none_without_a_sender() -> None:
    assert Settings.read({}).recipient_domains == ()


@pytest.mark.parametrize(
    "text", ["com", "exa_mple.com", "example..com", "*.example.com", ".example.com", "sam@example.com", "example.com, x"]
)
def test_settings__refuse_what_is_no_domain(text: str) -> None:
    with pytest.raises(BadSettings, match="TOUCHBASE_MAIL_DOMAINS must list domains such as"):
        Settings.read({"TOUCHBASE_MAIL_DOMAINS": text})
