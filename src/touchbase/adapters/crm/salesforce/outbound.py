"""Salesforce Outbound Messages: SOAP, up to 100 notifications per request, with the fields that an administrator has selected.

Without an acknowledgement a message is resent for a day. `SessionId`, if the administrator has selected it, is a live login
with the user's rights: it is never read, and removed before the message is stored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from touchbase.adapters.crm.salesforce.shapes import record_id, shape_of
from touchbase.adapters.interface import ProtocolResponse
from touchbase.adapters.kit.crm import CREATED, DELETED, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, StatusNames
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.linkedin import with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.adapters.kit.xml_bodies import name_of, parsed
from touchbase.history.events import Event

if TYPE_CHECKING:
    from xml.etree import ElementTree

NAMESPACE = b"soap.sforce.com/2005/09/outbound"
_OBJECTS = b"urn:sobject."
"""Prefix of the objects' namespaces, which API responses use too; those have no notifications."""
_NIL = "{http://www.w3.org/2001/XMLSchema-instance}nil"
_TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
_ROOT = re.compile(rb"<[\w.:-]+")
_PREFIXES = {b"xsi": b"http://www.w3.org/2001/XMLSchema-instance", b"sf": b"urn:sobject.enterprise.soap.sforce.com"}
"""Prefixes that hand-written and rewritten messages use without a declaration, which parsers reject."""
ACKNOWLEDGED = (
    b'<?xml version="1.0" encoding="UTF-8"?>'
    b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>'
    b'<notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse>'
    b"</soapenv:Body></soapenv:Envelope>"
)
MOST_SESSIONS = 1_000
"""Session ids in a body; a message has one."""
_SESSION = re.compile(rb"<((?:[\w.-]+:)?SessionId)(?:\s[^<>]*)?(?<!/)>")


def is_outbound(body: bytes) -> bool:
    """Return whether a body is XML in the namespace of Outbound Messages, or has lost it but contains objects."""
    is_xml = body[:64].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    return is_xml and (NAMESPACE in body or (_OBJECTS in body and b"Notification>" in body))


def acknowledge(body: bytes) -> ProtocolResponse | None:
    """Return the acknowledgement of an Outbound Message, and the message without its session id; None for any other body."""
    if not is_outbound(body) or b"notificationsResponse" in body:
        return None
    redacted = _without_sessions(body) if b"SessionId" in body else body
    return ProtocolResponse("text/xml; charset=utf-8", ACKNOWLEDGED, redacted if redacted != body else None)


def _without_sessions(body: bytes) -> bytes:
    """Remove the text between the tags of session ids, up to the end tag or to the end of a truncated body.

    It runs on the event loop, so a body with more session ids than any message is cut after the last one looked at.
    """
    pieces, at = list[bytes](), 0
    while start := _SESSION.search(body, at):
        pieces.append(body[at : start.end()])
        end = body.find(b"</" + start[1], start.end())
        at = len(body) if end < 0 or len(pieces) > MOST_SESSIONS else end
    return b"".join([*pieces, body[at:]])


def read_outbound(body: bytes, statuses: StatusNames) -> list[Event]:
    """Return the events of all notifications; our own acknowledgement, if it is sent back to us, is ignored."""
    envelope = parsed(_declared(body))
    if envelope is None:
        return [other_event("unrecognised", "OutboundMessage")]
    events: list[Event] = []
    for notification in envelope.iter():
        if name_of(notification) == "Notification":
            events += read_notification(*_record(notification), statuses)
    if events:
        return events
    is_answer = any(name_of(element) == "notificationsResponse" for element in envelope.iter())
    return [other_event("ignored" if is_answer else "unrecognised", "OutboundMessage")]


def _declared(message: bytes) -> bytes:
    """Declare the known prefixes that a message uses undeclared."""
    lost = b"".join(
        b' xmlns:%b="%b"' % (name, uri) for name, uri in _PREFIXES.items() if name + b":" in message and b"xmlns:" + name not in message
    )
    return _ROOT.sub(lambda root: root[0] + lost, message, count=1) if lost else message


def read_notification(record: Body, object_type: str | None, key: str | None, statuses: StatusNames) -> list[Event]:
    """Return the events of one notification, given its object's fields, the object's type, and the notification's id."""
    object_id = record_id(record.get("Id"))
    shape = shape_of(object_type, record)
    if shape is None:
        return [other_event("ignored" if object_type else "unrecognised", "OutboundMessage", object_type, object_id)]
    what = _what(record)
    at = first_time(record, "LastModifiedDate", "SystemModstamp")
    item = CrmItem(shape, what, object_type, object_id, "OutboundMessage", at, key, with_linkedin(record), nulls_clear=True)
    item.status = statuses(shape.kind, object_type)
    if what == DELETED:
        item.merged_into = record_id(record.get("MasterRecordId"))
    return item.events()


def _record(notification: ElementTree.Element) -> tuple[Body, str | None, str | None]:
    """Return the fields of the notification's object, its type, and the notification's id."""
    record: Body = {}
    object_type = key = None
    for part in notification:
        if name_of(part) == "Id":
            key = text(part.text)
        elif name_of(part) == "sObject":
            object_type = text((part.get(_TYPE) or "").rpartition(":")[2])
            record = {name_of(field): None if field.get(_NIL) in ("true", "1") else field.text for field in part if not len(field)}
    return record, object_type, key


def _what(record: Body) -> str:
    if record.get("IsDeleted") == "true":
        return DELETED
    created = record.get("CreatedDate")
    return CREATED if created is not None and created == (record.get("LastModifiedDate") or record.get("SystemModstamp")) else UPDATED
