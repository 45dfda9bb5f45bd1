"""Which spans there are, whose trace they are in, and what they never hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.examples import examples
from tests.house import House, read
from tests.outgoing.conftest import PLACE, URL, Receivers
from tests.tracing.conftest import PARENT, TRACE, Recorded

from touchbase.adapters.interface import WebhookRequest
from touchbase.auth.service import add_first_key
from touchbase.deliveries.work import WorkReport
from touchbase.history.events import Translation
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.sql.store import Store
from touchbase.tracing.trace_context import current_trace_id

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

Record = Callable[[], Recorded]
HOOK = "/public/emailcampaign-webhook/default"
BODY = b'{"tool": "camp", "events": [{"event": "email_replied", "email": "ada@example.com", "at": 5}]}'
WHO = "client-nobody-may-guess"
LATIN = st.characters(max_codepoint=255)
TEXTS = st.text(LATIN, max_size=600)
NEARLY = r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}.?"


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


async def apply(house: House, recorded: Recorded, reader: Callable[[WebhookRequest], Translation] = read) -> None:
    """Apply the waiting webhooks, as a server with tracing does."""
    clock = house.call.clock

    def on_report(report: WorkReport) -> None:
        recorded.tracing.applied(report.traced, report.began_us, clock())

    await InboxWorker(house.call.parts.store, reader, clock, on_report=on_report).drain()


@pytest.fixture
async def traced(store: Store, make_client: MakeClient, recorded: Recorded) -> House:
    """A client whose requests are recorded."""
    return await House.of(make_client(store, read=read, tracing=recorded.tracing), "default")


async def test_replay__is_another_span_of_the_receipts_trace(traced: House, recorded: Recorded) -> None:
    await recorded.ask(traced.call, "POST", HOOK, raw=BODY)
    await apply(traced, recorded)
    await recorded.ask(traced.call, "POST", "/admin/v1/deliveries/1/replay")
    await apply(traced, recorded)

    [receipt] = recorded.spans("send inbox")
    first, second = recorded.spans("process inbox")
    assert {first.context.trace_id, second.context.trace_id} == {receipt.context.trace_id}
    assert parent(first) == parent(second) == receipt.context.span_id
    assert first.attributes is not None
    assert first.attributes["touchbase.state"] == "applied"


async def test_delivery__that_fails_has_a_span_with_an_error_for_each_attempt(traced: House, recorded: Recorded) -> None:
    def broken(request: WebhookRequest) -> Translation:
        raise RuntimeError("ada@example.com")

    await recorded.ask(traced.call, "POST", HOOK, raw=BODY)
    for _ in range(2):
        await apply(traced, recorded, broken)
        traced.call.clock.move(60)

    spans = recorded.spans("process inbox")
    assert [(span.attributes or {})["touchbase.attempt"] for span in spans] == [1, 2]
    assert [(span.attributes or {})["error.type"] for span in spans] == ["received", "received"]
    assert not any("ada@example.com" in span.to_json() for span in recorded.spans())


async def test_repeat__is_a_receipt_of_the_stored_delivery(traced: House, recorded: Recorded) -> None:
    for _ in range(2):
        await recorded.ask(traced.call, "POST", HOOK, raw=BODY)
    await apply(traced, recorded)

    first, second = (span.attributes or {} for span in recorded.spans("send inbox"))
    assert first["messaging.message.id"] == second["messaging.message.id"]
    assert (first["touchbase.repeat"], second["touchbase.repeat"]) == (False, True)
    assert len(recorded.spans("process inbox")) == 1


@pytest.mark.parametrize("sampler", ["parentbased_always_off", "parentbased_always_on"])
async def test_sender__of_a_webhook_decides_nothing(
    store: Store, make_client: MakeClient, record: Record, monkeypatch: pytest.MonkeyPatch, sampler: str
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    recorded = record()
    house = await House.of(make_client(store, read=read, tracing=recorded.tracing), "default")
    flag = "01" if sampler.endswith("off") else "00"

    await recorded.ask(house.call, "POST", HOOK, raw=BODY, traceparent=PARENT[:-2] + flag, tracestate="theirs=1")
    await apply(house, recorded)

    [delivery] = await store.read(list_deliveries(5, house.number))
    if sampler.endswith("off"):
        assert recorded.spans() == []
        assert delivery.trace is None
        return
    request = recorded.spans("POST /public/emailcampaign-webhook/{client_id}")[0]
    assert request.parent is None
    assert request.context.trace_id != TRACE
    assert [link.context.trace_id for link in request.links] == [TRACE]
    assert not any("theirs" in span.to_json() for span in recorded.spans())
    assert len(recorded.spans()) == 3


async def test_caller__without_a_valid_key_decides_nothing(
    store: Store, make_client: MakeClient, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_always_off")
    recorded = record()
    call = make_client(store, auth="api-key", tracing=recorded.tracing)
    key = await add_first_key(store, call.clock())

    assert (await recorded.ask(call, "GET", "/admin/v1/clients", x_api_key="tb_wrong", traceparent=PARENT)).status == 401
    assert (await recorded.ask(call, "GET", "/no/such/path", traceparent=PARENT)).status == 404
    assert recorded.spans() == []
    assert (await recorded.ask(call, "GET", "/admin/v1/clients", x_api_key=key, traceparent=PARENT)).status == 200
    [span] = recorded.spans()
    assert (span.context.trace_id, span.name) == (TRACE, "GET /admin/v1/clients")
    assert current_trace_id() == ""


async def test_spans__hold_no_client_id_and_no_address_of_a_request(store: Store, make_client: MakeClient, recorded: Recorded) -> None:
    house = await House.of(make_client(store, read=read, tracing=recorded.tracing), WHO)
    await recorded.ask(house.call, "POST", f"/public/emailcampaign-webhook/{WHO}?token=swordfish", raw=BODY, cookie="swordfish")
    await apply(house, recorded)
    await recorded.ask(house.call, "GET", f"/public/v2/contacts?q=swordfish&client={WHO}", x_client_id=WHO)
    await recorded.ask(house.call, f"SWORDFISH-{WHO}", "/public/v2/contacts")

    text = "".join(span.to_json() for span in recorded.spans())
    assert len(recorded.spans()) == 5
    assert WHO not in text
    assert "swordfish" not in text.casefold()


@given(TEXTS | st.just(PARENT) | st.from_regex(NEARLY, alphabet=LATIN, fullmatch=True), TEXTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None)
async def test_any_text__as_trace_context_fails_no_request(sqlite_call: ApiClient, recorded: Recorded, parent: str, state: str) -> None:
    call = ApiClient(replace(sqlite_call.parts, tracing=recorded.tracing), sqlite_call.clock)

    for method, path in (("POST", HOOK), ("GET", "/public/v2/contacts"), ("GET", "/nowhere")):
        reply = await recorded.ask(call, method, path, traceparent=parent, tracestate=state)
        assert reply.status == (404 if path == "/nowhere" else 200)


async def test_failing_receiver__gets_a_span_with_an_error_per_attempt(traced: House, recorded: Recorded) -> None:
    receivers = Receivers(lambda sent: 500 if len(receivers.sent) == 1 else 200)
    observed: list[str] = []

    async def post(url: str, headers: dict[str, str], body: bytes) -> ReceiverAnswer:
        observed.append(current_trace_id())
        return await receivers.post(url, headers, body)

    class Sending:
        def __init__(self) -> None:
            self.post = post

    dispatcher = Dispatcher(traced.call.parts.store, Sending(), traced.call.clock, AS_IN_API, place=PLACE, tracing=recorded.tracing)
    reply = await traced.request("POST", "/public/v2/webhook-endpoints", {"url": f"{URL}?secret=swordfish"})
    assert reply.status == 201
    await traced.contact(email="ada@example.com")
    for _ in range(2):
        await dispatcher.drain()
        traced.call.clock.move(10)

    first, second = recorded.spans("POST")
    assert first.attributes is not None
    assert second.attributes is not None
    assert (first.attributes["error.type"], first.attributes["http.response.status_code"]) == ("500", 500)
    assert (second.attributes["http.request.resend_count"], "error.type" in second.attributes) == (1, False)
    assert [sent.headers["traceparent"].split("-")[2] for sent in receivers.sent] == [
        f"{item.context.span_id:016x}" for item in (first, second)
    ]
    assert observed == [f"{item.context.trace_id:032x}" for item in (first, second)]
    assert first.parent is None
    assert "swordfish" not in first.to_json()


async def test_erased_person__leaves_no_trace_at_deliveries(traced: House, recorded: Recorded, execute_sql) -> None:
    await recorded.ask(traced.call, "POST", HOOK, raw=BODY)
    await apply(traced, recorded)
    [contact] = await traced.listed()
    assert (await execute_sql("SELECT trace FROM delivery"))[0][0].startswith("00-")

    assert (await traced.request("DELETE", f"/public/v2/contacts/{contact['id']}?erase=true")).status == 200

    assert await execute_sql("SELECT trace FROM delivery") == [(None,)]
