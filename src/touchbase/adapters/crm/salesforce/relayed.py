"""Salesforce Outbound Messages that a relay hands on: as a text in JSON, or taken apart into objects by an XML parser.

The parsers agree on little: prefixes stay, values may stand in lists of one, an element's attributes under `$`, `@...` or
`_attributes`, its text under `_` or `#text`; n8n writes all names in small letters. What a session is, is never read.
"""

from __future__ import annotations

from collections.abc import Iterator

from touchbase.adapters.crm.salesforce.outbound import NAMESPACE, read_notification, read_outbound
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.extract import text
from touchbase.history.events import Event

PLACES = ("body", "payload", "data", "xml", "rawBody", "raw")
_MAX_DEPTH = 6
_NAMES = (
    "Id", "Email", "FirstName", "LastName", "Name", "Company", "Website", "Status", "Status__c", "Title", "Phone", "PersonEmail",
    "IsPersonAccount", "CreatedDate", "LastModifiedDate", "SystemModstamp", "IsDeleted", "MasterRecordId", "LinkedIn__c", "AccountId",
    "ConvertedAccountId",
)  # fmt: skip
_SPELLED = {name.lower(): name for name in _NAMES}


def message_in(body: Body) -> bytes | None:
    """The message as XML, where a relay has put it into a body whole."""
    for name in PLACES:
        value = body.get(name)
        if isinstance(value, str) and value.lstrip()[:1] == "<" and NAMESPACE.decode() in value:
            return value.encode("utf-8", "replace")
    return None


def is_relayed(body: Body) -> bool:
    """Return whether a body is a message taken apart: an envelope, its content, or one of its notifications."""
    names = " ".join(body)
    if "bject" in names and _is_notification(body):
        return True
    return ("nvelope" in names or "otification" in names) and next(_notifications(body, 0), None) is not None


def read_relayed(body: Body, statuses: StatusNames) -> list[Event]:
    """The events of a message that a relay hands on."""
    message = message_in(body)
    if message is not None:
        return read_outbound(message, statuses)
    notifications = [body] if _is_notification(body) else _notifications(body, 0)
    return [event for notification in notifications for event in _read(notification, statuses)]


def _is_notification(body: Body) -> bool:
    """Whether a body is a notification itself: of a record with its type among its attributes, as only XML has them."""
    fields = next((as_dict(_alone(value)) for name, value in body.items() if _bare(name) == "sobject"), {})
    return any(name.endswith("xsi:type") for name in _attributes(fields))


def _notifications(node: object, depth: int) -> Iterator[Body]:
    """All objects that hold an `sObject`, below names that envelopes have."""
    if depth > _MAX_DEPTH:
        return
    for name, value in as_dict(node).items():
        if _bare(name) in ("envelope", "body", "notifications", "notification"):
            for entry in as_list(value) or [value]:
                notification = as_dict(entry)
                if any(_bare(key) == "sobject" for key in notification):
                    yield notification
                else:
                    yield from _notifications(notification, depth + 1)


def _read(notification: Body, statuses: StatusNames) -> list[Event]:
    parts = {_bare(name): _alone(value) for name, value in notification.items()}
    fields = as_dict(parts["sobject"])
    named = next((_alone(value) for name, value in _attributes(fields).items() if name.endswith("type")), None)
    object_type = (text(named) or "").rpartition(":")[2] or None
    elements = {name: value for name, value in fields.items() if name[:1] not in ("$", "@") and name != "_attributes"}
    record = {_spelled(name): _value(_alone(value)) for name, value in elements.items()}
    return read_notification(record, object_type, text(parts.get("id")), statuses)


def _attributes(node: Body) -> Body:
    inner = as_dict(node.get("$")) or as_dict(node.get("_attributes"))
    return {name.removeprefix("@"): value for name, value in (inner or node).items() if inner or name[:1] == "@"}


def _value(value: object) -> object:
    """A field's text; None where the message says that it is empty."""
    if not isinstance(value, dict):
        return value
    return value.get("_", value.get("#text", value.get("_text")))


def _alone(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _bare(name: str) -> str:
    return name.rpartition(":")[2].lower()


def _spelled(name: str) -> str:
    bare = name.rpartition(":")[2]
    return _SPELLED.get(bare, bare)
