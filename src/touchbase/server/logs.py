"""Log lines on standard error: one JSON object each, or text for people (`text_logs`).

Lines of requests are collected and written by a thread of their own, so that neither a system call nor a
slow reader of the log stands between a request and its answer. When the reader is too slow for too long,
lines are dropped and counted rather than piled up.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from queue import SimpleQueue
from threading import Thread

import msgspec

from touchbase.common.timestamps import to_text
from touchbase.server.text_logs import TextFormatter, is_coloured, is_text

FLUSH_BYTES = 65_536
MOST_WAITING = 8 * 1_048_576
"""Bytes that may wait for a slow reader."""


class LineWriter:
    """Lines on their way to a file descriptor; everything but the writing happens on the caller's thread."""

    def __init__(self, descriptor: int) -> None:
        self.buffer = bytearray()
        self.dropped = 0
        self._handed = 0
        self._written = 0
        self._queue: SimpleQueue[bytearray | None] = SimpleQueue()
        self._thread = Thread(target=self._write, args=(descriptor,), name="log", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Hand over what has been collected."""
        if not self.buffer:
            return
        if self._handed - self._written > MOST_WAITING:
            self.dropped += self.buffer.count(b"\n")
        else:
            self._handed += len(self.buffer)
            self._queue.put(self.buffer)
        self.buffer = bytearray()

    def close(self) -> None:
        """Write what is left; a reader that has stopped reading is not waited for long."""
        self.flush()
        self._queue.put(None)
        self._thread.join(timeout=2)

    def _write(self, descriptor: int) -> None:
        while (lines := self._queue.get()) is not None:
            try:
                _write_all(descriptor, lines)
            except OSError:
                # Nobody reads standard error any more, and there is nowhere else to say so.
                self.dropped += lines.count(b"\n")
            self._written += len(lines)


def _write_all(descriptor: int, lines: bytearray) -> None:
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


class JsonFormatter(logging.Formatter):
    """A log record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        line: dict[str, object] = {
            "time": to_text(int(record.created * 1000) * 1000),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["where"] = traceback.format_tb(record.exc_info[2])
        return msgspec.json.encode(line).decode()


def set_up_logging(level: str, log_format: str = "json") -> None:
    """Send every log record of this process to standard error, as JSON or as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextFormatter(coloured=is_coloured()) if is_text(log_format) else JsonFormatter())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    # What uvicorn says at "info" (process ids, its own start and stop) we say ourselves.
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING if level != "error" else logging.ERROR)


class Stamp:
    """The present time as text, made once a millisecond."""

    __slots__ = ("_at", "_text")

    def __init__(self) -> None:
        self._at = -1
        self._text = ""

    def now(self) -> str:
        """RFC 3339 with milliseconds."""
        at = time.time_ns() // 1_000_000
        if at != self._at:
            second, milliseconds = divmod(at, 1000)
            self._at, self._text = at, f"{to_text(second * 1_000_000)[:-1]}.{milliseconds:03d}Z"
        return self._text
