"""Log lines on standard error: JSON objects, or text such as `09:30:15.123 info    request method=GET status=200`.

A thread of its own writes the lines of requests in batches, so that neither a system call nor a slow reader
of the log delays a response. If the reader is too slow, lines are dropped and counted.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Mapping
from queue import SimpleQueue
from threading import Thread
from typing import Any

import msgspec

from touchbase.common.timestamps import to_text
from touchbase.tracing.trace_context import current_trace_id

FLUSH_BYTES = 65_536
MAX_PENDING_BYTES = 8 * 1_048_576
"""Bytes that may wait for a slow reader; above, lines are dropped."""
COLOURS = {"debug": "2", "warning": "33", "error": "31", "critical": "31"}
"""ANSI colours of levels."""
_PLAIN = re.compile(r"[!#-<>-~]+")
"""A value that needs no quotes: printable ASCII without spaces, quotes and equals signs."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
LEADING = ("time", "level", "event")
"""Members that a text line begins with, without their names."""


class LineWriter:
    """Buffers lines and writes them to a file descriptor on its thread; all other work is the calling thread's."""

    def __init__(self, descriptor: int) -> None:
        self.buffer = bytearray()
        self.dropped = 0
        self._queued_bytes = 0
        self._written_bytes = 0
        self._queue: SimpleQueue[bytearray | None] = SimpleQueue()
        self._thread = Thread(target=self._write, args=(descriptor,), name="log", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Queue the buffered lines for writing, or drop them if too much is queued."""
        if not self.buffer:
            return
        if self._queued_bytes - self._written_bytes > MAX_PENDING_BYTES:
            self.dropped += self.buffer.count(b"\n")
        else:
            self._queued_bytes += len(self.buffer)
            self._queue.put(self.buffer)
        self.buffer = bytearray()

    def close(self) -> None:
        """Write the remaining lines; wait at most 2 s for the reader."""
        self.flush()
        self._queue.put(None)
        self._thread.join(timeout=2)

    def _write(self, descriptor: int) -> None:
        while (lines := self._queue.get()) is not None:
            try:
                _write_all(descriptor, lines)
            except OSError:
                # Standard error is closed, so the error cannot be logged.
                self.dropped += lines.count(b"\n")
            self._written_bytes += len(lines)


def _write_all(descriptor: int, lines: bytearray) -> None:
    unwritten = memoryview(lines)
    while unwritten:
        unwritten = unwritten[os.write(descriptor, unwritten) :]


class JsonFormatter(logging.Formatter):
    """Formats a log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break at its end."""
        line: dict[str, object] = {
            "time": to_text(int(record.created * 1000) * 1000),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        if trace_id := current_trace_id():
            line["trace_id"] = trace_id
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["where"] = traceback.format_tb(record.exc_info[2])
        return msgspec.json.encode(line).decode()


def is_text(log_format: str) -> bool:
    """Return whether log lines are text: for `text`, and for `auto` if standard error is a terminal."""
    return log_format == "text" or (log_format == "auto" and sys.stderr.isatty())


def is_coloured() -> bool:
    """Return whether levels have colours: on a terminal, unless `NO_COLOR` is set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_line(at: str, level: str, event: str, values: Mapping[str, object], *, coloured: bool = False) -> str:
    """Return a line without a line break: time of day, level, event, and each value as `name=value`; empty values are left out."""
    word = f"{level:<7}"
    if coloured and level in COLOURS:
        word = f"\x1b[{COLOURS[level]}m{word}\x1b[0m"
    pairs = "".join(f" {name}={_shown(value)}" for name, value in values.items() if value not in ("", None))
    return f"{at} {word} {_CONTROL.sub(_escaped, event)}{pairs}"


class TextFormatter(logging.Formatter):
    """Formats a log record as one line of text, with the traceback of an exception below it."""

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without a line break at its end."""
        values: dict[str, object] = {"logger": record.name, "trace_id": current_trace_id()}
        frames: list[str] = []
        if record.exc_info and record.exc_info[0] is not None:
            values["error"] = record.exc_info[0].__name__
            frames = [f"\n{frame.rstrip()}" for frame in traceback.format_tb(record.exc_info[2])]
        at = f"{time.strftime('%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}"
        return text_line(at, record.levelname.lower(), record.getMessage(), values, coloured=self._coloured) + "".join(frames)


def text_into(line: msgspec.Struct, buffer: bytearray, offset: int) -> None:
    """Append a request's log line as text; has the signature of `msgspec.json.Encoder.encode_into`."""
    values: dict[str, Any] = msgspec.structs.asdict(line)
    at, level, event = (values.pop(name) for name in LEADING)
    buffer += text_line(at[11:].removesuffix("Z"), level, event, values, coloured=is_coloured()).encode("utf-8", "backslashreplace")


def _shown(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _escaped(match: re.Match[str]) -> str:
    return repr(match[0])[1:-1]


def set_up_logging(level: str, log_format: str = "json") -> None:
    """Send every log record of this process to standard error, as JSON or as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter(coloured=is_coloured()) if is_text(log_format) else JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # uvicorn's messages at "info" (process ids, start and stop) repeat ours.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING if level != "error" else logging.ERROR)
    # Its warnings, each with a traceback, say again what the store says of a database that is down.
    logging.getLogger("asyncpg.pool").setLevel(logging.ERROR)


class Stamp:
    """The current time as text, formatted once a millisecond."""

    __slots__ = ("_at", "_text")

    def __init__(self) -> None:
        self._at = -1
        self._text = ""

    def now(self) -> str:
        """Return the current time, RFC 3339 with milliseconds."""
        at = time.time_ns() // 1_000_000
        if at != self._at:
            second, milliseconds = divmod(at, 1000)
            self._at, self._text = at, f"{to_text(second * 1_000_000)[:-1]}.{milliseconds:03d}Z"
        return self._text
