"""Dedupe keys: of a delivery by its bytes, of an event by its content."""

from __future__ import annotations

from hashlib import blake2b

from touchbase.common.timestamps import Micros
from touchbase.history.events import Event

EVENT_ENDINGS = (b"-event", b"-topic", b"idempotency-key")
"""Suffixes of headers that distinguish events with equal bodies."""


def body_key(channel: str, query: str, event_headers: str, body: bytes) -> bytes:
    """Return sixteen bytes that are equal for repeats of a webhook.

    The query and the headers that name the event are part of it, because some tools distinguish events with equal
    bodies only there.
    """
    digest = blake2b(body, digest_size=16)
    digest.update(f"\0{channel}\0{query}\0{event_headers}".encode("utf-8", "surrogateescape"))
    return digest.digest()


def event_key(tool: str, event: Event, receipt: str) -> str:
    """Return a short key that is equal for repeats of an event.

    It comes from the tool's own event id, else from the content, never from attempt counters.
    An event without a time counts once per webhook: `receipt` identifies the webhook.
    """
    if event.key is not None:
        return _short(f"{tool}\0{event.event}\0{event.key}\0{event.object_id or ''}")
    parts = [
        tool, event.event, event.email, event.linkedin_url, event.original_status or event.status, event.kind,
        event.campaign, event.message_id,
        event.object_type, event.object_id, event.domain, receipt if event.occurred_us is None else None,
        event.name, event.first_name, event.last_name,
    ]  # fmt: skip
    # With names, and only if present, so that events without them have the same key as in earlier versions.
    more = {"step": event.step, "link": event.link, "campaign_id": event.campaign_id, "merged_into": event.merged_into}
    parts += [f"{name}:{value}" for name, value in more.items() if value]
    if event.company_object is not None:
        parts.append("company:" + ":".join(event.company_object))
    parts += [f"{change.property}={change.value}" for change in event.changed]
    for values in (event.fields, event.custom):
        parts += [f"{name}={value}" for name, value in sorted(values.items())]
    return _short("\0".join([part or "" for part in parts]))


def key_of_person(key: str, identity: str) -> str:
    """Return the key of an event whose id the tool gives to several people of one webhook."""
    return _short(f"{key}\0{identity}")


def event_time(occurred_us: Micros | None, received_us: Micros, day: Micros) -> Micros:
    """Return the tool's time of an event, or its receipt if that is missing or over a day in the future."""
    if occurred_us is None or occurred_us > received_us + day:
        return received_us
    return occurred_us


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
