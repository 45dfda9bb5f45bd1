"""Splitting an unknown tool's body into events: its list items, each with the keys of its wrapper."""

from __future__ import annotations

from touchbase.adapters.email_campaign.generic import field_paths
from touchbase.adapters.email_campaign.generic.spelling import spellings, with_normalized_keys
from touchbase.adapters.kit.body_paths import pick
from touchbase.adapters.kit.body_shapes import split_named_members, with_plain_fields
from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.extract import address, linkedin, personal_address
from touchbase.adapters.kit.messages import SENDER
from touchbase.adapters.kit.people import WRITERS, people_below, people_in_lists, person_of

_WRAPPERS = ("data", "payload", "body", "event-data", "events", "Data", "eventData", "customData")
_BELOW = frozenset({"fields", "leads", "contacts", "prospects", "subscribers", "records", "rows", "items", "results", "people"})
_LISTS = sorted(_BELOW - {"fields"})
_NAMED = field_paths.LEAD + field_paths.PLAIN + tuple((who, key) for who in field_paths.PEOPLE for key in field_paths.ADDRESS)
_ANYBODY = _NAMED + field_paths.RECIPIENT + field_paths.TO + SENDER
_OF_PERSON = frozenset(
    {*(path[0] for path in _NAMED), *field_paths.LINKEDIN, *field_paths.FIRST_NAME, *field_paths.LAST_NAME, *field_paths.FULL_NAME}
)


def split_events(data: object) -> list[tuple[Item, Item] | None]:
    """Return pairs of an event's own keys and its wrapper's; None for a list item that is not an object.

    Goes down one level, into an object or a list of objects: elsewhere the same key may hold a text. Only where nobody is named there, it
    searches deeper.
    """
    items = data if isinstance(data, list) else [data] if isinstance(data, dict) and data else []
    return [pair for item in items for pair in _opened(item)]


def _opened(item: object) -> list[tuple[Item, Item] | None]:
    if not isinstance(item, dict):
        return [None]
    named = [with_plain_fields(member) for member in split_named_members(item)]
    return [pair for member in named for opened in _unwrapped(member) for pair in _deeper(opened)]


def _deeper(pair: tuple[Item, Item] | None) -> list[tuple[Item, Item] | None]:
    """Return a pair for each object below that names a person, if the pair names none."""
    if pair is None:
        return [pair]
    item, outer = with_plain_fields(pair[0]), pair[1]
    merged = {**outer, **item}
    if _names_anybody(merged):
        return [(item, outer)]
    below = [(with_plain_fields(person), {**merged, **around}) for person, around in people_below(item, _names_below)]
    return [*below] or [(item, outer)]


def _names_anybody(item: Item) -> bool:
    """Return whether an item names a person in any of the usual places."""
    plain = with_normalized_keys(item)
    if pick(plain, _ANYBODY, address) is not None or people_in_lists(plain, frozenset()):
        return True
    people = [plain, *(person_of(value) for who in (*field_paths.PEOPLE, *WRITERS) if isinstance(value := plain.get(who), dict))]
    return any(linkedin(person.get(key)) for person in people for key in field_paths.LINKEDIN)


def _names_below(item: Item) -> bool:
    plain = with_plain_fields(item)
    return _names_a_person(plain) or any(linkedin(plain.get(key)) for key in field_paths.LINKEDIN)


def _unwrapped(item: Item) -> list[tuple[Item, Item] | None]:
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
