"""Stored bytes of clients: counted page by page in the background, and compared with the client's limit.

No write counts its bytes: a count reads all rows of a client, and its result is up to `COUNT_INTERVAL` and the time of one count old.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from touchbase.clients.models import Client
from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Overloaded, StorageFull

LOG = logging.getLogger("touchbase.clients")
WARNING_PERCENT = 80
"""Share of the limit above which the client is warned."""
WEBHOOK_PERCENT = 110
"""Share of the limit up to which webhooks are stored."""
COUNT_INTERVAL: Micros = 300 * SECOND
"""Time between two counts of a client with a limit."""
UNLIMITED_INTERVAL: Micros = 3_600 * SECOND
"""Time between two counts of a client without one."""
LOOK_INTERVAL: Micros = 60 * SECOND
"""Time between two looks for clients that are due, if there was none."""
LEASE: Micros = 1_800 * SECOND
"""Time after which another process may count a client whose count was not completed."""
CLIENTS_AT_ONCE = 100
"""Clients that one look returns."""
PAGE = 2_000
"""Rows that one read counts; messages, whose texts are long, weigh more."""
PAGES = 20
"""Reads in one round of maintenance."""
Place = tuple[int, tuple[object, ...] | None]
"""Progress of a count: a table, and the key of its last counted row."""


@dataclass(frozen=True, slots=True)
class MeasuredPage:
    """Bytes of one page, and where the next begins; None: the count is complete."""

    size: int
    next: Place | None


@dataclass(frozen=True, slots=True)
class StoredTotals:
    """Stored bytes of all clients at their last counts."""

    total: int = 0
    largest: int = 0
    near: int = 0
    """Clients above `WARNING_PERCENT` of their limit."""
    over: int = 0
    """Clients above their limit."""

    def __add__(self, added: StoredTotals) -> StoredTotals:
        return StoredTotals(self.total + added.total, max(self.largest, added.largest), self.near + added.near, self.over + added.over)


@dataclass(frozen=True, slots=True)
class StorageShare:
    """A client's stored bytes and its limit, at the last count."""

    client: int
    stored_bytes: int
    limit_bytes: int


def limit_of(client: Client, default_limit: int) -> int:
    """Return the most bytes that a client may store; 0: no limit."""
    own = client.settings.max_stored_bytes
    return default_limit if own is None else own


def percent_of(stored_bytes: int, limit: int) -> int:
    """Return stored bytes as a percentage of the limit, rounded down; 0 without a limit."""
    return stored_bytes * 100 // limit if limit else 0


def is_above(percent: int, stored_bytes: int, limit: int) -> bool:
    """Return whether stored bytes exceed this share of the limit."""
    return limit > 0 and stored_bytes * 100 > limit * percent


def check_space(client: Client, default_limit: int) -> None:
    """Raise `StorageFull` if the client's last count exceeds its limit."""
    limit = limit_of(client, default_limit)
    if is_above(100, client.stored_bytes, limit):
        raise StorageFull(
            f"this client stores {client.stored_bytes} bytes and may store {limit}; delete records, messages or imports, shorten "
            "`keep_bodies_days` in the client's settings, or ask an administrator to raise `max_stored_bytes`; bytes are counted again "
            f"within {COUNT_INTERVAL // SECOND // 60} minutes"
        )


def check_webhook_space(client: Client, default_limit: int) -> None:
    """Raise `Overloaded` if the client has also used up the room above its limit that is for webhooks."""
    if is_above(WEBHOOK_PERCENT, client.stored_bytes, limit_of(client, default_limit)):
        raise Overloaded(
            "this client stores more bytes than its limit; nothing was stored, send it again later", retry_after=COUNT_INTERVAL // SECOND
        )
