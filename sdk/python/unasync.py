"""Synchronous code from asynchronous code, by replacing words: `_sync` is made from `_async` (the idea is httpcore's)."""

from __future__ import annotations

import re

WORDS = (
    (r"for programs on an asyncio event loop", "for programs without an event loop; threads may share one"),
    (r"\b(Abstract)?Async(?=[A-Z])", r"\1"),
    (r"\bGenerator\[(.+), None\]", r"Generator[\1, None, None]"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\basyncio\b", "time"),
    (r"\b(__)?a(close|closing|enter|exit|iter_stream|next)(__)?\b", r"\1\2\3"),
    (r"\bread_async\b", "read"),
    (r"\b_async\b", "_sync"),
)
REPLACED = tuple((re.compile(word), by) for word, by in WORDS)


def unasync(source: str) -> str:
    """Return the synchronous code that does the same."""
    for word, by in REPLACED:
        source = word.sub(by, source)
    return source
