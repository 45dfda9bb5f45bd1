"""Salesforce change events (CDC), topics and platform events, as relays forward them in JSON.

The stream's `ChangeEventHeader` is next to the fields, at the top level, in `payload`, in `data.payload` or in
`detail.payload`. A null field means "unchanged" unless `nulledFields` lists it. A diff of a long text is not a value
and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from touchbase.adapters.crm.salesforce.shapes import NOISE, PREFIXES, record_id, shape_of
from touchbase.adapters.kit.crm import CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.history.events import Event

HEADER = "ChangeEventHeader"
CHANGES = {"CREATE": CREATED, "UPDATE": UPDATED, "DELETE": DELETED, "UNDELETE": UPDATED}
TOPICS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED, "undeleted": UPDATED}
# Type wrappers in Pub/Sub API relays: `{"string": "Hot"}`.
_TYPES = frozenset({"string", "int", "long", "double", "float", "boolean", "bytes"})
# A changed long text is sent as a diff, after the hash of the whole text.
_BITS = re.compile(r"(?:\d+-)?0x")
_DIFFERENCE = re.compile(r"---\s+\+\+\+ [0-9a-f]{64}\s")
_WRAPPERS = ("payload", "data", "detail", "event")
SIGNS = frozenset({HEADER, "sobject", *_WRAPPERS})
"""A message of the stream has at least one of these keys."""


def payload_of(body: Body) -> Body | None:
    """Return the object with the header, in any of the known locations."""
    if isinstance(body.get(HEADER), dict):
        return body
    for name in _WRAPPERS:
        outer = body.get(name)
        if not isinstance(outer, dict):
            continue
        if isinstance(outer.get(HEADER), dict):
            return outer
        inner = outer.get("payload")
        if isinstance(inner, dict) and isinstance(inner.get(HEADER), dict):
            return inner
    return None


def read_change(payload: Body, statuses: StatusNames) -> list[Event]:
    """Return the events of one change: one for each of its records."""
    header = as_dict(payload.get(HEADER))
    # Some relays put the event type, `LeadChangeEvent`, in the place of the object type.
    named = text(_bare(header.get("entityName"))) or text(first(payload, "sObjectType", "sobjectType")) or ""
    object_type = named.removesuffix("ChangeEvent") or None
    change = (text(_bare(header.get("changeType"))) or "").upper()
    # A gap event says that something happened, without the values.
    what = CHANGES.get(change.removeprefix("GAP_"))
    record = _flat(payload)
    shape = shape_of(object_type, record)
    ids = _ids(header, payload)
    if shape is None or what is None:
        understood = object_type is not None and bool(change)
        return [other_event("ignored" if understood else "unrecognised", change or None, object_type, record_id) for record_id in ids]
    at = parse_time(_bare(header.get("commitTimestamp"))) or first_time(record, "LastModifiedDate")
    item = CrmItem(shape, what, object_type, None, change, at, _key(header), with_linkedin(record))
    item.status = statuses(shape.kind, object_type)
    item.restored = change.endswith("UNDELETE")
    if what == UPDATED and not item.restored:
        item.changed = _changed(header, record)
    events: list[Event] = []
    for item.object_id in ids:
        # All records of an object at once, after an administrator changed a field's type.
        every = item.object_id is not None and item.object_id.endswith("*")
        events += [other_event("ignored", change, object_type)] if every else item.events()
    return events


def is_platform_event(body: Body) -> bool:
    """Return whether a body is a stream message with a custom platform event."""
    message = as_dict(body.get("data")) or body
    return isinstance(message.get("payload"), dict) and dig(message, "event", "replayId") is not None


def is_topic(body: Body) -> bool:
    """Return whether a body is a PushTopic message: the event type, and the fields of the topic's query."""
    topic = as_dict(body.get("data")) or body
    return isinstance(dig(topic, "event", "type"), str) and isinstance(dig(topic, "sobject", "Id"), str)


def read_topic(body: Body, statuses: StatusNames) -> list[Event]:
    """Return the events of a PushTopic message. Its object type is only known from the id's prefix."""
    topic = as_dict(body.get("data")) or body
    record, change = as_dict(topic.get("sobject")), text(dig(topic, "event", "type")) or ""
    object_id = record_id(record.get("Id"))
    object_type = PREFIXES.get((object_id or "")[:3])
    shape, what = shape_of(object_type, record), TOPICS.get(change)
    if shape is None or what is None:
        return [other_event("ignored", change, object_type, object_id)]
    item = CrmItem(shape, what, object_type, object_id, change, parse_time(dig(topic, "event", "createdDate")), None, with_linkedin(record))
    item.status, item.restored = statuses(shape.kind, object_type), change == "undeleted"
    return item.events()


def _ids(header: Body, payload: Body) -> list[str | None]:
    """Return the records of a change; relays that split a change by record have the id in the header or next to the fields."""
    listed = as_list(_bare(header.get("recordIds"))) or [first(header, "recordId") or payload.get("Id")]
    return [record_id(_bare(listed_id)) for listed_id in listed]


def _changed(header: Body, record: Body) -> dict[str, tuple[object, object]]:
    names = _field_names(header.get("changedFields"))
    nulled = _field_names(header.get("nulledFields"))
    if not names and not nulled:
        # In the stream's binary form, changed fields are bitmaps that only its schema can decode.
        names = list(record)
    named = frozenset(names)
    changes: dict[str, tuple[object, object]] = {
        name: (value, NOT_SENT) for name, value in record.items() if value is not None and name not in NOISE and _is_named(name, named)
    }
    return changes | dict.fromkeys(nulled, (None, NOT_SENT))


def _field_names(listed: object) -> list[str]:
    """Return the names in a list of fields, without bitmaps: `0x02`, and `3-0x1F` for the parts of the third."""
    return [name for name in as_list(_bare(listed)) if isinstance(name, str) and _BITS.match(name) is None]


def _is_named(name: str, names: Collection[str]) -> bool:
    """Return whether a field is listed: itself, by its compound field, or, for a part of `Name`, without that prefix."""
    return name in names or name.partition(".")[0] in names or name.removeprefix("Name.") in names


def _flat(payload: Body) -> Body:
    """Return the fields without the header; parts of a compound field (`Name`, `MailingAddress`) as `Name.LastName`."""
    record: Body = {}
    for name, wrapped in payload.items():
        value = _bare(wrapped)
        if name == HEADER or _is_difference(value):
            continue
        if isinstance(value, dict):
            record |= {f"{name}.{part}": _bare(inner) for part, inner in value.items()}
        else:
            record[name] = value
    return record


def _is_difference(value: object) -> bool:
    return value.keys() == {"diff"} if isinstance(value, dict) else isinstance(value, str) and _DIFFERENCE.match(value) is not None


def _bare(value: object) -> object:
    if isinstance(value, dict) and len(value) == 1 and (kind := next(iter(value))) in _TYPES | {"array"}:
        return value[kind]
    return value


def _key(header: Body) -> str | None:
    transaction = text(_bare(header.get("transactionKey")))
    return None if transaction is None else f"{transaction}:{text(_bare(header.get('sequenceNumber'))) or ''}"
