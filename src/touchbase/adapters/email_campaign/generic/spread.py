"""The events inside a body of unknown make: its list items, each with what its wrapping says as well."""

from __future__ import annotations

from touchbase.adapters.kit.table import Item

_WRAPPERS = ("data", "payload", "body", "event-data", "events", "Data", "eventData")


def spread(data: object) -> list[tuple[Item, Item] | None]:
    """Pairs of an event's own keys and those around it; None for a list item that is no object.

    One level is gone down, into an object or a list of objects: the same key may hold a text elsewhere.
    """
    if isinstance(data, list):
        return [pair for item in data for pair in _opened(item)]
    return _opened(data) if isinstance(data, dict) and data else []


def _opened(item: object) -> list[tuple[Item, Item] | None]:
    if not isinstance(item, dict):
        return [None]
    inner = item.get("msys")
    if isinstance(inner, dict):
        return [(event, item) for event in inner.values() if isinstance(event, dict)]
    for key in _WRAPPERS:
        inner = item.get(key)
        if isinstance(inner, dict) and inner:
            return [(inner, item)]
        if isinstance(inner, list) and any(isinstance(event, dict) for event in inner):
            return [(event, item) if isinstance(event, dict) else None for event in inner]
    return [(item, {})]
