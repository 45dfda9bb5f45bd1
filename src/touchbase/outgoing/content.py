"""The request or mail that tells an endpoint of an event: body, headers and id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from typing import Any

from msgspec import json, to_builtins

from touchbase.common.timestamps import Micros, to_text
from touchbase.event_log.models import LoggedEvent, envelope
from touchbase.http.actors import Actor
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.outgoing.models import CLOUDEVENTS, LONGEST_SUBJECT, SIGNED, SLACK, Endpoint, Installation
from touchbase.outgoing.notices import REPLIES, TEST_ID, EventNotice, notice_of, values_of
from touchbase.outgoing.samples import EventObjects, sample
from touchbase.outgoing.signatures import signature_headers
from touchbase.outgoing.slack import slack_body
from touchbase.outgoing.templates import render

MAX_BODY_BYTES = 20_000
"""Bytes of a body above which the object is cut to its id."""
TEST = "endpoint.test"
"""The type of a test."""


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A request before it is signed: the same id and body for each attempt of an unchanged object."""

    id: str
    type: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    target: str = ""
    """Where it is sent, in place of the endpoint's own URL."""
    answer: ReceiverAnswer | None = None
    """Outcome without a request: why nothing can or need be sent."""

    def signed(self, endpoint: Endpoint, now: Micros) -> dict[str, str]:
        """Return all headers; a message to people has no signature."""
        if endpoint.kind not in SIGNED:
            return self.headers
        return {**self.headers, **signature_headers(endpoint.signing(now), self.id, now, self.body)}


def unsent(message_id: str, event_type: str, outcome: str, why: str) -> OutgoingMessage:
    """Return a message that needs no request, with the outcome of its attempt and the reason."""
    return OutgoingMessage(message_id, event_type, b"", answer=ReceiverAnswer(0, failure=outcome, error=why))


def message_of(
    endpoint: Endpoint, client_id: str, event: LoggedEvent, objects: EventObjects, actor: Actor, place: Installation
) -> OutgoingMessage:
    """Return the message about an event."""
    shown = objects.object
    if shown is not None and endpoint.fields:
        shown = {name: value for name, value in shown.items() if name == "id" or name in endpoint.fields}
    content = envelope(event, client_id, shown, to_builtins(actor))
    # An event's id is unique within its client only, and an endpoint's everywhere.
    message_id = f"{content['data']['id']}_{endpoint.id}"
    if endpoint.kind not in SIGNED:
        return _notice(endpoint, message_id, content, objects, place)
    subject = None if event.record_id is None else f"{event.type.partition('.')[0]}/{event.record_id}"
    return _message(endpoint, message_id, content, subject)


def act_message(endpoint: Endpoint, type: str, act: dict[str, Any]) -> OutgoingMessage:
    """Return the message about an act of the audit log."""
    data = {"id": act["id"], "client_id": act["client_id"], "object": act}
    return _message(endpoint, f"{act['id']}_{endpoint.id}", {"id": act["id"], "type": type, "timestamp": act["at"], "data": data}, None)


def test_message(endpoint: Endpoint, client_id: str, now: Micros, place: Installation) -> OutgoingMessage:
    """Return the message of a test send. People get one about an event of a type that they will get, of a fictitious person."""
    message_id = f"test_{now:x}_{endpoint.id}"
    if endpoint.kind not in SIGNED:
        sample_envelope, objects = sample((*endpoint.types, *REPLIES)[0], client_id, now)
        return _notice(endpoint, message_id, sample_envelope, objects, place)
    data = {"id": TEST_ID, "client_id": client_id, "object": {"endpoint_id": endpoint.id}}
    sample_envelope = {"id": TEST_ID, "type": TEST, "timestamp": to_text(now), "data": data}
    return _message(endpoint, message_id, sample_envelope, None)


