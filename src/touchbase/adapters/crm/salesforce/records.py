"""Salesforce's records, as flows, Apex triggers and relays post them: in the form of the REST interface, or a few fields."""

from __future__ import annotations

from touchbase.adapters.crm.salesforce.shapes import NOISE, PREFIXES, record_id, shape_of
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED, Item, note
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list, differences
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import when
from touchbase.history.events import Event

PLACES = ("payload", "data", "record", "sobject", "sObject", "object")
_VERSIONS = frozenset({"new", "old", "New", "Old"})
SIGNS = frozenset({"attributes", "Id", "records", *_VERSIONS, *PLACES})
"""Of these a body with records has at least one."""


def records_in(body: Body) -> list[Body]:
    """The records in a body, known by their `attributes.type`: one, wherever who posts it has put it, or those that a query has found."""
    for one in (body, *map(body.get, PLACES)):
        if isinstance(one, dict) and "Id" in one and _is_record(one):
            return [one]
    return [as_dict(record) for record in as_list(body.get("records")) if _is_record(record)]


def _is_record(value: object) -> bool:
    return isinstance(value, dict) and "Id" in value and isinstance(dig(value, "attributes", "type"), str)


def read_as(what: str, body: Body, statuses: StatusNames) -> list[Event]:
    """A record to which this has happened. Where it does not name its object, the beginning of its id tells it."""
    object_id = record_id(body.get("Id"))
    object_type = text(dig(body, "attributes", "type")) or PREFIXES.get((object_id or "")[:3])
    shape = shape_of(object_type, body)
    if shape is None:
        return [note("ignored" if object_type else "unrecognised", None, object_type, object_id)]
    return Item(
        shape,
        what,
        object_type,
        object_id,
        None,
        when(body.get("LastModifiedDate")),
        None,
        with_linkedin(body),
        status=statuses(shape.kind, object_type),
    ).events()


def is_trigger(body: Body) -> bool:
    """Whether a body is a trigger's: the records of the REST interface as they are and as they were."""
    if _VERSIONS.isdisjoint(body):
        return False
    return isinstance(dig([*_versions(body, "new"), *_versions(body, "old")], 0, "attributes", "type"), str)


def read_trigger(body: Body, statuses: StatusNames) -> list[Event]:
    """The records of an Apex trigger, `{"new": [...], "old": [...]}`: without an old one made, without a new one gone.

    A relay's trigger that is made for one object sends one of each, `{"New": {...}, "Old": {...}}`.
    """
    now = {record_id(record.get("Id")): record for record in _versions(body, "new")}
    before = {record_id(record.get("Id")): record for record in _versions(body, "old")}
    events: list[Event] = []
    for object_id in now | before:
        record, old = now.get(object_id), before.get(object_id)
        told = record or old or {}
        object_type = text(dig(told, "attributes", "type"))
        shape = shape_of(object_type, told)
        if shape is None:
            events.append(note("ignored" if object_type else "unrecognised", "trigger", object_type, object_id))
            continue
        item = Item(shape, UPDATED, object_type, object_id, "trigger", when(told.get("LastModifiedDate")), None, with_linkedin(told))
        item.status = statuses(shape.kind, object_type)
        if record is None or old is None:
            item.what = CREATED if old is None else DELETED
        else:
            item.changed = differences(record, old, NOISE)
        events += item.events()
    return events


def _versions(body: Body, name: str) -> list[Body]:
    told = body.get(name, body.get(name.capitalize()))
    return [one for one in map(as_dict, told if isinstance(told, list) else [told]) if one]
