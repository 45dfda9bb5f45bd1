"""Events of fictitious persons, for tests and previews of endpoints for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros, to_text
from touchbase.outgoing.notices import TEST_ID

_AT = "2026-11-20T09:30:00Z"
COMPANY = {"id": 17, "domain": "acme.example", "name": "Acme", "company_status": "open", "company_custom_fields": []}
CONTACT = {
    "id": 1042, "email": "ada@acme.example", "first_name": "Ada", "last_name": "Lovelace", "company_id": 17, "contact_status": "replied",
    "previous_status": "contacted", "last_reply_received": _AT, "contact_custom_fields": [{"field_name": "Seats", "field_value": "40"}],
}  # fmt: skip
MESSAGE = {
    "id": 12, "contact_id": 1042, "contact_email": "ada@acme.example", "direction": "received", "channel": "email", "occurred_at": _AT,
    "tool": "smartlead", "mailbox": "sam@agency.example", "subject": "Re: A question", "text": "Yes, tell me more.\nDoes Tuesday suit?",
    "campaign_id": "77", "campaign_name": "Autumn", "step": "2", "category": "Interested",
}  # fmt: skip
_CHANGED: dict[str, dict[str, Any]] = {
    "contact.status_changed": {"contact_status": ["contacted", "replied"]},
    "contact.replied": {"last_reply_received": [None, _AT]},
    "company.status_changed": {"company_status": [None, "open"]},
}
_TOOL = {"tool": "smartlead", "channel": "email_campaign"}
_ENTRY = {"suppression_id": 5, "kind": "email", "reason": "requested", "value": "ada@acme.example"}
_SHARED = {"suppression_id": 5, "kind": "email", "endpoint_id": 3, "value": "ada@acme.example"}
_DELIVERY = {"delivery_id": 4711, **_TOOL, "error": "the webhook has no e-mail address"}
_SILENCE = {**_TOOL, "last_call_at": _AT, "noticed_at": _AT, "calls_of_week": 210, "usual_interval_seconds": 2880}
_OBJECTS: dict[str, dict[str, Any]] = {
    "status.renamed": {"record": "contact", "from": "Meeting", "to": "meeting_booked"},
    "suppression.added": _ENTRY, "suppression.removed": _ENTRY,
    "installation_suppression.added": _SHARED, "installation_suppression.removed": _SHARED,
    "delivery.failed": {**_DELIVERY, "state": "failed"}, "delivery.unrecognised": {**_DELIVERY, "state": "unrecognised"},
    "connection.silent": _SILENCE, "connection.resumed": {**_SILENCE, "ended_at": _AT},
    "client.storage_warning": {"stored_bytes": 912_680_550, "limit_bytes": 1_073_741_824, "percent": 85, "counted_at": _AT},
}  # fmt: skip
"""Subjects of events about no record."""
_ACTOR = {"type": "tool", "id": None, "name": "smartlead", "via": "webhook"}
_CAUSE = {"origin": "delivery", "tool": "smartlead", "channel": "email_campaign", "deliveries": [4711]}


@dataclass(frozen=True, slots=True)
class EventObjects:
    """An event's object as it is shown when the event is sent, and the records of the person."""

    object: Any
    contact: Any = None
    company: Any = None


def sample(event_type: str, client_id: str, now: Micros, event_id: str = TEST_ID) -> tuple[dict[str, Any], EventObjects]:
    """Return the envelope of an event of this type, and its objects."""
    what = event_type.partition(".")[0]
    objects_by_kind = {
        "contact": EventObjects(CONTACT, CONTACT, COMPANY),
        "company": EventObjects(COMPANY, None, COMPANY),
        "message": EventObjects(MESSAGE, CONTACT, COMPANY),
    }
    about = objects_by_kind.get(what, EventObjects(_OBJECTS.get(event_type, _TOOL)))
    data = {"id": event_id, "client_id": client_id, "object": about.object, "changed": _CHANGED.get(event_type, {})}
    data |= {"cause": _CAUSE, "actor": _ACTOR}
    if what in objects_by_kind:
        data["record_id"] = 17 if what == "company" else 1042
    if event_type.startswith("contact.meeting_"):
        data["meeting"] = {"start": "2026-11-24T14:00:00Z", "tool": "calendly", "occurred_at": _AT}
    return {"id": data["id"], "type": event_type, "timestamp": to_text(now), "data": data}, about
