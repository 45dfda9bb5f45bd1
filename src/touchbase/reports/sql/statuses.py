"""Plan of the report by status.

A record counts from its creation on. Its status at a time is in its `status_path`, which is computed from its events like its status. Only
records that changed since the report's beginning are read; the others have had their present status all the time. A renamed status has its
present name at all times, so that a line of a chart does not break.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import DAY, Micros
from touchbase.history.events import CONTACT
from touchbase.history.status import path_of
from touchbase.history.status_words import StatusWords
from touchbase.reports.models import StatusCounts
from touchbase.reports.parts import MOST_ROWS, ReportTooLarge
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan, Row, Select

PAGE = 2_000
"""Records that are read at once."""
_NOWHERE = "\0"
"""In place of a status before a record was created; no status has this character."""


@query(long=True, standby=True)
def report_statuses(client: int, kind: int, edges: Sequence[Micros]) -> Plan[list[StatusCounts] | ReportTooLarge]:
    """Records of one kind by status: a row for each interval and each status that one of them has, by interval and status.

    `edges`: Beginnings of the intervals, and the end of the last.
    """
    table = "contact" if kind == CONTACT else "company"
    settings = (yield from settings_of(client)) or ClientSettings()
    words = settings.words(kind)
    counts = _Counts(edges, words)
    total = 0
    for status, number in (
        yield Select(f"SELECT status, count(*) FROM {table} WHERE client = ? AND status IS NOT NULL GROUP BY status", (client,))
    ):
        counts.before[words.of(status)] += number
        total += number
    rows = yield Select(f"SELECT count(*) FROM {table} WHERE client = ?", (client,))
    counts.before[None] += rows[0][0] - total
    yield from read_changed(table, client, edges[0], rows[0][0], counts.add)
    return counts.rows()


def read_changed(table: str, client: int, since: Micros, records: int, add: Callable[[Sequence[Row]], None]) -> Plan[None]:
    """Pass pages of the records that changed since a time: updated_us, id, created_us, status, status_path. `records`: their number."""
    # A change of a record also changes its updated_us, which is not earlier than the change, but for a clock that was put back.
    since -= DAY
    by_id = yield from _are_many_changed(table, client, since, records)
    where, order = (f"id > ? AND updated_us + 0 > {since:d}", "id") if by_id else ("(updated_us, id) > (?, ?)", "updated_us, id")
    after: Row = (0,) if by_id else (since, 0)
    while True:
        page = yield Select(
            f"SELECT updated_us, id, created_us, status, status_path FROM {table} WHERE client = ? AND {where} ORDER BY {order} LIMIT ?",
            (client, *after, PAGE),
        )
        add(page)
        if len(page) < PAGE:
            return
        after = page[-1][1:2] if by_id else page[-1][:2]


def _are_many_changed(table: str, client: int, since: Micros, records: int) -> Plan[bool]:
    """Return whether so many records changed that reading all in the order of their ids is quicker than finding each by an index."""
    most = records // 4
    changed = f"SELECT 1 FROM {table} WHERE client = ? AND updated_us > ? LIMIT ?"
    rows = yield Select(f"SELECT count(*) FROM ({changed}) AS changed", (client, since, most + 1))
    return bool(rows[0][0] > most)


class _Counts:
    """Counts of one report."""

    def __init__(self, edges: Sequence[Micros], words: StatusWords) -> None:
        self._edges, self._words = edges, words
        self.before: Counter[str | None] = Counter()
        """Records by their status before the first interval: first all by their present one, then the changed ones corrected."""
        self._moves: defaultdict[tuple[int, str | None, str | None], int] = defaultdict(int)
        """How many records went in an interval from one status to another; `_NOWHERE`: they were created in it."""

    def add(self, records: Sequence[Row]) -> None:
        """Put records that were counted by their present status to where they belong."""
        edges, moves, words = self._edges, self._moves, self._words
        end = edges[-1]
        for _, _, created, status, text in records:
            self.before[words.of(status)] -= 1
            before: str | None = _NOWHERE
            present: str | None = None
            since = created
            for at, word in path_of(text, words).items():
                if at > since:  # what was before its creation is the status that it was created with
                    if since >= end:
                        break
                    if present != before:
                        moves[bisect_right(edges, since) - 1, before, present] += 1
                    before, since = present, at
                present = word
            if since < end and present != before:
                moves[bisect_right(edges, since) - 1, before, present] += 1

    def rows(self) -> list[StatusCounts] | ReportTooLarge:
        """Return the report's rows."""
        change: Counter[tuple[int, str | None]] = Counter()
        entered: Counter[tuple[int, str | None]] = Counter()
        for (interval, before, word), number in self._moves.items():
            change[interval, word] += number
            entered[interval, word] += number
            if before != _NOWHERE:
                change[interval, before] -= number
        present = Counter(self.before)
        present.update({word: number for (interval, word), number in change.items() if interval < 0})
        words = {word for word, number in present.items() if number} | {word for interval, word in change if interval >= 0}
        intervals = len(self._edges) - 1
        if len(words) * intervals > MOST_ROWS:
            return ReportTooLarge()
        rows = []
        ordered = sorted(words, key=lambda word: (word is None, word or ""))
        for number in range(intervals):
            for word in ordered:
                present[word] += change[number, word]
                rows.append(StatusCounts(number, word, present[word], entered[number, word]))
        return rows
