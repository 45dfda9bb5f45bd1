"""A webhook's way through a whole server, in the spans that a collector gets by OTLP."""

from __future__ import annotations

from typing import Any

from tests.tracing.conftest import PARENT, TRACE, Whole

REPLY = {
    "event_type": "reply_received", "timestamp": "2026-11-20T14:05:00.000Z", "workspace": "w1", "campaign_id": "c1",
    "campaign_name": "Autumn", "lead_email": "ann@example.com", "email_account": "you@example.net", "email_id": "m1",
    "reply_subject": "Re: Autumn", "reply_text": "Yes please.",
}  # fmt: skip


def values(span: Any) -> dict[str, Any]:
    found = {each.key: each.value for each in span.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in found.items()}


async def test_webhook__is_one_trace_from_receipt_to_outgoing_request(whole: Whole) -> None:
    status, _ = await whole.ask(
        "POST", "/public/v2/webhook-endpoints", {"url": f"{whole.receiver.url}/hooks", "types": ["contact.replied"]}
    )
    assert status == 201

    assert (await whole.ask("POST", "/public/emailcampaign-webhook/default", REPLY))[0] == 200
    await whole.receiver.some.wait()
    await whole.stop()

    found = whole.collector.exported()
    request, receipt = found["POST /public/emailcampaign-webhook/{client_id}"], found["send inbox"]
    applied, sent = found["process inbox"], found["POST"]
    assert {each.trace_id for each in (request, receipt, applied, sent)} == {request.trace_id}
    assert receipt.parent_span_id == request.span_id
    for each in (applied, sent):
        assert each.parent_span_id == receipt.span_id
        assert [link.span_id for link in each.links] == [receipt.span_id]
    assert (request.kind, receipt.kind, applied.kind, sent.kind) == (2, 4, 5, 3)
    assert whole.receiver.got[0][0]["traceparent"] == f"00-{sent.trace_id.hex()}-{sent.span_id.hex()}-03"
    delivery = values(receipt)["messaging.message.id"]
    assert values(applied) | {"touchbase.state": "applied", "touchbase.tool": "instantly", "messaging.message.id": delivery} == values(
        applied
    )
    assert values(request)["http.response.status_code"] == 200
    assert values(sent)["server.address"] == "127.0.0.1"
    assert values(sent)["touchbase.event_type"] == "contact.replied"
    assert found["resource"]["service.name"] == "touchbase"
    assert whole.collector.got[0][0]["x-team"] == "revops"
    [line] = [each for each in whole.logged() if each["route"] == "emailcampaign_webhook"]
    assert line["trace_id"] == request.trace_id.hex()


async def test_api_request__continues_the_trace_of_its_caller(whole: Whole) -> None:
    assert (await whole.ask("POST", "/public/v2/contacts", {"email": "ann@example.com"}, traceparent=PARENT, tracestate="a=1"))[0] == 201
    assert (await whole.ask("GET", "/health/live"))[0] == 200
    await whole.stop()

    found = whole.collector.exported()
    del found["resource"]
    [(name, span)] = found.items()
    assert name == "POST /public/v2/contacts"
    assert (int(span.trace_id.hex(), 16), span.parent_span_id.hex(), span.trace_state) == (TRACE, "b7ad6b7169203331", "a=1")
    assert values(span)["touchbase.operation"] == "create_contact"
