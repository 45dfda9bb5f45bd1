"""The shape of a delivery at the moment when it is marked: read from its body, as far as that can be read without its adapter."""

from __future__ import annotations

import re

import msgspec

from touchbase.common.content_encoding import decoded
from touchbase.errors import UnrecognisedPayload
from touchbase.events.event_normalization import Outcome
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.payload_fingerprint import shape_of

LARGEST_BODY = 256 * 1024
"""Of longer bodies only the event's name is told."""
# Where tools that we may not know tell which event it is.
_NAMES = (
    "event", "type", "event_type", "eventType", "event_name", "eventName", "subscriptionType", "topic", "action", "trigger", "method",
    "webhook_type", "webhookType", "webhookEvent", "name",
)  # fmt: skip
_LONGEST_NAME = 60
_FIELD = re.compile(rb"([A-Za-z0-9_.\-]{1,40})(?:%5B|\[|=)")


def outcome_shape(outcome: Outcome) -> str:
    """The shape of a call that was read: its event as the tool names it."""
    name = outcome.seen.strange or outcome.seen.other
    if name is None and outcome.sightings:
        sighted = outcome.sightings[0].event
        name = sighted.source_event or sighted.event
    return delivery_shape(outcome.delivery, name)


def delivery_shape(delivery: Delivery, name: str | None = None) -> str:
    """The shape of a call of which only this name is known; without one, the usual places of a body tell it."""
    item = _item(delivery)
    if name is None:
        found = (item.get(each) for each in _NAMES)
        name = next((each for each in found if isinstance(each, str) and 0 < len(each) <= _LONGEST_NAME), None)
    return shape_of(name, item)


def _item(delivery: Delivery) -> dict[str, object]:
    """The body's first object; of form fields their names."""
    try:
        body = decoded(delivery.headers.get("content-encoding", ""), delivery.body, LARGEST_BODY).strip()
        if len(body) > LARGEST_BODY:
            return {}
        if body[:1] in (b"{", b"["):
            data = msgspec.json.decode(body)
            item = next((each for each in data if isinstance(each, dict)), {}) if isinstance(data, list) else data
            return item if isinstance(item, dict) else {}
    except (UnrecognisedPayload, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    fields = (_FIELD.match(field) for field in body.split(b"&", 200)) if body[:1] != b"<" else ()
    return {field[1].decode(): None for field in fields if field is not None}
