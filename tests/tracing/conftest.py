"""Spans that stay in memory, and a whole server that sends its spans to a collector of the test."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.asgi_client import ApiClient, Response, scope_of

from touchbase.app import assembled, make_application_server
from touchbase.config import Settings
from touchbase.encryption.keys import encode_key, new_key
from touchbase.server.access_log import client_log_name
from touchbase.server.logs import LineWriter
from touchbase.server.server import listen
from touchbase.tracing.interface import Tracing
from touchbase.tracing.setup import open_tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

WHY = "the extra otel is not installed: pip install 'touchbase[otel]'"
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE = 0x0AF7651916CD43DD8448EB211C80319C


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of the machine that the tests run on mean nothing."""
    for name in [*os.environ]:
        if name.startswith("OTEL_"):
            monkeypatch.delenv(name)


@dataclass
class Recorded:
    """Tracing whose spans stay in memory."""

    tracing: Tracing
    exporter: Any

    def spans(self, name: str = "") -> list[ReadableSpan]:
        """The spans that have ended, of this name if one is given."""
        return [finished_span for finished_span in self.exporter.get_finished_spans() if name in ("", finished_span.name)]

    async def ask(self, call: ApiClient, method: str, target: str, *, raw: bytes = b"", **headers: str) -> Response:
        """Send a request, and end its span as the server does."""
        scope = scope_of(method, target, {"content-length": str(len(raw)), **headers})
        reply = await call.send(scope, [{"type": "http.request", "body": raw, "more_body": False}])
        self.tracing.end(scope, reply.status, 0.001)
        return reply


@pytest.fixture
def record() -> Callable[[], Recorded]:
    """Turn tracing on, as the variables say that are set then."""
    in_memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter", reason=WHY)

    def on() -> Recorded:
        exporter = in_memory.InMemorySpanExporter()
        return Recorded(open_tracing("1", client_log_name, exporter=exporter), exporter)

    return on


@pytest.fixture
def recorded(record: Callable[[], Recorded]) -> Recorded:
    return record()


@dataclass
class Listener:
    """An HTTP server that stores what it gets and responds 200."""

    port: int = 0
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                _, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
                headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                self.got.append((headers, body))
                self.arrived.set()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        writer.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def exported(self) -> dict[str, Any]:
        """The spans that a collector got, by name, with `resource` of their process."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        result: dict[str, Any] = {}
        for headers, body in self.got:
            raw = gzip.decompress(body) if headers.get("content-encoding") == "gzip" else body
            for resource in ExportTraceServiceRequest.FromString(raw).resource_spans:
                result["resource"] = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
                for scope in resource.scope_spans:
                    result |= {span.name: span for span in scope.spans}
        return result


@contextlib.asynccontextmanager
async def listening() -> AsyncIterator[Listener]:
    listener = Listener()
    server = await asyncio.start_server(listener.serve, "127.0.0.1", 0)
    listener.port = server.sockets[0].getsockname()[1]
    async with server:
        yield listener


@dataclass
class Whole:
    """A server with tracing, its collector and a receiver of its webhooks."""

    port: int
    collector: Listener
    receiver: Listener
    log: Path
    stop: Callable[[], Awaitable[None]]
    """Stop the server, which sends its last spans."""

    async def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
        raw = b"" if body is None else json.dumps(body).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        lines = {"host": "localhost", "content-type": "application/json", "content-length": str(len(raw)), "connection": "close", **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + raw)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), body

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
async def traced_server(engine_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Whole]:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason=WHY)
    async with contextlib.AsyncExitStack() as ending:
        collector, receiver = await ending.enter_async_context(listening()), await ending.enter_async_context(listening())
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-team=revops")
        settings = Settings(
            database=engine_url, auth="none", tracing=True, encryption_key=encode_key(new_key()), webhook_allowed_origins=receiver.url
        )
        running = contextlib.AsyncExitStack()
        application = await running.enter_async_context(assembled(settings))
        log = tmp_path / "log"
        writer = LineWriter(os.open(log, os.O_WRONLY | os.O_CREAT))
        server, listener = make_application_server(application, writer), listen("127.0.0.1", 0)
        serving = asyncio.create_task(server.serve([listener]))

        async def stop() -> None:
            if not serving.done():
                server.stop()
                await serving
                writer.close()
                await running.aclose()

        yield Whole(listener.getsockname()[1], collector, receiver, log, stop)
        await stop()
