"""A translation as plain values, for people and tests to read."""

from __future__ import annotations

from dataclasses import asdict

from touchbase.common.timestamps import to_text_or_none
from touchbase.history.events import Event, Translation


def describe(translation: Translation) -> dict[str, object]:
    """Return the meaning of one webhook, ready for JSON: the tool and its events, with RFC 3339 times."""
    return {"tool": translation.tool, "events": [_described(event) for event in translation.events]}


def _described(event: Event) -> dict[str, object]:
    return {
        "event": event.event,
        "occurred_at": to_text_or_none(event.occurred_us),
        "email": event.email,
        "linkedin_url": event.linkedin_url,
        "status": event.status,
        "kind": event.kind,
        "object_type": event.object_type,
        "object_id": event.object_id,
        "domain": event.domain,
        "name": event.name,
        "company_object": None if event.company_object is None else list(event.company_object),
        "campaign": event.campaign,
        "campaign_id": event.campaign_id,
        "merged_into": event.merged_into,
        "asks_erasure": event.asks_erasure,
        "message": None if event.message is None else {name: value for name, value in asdict(event.message).items() if value is not None},
        "changed": [{"property": change.property, "value": change.value, "previous": change.previous} for change in event.changed],
    }
