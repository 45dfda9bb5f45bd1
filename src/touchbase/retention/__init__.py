"""Retention: prune old bodies and continue interrupted erasures."""

from __future__ import annotations

from touchbase.retention.service import Retention, UnrecognisedLimits, count_due, prune

__all__ = [
    "Retention",
    "UnrecognisedLimits",
    "count_due",
    "prune",
]
