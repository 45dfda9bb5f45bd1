"""The events inside a body of unknown make: its list items, each with what its wrapping says as well."""

from __future__ import annotations

from touchbase.adapters.email_campaign.generic import places
from touchbase.adapters.email_campaign.generic.spelling import spellings, spelt_out
from touchbase.adapters.kit.declarative import Item, pick
from touchbase.adapters.kit.extract import person

_WRAPPERS = ("data", "payload", "body", "event-data", "events", "Data", "eventData", "customData")
_BELOW = frozenset({"fields", "leads", "contacts", "prospects", "subscribers", "records", "rows"})
_LISTS = sorted(_BELOW - {"fields"})
_NAMED = places.LEAD + places.PLAIN + tuple((who, key) for who in places.PEOPLE for key in places.ADDRESS)
_OF_PERSON = frozenset({*(path[0] for path in _NAMED), *places.LINKEDIN, *places.FIRST_NAME, *places.LAST_NAME, *places.FULL_NAME})


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
            return [(event, _around(event, item)) if isinstance(event, dict) else None for event in inner]
    return [(item, {})] if _BELOW.isdisjoint(item) or _names_a_person(item) else _rows(item)


def _rows(item: Item) -> list[tuple[Item, Item] | None]:
    """The people that a body is about which names none itself: below one key each, or one as a table's row."""
    people = next((found for key in _LISTS if isinstance(found := item.get(key), list) and any(isinstance(one, dict) for one in found)), [])
    if people:
        return [(one, item) if isinstance(one, dict) else None for one in people]
    row = item.get("fields")
    return [(row, item)] if isinstance(row, dict) and row else [(item, {})]


def _around(event: Item, item: Item) -> Item:
    """What stands around one event of several, without the person where the event names its own."""
    if not _names_a_person(event):
        return item
    return {key: value for key, value in item.items() if _OF_PERSON.isdisjoint((key, *spellings(key)))}


def _names_a_person(item: Item) -> bool:
    return pick(spelt_out(item), _NAMED, person) is not None
