"""Commands that change messages, and queries that read them."""

from __future__ import annotations

from touchbase.common.timestamps import Micros

EventKey = tuple[str, Micros]
"""The key and the time of an event in a history."""
