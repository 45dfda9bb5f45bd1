"""Mandrill (Mailchimp Transactional): webhooks.

One form field, `mandrill_events`, with a JSON list. `_id` is the message's id, not the event's, and `msg.ts` is the
time of sending, not of the event.

Signature: HMAC of the URL and the sorted form fields.
"""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import parse_qsl

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter, events_of
from touchbase.adapters.kit.extract import objects
from touchbase.adapters.kit.messages import MessagePaths
from touchbase.adapters.kit.parse import unquoted
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, hmac_digest
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival
from touchbase.history.events import Event


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    signature = arrival.headers.get("x-mandrill-signature")
    if signature is None:
        return False
    try:
        fields = parse_qsl(arrival.body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=1_000)
    except ValueError:
        return False
    message = arrival.url + "".join(name + value for name, value in sorted(fields))
    return constant_time_equal(signature, b64encode(hmac_digest(secret, message.encode(), "sha1")))


MANDRILL = Scheme("header `x-mandrill-signature`: HMAC-SHA1 in base64 over the address and the form's fields", _check, reads_body=True)


class Mandrill(TableAdapter):
    """Reads Mandrill's webhooks."""

    def recognise(self, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the form's field, else by the shape of its events."""
        return 95 if _field(webhook.data) is not None else super().recognise(webhook)

    def translate(self, webhook: ParsedWebhook) -> list[Event]:
        """Return one event per item of the field, or of the list if a relay has unwrapped it."""
        inside = _field(webhook.data)
        return events_of(webhook.data if inside is None else inside, lambda item: self.event_of(item, webhook))


def _field(data: object) -> object:
    """Return the form field's content, also if a relay forwards it as text."""
    return next((unquoted(body["mandrill_events"]) for body in objects(data) if "mandrill_events" in body), None)


ADAPTER = Mandrill(
    tool="mandrill",
    signature_schemes=(MANDRILL,),
    shapes=(
        DetectionRule("mandrill_events", 95),
        DetectionRule("msg.email event ts", 92),
        DetectionRule("msg event _id", 88),
        DetectionRule("reject.email action type", 85),
        DetectionRule("entry.email action type", 85),
        DetectionRule("event", 85, header="x-mandrill-signature", named=True),
    ),
    plain_names="send delivered deferral open click hard_bounce soft_bounce reject unsub spam",
    names={"inbound": m.INBOUND_EMAIL, "sync": m.OTHER},
    nameless={"reject": "sync", "entry": "sync"},  # a change of the denylist, and of the allowlist
    name="event",
    email="msg.email reject.email entry.email",
    time="ts",
    campaign="msg.metadata.campaign msg.metadata.campaign_id",
    message="_id msg._id",
    sent=MessagePaths(subject="msg.subject", mailbox="msg.sender", message_id="_id msg._id"),
    usual_messages=False,
)
