"""Consistency of the inbox: whether a delivery's state agrees with its events, and its body with its key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.deliveries.delivery import APPLIED, FAILED, IGNORED, PARKED, RECEIVED, STATES, UNRECOGNISED
from touchbase.history.dedupe_keys import EVENT_ENDINGS, body_key
from touchbase.history.events import CRM


@dataclass(frozen=True, slots=True)
class AuditedDelivery:
    """The values of a delivery that its state must agree with."""

    id: int
    state: str
    error: str | None
    applied_us: Micros | None
    body_removed: str | None
    events: int
    """The number of its events."""
    waiting: int
    """The number of its parked events."""


@dataclass(slots=True)
class AuditedBody:
    """A delivery with the values that its key is computed from; `body` is None where it is missing."""

    client: int
    id: int
    channel: str
    received_us: Micros
    tool: str | None
    key: bytes
    query: str
    headers: Mapping[str, str]
    body: bytes | None
    removed: str | None
    """Why its body was removed; None where it must exist."""
    object: str | None = None
    """Where it is in object storage."""
    lost: str | None = None
    """Why it cannot be read from there."""


def wrong_state(delivery: AuditedDelivery) -> str | None:
    """Return the state that is required instead, and why; None if it is consistent."""
    state = delivery.state
    if state not in STATES:
        return "one of " + ", ".join(STATES)
    done = state in (APPLIED, IGNORED)
    faults = {
        "it has no body to apply": state == RECEIVED and delivery.body_removed is not None,
        "it has no event": state == APPLIED and not delivery.events,
        "one of its events is parked": state == APPLIED and delivery.waiting > 0,
        "none of its events is parked": state == PARKED and not delivery.waiting,
        "it has an event": state == IGNORED and delivery.events > 0,
        "it has no end time": done and delivery.applied_us is None,
        "it has no error": state in (UNRECOGNISED, FAILED) and not delivery.error,
    }
    return next((f"another, because {why}" for why, is_so in faults.items() if is_so), None)


def wrong_body(webhook: AuditedBody) -> str | None:
    """Return the body that is required instead, and why; None if it was removed, or agrees with the delivery's key."""
    if webhook.removed is not None:
        return None if webhook.body is None else f"absent, because it was removed ({webhook.removed})"
    if webhook.lost is not None:
        return f"present, but {webhook.lost}"
    if webhook.body is None:
        return "present, because neither erasure nor retention removed it"
    if webhook.key not in _keys(webhook, webhook.body):
        return "another, because its key was computed from another webhook"
    return None


def _keys(webhook: AuditedBody, body: bytes) -> Iterator[bytes]:
    if (fetched := webhook.headers.get(FETCHED)) is not None:
        yield body_key(CRM, "", f"{FETCHED}: {webhook.tool} {fetched} {webhook.received_us}", body)
    naming = [(name, value) for name, value in webhook.headers.items() if name.encode().endswith(EVENT_ENDINGS)]
    yield body_key(webhook.channel, webhook.query, _text(naming), body)
    # A repeated header is stored as one.
    yield body_key(webhook.channel, webhook.query, _text([(name, key) for name, value in naming for key in value.split(", ")]), body)


def _text(naming: list[tuple[str, str]]) -> str:
    return "\n".join(sorted(f"{name}: {value}" for name, value in naming))
