"""What queues, gateways and event buses hand on: the call's body as a text, often in base64, below names of their own."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.kit.parse import parse, unwrap
from touchbase.adapters.registry import load_adapters
from touchbase.connections.fetch_state import FETCHED
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

ADAPTERS = load_adapters()
AT = "2026-11-22T10:00:00Z"
OPENED = {
    "event_type": "email_opened", "lead_email": "nora@example.com", "email_account": "sam@example.net",
    "timestamp": "2026-11-20T09:30:00Z", "subject": "Ready?>>",
}  # fmt: skip
TEXT = json.dumps(OPENED)
BASE64 = b64encode(TEXT.encode()).decode()
GATEWAY = {"version": "2.0", "routeKey": "POST /hook", "rawPath": "/hook", "headers": {"host": "hooks.example.net"}, "requestContext": {}}
BUS = {"id": "1", "source": "/hooks", "time": "2026-11-22T10:00:00Z"}
QUEUED = {"messageId": "1", "receiptHandle": "r", "eventSource": "aws:sqs", "attributes": {}}
FORM = "type=unsubscribe&fired_at=2026-11-20+09%3A30%3A00&data%5Bemail%5D=nora%40example.com&data%5Blist_id%5D=l1&data%5Bid%5D=m1"


def told(body: object, channel: str = EMAIL_CAMPAIGN) -> tuple[str | None, list[tuple[str, str | None]]]:
    translation = ADAPTERS.translate(WebhookRequest(channel, {}, "", json.dumps(body).encode()))
    return translation.tool, [(event.event, event.email) for event in translation.events]


@pytest.mark.parametrize(
    "carried",
    [
        {**GATEWAY, "body": TEXT, "isBase64Encoded": False}, {**GATEWAY, "body": BASE64, "isBase64Encoded": True},
        {"body": TEXT, "isBase64Encoded": False}, {"body": BASE64, "isBase64Encoded": True}, {"body": BASE64, "isBase64Encoded": "true"},
        {"message": {"data": BASE64, "messageId": "1", "attributes": {}}, "subscription": "projects/p/subscriptions/s"},
        {"message": {"data": urlsafe_b64encode(TEXT.encode()).decode(), "message_id": "1"}, "subscription": "s"},
        {"Type": "Notification", "MessageId": "1", "TopicArn": "arn", "Message": TEXT, "Timestamp": "2026-11-22T10:00:00.000Z"},
        {"Records": [{**QUEUED, "body": TEXT}]},
        {"Records": [{"EventSource": "aws:sns", "Sns": {"Type": "Notification", "Message": TEXT}}]},
        {**BUS, "specversion": "1.0", "type": "hook.received", "data": OPENED}, {**BUS, "specversion": "1.0", "type": "x", "data": TEXT},
        {**BUS, "specversion": "1.0", "type": "hook.received", "data_base64": BASE64},
        {**BUS, "version": "0", "detail-type": "hook", "account": "1", "region": "r", "resources": [], "detail": OPENED},
        [{"id": "1", "topic": "t", "subject": "s", "eventType": "hook", "eventTime": AT, "data": OPENED, "dataVersion": "1"}],
        {"uuid": "u", "type": "web", "token_id": "t", "method": "POST", "headers": {"host": ["h"]}, "content": TEXT, "created_at": AT},
        {"Records": [{"kinesis": {"data": BASE64, "partitionKey": "p"}, "eventSource": "aws:kinesis"}]}, [{**QUEUED, "body": TEXT}],
        {"_msgid": "m", "topic": "", "payload": OPENED}, {"_msgid": "m", "payload": TEXT, "req": {}, "res": {}},
        {"from": "a-tool", "type": "forward", "connectionId": "c", "providerConfigKey": "a-tool", "payload": OPENED},
        {"$content-type": "application/octet-stream", "$content": BASE64},
        {"headers": {}, "body": {"$content-type": "application/octet-stream", "$content": BASE64}},
        {"Records": [{**QUEUED, "body": json.dumps({"Type": "Notification", "TopicArn": "arn", "Message": TEXT})}]},
    ],
)  # fmt: skip
def test_carried_webhook__is_read_like_a_direct_one(carried: object) -> None:
    assert told(carried) == ("instantly", [("email_opened", "nora@example.com")])


def test_queue_batch__gives_one_webhook_per_message() -> None:
    assert told({"Records": [{**QUEUED, "body": TEXT}, {**QUEUED, "body": TEXT}]})[1] == [("email_opened", "nora@example.com")] * 2


@pytest.mark.parametrize(
    "carried",
    [
        {"headers": {"content-type": "application/x-www-form-urlencoded"}, "params": {}, "query": {}, "body": FORM},
        {**GATEWAY, "body": b64encode(FORM.encode()).decode(), "isBase64Encoded": True},
        {"Records": [{**QUEUED, "body": FORM}]},
    ],
)  # fmt: skip
def test_carried_form__is_read_like_a_direct_one(carried: object) -> None:
    assert told(carried) == ("mailchimp", [("email_unsubscribed", "nora@example.com")])


def test_gateway_headers__join_the_webhook_headers_without_the_fetched_mark() -> None:
    body = {"headers": {"X-Hook": "h", FETCHED.title(): "1"}, "body": FORM}

    call = unwrap(parse(WebhookRequest(EMAIL_CAMPAIGN, {"host": "r"}, "", json.dumps(body).encode())))

    assert call.headers == {"host": "r", "x-hook": "h"}


@pytest.mark.parametrize(
    "body",
    [
        {"headers": {}, "body": "hello"}, {"body": "no base64!", "isBase64Encoded": True}, {"message": {"data": 7}, "subscription": "s"},
        {"Records": [{"eventSource": "aws:sqs"}]},
        {"Records": []}, {"Records": [7]}, {"TopicArn": "arn", "Message": ""}, {"$content": None},
        {"specversion": "1.0", "data": None}, {"specversion": "1.0", "data": "hello"}, {"data_base64": "////", "specversion": "1.0"},
    ],
)  # fmt: skip
def test_unwrap__leaves_a_body_without_a_carried_webhook_unchanged(body: dict[str, object]) -> None:
    assert unwrap(parse(WebhookRequest(CRM, {}, "", json.dumps(body).encode()))).data == body


def test_carried_xml__is_passed_to_the_adapter_as_text() -> None:
    body = {"body": b64encode(b"<a>1</a>").decode(), "isBase64Encoded": True}

    assert unwrap(parse(WebhookRequest(CRM, {}, "", json.dumps(body).encode()))).data == {"body": "<a>1</a>"}
