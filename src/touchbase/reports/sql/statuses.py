"""Plan of the report by status.

A record counts from its creation on. Its status at a time is in its `status_path`, which is computed from its events like its status.
Writes count the moves from status to status by quarter of an hour and by day (`records/sql/status_moves.py`): a report adds them up. It
reads the records that changed since its beginning only if it ends within a quarter that has moves before its end and after. A renamed
status has its present name at all times, so that a line of a chart does not break.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import DAY, Micros
from touchbase.history.events import CONTACT
from touchbase.history.status import path_of
from touchbase.history.status_words import StatusWords
from touchbase.records.sql.status_moves import DAYS, IN_DAY, NOWHERE, PRESENT, QUARTER
from touchbase.reports.models import StatusCounts
from touchbase.reports.parts import MOST_ROWS, ReportTooLarge
from touchbase.sql.operation import query
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

PAGE = 2_000
"""Records that are read at once."""
_NOWHERE = "\0"
"""In place of a status before a record was created; no status has this character."""


_SPAN: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("number", "bigint"), ("sign", "bigint"), ("first", "bigint"), ("after", "bigint"),
)  # fmt: skip
MOVES_OF = Statement(
    "status_moves_of",
    _SPAN,
    body="SELECT p.number, t.from_status, t.to_status, CAST(sum(p.sign * t.n) AS bigint) FROM p CROSS JOIN status_move t "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.span >= p.first AND t.span < p.after GROUP BY 1, 2, 3",
)
_EVER = (DAYS >> 1) // IN_DAY * IN_DAY
"""A quarter after all others, where a day begins."""


@query(long=True, standby=True)
def report_statuses(client: int, kind: int, edges: Sequence[Micros]) -> Plan[list[StatusCounts] | ReportTooLarge]:
    """Records of one kind by status: a row for each interval and each status that one of them has, by interval and status.

    `edges`: Beginnings of the intervals, and the end of the last.
    """
    settings = (yield from settings_of(client)) or ClientSettings()
    counts = _Counts(edges, settings.words(kind))
    if not (yield from _add_moves(client, kind, edges, counts)):
        counts = _Counts(edges, settings.words(kind))
        yield from _add_records(client, kind, edges, counts)
    return counts.rows()


def _add_moves(client: int, kind: int, edges: Sequence[Micros], counts: _Counts) -> Plan[bool]:
    """Add up the counted moves; return whether they tell on which side of the edges each is."""
    intervals = len(edges) - 1
    last, within = divmod(edges[-1], QUARTER)
    if any(edge % QUARTER for edge in edges[:-1]):
        return False
    of_client = "SELECT {} FROM status_move WHERE client = ? AND record_kind = ? AND span = ?"
    end: Sequence[Row] = []
    if within:  # the quarter is not over, or the report ends in the middle of an earlier one
        end = yield Select(of_client.format("from_status, to_status, n, first_us, last_us"), (client, kind, last))
        if any(first < edges[-1] <= latest for _, _, _, first, latest in end):
            return False
    quarters = [(begin // QUARTER, after // QUARTER) for begin, after in pairwise(edges)] + [(last + bool(within), _EVER)]
    spans = [(client, kind, number, *span) for number, ends in enumerate(quarters) for span in _spans_of(*ends)]
    moves = yield Execute(MOVES_OF, spans)
    moves = [*moves, *((intervals - 1 if first < edges[-1] else intervals, *move) for *move, first, _ in end)]
    for status, number in (yield Select(of_client.format("to_status, n"), (client, kind, PRESENT))):
        counts.before[counts.word(status)] += number
    for interval, before, status, number in moves:
        counts.add_move(interval, before, status, number)
    return True


def _spans_of(first: int, after: int) -> list[tuple[int, int, int]]:
    """Return spans that make up these quarters, each with its sign: days from the midnights that are nearest, and quarters up to them."""
    begin, end = ((quarter + IN_DAY // 2) // IN_DAY for quarter in (first, after))
    ends = [(first, begin * IN_DAY), (end * IN_DAY, after)]
    spans = [(1, DAYS + begin, DAYS + end), *((1, *span) if span[0] < span[1] else (-1, span[1], span[0]) for span in ends)]
    return [span for span in spans if span[1] < span[2]]


def _add_records(client: int, kind: int, edges: Sequence[Micros], counts: _Counts) -> Plan[None]:
    """Count all records by their present status, and put those that changed since the beginning of the report to where they belong."""
    table, total = "contact" if kind == CONTACT else "company", 0
    for status, number in (
        yield Select(f"SELECT status, count(*) FROM {table} WHERE client = ? AND status IS NOT NULL GROUP BY status", (client,))
    ):
        counts.before[counts.word(status)] += number
        total += number
    rows = yield Select(f"SELECT count(*) FROM {table} WHERE client = ?", (client,))
    counts.before[None] += rows[0][0] - total
    yield from read_changed(table, client, edges[0], rows[0][0], counts.add)


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

    def word(self, status: str) -> str | None:
        """Return the present name of a status."""
        return self._words.of(status or None)

    def add_move(self, interval: int, before: str, status: str, number: int) -> None:
        """Add moves of records that were counted by their present status; those after the last interval have its number."""
        source, target = _NOWHERE if before == NOWHERE else self.word(before), self.word(status)
        if source == target:
            return
        self.before[target] -= number
        if source != _NOWHERE:
            self.before[source] += number
        if interval < len(self._edges) - 1:
            self._moves[interval, source, target] += number

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
            if not number:  # days and quarters cancelled each other
                continue
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
