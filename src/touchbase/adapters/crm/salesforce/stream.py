"""Salesforce change events (CDC), topics and platform events, as relays pass them on in JSON.

The stream's `ChangeEventHeader` stands beside the fields, which relays put at the top, in `payload`, in
`data.payload` or in `detail.payload`. A null field means "unchanged" unless `nulledFields` names it. The difference to
a long text, which stands in the text's place, is no value and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from touchbase.adapters.crm.salesforce.shapes import NOISE, PREFIXES, record_id, shape_of
from touchbase.adapters.kit.crm import CREATED, DELETED, UNTOLD, UPDATED, Item, note
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import moment, when
from touchbase.history.events import Event

HEADER = "ChangeEventHeader"
CHANGES = {"CREATE": CREATED, "UPDATE": UPDATED, "DELETE": DELETED, "UNDELETE": UPDATED}
TOPICS = {"created": CREATED, "updated": UPDATED, "deleted": DELETED, "undeleted": UPDATED}
# How a relay of the Pub/Sub interface marks a value's type: `{"string": "Hot"}`.
_TYPES = frozenset({"string", "int", "long", "double", "float", "boolean", "bytes"})
# A long text that has changed comes as the difference to the text before, after the hash of the whole.
_BITS = re.compile(r"(?:\d+-)?0x")
_DIFFERENCE = re.compile(r"---\s+\+\+\+ [0-9a-f]{64}\s")
_WRAPPERS = ("payload", "data", "detail", "event")
SIGNS = frozenset({HEADER, "sobject", *_WRAPPERS})
"""Of these a message of the stream has at least one."""


def payload_of(body: Body) -> Body | None:
    """The object that holds the header, wherever the relay has put it."""
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
    """The events of one change: one for each of its records."""
    header = as_dict(payload.get(HEADER))
    # Some relays name the channel's kind of event, `LeadChangeEvent`, in the place of the object.
    named = text(_bare(header.get("entityName"))) or text(first(payload, "sObjectType", "sobjectType")) or ""
    object_type = named.removesuffix("ChangeEvent") or None
    change = (text(_bare(header.get("changeType"))) or "").upper()
    # A gap event says that something happened, but not the values.
    what = CHANGES.get(change.removeprefix("GAP_"))
    record = _flat(payload)
    shape = shape_of(object_type, record)
    ids = _ids(header, payload)
    if shape is None or what is None:
        understood = object_type is not None and bool(change)
        return [note("ignored" if understood else "unrecognised", change or None, object_type, one) for one in ids]
    at = when(_bare(header.get("commitTimestamp"))) or moment(record, "LastModifiedDate")
    item = Item(shape, what, object_type, None, change, at, _key(header), with_linkedin(record))
    item.status = statuses(shape.kind, object_type)
    item.restored = change.endswith("UNDELETE")
    if what == UPDATED and not item.restored:
        item.changed = _changed(header, record)
    events: list[Event] = []
    for item.object_id in ids:
        # All records of an object at once, whose field an administrator has changed into another type.
        every = item.object_id is not None and item.object_id.endswith("*")
        events += [note("ignored", change, object_type)] if every else item.events()
    return events


def is_platform_event(body: Body) -> bool:
    """Whether a body is a message of the stream with an organisation's own event in it."""
    message = as_dict(body.get("data")) or body
    return isinstance(message.get("payload"), dict) and dig(message, "event", "replayId") is not None


def is_topic(body: Body) -> bool:
    """Whether a body is a message of a PushTopic: what happened beside the fields that the topic's query selects."""
    topic = as_dict(body.get("data")) or body
    return isinstance(dig(topic, "event", "type"), str) and isinstance(dig(topic, "sobject", "Id"), str)


def read_topic(body: Body, statuses: StatusNames) -> list[Event]:
    """The one record of a PushTopic's message. Its object is told by the beginning of its id alone."""
    topic = as_dict(body.get("data")) or body
    record, change = as_dict(topic.get("sobject")), text(dig(topic, "event", "type")) or ""
    object_id = record_id(record.get("Id"))
    object_type = PREFIXES.get((object_id or "")[:3])
    shape, what = shape_of(object_type, record), TOPICS.get(change)
    if shape is None or what is None:
        return [note("ignored", change, object_type, object_id)]
    item = Item(shape, what, object_type, object_id, change, when(dig(topic, "event", "createdDate")), None, with_linkedin(record))
    item.status, item.restored = statuses(shape.kind, object_type), change == "undeleted"
    return item.events()


def _ids(header: Body, payload: Body) -> list[str | None]:
    """The records that a change is about; relays that make one event of each name it alone, in the header or beside the fields."""
    listed = as_list(_bare(header.get("recordIds"))) or [first(header, "recordId") or payload.get("Id")]
    return [record_id(_bare(one)) for one in listed]


def _changed(header: Body, record: Body) -> dict[str, tuple[object, object]]:
    names = _field_names(header.get("changedFields"))
    nulled = _field_names(header.get("nulledFields"))
    if not names and not nulled:
        # The stream's own form marks changed fields by bits, which only its schema can read.
        names = list(record)
    named = frozenset(names)
    told: dict[str, tuple[object, object]] = {
        name: (value, UNTOLD) for name, value in record.items() if value is not None and name not in NOISE and _is_named(name, named)
    }
    return told | dict.fromkeys(nulled, (None, UNTOLD))


def _field_names(told: object) -> list[str]:
    """The names in a list of fields, without the bits that stand for some: `0x02`, and `3-0x1F` for the parts of the third."""
    return [name for name in as_list(_bare(told)) if isinstance(name, str) and _BITS.match(name) is None]


def _is_named(name: str, names: Collection[str]) -> bool:
    """Whether a field is among these names, or a part of a compound one that is named whole, or a name's part that is named alone."""
    return name in names or name.partition(".")[0] in names or name.removeprefix("Name.") in names


def _flat(payload: Body) -> Body:
    """The fields without the header; the parts of a compound one (`Name`, `MailingAddress`) as `Name.LastName`."""
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
