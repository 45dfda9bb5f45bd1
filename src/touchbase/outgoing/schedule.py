"""Retry schedule: when an event is sent again, and when an endpoint that fails is tried."""

from __future__ import annotations

import random

from touchbase.common.timestamps import DAY, SECOND, Micros

HOUR: Micros = 3_600 * SECOND
SCHEDULE: tuple[Micros, ...] = (
    0, 5 * SECOND, 300 * SECOND, 1_800 * SECOND, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR,
)  # fmt: skip
"""Time before each attempt of an event, since the one before; the first is sent at once."""
JITTER = 0.2
"""Up to this share longer, at random, so that events that failed together do not come back together."""
LONGEST_RETRY_AFTER: Micros = DAY
PAUSE_AFTER: Micros = 5 * DAY
"""Time without any success after which an endpoint is paused."""
OPEN_AFTER = 5
"""Failures in a row after which an endpoint is only probed: one request at a time."""
FIRST_PROBE: Micros = 5 * SECOND
LONGEST_PROBE: Micros = 60 * SECOND
"""Time between two probes; it doubles up to this."""


def next_attempt(attempts: int, now: Micros, retry_after: Micros = 0) -> Micros | None:
    """Return when an event is sent again after this many failed attempts; None after the last one."""
    if attempts >= len(SCHEDULE):
        return None
    wait = int(SCHEDULE[attempts] * random.uniform(1.0, 1.0 + JITTER))  # noqa: S311
    return now + max(wait, min(retry_after, LONGEST_RETRY_AFTER))


def next_probe(failures: int, now: Micros) -> Micros:
    """Return when an endpoint with this many failures in a row is tried again."""
    return now + min(LONGEST_PROBE, FIRST_PROBE << min(failures - OPEN_AFTER, 20))
