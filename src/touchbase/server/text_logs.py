"""Log lines for people: `09:30:15.123 info    request method=GET status=200`, on a terminal or where settings ask for them."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

import msgspec

COLOURS = {"debug": "2", "warning": "33", "error": "31", "critical": "31"}
"""ANSI colours of levels."""
_PLAIN = re.compile(r"[!#-<>-~]+")
"""A value that needs no quotes: printable ASCII without spaces, quotes and equals signs."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
OF_LINE = ("time", "level", "event")


def is_text(log_format: str) -> bool:
    """Whether log lines are text: `text`, or `auto` where standard error is a terminal."""
    return log_format == "text" or (log_format == "auto" and sys.stderr.isatty())


def is_coloured() -> bool:
    """Whether levels have colours: on a terminal, unless `NO_COLOR` is set."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def text_line(at: str, level: str, event: str, values: Mapping[str, object], *, coloured: bool = False) -> str:
    """One line, without its end: time of day, level, event, and each value as `name=value`; empty values are left out."""
    word = f"{level:<7}"
    if coloured and level in COLOURS:
        word = f"\x1b[{COLOURS[level]}m{word}\x1b[0m"
    pairs = "".join(f" {name}={_shown(value)}" for name, value in values.items() if value not in ("", None))
    return f"{at} {word} {_CONTROL.sub(_escaped, event)}{pairs}"


class TextFormatter(logging.Formatter):
    """A log record as one line of text, and below it where an exception came from."""

    def __init__(self, *, coloured: bool = False) -> None:
        super().__init__()
        self._coloured = coloured

    def format(self, record: logging.LogRecord) -> str:
        """The line, without its end."""
        values: dict[str, object] = {"logger": record.name}
        where: list[str] = []
        if record.exc_info and record.exc_info[0] is not None:
            values["error"] = record.exc_info[0].__name__
            where = [f"\n{place.rstrip()}" for place in traceback.format_tb(record.exc_info[2])]
        at = f"{time.strftime('%H:%M:%S', time.gmtime(record.created))}.{int(record.msecs):03d}"
        return text_line(at, record.levelname.lower(), record.getMessage(), values, coloured=self._coloured) + "".join(where)


def text_into(line: msgspec.Struct, buffer: bytearray, offset: int) -> None:
    """Append a request's log line as text, as `msgspec.json.Encoder.encode_into` appends it as JSON."""
    values: dict[str, Any] = msgspec.structs.asdict(line)
    at, level, event = (values.pop(name) for name in OF_LINE)
    buffer += text_line(at[11:].removesuffix("Z"), level, event, values, coloured=is_coloured()).encode("utf-8", "backslashreplace")


def _shown(value: object) -> str:
    text = str(value)
    return text if _PLAIN.fullmatch(text) else json.dumps(text)


def _escaped(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]
