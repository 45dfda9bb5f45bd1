"""Commands that write to the inbox: store a webhook, count a repeat, replay, remove old bodies."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.sql.command import Command, Query


@dataclass(slots=True)
class StoredDelivery:
    """A delivery is on disk: its id, and whether it is a repeat of one we had."""

    id: int
    is_repeat: bool


@dataclass(slots=True)
class StoreDelivery(Command[StoredDelivery]):
    """Keep one webhook call byte for byte. The same `key` within `REPEAT_WINDOW` is the same delivery, later it is another one."""

    client: int
    channel: str
    key: bytes
    headers: bytes
    """A JSON object of the headers that matter, names in lower case."""
    query: str
    body: bytes
    received_us: Micros
    tool: str | None = None
    """The tool that has proved to send it."""
    verified: bool | None = None


@dataclass(slots=True)
class ForgetDedupeKeys(Command[int]):
    """Recognise calls of these keys no longer, if they were received before `before_us`; answers how many were. Deliveries stay."""

    client: int
    keys: list[bytes]
    before_us: Micros


@dataclass(slots=True)
class CountRepeat(Command[None]):
    """Note that a delivery arrived again."""

    client: int
    id: int


@dataclass(slots=True)
class ReplayDeliveries(Command[int]):
    """Put deliveries back to `received`, with no attempts, waiting since now; answers how many were."""

    client: int
    ids: list[int]
    at: Micros


@dataclass(slots=True)
class ReplayMany(Command[int]):
    """Put deliveries (client and id) back as `ReplayDeliveries` does, all of them or none; answers how many were."""

    deliveries: list[tuple[int, int]]
    at: Micros


@dataclass(slots=True)
class PruneBodies(Command[int]):
    """Drop up to `limit` bodies of deliveries applied (or ignored) before this moment; answers how many."""

    client: int
    before_us: Micros
    limit: int
    at: Micros


@dataclass(slots=True)
class CountPrunable(Query[int]):
    """How many bodies `PruneBodies` would drop without a limit."""

    client: int
    before_us: Micros


@dataclass(slots=True)
class Dropped:
    """How many bodies went, and how many bytes they had."""

    count: int
    size: int


@dataclass(slots=True)
class DropUnrecognised(Command[Dropped]):
    """Drop bodies of calls that nobody understood and nothing verified, the oldest first and at most `limit`.

    Those go that were received before `before_us`, and of the others as many as have `excess` bytes together.
    """

    client: int
    before_us: Micros
    excess: int
    limit: int
    at: Micros


@dataclass(slots=True)
class SizeUnrecognised(Query[int]):
    """How many bytes the bodies have that `DropUnrecognised` may drop."""

    client: int