def _notice(endpoint: Endpoint, message_id: str, envelope: dict[str, Any], objects: EventObjects, place: Installation) -> OutgoingMessage:
    notice = notice_of(envelope, objects.contact, objects.company, place)
    if endpoint.shared_id is not None and notice.client:
        notice = replace(notice, headline=f"{notice.client}: {notice.headline}")
    values = values_of(envelope, objects.contact, objects.company, notice)
    subject, text = (endpoint.settings.get(name, "") for name in ("template_subject", "template"))
    if endpoint.kind == SLACK:
        return OutgoingMessage(
            message_id, envelope["type"], json.encode(slack_body(notice, text, values)), {"content-type": "application/json"}
        )
    source = mail_source(message_id, endpoint.created_us, place.mail_from, endpoint.settings["to"], notice, (subject, text), values)
    return OutgoingMessage(message_id, envelope["type"], source)


def _message(endpoint: Endpoint, message_id: str, envelope: dict[str, Any], subject: str | None) -> OutgoingMessage:
    media = "application/json"
    if endpoint.format == CLOUDEVENTS:
        media = "application/cloudevents+json"
        data = envelope["data"]
        envelope = {
            "specversion": "1.0", "id": message_id, "source": f"/clients/{data['client_id'] or ''}", "type": envelope["type"],
            "time": envelope["timestamp"], "datacontenttype": "application/json", "subject": subject, "data": data,
        }  # fmt: skip
        if subject is None:
            del envelope["subject"]
    body = json.encode(envelope)
    if len(body) > MAX_BODY_BYTES:
        body = json.encode(cut_envelope(envelope))
    return OutgoingMessage(message_id, envelope["type"], body, {"content-type": media})


def cut_envelope(envelope: dict[str, Any]) -> dict[str, Any]:
    """Return an envelope with the object cut to its id, and `changed` to names."""
    data = envelope["data"]
    shown = data.get("object")
    ids = {"id": shown["id"]} if isinstance(shown, dict) and "id" in shown else None
    return {**envelope, "data": {**data, "object": ids, "changed": dict.fromkeys(data.get("changed", {})), "truncated": True}}


LONGEST_TEXT = 100_000
"""Characters of a mail's text."""
CUT = "\n… (cut)"


def mail_source(
    message_id: str,
    new_us: Micros,
    sender: str,
    to: Sequence[str],
    notice: EventNotice,
    templates: tuple[str, str],
    values: Mapping[str, Any],
) -> bytes:
    """Return the source of a mail; `templates`: of its subject and its text, "" for the usual ones. The same for each attempt."""
    subject, text = templates
    mail = EmailMessage(policy=SMTP)
    mail["From"] = sender
    mail["To"] = ", ".join(to)
    mail["Subject"] = one_line(render(subject, values) if subject else _subject(notice))
    mail["Date"] = format_datetime(datetime.fromisoformat(values["timestamp"]))
    # An id of an endpoint is unique within an installation only; its time of creation tells installations with the same sender apart.
    mail["Message-ID"] = f"<{message_id}.{new_us:x}@{parseaddr(sender)[1].rpartition('@')[2]}>"
    # RFC 3834: vacation notices and other automatic responders do not answer; the second is Microsoft's word for it.
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    body = render(text, values) if text else _text(notice)
    mail.set_content(body if len(body) <= LONGEST_TEXT else body[:LONGEST_TEXT] + CUT, charset="utf-8")
    return mail.as_bytes()


def one_line(text: str) -> str:
    """Return a text as the value of a header: one line without control characters, cut.

    An encoded word (RFC 2047) is broken up: the mail library would decode it, with the line breaks that it hides.
    """
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split()).replace("=?", "= ?")
    return line if len(line) <= LONGEST_SUBJECT else f"{line[: LONGEST_SUBJECT - 1]}…"


def _subject(notice: EventNotice) -> str:
    return f"{notice.headline}: {notice.subject}" if notice.subject else notice.headline


def _text(notice: EventNotice) -> str:
    parts = [notice.headline]
    if notice.subject:
        parts.append(f"Subject: {one_line(notice.subject)}")
    if notice.text.strip():
        parts.append("\n".join(f"> {line}" for line in notice.text.strip().splitlines()))
    about = [f"Campaign: {notice.campaign}"] * bool(notice.campaign) + [f"Tool: {notice.tool}"] * bool(notice.tool)
    about += [f"Record: {notice.link}"] * bool(notice.link) + ["This is a test of Touchbase."] * notice.is_test
    parts += ["\n".join(about)] * bool(about)
    return "\n\n".join(parts) + "\n"
