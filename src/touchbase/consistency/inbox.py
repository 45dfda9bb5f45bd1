"""Recomputing the inbox: which state a delivery can have by its events, and whether its body is the one that was received."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.models import CRM
from touchbase.history.dedupe_keys import EVENT_ENDINGS, body_key
from touchbase.inbox.delivery import APPLIED, FAILED, IGNORED, PARKED, RECEIVED, STATES, UNRECOGNISED


@dataclass(frozen=True, slots=True)
class AuditedDelivery:
    """What a delivery's state can be held to."""

    id: int
    state: str
    error: str | None
    applied_us: Micros | None
    body_gone: str | None
    events: int
    """Events that it has caused."""
    waiting: int
    """Those of them that wait under a link."""


@dataclass(frozen=True, slots=True)
class AuditedBody:
    """A delivery with what its key is made of; `body` is None where there is none."""

    id: int
    channel: str
    received_us: Micros
    tool: str | None
    key: bytes
    query: str
    headers: Mapping[str, str]
    body: bytes | None
    gone: str | None
    """Why its body was removed; None where it must be there."""


def untrue_state(delivery: AuditedDelivery) -> str | None:
    """What is wrong with a delivery's state; None where nothing contradicts it."""
    state = delivery.state
    if state not in STATES:
        return "one of " + ", ".join(STATES)
    done = state in (APPLIED, IGNORED)
    found = {
        "there is no body to apply": state == RECEIVED and delivery.body_gone is not None,
        "no event is of it": state == APPLIED and not delivery.events,
        "an event of it waits": state == APPLIED and delivery.waiting > 0,
        "no event of it waits": state == PARKED and not delivery.waiting,
        "an event is of it": state == IGNORED and delivery.events > 0,
        "no time says when it ended": done and delivery.applied_us is None,
        "no error says why": state in (UNRECOGNISED, FAILED) and not delivery.error,
    }
    return next((f"another, as {why}" for why, is_so in found.items() if is_so), None)


def untrue_body(call: AuditedBody) -> str | None:
    """What is wrong with a delivery's body; None where it was removed, or is the one that the delivery's key was made of."""
    if call.gone is not None:
        return None if call.body is None else f"gone, as it was removed ({call.gone})"
    if call.body is None:
        return "there, as neither an erasure nor retention took it"
    if call.key not in _keys(call, call.body):
        return "another, as its key was made of another call"
    return None


def _keys(call: AuditedBody, body: bytes) -> Iterator[bytes]:
    if (fetched := call.headers.get(FETCHED)) is not None:
        yield body_key(CRM, "", f"{FETCHED}: {call.tool} {fetched} {call.received_us}", body)
    naming = [(name, value) for name, value in call.headers.items() if name.encode().endswith(EVENT_ENDINGS)]
    yield body_key(call.channel, call.query, _text(naming), body)
    # A header that came several times is stored as one.
    yield body_key(call.channel, call.query, _text([(name, each) for name, value in naming for each in value.split(", ")]), body)


def _text(naming: list[tuple[str, str]]) -> str:
    return "\n".join(sorted(f"{name}: {value}" for name, value in naming))
