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
    result = {attribute.key: attribute.value for attribute in span.attributes}
    return {name: getattr(value, value.WhichOneof("value")) for name, value in result.items()}


async def test_webhook__is_one_trace_from_receipt_to_outgoing_request(traced_server: Whole) -> None:
    status, _ = await traced_server.ask(
        "POST", "/public/v2/webhook-endpoints", {"url": f"{traced_server.receiver.url}/hooks", "types": ["contact.replied"]}
    )
    assert status == 201

    assert (await traced_server.ask("POST", "/public/emailcampaign-webhook/default", REPLY))[0] == 200
    await traced_server.receiver.arrived.wait()
    await traced_server.stop()

    result = traced_server.collector.exported()
    request, receipt = result["POST /public/emailcampaign-webhook/{client_id}"], result["send inbox"]
    applied, sent = result["process inbox"], result["POST"]
    assert {item.trace_id for item in (request, receipt, applied, sent)} == {request.trace_id}
    assert receipt.parent_span_id == request.span_id
    for entry in (applied, sent):
        assert entry.parent_span_id == receipt.span_id
        assert [link.span_id for link in entry.links] == [receipt.span_id]
    assert (request.kind, receipt.kind, applied.kind, sent.kind) == (2, 4, 5, 3)
    assert traced_server.receiver.got[0][0]["traceparent"] == f"00-{sent.trace_id.hex()}-{sent.span_id.hex()}-03"
    delivery = values(receipt)["messaging.message.id"]
    assert values(applied) | {"touchbase.state": "applied", "touchbase.tool": "instantly", "messaging.message.id": delivery} == values(
        applied
    )
    assert values(request)["http.response.status_code"] == 200
    assert values(sent)["server.address"] == "127.0.0.1"
    assert values(sent)["touchbase.event_type"] == "contact.replied"
    assert result["resource"]["service.name"] == "touchbase"
    assert traced_server.collector.got[0][0]["x-team"] == "revops"
    [line] = [item for item in traced_server.logged() if item["route"] == "emailcampaign_webhook"]
    assert line["trace_id"] == request.trace_id.hex()


async def test_api_request__continues_the_trace_of_its_caller(traced_server: Whole) -> None:
    assert (await traced_server.ask("POST", "/public/v2/contacts", {"email": "ann@example.com"}, traceparent=PARENT, tracestate="a=1"))[
        0
    ] == 201
    assert (await traced_server.ask("GET", "/health/live"))[0] == 200
    await traced_server.stop()

    result = traced_server.collector.exported()
    del result["resource"]
    [(name, span)] = result.items()
    assert name == "POST /public/v2/contacts"
    assert (int(span.trace_id.hex(), 16), span.parent_span_id.hex(), span.trace_state) == (TRACE, "b7ad6b7169203331", "a=1")
    assert values(span)["touchbase.operation"] == "create_contact"
