"""Bodies of three CRMs, and of tools that no adapter knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from touchbase.common.timestamps import Micros, to_text
from touchbase.demo.agency import CLOSE, HUBSPOT, PIPEDRIVE
from touchbase.demo.people import Person

PIPEDRIVE_LABELS = {"11": "opportunity", "12": "customer", "13": "lost"}
"""Pipedrive sends the number of a label; the connection says what each stands for."""
_BY_STATUS = {status: label for label, status in PIPEDRIVE_LABELS.items()}


def _time(at: Micros) -> str:
    return to_text(at // 1_000 * 1_000)


def hubspot(person: Person, status: str, at: Micros, *, is_known: bool = True) -> Any:
    """Return a body of HubSpot: a new contact, and its lifecycle stage. One about an object that is not known names its id alone."""
    base = {"portalId": 40117, "appId": 220011, "subscriptionId": 880, "attemptNumber": 0, "changeSource": "CRM_UI"}
    number, milliseconds = 550_000 + person.number, at // 1000
    stage = {"subscriptionType": "contact.propertyChange", "propertyName": "lifecyclestage", "propertyValue": status}
    changes: list[dict[str, Any]] = [{**stage, "occurredAt": milliseconds + 900}]
    if is_known:
        email = {"subscriptionType": "contact.propertyChange", "propertyName": "email", "propertyValue": person.email}
        changes = [
            {"subscriptionType": "contact.creation", "changeFlag": "NEW", "occurredAt": milliseconds},
            {**email, "occurredAt": milliseconds + 200},
            *changes,
        ]
    return [{**base, **each, "objectId": number, "eventId": 10 * number + place} for place, each in enumerate(changes)]


def pipedrive(person: Person, status: str, at: Micros, *, is_known: bool = True) -> Any:
    """Return a body of Pipedrive: a person's label has changed. One that is not known has no address."""
    label, number, time = int(_BY_STATUS[status]), 61_000 + person.number, _time(at)
    data = {
        "id": number, "name": person.name, "first_name": person.first, "last_name": person.last,
        "emails": [{"value": person.email, "primary": True, "label": "work"}] if is_known else [], "phones": [], "label": label,
        "label_ids": [label], "job_title": person.title, "owner_id": 7, "update_time": time, "custom_fields": {},
    }  # fmt: skip
    meta = {
        "action": "change", "entity": "person", "entity_id": str(number), "company_id": "55001", "timestamp": time, "version": "2.0",
        "id": f"0b6c9d1e-0000-4000-8000-{number:012d}", "type": "general", "user_id": "7", "webhook_id": "301", "attempt": 1,
        "host": "demo.pipedrive.example", "is_bulk_edit": False, "change_source": "app",
    }  # fmt: skip
    return {"data": data, "previous": {"label": None, "label_ids": []}, "meta": meta}


def close(person: Person, status: str, at: Micros, *, is_known: bool = True) -> Any:
    """Return a body of Close: the status of a lead, which is a company, has changed. One that is not known has no web address."""
    number, time = f"lead_{plain_id(person.firm.domain)}", _time(at).rstrip("Z")
    data = {
        "id": number,
        "display_name": person.firm.name,
        "name": person.firm.name,
        "status_label": status.title(),
        "status_id": f"stat_{status}",
    }
    event = {
        "id": f"ev_{number}_{status}", "date_created": time, "date_updated": time, "organization_id": "orga_demo", "object_type": "lead",
        "action": "updated", "object_id": number, "lead_id": number, "changed_fields": ["status_label", "status_id", "date_updated"],
        "previous_data": {"status_label": "Potential", "status_id": "stat_potential"},
        "data": data | {"url": f"https://{person.firm.domain}" if is_known else None, "date_updated": f"{time}+00:00"},
    }  # fmt: skip
    return {"event": event, "subscription_id": "whsub_demo"}


def plain_id(domain: str) -> str:
    """Return an id made of a domain."""
    return domain.replace(".", "_")


def dialler(person: Person, at: Micros, seconds: int, outcome: str) -> Any:
    """Return a body of a dialling tool that no adapter knows: its fields can be mapped."""
    return {
        "kind": "call.finished", "prospect": {"mail": person.email, "display": person.name}, "outcome": outcome, "seconds": seconds,
        "finished": _time(at),
    }  # fmt: skip


def webinar(person: Person, at: Micros, minutes: int) -> Any:
    """Return a body of a tool for webinars that no adapter knows."""
    seat = {"mail_address": person.email, "minutes_present": minutes}
    return {"webinar": {"ref": "autumn-tour", "held": _time(at)}, "seat": seat}


CRM_BODIES: Mapping[str, Callable[..., Any]] = {HUBSPOT: hubspot, PIPEDRIVE: pipedrive, CLOSE: close}
CRM_STATUSES = {
    HUBSPOT: ("opportunity", "customer"),
    PIPEDRIVE: ("opportunity", "customer", "lost"),
    CLOSE: ("qualified", "customer", "lost"),
}
