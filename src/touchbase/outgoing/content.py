"""The request that tells an endpoint of an event: body, headers and id."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from msgspec import json

from touchbase.common.timestamps import Micros, to_text
from touchbase.event_log import LoggedEvent, envelope
from touchbase.outgoing.models import CLOUDEVENTS, Endpoint
from touchbase.outgoing.signatures import signature_headers

MAX_BODY_BYTES = 20_000
"""Bytes of a body above which the object is cut to its id."""
TEST = "endpoint.test"
"""The type of a test."""


@dataclass(frozen=True, slots=True)
class Message:
    """A request before it is signed: the same id and body for each attempt of an unchanged object."""

    id: str
    type: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)

    def signed(self, endpoint: Endpoint, now: Micros) -> dict[str, str]:
        """Return all headers."""
        return {**self.headers, **signature_headers(endpoint.signing(now), self.id, now, self.body)}


def message_of(endpoint: Endpoint, client_id: str, event: LoggedEvent, shown: dict[str, Any] | None) -> Message:
    """Return the message about an event; `shown` is the present record as the API shows it."""
    if shown is not None and endpoint.fields:
        shown = {name: value for name, value in shown.items() if name == "id" or name in endpoint.fields}
    made = envelope(event, client_id, shown)
    subject = None if event.record_id is None else f"{event.type.partition('.')[0]}/{event.record_id}"
    # An event's id is unique within its client only, and an endpoint's everywhere.
    return _message(endpoint, f"{made['data']['id']}_{endpoint.id}", made, subject)


def test_message(endpoint: Endpoint, client_id: str, now: Micros) -> Message:
    """Return the message of a test send."""
    made = {"type": TEST, "timestamp": to_text(now), "data": {"id": "test", "client_id": client_id, "object": {"endpoint_id": endpoint.id}}}
    return _message(endpoint, f"test_{token_hex(12)}", made, None)


def _message(endpoint: Endpoint, message_id: str, made: dict[str, Any], subject: str | None) -> Message:
    media = "application/json"
    if endpoint.format == CLOUDEVENTS:
        media = "application/cloudevents+json"
        data = made["data"]
        made = {
            "specversion": "1.0", "id": message_id, "source": f"/clients/{data['client_id']}", "type": made["type"],
            "time": made["timestamp"], "datacontenttype": "application/json", "subject": subject, "data": data,
        }  # fmt: skip
        if subject is None:
            del made["subject"]
    body = json.encode(made)
    if len(body) > MAX_BODY_BYTES:
        body = json.encode(cut_envelope(made))
    return Message(message_id, made["type"], body, {"content-type": media})


def cut_envelope(made: dict[str, Any]) -> dict[str, Any]:
    """Return an envelope with the object cut to its id, and `changed` to names."""
    data = made["data"]
    shown = data.get("object")
    ids = {"id": shown["id"]} if isinstance(shown, dict) and "id" in shown else None
    return {**made, "data": {**data, "object": ids, "changed": dict.fromkeys(data.get("changed", {})), "truncated": True}}
