"""Client settings about the bodies of a tool without an adapter: paths of values, and meanings of event names."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.adapters.kit.crm_values import at_path, declared_custom
from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import linkedin, split_name, text
from touchbase.adapters.kit.status_labels import status_of
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.models import ConnectionSettings
from touchbase.history.events import Event

_STATUS = "lead_status_changed"
_VAGUE = frozenset({"unknown", "other", "campaign_completed", "account_event", _STATUS})
"""Events that a name's words may give although the body is about a status: they change no record."""
_CUSTOM = ("company", "phone", "title")
"""Declared fields that are custom fields under their names, as for CRMs."""


def declared_values(fields: Mapping[str, str], item: Item, outer: Item, body: object) -> dict[str, object]:
    """Return the values at the declared paths: within the event's own object, its wrapper, or from the top of a body with one event."""
    values: dict[str, object] = {}
    for name, path in fields.items():
        for source in (item, outer, body):
            value = at_path(source, path) if isinstance(source, dict) else None
            if value is not None:
                values[name] = value
                break
    return values


def declared_meaning(settings: ConnectionSettings, name: str) -> Meaning | None:
    """Return an event name's meaning by the client's setting `events`."""
    event = settings.declared_event(name)
    return None if event is None else Meaning(event)


def apply_declared(event: Event, settings: ConnectionSettings, values: Mapping[str, object]) -> None:
    """Overwrite values read from the usual keys by declared ones. A declared status counts if the event has no other."""
    event.linkedin_url = linkedin(values.get("linkedin_url")) or event.linkedin_url
    full_name = text(values.get("name"))
    first, last = split_name(full_name) if full_name else (None, None)
    event.first_name = text(values.get("first_name")) or first or event.first_name
    event.last_name = text(values.get("last_name")) or last or event.last_name
    event.custom = declared_custom(values, *_CUSTOM)
    event.campaign_id = text(values.get("campaign_id")) or event.campaign_id
    event.campaign = text(values.get("campaign")) or event.campaign or event.campaign_id
    at = parse_time(values["occurred_at"]) if "occurred_at" in values else None
    event.occurred_us = event.occurred_us if at is None else at
    is_declared = event.source_event is not None and declared_meaning(settings, event.source_event) is not None
    may_be_status = event.event == _STATUS or (event.event in _VAGUE and not is_declared)
    status = status_of(values.get("status")) if may_be_status else None
    if status is not None:
        event.event, event.status = _STATUS, status
