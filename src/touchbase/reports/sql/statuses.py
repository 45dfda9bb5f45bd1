"""Plan of the report by status.

A record counts from its creation on. Its status at a time is in its `status_path`, which is computed from its events like its status. Only
records that changed since the report's beginning are read; the others have had their present status all the time. A renamed status has its
present name at all times, so that a line of a chart does not break.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence

from touchbase.clients import ClientSettings
from touchbase.clients.sql.queries import settings_of
from touchbase.common.timestamps import DAY, Micros
from touchbase.history import CONTACT, StatusWords, path_of
from touchbase.reports.models import StatusCounts
from touchbase.reports.queries import MOST_ROWS, ReportStatuses, ReportTooLarge
from touchbase.sql.statement import Plan, Row, Select

PAGE = 2_000
"""Records that are read at once."""


def report_statuses(query: ReportStatuses) -> Plan[list[StatusCounts] | ReportTooLarge]:
    """Run `ReportStatuses`."""
    table, edges = "contact" if query.kind == CONTACT else "company", query.edges
    settings = (yield from settings_of(query.client)) or ClientSettings()
    words = settings.words(query.kind)
    counts = _Counts(edges, words)
    total = 0
    for status, number in (
        yield Select(f"SELECT status, count(*) FROM {table} WHERE client = ? AND status IS NOT NULL GROUP BY status", (query.client,))
    ):
        counts.before[words.of(status)] += number
        total += number
    rows = yield Select(f"SELECT count(*) FROM {table} WHERE client = ?", (query.client,))
    counts.before[None] += rows[0][0] - total
    # A change of a record also changes its updated_us, which is not earlier than the change, but for a clock that was put back.
    after: Row = (edges[0] - DAY, 0)
    while True:
        page = yield Select(
            f"SELECT updated_us, id, created_us, status, status_path FROM {table} WHERE client = ? AND (updated_us, id) > (?, ?) "
            "ORDER BY updated_us, id LIMIT ?",
            (query.client, *after, PAGE),
        )
        for _, _, created, status, path in page:
            counts.add(created, status, path)
        if len(page) < PAGE:
            break
        after = page[-1][:2]
    return counts.rows()


class _Counts:
    """Counts of one report."""

    def __init__(self, edges: Sequence[Micros], words: StatusWords) -> None:
        self._edges, self._words = edges, words
        self.before: Counter[str | None] = Counter()
        """Records by their status before the first interval: first all by their present one, then the changed ones corrected."""
        self._change: Counter[tuple[int, str | None]] = Counter()
        """By interval and status: how many more records have it at the end of the interval than before it."""
        self._entered: Counter[tuple[int, str | None]] = Counter()

    def add(self, created: Micros, status: str | None, path: str | None) -> None:
        """Put a record that was counted by its present status to where it belongs."""
        self.before[self._words.of(status)] -= 1
        steps: dict[Micros, str | None] = {created: None}
        for at, word in path_of(path).items():
            steps[max(at, created)] = self._words.of(word)
        present: str | None = None
        is_there = False
        for at, word in steps.items():
            interval = bisect_right(self._edges, at) - 1
            if interval >= len(self._edges) - 1:
                break
            if is_there and word == present:
                continue
            self._move(interval, present if is_there else None, word, is_there)
            present, is_there = word, True

    def _move(self, interval: int, before: str | None, word: str | None, is_there: bool) -> None:
        if interval < 0:
            if is_there:
                self.before[before] -= 1
            self.before[word] += 1
            return
        if is_there:
            self._change[interval, before] -= 1
        self._change[interval, word] += 1
        self._entered[interval, word] += 1

    def rows(self) -> list[StatusCounts] | ReportTooLarge:
        """Return the report's rows."""
        words = {word for word, number in self.before.items() if number} | {word for _, word in self._change}
        intervals = len(self._edges) - 1
        if len(words) * intervals > MOST_ROWS:
            return ReportTooLarge()
        present, rows = Counter(self.before), []
        ordered = sorted(words, key=lambda word: (word is None, word or ""))
        for number in range(intervals):
            for word in ordered:
                present[word] += self._change[number, word]
                rows.append(StatusCounts(number, word, present[word], self._entered[number, word]))
        return rows
