"""Queries of reports, of one client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid
from touchbase.reports.models import CampaignCounts
from touchbase.reports.parts import Part

MOST_ROWS = 10_000
"""Rows of one client's report."""
FEW_EVENTS = 20_000
"""A report of up to so many events of each kind counts them all at once, without parts."""
MOST_COUNTED = 100_000
"""Events after which a read counts no further part, so that no read takes long."""

Stretch = tuple[Micros, Micros]
"""Beginning and end of a part."""


class ReportTooLarge(Invalid):
    """The report would have more than `MOST_ROWS` rows."""

    def __init__(self) -> None:
        detail = f"the report would have more than {MOST_ROWS:,} rows: send a later time, longer intervals or fewer groups"
        super().__init__([Fault("?since", "too_many", detail)])


@dataclass(slots=True)
class CountedPart:
    """A part, and the version of the events that it counts."""

    version: int
    part: Part
    content: bytes
    """The part as it is stored."""


@dataclass(slots=True)
class Reported:
    """The rows of a report, and the parts that were counted for it, to be stored."""

    rows: list[CampaignCounts] | None
    """None: other parts must be counted first. The same query with `counted` continues."""
    counted: dict[Stretch, CountedPart] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CampaignGroups:
    """The groups of a report: a row for each interval, tool and campaign in which something happened.

    Rows by campaign are also by tool: a campaign is one of its tool.
    """

    client: int
    edges: Sequence[Micros]
    """Beginnings of the intervals, and the end of the last; two without grouping by time."""
    by_tool: bool
    by_campaign: bool
