"""Salesforce records posted by flows, Apex triggers and relays: in the REST API's format, or a few fields."""

from __future__ import annotations

from touchbase.adapters.crm.salesforce.shapes import NOISE, PREFIXES, record_id, shape_of
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list, differences
from touchbase.adapters.kit.extract import dig, text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event

PLACES = ("payload", "data", "record", "sobject", "sObject", "object")
_VERSIONS = frozenset({"new", "old", "New", "Old"})
SIGNS = frozenset({"attributes", "Id", "records", *_VERSIONS, *PLACES})
"""A body with records has at least one of these keys."""


def records_in(body: Body) -> list[Body]:
    """Return the records in a body, known by their `attributes.type`: one, under any key, or the results of a query."""
    for record in (body, *map(body.get, PLACES)):
        if isinstance(record, dict) and "Id" in record and _is_record(record):
            return [record]
    return [as_dict(record) for record in as_list(body.get("records")) if _is_record(record)]


def _is_record(value: object) -> bool:
    return isinstance(value, dict) and "Id" in value and isinstance(dig(value, "attributes", "type"), str)


def read_as(what: str, body: Body, statuses: StatusNames) -> list[Event]:
    """Return the events of a record for a kind of change. Without an object type, the id's prefix determines it."""
    object_id = record_id(body.get("Id"))
    object_type = text(dig(body, "attributes", "type")) or PREFIXES.get((object_id or "")[:3])
    shape = shape_of(object_type, body)
    if shape is None:
        return [other_event("ignored" if object_type else "unrecognised", None, object_type, object_id)]
    return CrmItem(
        shape,
        what,
        object_type,
        object_id,
        None,
        parse_time(body.get("LastModifiedDate")),
        None,
        with_linkedin(body),
        status=statuses(shape.kind, object_type),
    ).events()


def is_trigger(body: Body) -> bool:
    """Return whether a body is a trigger's: REST API records before and after."""
    if _VERSIONS.isdisjoint(body):
        return False
    return isinstance(dig([*_versions(body, "new"), *_versions(body, "old")], 0, "attributes", "type"), str)


def read_trigger(body: Body, statuses: StatusNames) -> list[Event]:
    """Return the events of an Apex trigger, `{"new": [...], "old": [...]}`: created without an old record, deleted without a new one.

    A relay's single-object trigger has one of each, `{"New": {...}, "Old": {...}}`.
    """
    now = {record_id(record.get("Id")): record for record in _versions(body, "new")}
    before = {record_id(record.get("Id")): record for record in _versions(body, "old")}
    events: list[Event] = []
    for object_id in now | before:
        record, old = now.get(object_id), before.get(object_id)
        current = record or old or {}
        object_type = text(dig(current, "attributes", "type"))
        shape = shape_of(object_type, current)
        if shape is None:
            events.append(other_event("ignored" if object_type else "unrecognised", "trigger", object_type, object_id))
            continue
        item = CrmItem(
            shape, UPDATED, object_type, object_id, "trigger", parse_time(current.get("LastModifiedDate")), None, with_linkedin(current)
        )
        item.status = statuses(shape.kind, object_type)
        if record is None or old is None:
            item.what = CREATED if old is None else DELETED
        else:
            item.changed = differences(record, old, NOISE)
        events += item.events()
    return events


def _versions(body: Body, name: str) -> list[Body]:
    listed = body.get(name, body.get(name.capitalize()))
    return [version for version in map(as_dict, listed if isinstance(listed, list) else [listed]) if version]
