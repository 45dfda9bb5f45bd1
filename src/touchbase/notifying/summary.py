"""Daily summary of a person: what came in since the day before, what is open, what needs somebody, due tasks and ending snoozes.

A row stores counts by the numbers of clients; names are looked up when it is shown, so that lost rights hide a client.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import NamedTuple

import msgspec

from touchbase.attention.plans import list_items
from touchbase.auth.users import User
from touchbase.clients.sql.clients import list_active_clients
from touchbase.common.timestamps import SECOND, Micros, is_clock
from touchbase.conversations.plans import DayCounts, count_day
from touchbase.sql.rows import encode
from touchbase.sql.store import Store
from touchbase.tasks.plans import count_due_tasks

USUAL_HOUR = "08:00"
"""When the summary is sent, unless the person chose another time of day."""
MOST_NAMED = 30
"""Clients that a summary has a line for; the others are in its first line."""


class ClientDay(NamedTuple):
    """Counts of one client; client 0: what is no client's."""

    client: int
    replies: int
    open: int
    needs: int
    """Items that need a person."""
    ending: int
    """Snoozes that end today."""
    tasks: int = 0
    """Tasks of the person that are due, or will be today."""


_rows = msgspec.json.Decoder(list[ClientDay])


@dataclass(frozen=True, slots=True)
class SummaryTime:
    """The day of a summary in the person's time zone."""

    day: date
    since_us: Micros
    """The time of the summary before."""
    at_us: Micros
    ends_us: Micros
    """Midnight."""

    @property
    def dedupe(self) -> str:
        """Return the mark by which a person gets one summary a day."""
        return f"summary {self.day}"


def summary_time(user: User, now: Micros) -> SummaryTime | None:
    """Return today's summary of a person; None before its time of day."""
    zone = user.zone
    local = datetime.fromtimestamp(now / SECOND, zone)
    chosen = user.notifications.get("summary_at")
    clock = time.fromisoformat(chosen if isinstance(chosen, str) and is_clock(chosen) else USUAL_HOUR)
    at = datetime.combine(local.date(), clock, zone)
    if local < at:
        return None
    since_us, at_us = (int(instant.timestamp()) * SECOND for instant in (at - timedelta(days=1), at))
    return SummaryTime(local.date(), since_us, at_us, user.day_ends(now))


async def summarize(store: Store, user: User, of: SummaryTime, now: Micros) -> str:
    """Return the stored form of a person's summary; blank if nothing happened. Raises `Overloaded` while a cell cannot be read."""
    clients = None if user.role is not None else sorted(user.grants.keys() & {*await store.read(list_active_clients())})
    counts = await store.read(count_day(clients, now, of.since_us, of.at_us, of.ends_us))
    tasks = await store.read(count_due_tasks(clients, user.id, of.ends_us))
    items = await store.read(list_items(clients, now))
    needs = Counter(item.client for item in items if item.snoozed_until_us is None)
    days = [
        ClientDay(client, day.replies, day.open, needs[client], day.ending, tasks.get(client, 0))
        for client in sorted({*counts, *needs, *tasks})
        for day in [counts.get(client, DayCounts())]
    ]
    return encode(days) if any(day.replies or day.needs or day.ending or day.tasks for day in days) else ""


def clients_of(about: str) -> list[int]:
    """Return the numbers of the clients of a stored summary."""
    return [day.client for day in _rows.decode(about)]


def summary_lines(about: str, names: Mapping[int, str]) -> list[str]:
    """Return a summary as text: all together, then a line for each client with a name, those with most new replies first."""
    days = [day for day in _rows.decode(about) if day.client in names]
    total = ClientDay(0, *(sum(column) for column in list(zip(*days, strict=True))[1:])) if days else ClientDay(0, 0, 0, 0, 0)
    lines = [f"Today: {_counts(total)}"]
    if len(days) > 1:
        days.sort(key=lambda day: (-day.replies, -day.needs, -day.open))
        lines += ["", *(f"{names[day.client]}: {_counts(day)}" for day in days[:MOST_NAMED])]
        lines += [f"and {len(days) - MOST_NAMED} more clients"] * (len(days) > MOST_NAMED)
    return lines


def _counts(day: ClientDay) -> str:
    parts = (
        (day.replies, "new reply", "new replies"), (day.open, "open", "open"), (day.needs, "thing needs somebody", "things need somebody"),
        (day.tasks, "task due", "tasks due"), (day.ending, "snooze ends today", "snoozes end today"),
    )  # fmt: skip
    return ", ".join(f"{count} {single if count == 1 else many}" for count, single, many in parts if count) or "nothing new"
