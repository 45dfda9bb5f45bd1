"""Text of a message to people about an event: person, change, text of a reply, link. The same for Slack and e-mail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from touchbase.event_log.models import EventType
from touchbase.outgoing.models import Installation
from touchbase.records.record_type import RECORD_TYPES
from touchbase.search.service import record_members

Shape = Mapping[str, Any]
REPLIES = (EventType.MESSAGE_RECEIVED.value, EventType.CONTACT_REPLIED.value)
"""The types that an endpoint for people gets unless it lists others."""
_MESSAGE = (
    "id", "contact_id", "contact_email", "direction", "channel", "occurred_at", "tool", "mailbox", "subject", "text", "campaign_id",
    "campaign_name", "step", "category",
)  # fmt: skip
_OTHERS = ("tool", "channel", "error", "state", "value", "kind", "reason", "delivery_id", "record", "from", "to", "endpoint_id")
_MEMBERS = {kind: record_members(kind) for kind in RECORD_TYPES}
_CONTACT, _COMPANY = _MEMBERS
_MEETINGS = {
    "contact.meeting_booked": "booked a meeting",
    "contact.meeting_canceled": "canceled a meeting",
    "contact.meeting_rescheduled": "moved a meeting",
    "contact.meeting_no_show": "did not come to a meeting",
}
TEST_ID = "test"


def _paths() -> frozenset[str]:
    every = frozenset().union(*_MEMBERS.values())
    paths = {f"data.{name}" for name in ("id", "client_id", "record_id", "merged")}
    paths |= {f"data.object.{name}" for name in {*every, *_MESSAGE, *_OTHERS}}
    paths |= {f"data.changed.{name}.{side}" for name in every for side in (0, 1)}
    paths |= {f"data.cause.{name}" for name in ("origin", "tool", "channel", "deliveries", "key_id", "request_id", "job_id")}
    paths |= {f"data.actor.{name}" for name in ("type", "id", "name", "via")}
    paths |= {f"contact.{name}" for name in _MEMBERS[_CONTACT]} | {f"company.{name}" for name in _MEMBERS[_COMPANY]}
    return frozenset(paths | {"type", "timestamp", *(name for name in EventNotice.__slots__ if name != "is_test")})


@dataclass(frozen=True, slots=True)
class EventNotice:
    """The parts of a message; each is also a value of templates."""

    headline: str
    person: str
    text: str
    """Of the reply, where the event has it."""
    subject: str
    campaign: str
    tool: str
    link: str
    is_test: bool
    client: str = ""
    """Name of the client."""


PATHS = _paths()
"""The paths that a template may have, besides custom fields as `cf.NAME`."""


def notice_of(event: Shape, contact: Shape | None, company: Shape | None, place: Installation) -> EventNotice:
    """Return the notice about an event's envelope; `contact` and `company` are its records as the API shows them."""
    data, kind = event["data"], str(event["type"])
    about: Shape = data["object"] if isinstance(data.get("object"), Mapping) else {}
    cause: Shape = data.get("cause") or {}
    person = _person(contact, company, about, data)
    link, number = "", data.get("record_id")
    if place.public_url and number is not None:
        page = f"{'companies' if kind.startswith('company.') else 'contacts'}/{number}"
        link = f"{place.public_url}/console/{place.client_handle or 'all'}/{page}"
    return EventNotice(
        _headline(kind, person, data, about),
        person,
        about.get("text") or "",
        about.get("subject") or "",
        str(about.get("campaign_name") or about.get("campaign_id") or ""),
        about.get("tool") or cause.get("tool") or "",
        link,
        data.get("id") == TEST_ID,
        place.client_name,
    )


def values_of(event: Shape, contact: Shape | None, company: Shape | None, notice: EventNotice) -> dict[str, Any]:
    """Return the values of a template, as plain JSON values."""
    own = company if str(event["type"]).startswith("company.") else contact
    named: Any = next((value for name, value in (own or {}).items() if name.endswith("_custom_fields")), [])
    fields = {name["field_name"]: name["field_value"] for name in named}
    parts = {name: getattr(notice, name) for name in EventNotice.__slots__}
    return {**event, **parts, "contact": contact or {}, "company": company or {}, "cf": fields}


def _person(contact: Shape | None, company: Shape | None, about: Shape, data: Shape) -> str:
    """Return `Ada Lovelace (ada@example.com, Acme)`, as far as that is known."""
    contact = contact or {}
    firm = (company or {}).get("name") or (company or {}).get("domain") or ""
    name = " ".join(part for part in (contact.get("first_name"), contact.get("last_name")) if part)
    address = contact.get("email") or about.get("contact_email") or contact.get("linkedin_url") or ""
    parts = [part for part in (name, address, firm) if part]
    if not parts:
        return f"Record {data['record_id']}" if "record_id" in data else ""
    return parts[0] if len(parts) == 1 else f"{parts[0]} ({', '.join(parts[1:])})"


def _headline(kind: str, person: str, data: Shape, about: Shape) -> str:
    if kind in REPLIES:
        return f"{person} replied"
    if kind in _MEETINGS:
        start = (data.get("meeting") or {}).get("start")
        return f"{person} {_MEETINGS[kind]}{f' ({start})' if start else ''}"
    changed = data.get("changed") or {}
    status = next((name for name in ("contact_status", "company_status") if name in changed), None)
    if kind.endswith(".status_changed") and status is not None:
        before, after = changed[status]
        return f"{person}: {before or 'no status'} → {after or 'no status'}"
    named = person or " ".join(str(about[name]) for name in ("tool", "channel", "value", "from", "to") if about.get(name))
    return f"{named}: {kind}" if named else kind
