"""Salesforce Outbound Messages: the acknowledgement that they demand, and the login in them that nobody may keep.

Without the acknowledgement a message is sent again for a day. Its `SessionId`, if the administrator has
ticked it, is a live login: whoever reads it may act as that user.
"""

from __future__ import annotations

import re

from touchbase.adapters.crm.salesforce.outbound import is_outbound
from touchbase.adapters.interface import ProtocolAnswer

ACKNOWLEDGED = (
    b'<?xml version="1.0" encoding="UTF-8"?>'
    b'<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"><soapenv:Body>'
    b'<notificationsResponse xmlns="http://soap.sforce.com/2005/09/outbound"><Ack>true</Ack></notificationsResponse>'
    b"</soapenv:Body></soapenv:Envelope>"
)
# Up to its end tag, or to the end of a body that breaks off.
_SESSION = re.compile(rb"(<((?:[\w.-]+:)?SessionId)(?:\s[^<>]*)?(?<!/)>).*?(</\2\s*>|\Z)", re.DOTALL)


def acknowledge(body: bytes) -> ProtocolAnswer | None:
    """The answer to an Outbound Message, and the message without its session; None for any other body."""
    if not is_outbound(body) or b"notificationsResponse" in body:
        return None
    kept = _SESSION.sub(rb"\1\3", body)
    return ProtocolAnswer("text/xml; charset=utf-8", ACKNOWLEDGED, kept if kept != body else None)
