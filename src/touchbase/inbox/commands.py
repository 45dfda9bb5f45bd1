"""Commands of the inbox: store a webhook, count a repeat, replay, remove old bodies."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.sql.operation import Command, Query


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
class ForgetDedupeKeys(Command[int]):
    """Delete these dedupe keys if they were received before `before_us`; return how many were. Deliveries stay."""

    client: int
    keys: list[bytes]
    before_us: Micros


@dataclass(slots=True)
class CountRepeat(Command[None]):
    """Count a repeat of a delivery."""

    client: int
    id: int


@dataclass(slots=True)
class ReplayDeliveries(Command[int]):
    """Set deliveries back to `received`, with no attempts, queued at `at`; return how many were."""

    client: int
    ids: list[int]
    at: Micros


@dataclass(slots=True)
class ReplayMany(Command[int]):
    """Replay deliveries (client, id) of several clients in one transaction; return how many were."""

    deliveries: list[tuple[int, int]]
    at: Micros


@dataclass(slots=True)
class PruneBodies(Command[int]):
    """Remove up to `limit` bodies of deliveries applied or ignored before `before_us`; return how many."""

    client: int
    before_us: Micros
    limit: int
    at: Micros


@dataclass(slots=True)
class CountPrunable(Query[int]):
    """Count the bodies that `PruneBodies` would remove without a limit."""

    client: int
    before_us: Micros


@dataclass(slots=True)
class DroppedBodies:
    """How many bodies were removed, and their total size in bytes."""

    count: int
    size: int


@dataclass(slots=True)
class DropUnrecognised(Command[DroppedBodies]):
    """Remove bodies of unrecognised, unverified deliveries, the oldest first, at most `limit`.

    These are the bodies received before `before_us`, and then as many as make up `excess` bytes.
    """

    client: int
    before_us: Micros
    excess: int
    limit: int
    at: Micros


@dataclass(slots=True)
class SizeUnrecognised(Query[int]):
    """Total size in bytes of the bodies that `DropUnrecognised` may remove."""

    client: int
