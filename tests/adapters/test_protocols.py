"""The two calls whose protocol demands a body: Salesforce's Outbound Message and monday.com's challenge."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.crm.salesforce.outbound import MOST_SESSIONS
from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.parse import parse
from touchbase.adapters.registry import load_adapters
from touchbase.history.events import CRM

ADAPTERS = load_adapters()
SESSION = "00D000000000001!AQ4AQNot.A.Real.Session"


def message(session: str = f"<SessionId>{SESSION}</SessionId>", start: str = '<?xml version="1.0" encoding="UTF-8"?>') -> bytes:
    return f"""{start}<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/"
     xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>
     <notifications xmlns="http://soap.sforce.com/2005/09/outbound"><OrganizationId>00D</OrganizationId>{session}
     <Notification><Id>04l1</Id><sObject xsi:type="sf:Contact" xmlns:sf="urn:sobject.enterprise.soap.sforce.com">
     <sf:Id>003A</sf:Id><sf:Email>ann@example.com</sf:Email></sObject></Notification></notifications></soapenv:Body></soapenv:Envelope>""".encode()


def test_salesforce_outbound_message__is_acknowledged_in_its_protocol() -> None:
    answer = ADAPTERS.protocol_answer(message())

    assert answer is not None
    assert answer.content_type == "text/xml; charset=utf-8"
    envelope = ElementTree.fromstring(answer.body)
    (ack,) = envelope.iter("{http://soap.sforce.com/2005/09/outbound}Ack")
    assert ack.text == "true"


@pytest.mark.parametrize(
    "session",
    [
        f"<SessionId>{SESSION}</SessionId>",
        f"<o:SessionId xmlns:o='http://soap.sforce.com/2005/09/outbound'>{SESSION}</o:SessionId >",
        f"<SessionId\n a='1'><![CDATA[{SESSION}]]></SessionId>",
        f"<SessionId>{SESSION}</SessionId><SessionId>{SESSION}</SessionId>",
    ],
)
def test_salesforce_outbound_message__is_stored_without_its_session_id(session: str) -> None:
    whole = message(session)

    answer = ADAPTERS.protocol_answer(whole)

    assert answer is not None
    assert answer.stored_body is not None
    assert SESSION.encode() not in answer.stored_body
    assert answer.stored_body.startswith(whole.partition(session.encode())[0])
    assert answer.stored_body.endswith(whole.partition(session.encode())[2])
    events = [ADAPTERS.translate(WebhookRequest(CRM, {}, "", body)).events for body in (whole, answer.stored_body)]
    assert events[0] == events[1]


def test_salesforce_outbound_message__cut_short_is_stored_without_its_session_id() -> None:
    answer = ADAPTERS.protocol_answer(message().partition(b".Session")[0])

    assert answer is not None
    assert answer.stored_body is not None
    assert answer.stored_body.endswith(b"<SessionId>")


def test_salesforce_outbound_message__with_very_many_session_ids_is_cut_after_them() -> None:
    session = f"<SessionId>{SESSION}</SessionId>"
    as_many, too_many = (ADAPTERS.protocol_answer(message(session * count)) for count in (MOST_SESSIONS, MOST_SESSIONS + 1))

    assert as_many is not None
    assert too_many is not None
    assert (as_many.stored_body or b"").endswith(b"Envelope>")
    assert (too_many.stored_body or b"").endswith(b"</SessionId><SessionId>")
    assert SESSION.encode() not in (too_many.stored_body or b"")


@pytest.mark.parametrize("session", ["", "<SessionId/>", '<SessionId xsi:nil="true"/>', "<SessionId></SessionId>"])
def test_salesforce_outbound_message__without_a_session_id_is_stored_unchanged(session: str) -> None:
    answer = ADAPTERS.protocol_answer(message(session))

    assert answer is not None
    assert answer.stored_body is None


def test_salesforce_acknowledgement__is_not_acknowledged() -> None:
    answer = ADAPTERS.protocol_answer(message())

    assert answer is not None
    assert ADAPTERS.protocol_answer(answer.body) is None


@pytest.mark.parametrize("challenge", ["3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", 'é"\\\n', ""])
def test_monday_challenge__is_echoed(challenge: str) -> None:
    answer = ADAPTERS.protocol_answer(json.dumps({"challenge": challenge}).encode())

    assert answer is not None
    assert (answer.content_type, answer.stored_body) == ("application/json", None)
    assert json.loads(answer.body) == {"challenge": challenge}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"<a/>",
        b"[1]",
        b'{"challenge": "x", "event": {}}',
        b'{"challenge": 7}',
        b'{"challenge": "x"',
        b'{"challenge": "\xff"}',
        b'{"event": {"challenge": "x"}}',
        b'{"challenge": "%s"}' % (b"x" * 5000),
    ],
)
def test_protocol_response__is_none_for_other_webhooks(body: bytes) -> None:
    assert ADAPTERS.protocol_answer(body) is None


@given(body=st.binary(max_size=100))
@settings(max_examples=examples(100), deadline=None)
def test_protocol_response__accepts_any_bytes(body: bytes) -> None:
    for start in (b"", b"<", b"{", b'{"challenge"', b'<a xmlns="http://soap.sforce.com/2005/09/outbound"><SessionId>'):
        answer = ADAPTERS.protocol_answer(start + body)

        assert answer is None or answer.body
        assert answer is None or answer.stored_body is None or parse(WebhookRequest(CRM, {}, "", answer.stored_body)) is not None
