"""Spans by OpenTelemetry. Only `open_tracing` loads this module.

Names and attributes follow the semantic conventions for HTTP and messaging, without any that could hold a secret: no addresses of
requests, whose paths have a client's id, and of receivers the host only. Decision 72 says which span has which parent.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from time import time_ns
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState, set_span_in_context

from touchbase.common.timestamps import Micros
from touchbase.tracing.interface import AppliedDelivery, Receipt, TracingScope
from touchbase.tracing.trace_context import CURRENT, SAMPLED, Current, SpanName, span_of_headers, span_of_text, stored_text, traceparent

CLOSE_SECONDS = 5.0
"""How long the last spans may take when the process ends."""
STARTED = "touchbase.started_ns"
SPAN = "touchbase.span"
"""Keys in a request's scope: when it started, and its span."""
UNTRACED = frozenset({"/metrics", "/health/live", "/health/ready"})
"""Paths that monitoring asks for all the time."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER_METHOD = "_OTHER"
MAX_CAUSES = 8
"""Links of an outgoing request."""
INBOX = {"messaging.system": "touchbase", "messaging.destination.name": "inbox"}
SEND = {**INBOX, "messaging.operation.name": "send", "messaging.operation.type": "send"}
PROCESS = {**INBOX, "messaging.operation.name": "process", "messaging.operation.type": "process"}
NEW_TRACE = Context()


class RequestSpan(Current):
    """The span of a request in progress."""

    __slots__ = ("span",)

    def __init__(self, span: Span) -> None:
        self.span = span
        context = span.get_span_context()
        super().__init__(f"{context.trace_id:032x}" if context.is_valid else "")


class ReceiptSpan:
    """The span of a webhook that is being stored."""

    __slots__ = ("_span", "trace")

    def __init__(self, span: Span) -> None:
        self._span = span
        name = name_of(span)
        self.trace = stored_text(name) if name.flags & SAMPLED else None

    def stored(self, delivery: int, *, is_repeat: bool) -> None:
        """Note the delivery."""
        self._span.set_attribute("messaging.message.id", str(delivery))
        self._span.set_attribute("touchbase.repeat", is_repeat)


class UnrecordedReceipt:
    """In place of the span of a receipt that is not recorded."""

    trace = None

    def stored(self, delivery: int, *, is_repeat: bool) -> None:
        """Do nothing."""


UNRECORDED: AbstractContextManager[Receipt] = nullcontext(UnrecordedReceipt())


class OutgoingSpan:
    """The span of an outgoing request."""

    __slots__ = ("_span", "headers")

    def __init__(self, span: Span) -> None:
        self._span = span
        self.headers: dict[str, str] = {}
        if span.get_span_context().is_valid:
            name = name_of(span)
            self.headers["traceparent"] = traceparent(name)
            if name.state:
                self.headers["tracestate"] = name.state

    def answered(self, status: int | None, failure: str) -> None:
        """Note the response, or why there is none."""
        if status is not None:
            self._span.set_attribute("http.response.status_code", status)
        if failure or (status is not None and status >= 400):
            _failed(self._span, failure or str(status))


class Spans:
    """Makes spans, of which a sampler decides, and sends them in the background."""

    def __init__(self, provider: TracerProvider, version: str, client_name: Callable[[str], str]) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("touchbase", version)
        self._client_name = client_name

    def with_start(self, app: Any) -> Any:
        """Wrap the web application: note when each request starts. Only these requests get spans."""

        def started(scope: TracingScope, receive: Any, send: Any) -> Any:
            if scope["type"] == "http":
                scope[STARTED] = time_ns()
            return app(scope, receive, send)

        return started

    def begin(self, scope: TracingScope, *, trusted: bool) -> None:
        """Begin the span of a request once; `trusted`: it continues the trace of its HTTP client, which has proved a key."""
        if STARTED in scope and SPAN not in scope:
            scope[SPAN] = request_span = RequestSpan(self._start(scope, scope[STARTED], trusted=trusted))
            CURRENT.set(request_span)

    def _start(self, scope: TracingScope, at: int, *, trusted: bool) -> Span:
        """Start a span. An unauthenticated caller's is in a new trace, so that no flag of theirs decides."""
        parent = context_of(span_of_headers(scope["headers"]), with_state=trusted)
        method = scope["method"] if scope["method"] in METHODS else OTHER_METHOD
        about: dict[str, Any] = {
            "http.request.method": method,
            "url.scheme": scope["scheme"],
            "network.protocol.version": scope["http_version"],
        }
        name = "HTTP" if method == OTHER_METHOD else method
        if (template := scope.get("touchbase.template")) is not None:
            about["http.route"], name = template, f"{name} {template}"
        links = () if parent is None or trusted else (Link(parent),)
        context = below(parent) if parent is not None and trusted else NEW_TRACE
        return self._tracer.start_span(name, context, SpanKind.SERVER, about, links, at)

    def end(self, scope: TracingScope, status: int, seconds: float) -> str:
        """End the span of a request, also if it was not begun; return the trace's id for the log, blank if there is no span."""
        request_span: RequestSpan | None = scope.pop(SPAN, None)
        if request_span is None:
            if scope.get("touchbase.template") in UNTRACED:
                return ""
            at = scope.get(STARTED) or time_ns() - int(seconds * 1e9)
            request_span = RequestSpan(self._start(scope, at, trusted=False))
        span, trace_id = request_span.span, request_span.trace_id
        if span.is_recording():
            span.set_attribute("http.response.status_code", status)
            for name, key in (("touchbase.route", "touchbase.operation"), ("touchbase.request_id", "touchbase.request_id")):
                if (value := scope.get(name)) is not None:
                    span.set_attribute(key, value)
            if (client := scope.get("touchbase.client")) is not None:
                span.set_attribute("touchbase.client", self._client_name(client))
            if status >= 500:
                _failed(span, str(status))
        span.end()
        request_span.trace_id = ""
        return trace_id

    def receipt(self, scope: TracingScope, channel: str, size: int) -> AbstractContextManager[Receipt]:
        """Record that a webhook is stored, if its request is recorded."""
        request: RequestSpan | None = scope.get(SPAN)
        if request is not None and not request.span.is_recording():  # the usual case where few are sampled
            return UNRECORDED
        return self._receipt(request, channel, size)

    @contextmanager
    def _receipt(self, request: RequestSpan | None, channel: str, size: int) -> Iterator[ReceiptSpan]:
        context = NEW_TRACE if request is None else set_span_in_context(request.span, NEW_TRACE)
        about: dict[str, Any] = {**SEND, "messaging.message.body.size": size, "touchbase.channel": channel}
        span = self._tracer.start_span("send inbox", context, SpanKind.PRODUCER, about)
        with _ending(span):
            yield ReceiptSpan(span)

    def applied(self, deliveries: Sequence[AppliedDelivery], began: Micros, ended: Micros) -> None:
        """Record an attempt to apply each of these deliveries, which one batch took."""
        for delivery in deliveries:
            if (receipt := context_of(span_of_text(delivery.trace))) is None:
                continue
            about: dict[str, Any] = {
                **PROCESS, "messaging.message.id": str(delivery.id), "touchbase.channel": delivery.channel,
                "touchbase.state": delivery.state, "touchbase.attempt": delivery.attempt,
                "touchbase.client": self._client_name(delivery.client_id),
            }  # fmt: skip
            if delivery.tool:
                about["touchbase.tool"] = delivery.tool
            span = self._tracer.start_span("process inbox", below(receipt), SpanKind.CONSUMER, about, (Link(receipt),), began * 1000)
            if delivery.state in ("received", "failed"):
                _failed(span, delivery.state)
            span.end(ended * 1000)

    @contextmanager
    def sending(self, url: str, about: Mapping[str, str | int], causes: Sequence[str]) -> Iterator[OutgoingSpan]:
        """Record an outgoing request; `about`: attributes; `causes`: the stored spans of the receipts that led to it, the newest last."""
        receipts = [cause_context for cause in causes[-MAX_CAUSES:] if (cause_context := context_of(span_of_text(cause))) is not None]
        attributes: dict[str, Any] = dict(about)
        if client := attributes.pop("client_id", None):
            attributes["touchbase.client"] = self._client_name(client)
        name = url.partition(":")[0]
        if name in ("http", "https"):
            name = attributes["http.request.method"] = "POST"
            with suppress(ValueError):  # the client refuses such a URL
                parts = urlsplit(url)
                attributes |= {
                    "server.address": parts.hostname or "",
                    "server.port": parts.port or (443 if parts.scheme == "https" else 80),
                }
        context = below(receipts[-1]) if receipts else NEW_TRACE
        span = self._tracer.start_span(name, context, SpanKind.CLIENT, attributes, [Link(receipt) for receipt in receipts])
        outgoing_span = OutgoingSpan(span)
        token = CURRENT.set(RequestSpan(span))
        try:
            with _ending(span):
                yield outgoing_span
        finally:
            CURRENT.reset(token)

    async def close(self) -> None:
        """Send waiting spans, for a few seconds at most."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def send_all() -> None:
            self._provider.shutdown()
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(done.set)

        # A daemon, unlike the threads of the loop: a collector that does not answer must not hold the process.
        threading.Thread(target=send_all, name="tracing-end", daemon=True).start()
        with suppress(TimeoutError):
            await asyncio.wait_for(done.wait(), CLOSE_SECONDS)


def name_of(span: Span) -> SpanName:
    """Return a span's name."""
    context = span.get_span_context()
    return SpanName(context.trace_id, context.span_id, int(context.trace_flags), context.trace_state.to_header())


def context_of(name: SpanName | None, *, with_state: bool = True) -> SpanContext | None:
    """Return a span of elsewhere as OpenTelemetry knows it."""
    if name is None:
        return None
    state = TraceState.from_header([name.state]) if with_state and name.state else None
    return SpanContext(name.trace_id, name.span_id, is_remote=True, trace_flags=TraceFlags(name.flags), trace_state=state)


def below(parent: SpanContext) -> Context:
    """Return the context of spans below this one."""
    return set_span_in_context(NonRecordingSpan(parent), NEW_TRACE)


def _failed(span: Span, why: str) -> None:
    span.set_attribute("error.type", why)
    span.set_status(StatusCode.ERROR)


@contextmanager
def _ending(span: Span) -> Iterator[None]:
    """End a span; note an error without its text, which may quote a request."""
    try:
        yield
    except BaseException as error:
        _failed(span, type(error).__qualname__)
        raise
    finally:
        span.end()
