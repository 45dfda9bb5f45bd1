"""Splitting an unknown tool's body into events: its list items, each with the keys of its wrapper."""

from __future__ import annotations

from touchbase.adapters.email_campaign.generic import field_paths
from touchbase.adapters.email_campaign.generic.spelling import spellings, with_normalized_keys
from touchbase.adapters.kit.body_paths import pick
from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.extract import personal_address

_WRAPPERS = ("data", "payload", "body", "event-data", "events", "Data", "eventData", "customData")
_BELOW = frozenset({"fields", "leads", "contacts", "prospects", "subscribers", "records", "rows"})
_LISTS = sorted(_BELOW - {"fields"})
_NAMED = field_paths.LEAD + field_paths.PLAIN + tuple((who, key) for who in field_paths.PEOPLE for key in field_paths.ADDRESS)
_OF_PERSON = frozenset(
    {*(path[0] for path in _NAMED), *field_paths.LINKEDIN, *field_paths.FIRST_NAME, *field_paths.LAST_NAME, *field_paths.FULL_NAME}
)


def split_events(data: object) -> list[tuple[Item, Item] | None]:
    """Return pairs of an event's own keys and its wrapper's; None for a list item that is not an object.

    Goes down one level, into an object or a list of objects: elsewhere the same key may hold a text.
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
    """Return the people of a body that names none itself: one for each key, or one for each row of a table."""
    people = next((rows for key in _LISTS if isinstance(rows := item.get(key), list) and any(isinstance(row, dict) for row in rows)), [])
    if people:
        return [(person, item) if isinstance(person, dict) else None for person in people]
    row = item.get("fields")
    return [(row, item)] if isinstance(row, dict) and row else [(item, {})]


def _around(event: Item, item: Item) -> Item:
    """Return the wrapper of one event of several, without its person if the event names one."""
    if not _names_a_person(event):
        return item
    return {key: value for key, value in item.items() if _OF_PERSON.isdisjoint((key, *spellings(key)))}


def _names_a_person(item: Item) -> bool:
    return pick(with_normalized_keys(item), _NAMED, personal_address) is not None
