"""Plan of the funnel: how many records entered each status in a period, and how many went on from it.

It reads the records that changed since the period began, as the report by status does, and their `status_path`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import median

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import DAY, Micros
from touchbase.history.events import CONTACT
from touchbase.history.status import path_of
from touchbase.history.status_words import StatusWords
from touchbase.reports.sql.statuses import read_changed
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan, Row, Select


@dataclass(frozen=True, slots=True)
class FunnelCounts:
    """Records that entered one status in the period; each counts once, by its first entry."""

    status: str
    entered: int
    went_on: int
    """Records that have had a later status of the order since, no end among them."""
    left: int
    """Records that have had any other status since."""
    median_days: float | None
    """In the status, of the records that left it; None if none did."""


@query(long=True, standby=True)
def report_funnel(
    client: int, kind: int, edges: Sequence[Micros], order: Sequence[str], ends: Collection[str] = ()
) -> Plan[list[FunnelCounts]]:
    """The funnel of one kind of record, by the statuses of `order`, then all others by name.

    `edges`: Beginning and end of the period. `ends`: Statuses of the order that lead nowhere, such as "lost".
    """
    table = "contact" if kind == CONTACT else "company"
    settings = (yield from settings_of(client)) or ClientSettings()
    funnel = _Funnel(edges[0], edges[-1], order, ends, settings.words(kind))
    rows = yield Select(f"SELECT count(*) FROM {table} WHERE client = ?", (client,))
    yield from read_changed(table, client, edges[0], rows[0][0], funnel.add)
    return funnel.rows()


class _Funnel:
    """Counts of one funnel."""

    def __init__(self, since: Micros, until: Micros, order: Sequence[str], ends: Collection[str], words: StatusWords) -> None:
        self._since, self._until, self._words, self._ends = since, until, words, ends
        self._order = {name: rank for rank, name in enumerate(order, 1)}
        self._ranks: dict[str | None, tuple[int, int]] = {None: (0, 0)}
        """By status: its rank, and its rank as a step forward; 0: none."""
        self._counts: defaultdict[str, tuple[list[Micros], list[bool]]] = defaultdict(lambda: ([], []))
        """By status: times of the records that left it, and for each that entered it whether it went on."""

    def add(self, records: Sequence[Row]) -> None:
        """Count records as `read_changed` reads them."""
        since, until, words = self._since, self._until, self._words
        for _, _, created, _, text in records:
            moments: list[tuple[Micros, str | None]] = [(created, None)]
            for at, status in path_of(text, words).items():
                if at <= created:  # what was before its creation is the status that it was created with
                    moments[0] = (created, status)
                elif status != moments[-1][1]:
                    moments.append((at, status))
            entries: dict[str, tuple[bool, Micros | None]] = {}
            furthest, left_us = 0, None
            for at, status in reversed(moments):  # so that the first entry in the period counts
                rank, forward = self._ranks.get(status) or self._rank(status)
                if status is not None and since <= at < until:
                    entries[status] = (furthest > rank, left_us and left_us - at)
                furthest, left_us = max(furthest, forward), at
            for entered, (went_on, time) in entries.items():
                times, forwards = self._counts[entered]
                forwards.append(went_on)
                if time is not None:
                    times.append(time)

    def _rank(self, status: str | None) -> tuple[int, int]:
        # A status that the client has renamed stands where its word does.
        word = status if status in self._order else self._words.meanings.get(status or "", status)
        rank = self._order.get(word or "", 0)
        self._ranks[status] = ranks = (rank, 0 if word in self._ends else rank)
        return ranks

    def rows(self) -> list[FunnelCounts]:
        """Return the rows."""
        statuses = sorted(self._counts, key=lambda status: (self._rank(status)[0] or len(self._order) + 1, status))
        rows = []
        for status in statuses:
            times, forwards = self._counts[status]
            days = round(median(times) / DAY, 2) if times else None
            rows.append(FunnelCounts(status, len(forwards), sum(forwards), len(times), days))
        return rows
