"""Log lines: what they hold, what they never hold, and that a slow reader does not hold up the server."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
from typing import Any

import pytest
from tests.server.conftest import Start

from touchbase.server.access_log import AccessLog, client_log_name
from touchbase.server.logs import MAX_PENDING_BYTES, JsonFormatter, LineWriter, TextFormatter, set_up_logging, text_line
from touchbase.server.metrics import ProcessMetrics


class Pipe:
    """A pipe whose reading end the test holds."""

    def __init__(self) -> None:
        self.reading, self.writing = os.pipe()

    def close_writing(self) -> None:
        os.close(self.writing)

    def read_all(self) -> bytes:
        """Everything up to the close of the writing end."""
        with os.fdopen(self.reading, "rb") as reader:
            return reader.read()


async def labelled(scope: Any, receive: Any, send: Any) -> None:
    """An application that says who called what, as ours does."""
    scope |= {"touchbase.route": "webhook.crm", "touchbase.template": "/public/crm-webhook/{client_id}"}
    scope |= {"touchbase.client": "client-nobody-may-guess", "touchbase.request_id": "r-1"}
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def test_access_log__writes_one_json_line_per_request_without_secrets(start: Start) -> None:
    pipe, metrics = Pipe(), ProcessMetrics()
    writer = LineWriter(pipe.writing)
    caller = await (await start(labelled, observe=AccessLog(metrics, writer))).call()

    await caller.send(
        b"POST /public/crm-webhook/client-nobody-may-guess?token=swordfish HTTP/1.1\r\nHost: localhost\r\n"
        b"Authorization: Bearer tb_live_swordfish\r\nContent-Length: 9\r\n\r\nswordfish"
    )
    await caller.response()
    writer.close()
    pipe.close_writing()
    text = pipe.read_all()

    line = json.loads(text)
    assert text.count(b"\n") == 1
    assert line.pop("time").endswith("Z")
    assert line.pop("ms") >= 0
    assert line == {
        "level": "info",
        "event": "request",
        "method": "POST",
        "route": "webhook.crm",
        "status": 200,
        "bytes": 2,
        "request_id": "r-1",
        "client": client_log_name("client-nobody-may-guess"),
        "peer": "127.0.0.1",
    }
    assert b"swordfish" not in text
    assert b"nobody-may-guess" not in text


async def test_access_log__above_info_writes_no_lines_but_counts_requests(start: Start) -> None:
    pipe, metrics = Pipe(), ProcessMetrics()
    writer = LineWriter(pipe.writing)
    caller = await (await start(labelled, observe=AccessLog(metrics, writer, lowest="warning"))).call()

    await caller.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await caller.response()
    writer.close()
    pipe.close_writing()

    assert pipe.read_all() == b""
    labels = {"route": "/public/crm-webhook/{client_id}", "method": "GET", "status": "200"}
    assert metrics.registry.get_sample_value("touchbase_http_request_duration_seconds_count", labels) == 1


async def test_metrics__have_no_series_for_methods_that_a_client_invents(start: Start) -> None:
    metrics = ProcessMetrics()
    caller = await (await start(labelled, observe=AccessLog(metrics, None))).call()

    for method in (b"PROPFIND", b"MKCOL"):
        await caller.send(method + b" / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await caller.response()

    (result,) = {sample.labels["method"] for family in metrics.registry.collect() for sample in family.samples if "method" in sample.labels}
    assert result == "other"


def test_line_writer__drops_and_counts_lines_beyond_the_buffer_limit() -> None:
    pipe = Pipe()
    writer = LineWriter(pipe.writing)
    line = b"x" * 999 + b"\n"
    handed = 3 * MAX_PENDING_BYTES // len(line)

    for _ in range(handed):
        writer.buffer += line
        writer.flush()
    dropped = writer.dropped
    # Only now somebody begins to read.
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_all()))
    reader.start()
    writer.close()
    pipe.close_writing()
    reader.join()

    assert dropped > 0
    assert read[0].count(b"\n") + dropped == handed


def test_line_writer__survives_a_closed_pipe() -> None:
    pipe = Pipe()
    os.close(pipe.reading)
    writer = LineWriter(pipe.writing)

    writer.buffer += b"line\n"
    writer.close()
    pipe.close_writing()

    assert writer.dropped == 1


def test_json_formatter__logs_an_exceptions_type_and_location_without_its_message() -> None:
    try:
        raise ValueError("contact@example.com")
    except ValueError:
        record = logging.LogRecord("touchbase", logging.ERROR, __file__, 1, "it %s", ("failed",), sys.exc_info())

    text = JsonFormatter().format(record)

    line = json.loads(text)
    assert (line["level"], line["event"], line["error"]) == ("error", "it failed", "ValueError")
    assert "test_logs.py" in line["where"][0]
    assert "contact@example.com" not in text.replace(json.dumps('raise ValueError("contact@example.com")')[1:-1], "")


async def test_access_log__writes_a_text_line_with_as_text(start: Start) -> None:
    pipe = Pipe()
    writer = LineWriter(pipe.writing)
    caller = await (await start(labelled, observe=AccessLog(ProcessMetrics(), writer, as_text=True))).call()

    await caller.send(b"GET /public/crm-webhook/client-nobody-may-guess HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await caller.response()
    writer.close()
    pipe.close_writing()
    text = pipe.read_all().decode()

    client = client_log_name("client-nobody-may-guess")
    pattern = (
        rf"\d\d:\d\d:\d\d\.\d{{3}} info    request method=GET route=webhook.crm status=200 "
        rf"ms=[\d.]+ bytes=\d+ request_id=r-1 client={client} .*\n"
    )
    assert re.fullmatch(pattern, text)


def test_text_formatter__logs_an_exceptions_type_and_location_without_its_message() -> None:
    try:
        raise ValueError("contact@example.com")
    except ValueError:
        record = logging.LogRecord("touchbase", logging.ERROR, __file__, 1, "it\n%s \x1b[2J", ("failed",), sys.exc_info())

    first, *remaining = TextFormatter().format(record).splitlines()

    assert first[13:] == "error   it\\nfailed \\x1b[2J logger=touchbase error=ValueError"
    assert "test_logs.py" in remaining[0]
    assert [line for line in [first, *remaining] if "contact@example.com" in line and "raise ValueError" not in line] == []


def test_text_line__quotes_values_with_spaces_and_omits_empty_ones() -> None:
    line = text_line(
        "09:30:15.123", "warning", "slow", {"route": "a b", "why": 'x="1"', "client": "", "peer": None, "ms": 0}, coloured=True
    )

    assert line == '09:30:15.123 \x1b[33mwarning\x1b[0m slow route="a b" why="x=\\"1\\"" ms=0'


@pytest.mark.parametrize(
    ("log_format", "on_terminal", "kind"),
    [
        ("auto", True, TextFormatter),
        ("auto", False, JsonFormatter),
        ("json", True, JsonFormatter),
        ("text", False, TextFormatter),
    ],
)
def test_log_format__auto_is_text_on_a_terminal_and_json_elsewhere(
    monkeypatch: pytest.MonkeyPatch, log_format: str, on_terminal: bool, kind: type[logging.Formatter]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: on_terminal)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        set_up_logging("info", log_format)
        assert type(root.handlers[0].formatter) is kind
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
