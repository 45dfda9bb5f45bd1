"""Mutants of the spool: servers that break one promise of it, to prove that the fault tests detect it.

- `no-spool-flush`: a webhook is acknowledged before it is in the spool's file.
- `no-spool-refusal`: a webhook that the spool could not write is acknowledged.
- `no-spool-times`: a spooled webhook is received as if it came now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace as replaced
from typing import Any

from touchbase.common.timestamps import clock
from touchbase.spool import spool
from touchbase.spool.files import SpoolFiles
from touchbase.spool.models import from_bytes

LATE_SECONDS = 0.3
Spool: Any = spool.Spool
_late: set[asyncio.Task[None]] = set()


def no_spool_flush() -> None:
    """Return from `add` before the webhook is written, which follows a moment later."""
    full = Spool.add

    async def late(self: Any, cell: int, webhook: Any) -> None:
        await asyncio.sleep(LATE_SECONDS)
        await full(self, cell, webhook)

    async def add(self: Any, cell: int, webhook: Any) -> None:
        task = asyncio.create_task(late(self, cell, webhook))
        _late.add(task)
        task.add_done_callback(_late.discard)

    Spool.add = add


def no_spool_refusal() -> None:
    """Ignore errors of the spool's disk."""
    full_append = SpoolFiles.append

    def append(self: Any, records: Sequence[bytes]) -> None:
        with suppress(OSError):
            full_append(self, records)

    SpoolFiles.append = append  # type: ignore[method-assign]


def no_spool_times() -> None:
    """Forget when a webhook came."""
    full = from_bytes
    setattr(spool, "from_bytes", lambda data, cipher: replaced(full(data, cipher), received_us=clock()))  # noqa: B010


SPOOL_MUTANTS: dict[str, Callable[[], None]] = {
    "no-spool-flush": no_spool_flush,
    "no-spool-refusal": no_spool_refusal,
    "no-spool-times": no_spool_times,
}
