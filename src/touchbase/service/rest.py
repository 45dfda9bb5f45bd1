"""Rest: how long the inbox worker leaves the store to callers between two turns."""

from __future__ import annotations

from touchbase.domain.times import SECOND, Micros

HELD_UP = 50
"""Calls in a second that may come while a turn has the store: the more there are, the longer the worker rests."""
LONGEST_REST = 0.2
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
    return min(LONGEST_REST, commands / HELD_UP) if callers_are_many and behind_us < patience else 0
