"""Fields of a Salesforce record that somebody has picked, in a flow or in Apex: their names are Salesforce's, and so is the id."""

from __future__ import annotations

import re

from touchbase.adapters.crm.salesforce.records import PLACES, read_as
from touchbase.adapters.crm.salesforce.shapes import PREFIXES
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict
from touchbase.adapters.kit.extract import first, flag, text
from touchbase.history.events import Event

_ID = re.compile(r"[0-9A-Za-z]{15}(?:[0-9A-Za-z]{3})?")
_FIELDS = frozenset({"FirstName", "LastName", "Email", "Name", "Company", "Website", "Status", "LastModifiedDate", "AccountId", "OwnerId"})
_ACTIONS = ("event", "eventType", "event_type", "action", "operation", "changeType", "type")
_CREATED = ("created", "create", "insert", "inserted")
_DELETED = ("deleted", "delete")
_RESTORED = ("undeleted", "undelete")


def picked_in(body: Body) -> Body | None:
    """The picked fields in a body: the body itself, or what stands beside the names of event and object."""
    return next((one for one in (body, *map(as_dict, map(body.get, PLACES))) if _is_picked(one)), None)


def read_picked(body: Body, record: Body, statuses: StatusNames) -> list[Event]:
    """The record, with what has happened to it where the body says so."""
    if record is body:
        record = {name: value for name, value in record.items() if name not in _ACTIONS}
    return read_as(what_of(body, record), record, statuses)


def _is_picked(body: Body) -> bool:
    object_id = text(body.get("Id")) or ""
    is_known = object_id[:3] in PREFIXES and _ID.fullmatch(object_id) is not None and not _FIELDS.isdisjoint(body)
    # A record that a relay has flattened tells its object itself, once its levels are there again.
    return is_known and not any(name.startswith("attributes") for name in body)


def what_of(body: Body, record: Body) -> str:
    """What has happened to a record, by what stands beside it, or as the record itself tells."""
    said = (text(first(body, *_ACTIONS)) or "").lower()
    if said.endswith(_CREATED):
        return CREATED
    is_gone = said.endswith(_DELETED) and not said.endswith(_RESTORED)
    return DELETED if is_gone or flag(record.get("IsDeleted")) is True else UPDATED
