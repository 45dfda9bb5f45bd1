"""Readers of the dispatcher: functions given by the API, which depends on every kind of record."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.event_log.models import LoggedEvent
from touchbase.outgoing.models import Record
from touchbase.sql.store import Store


@dataclass(frozen=True, slots=True)
class Shown:
    """Reads a client's records for sending, in the form of the API."""

    objects: Callable[[Store, int, Sequence[LoggedEvent]], Awaitable[list[Any]]]
    """Returns what each event is about, as it is now; None if it is gone."""
    record: Callable[[Store, int, Record], Awaitable[dict[str, Any] | None]]
    """Returns a record; None if there is none any more."""
