"""Selected fields of a Salesforce record, posted by a flow or Apex: the field names and the id are Salesforce's."""

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


def selected_fields_in(body: Body) -> Body | None:
    """Return the selected fields in a body: the body itself, or the object next to the event and object names."""
    return next((record for record in (body, *map(as_dict, map(body.get, PLACES))) if _is_picked(record)), None)


def read_selected_fields(body: Body, record: Body, statuses: StatusNames) -> list[Event]:
    """Return the events of the record, with the body's event name if there is one."""
    if record is body:
        record = {name: value for name, value in record.items() if name not in _ACTIONS}
    return read_as(what_of(body, record), record, statuses)


def _is_picked(body: Body) -> bool:
    object_id = text(body.get("Id")) or ""
    is_record = object_id[:3] in PREFIXES and _ID.fullmatch(object_id) is not None and not _FIELDS.isdisjoint(body)
    # A flattened record contains its object type once its levels are expanded.
    return is_record and not any(name.startswith("attributes") for name in body)


def what_of(body: Body, record: Body) -> str:
    """Return a record's kind of change, by the body around it or the record itself."""
    said = (text(first(body, *_ACTIONS)) or "").lower()
    if said.endswith(_CREATED):
        return CREATED
    is_gone = said.endswith(_DELETED) and not said.endswith(_RESTORED)
    return DELETED if is_gone or flag(record.get("IsDeleted")) is True else UPDATED
