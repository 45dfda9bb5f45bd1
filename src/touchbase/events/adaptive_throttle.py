"""Rest: how long the inbox worker leaves the store to callers between two turns."""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros

CROWD = 12.6
"""Callers who wait for one turn, after which a second's rest is due. Half as many are worth a sixteenth of it: they wait for the turn and
then for each other, and where they are few the processor is idle most of the time, so that applying as calls come costs them nothing."""
LONGEST_REST = 1.0
SHORT_REST = 0.1
"""The longest while a client with little to say waits for its turn."""
MANY = 200
"""Commands of callers in a second, from which on the worker rests."""
PATIENCE: Micros = 30 * SECOND
"""A delivery that waited so long is worth making callers wait."""
LITTLE_PATIENCE: Micros = SECOND // 4
"""The same for a client with less waiting than fits into a turn: nobody notices what that costs, and its callers expect to see it."""


def rest_seconds(took_us: Micros, commands: int, behind_us: Micros, held_up: float = 1.0, patience: Micros = PATIENCE) -> float:
    """How long to leave the store to callers after a turn that took so long, and saw so many of their commands.

    `held_up` is the part of these that had to wait for the turn. At least as long as the turn, as turns one right after the other, of a
    delivery or two, cost more than they apply. Nothing when callers are few, or when deliveries have waited longer than is good.
    """
    took_us = max(1, took_us)
    callers_are_many = commands > 1 and commands * SECOND > MANY * took_us
    if not callers_are_many or behind_us >= patience:
        return 0
    return min(LONGEST_REST, max(took_us / SECOND, (commands * held_up / CROWD) ** 4))
