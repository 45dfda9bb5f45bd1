"""How the time of a report is cut into parts: whole days, which are stored; and hours, of the days that are not whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from touchbase.common.timestamps import Micros
from touchbase.reports.intervals import midnights_of
from touchbase.reports.parts import HOUR

MOST_DAYS = 1_000
"""Days of a report that is made of parts; of a longer one the events are counted at once."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time within one interval of a report."""

    begin: Micros
    end: Micros
    is_stored: bool
    """Whether other reports have the same span: a day, or a whole hour."""

    @property
    def hours(self) -> tuple[int, int]:
        """The first of its hours, and the one after the last."""
        return self.begin // HOUR, -(-self.end // HOUR)


def spans_of(edges: Sequence[Micros], zone: str) -> list[Span] | None:
    """Return the spans of the intervals with these edges, in order; None if they are too many, or of times that no calendar has."""
    try:
        midnights = midnights_of(edges[0], edges[-1], zone, MOST_DAYS)
    except (ValueError, OverflowError):
        return None
    if len(midnights) > MOST_DAYS:
        return None
    days = set(pairwise(midnights))
    spans: list[Span] = []
    for begin, end in pairwise(sorted({*edges, *midnights})):
        if (begin, end) in days:
            spans.append(Span(begin, end, is_stored=True))
        elif begin < end:
            first = min(end, -(-begin // HOUR) * HOUR)
            last = max(first, end // HOUR * HOUR)
            hours = [Span(hour, hour + HOUR, is_stored=True) for hour in range(first, last, HOUR)]
            spans += [span for span in (Span(begin, first, False), *hours, Span(last, end, False)) if span.begin < span.end]
    return spans
