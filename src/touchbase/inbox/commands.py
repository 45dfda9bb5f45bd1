"""Commands of the inbox: store a webhook, count a repeat, replay, remove old bodies."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.sql.operation import Command


@dataclass(slots=True)
class StoredDelivery:
    """A durable delivery: its id, and whether the webhook repeats a stored one."""

    id: int
    is_repeat: bool


@dataclass(slots=True)
class StoreDelivery(Command[StoredDelivery]):
    """Store one webhook byte for byte. The same `key` within `DEDUPE_WINDOW` is the same delivery, later a new one."""

    client: int
    channel: str
    key: bytes
    headers: bytes
    """A JSON object of the stored headers, names in lower case."""
    query: str
    body: bytes
    received_us: Micros
    tool: str | None = None
    """The tool that signed it."""
    verified: bool | None = None
    trace: str | None = None
    """The span of its receipt, if that is recorded."""


@dataclass(slots=True)
class CountRepeat(Command[None]):
    """Count a repeat of a delivery."""

    client: int
    id: int
