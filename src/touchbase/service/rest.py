"""Rest: how long the inbox worker leaves the store to callers between two turns."""

from __future__ import annotations

from touchbase.domain.times import SECOND, Micros

HELD_UP = 250
"""What turns may cost callers in a second: n calls that come during a turn wait for it and then for each other, which counts n²."""
LONGEST_REST = 0.4
SHORT_REST = 0.1
"""The longest while a client with little to say waits for its turn."""
MANY = 200
"""Commands of callers in a second, from which on the worker rests."""
PATIENCE: Micros = 30 * SECOND
"""A delivery that waited so long is worth making callers wait."""
LITTLE_PATIENCE: Micros = SECOND // 4
"""The same for a client with less waiting than fits into a turn: nobody notices what that costs, and its callers expect to see it."""


def rest_seconds(took_us: Micros, commands: int, behind_us: Micros, patience: Micros = PATIENCE) -> float:
    """How long to leave the store to callers after a turn that took so long and saw so many of their commands.

    Nothing when callers are few, or when deliveries have waited longer than is good.
    """
    took_us = max(1, took_us)
    callers_are_many = commands > 1 and commands * SECOND > MANY * took_us
    return min(LONGEST_REST, commands**2 / HELD_UP) if callers_are_many and behind_us < patience else 0
