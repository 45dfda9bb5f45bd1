"""Query parameters of reports, and the query that they make."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from touchbase.common.timestamps import DAY as DAY_US
from touchbase.common.timestamps import Micros, from_datetime, from_text, is_zone, to_text
from touchbase.http import query_parameters as query
from touchbase.http.query_parameters import Parameters
from touchbase.http.schemas import named_enum
from touchbase.reports.intervals import INTERVALS, LATEST_COUNT, MOST_INTERVALS, WEEK, begin_of, edges_of
from touchbase.reports.models import CAMPAIGN, CLIENT, LABEL, STEP, TOOL

UTC = "UTC"
MOST_GROUPS = 2
_GROUPS = (CLIENT, CAMPAIGN, TOOL, STEP, LABEL, *INTERVALS)
_RELATIVE = re.compile(r"([0-9]{1,5})([dw])")
_TIME = "A time, a date, or a length before now such as `30d` or `12w`. Without an offset it is of `time_zone`."
SINCE = query.text("since", f"{_TIME} The report begins with the interval that has it; left out: {LATEST_COUNT} intervals.")
UNTIL = query.text("until", f"{_TIME} The last interval ends here; left out, or in the future: now.")
TIME_ZONE = query.text("time_zone", "IANA name of the zone in which days, weeks and months begin, such as `Europe/Berlin`; left out: UTC.")
named_enum("ReportInterval", "The length of the intervals of a report.", INTERVALS)
INTERVAL = query.choice("interval", INTERVALS, "Left out: `week`, from Monday.")
GROUP_BY = query.text(
    "group_by",
    f"Up to {MOST_GROUPS} of {', '.join(f'`{group}`' for group in _GROUPS)}, separated by commas; one of them may be a length of time. "
    "Left out: `campaign`. Rows by campaign have its tool too; `client` alone is one row of everything.",
)
PREVIOUS = "previous"
named_enum("ReportComparison", "What a report is compared with.", (PREVIOUS,))
COMPARE = query.choice(
    "compare", (PREVIOUS,), "`previous`: also the rows of the period before: as many intervals, or as long a time, whole days earlier."
)
TIMES = (SINCE, UNTIL, TIME_ZONE, COMPARE)


@dataclass(frozen=True, slots=True)
class ReportQuery:
    """A report's intervals and groups."""

    edges: Sequence[Micros]
    time_zone: str
    interval: str | None
    """None: the whole time is one interval."""
    groups: frozenset[str] = frozenset()
    edges_before: Sequence[Micros] | None = None
    """Edges of the period before; None: the report is compared with nothing."""

    @property
    def before(self) -> ReportQuery | None:
        """Return the same report of the period before."""
        return None if self.edges_before is None else replace(self, edges=self.edges_before, edges_before=None)


def status_query(parameters: Parameters, now: Micros) -> ReportQuery:
    """Read the parameters of a report by status; faults are added to `parameters`."""
    return _report_query(parameters, now, parameters[INTERVAL] or WEEK, WEEK, frozenset())


def funnel_query(parameters: Parameters, now: Micros) -> ReportQuery:
    """Read the parameters of a funnel; faults are added to `parameters`."""
    return _report_query(parameters, now, None, WEEK, frozenset())


def campaign_query(parameters: Parameters, now: Micros) -> ReportQuery:
    """Read the parameters of a report by campaign; faults are added to `parameters`."""
    names = [group.strip() for group in (parameters[GROUP_BY] or CAMPAIGN).split(",")]
    if any(name not in _GROUPS for name in names) or len(set(names)) != len(names):
        parameters.fault("group_by", "choice", f"must be different ones of {', '.join(_GROUPS)}, separated by commas")
    elif {STEP, LABEL} <= set(names):
        parameters.fault("group_by", "choice", f"may have {STEP} or {LABEL}: mails have no label; send two requests")
    elif len(names) > MOST_GROUPS:
        parameters.fault("group_by", "too_many", f"must be at most {MOST_GROUPS}")
    intervals = [name for name in names if name in INTERVALS]
    if len(intervals) > 1:
        parameters.fault("group_by", "choice", f"may have one of {', '.join(INTERVALS)}")
    interval = intervals[0] if intervals else None
    return _report_query(parameters, now, interval, interval or WEEK, frozenset(names))


def _report_query(parameters: Parameters, now: Micros, interval: str | None, length: str, groups: frozenset[str]) -> ReportQuery:
    zone = parameters[TIME_ZONE] or UTC
    if not is_zone(zone):
        parameters.fault("time_zone", "time_zone", f"{zone[:100]!r} is not an IANA time zone; send a name such as Europe/Berlin or UTC")
        zone = UTC
    until = min(_time(parameters, "until", parameters[UNTIL], zone, now) or now, now)
    since = _time(parameters, "since", parameters[SINCE], zone, now)
    edges: list[Micros] = [until - 1, until]
    before: list[Micros] | None = None
    try:
        if since is None:
            since = begin_of(until - 1, length, zone, LATEST_COUNT - 1)
        if since >= until:
            parameters.fault("since", "range", f"must be before the end of the report, {to_text(until)}")
        else:
            edges = [since, until] if interval is None else edges_of(since, until, interval, zone)
            if parameters[COMPARE] == PREVIOUS:
                before = edges_before(edges, interval, zone)
    except (ValueError, OverflowError):
        parameters.fault("since", "range", "is out of the range of calendars; send a later time")
    if len(edges) > MOST_INTERVALS + 1:
        parameters.fault("since", "too_many", f"gives more than {MOST_INTERVALS} intervals: send a later time or longer intervals")
    return ReportQuery(edges, zone, interval, groups, before)


def edges_before(edges: Sequence[Micros], interval: str | None, zone: str) -> list[Micros]:
    """Return the edges of the period before: as many intervals, or the same hours of the days before."""
    if interval is None:
        length = -(-(edges[-1] - edges[0]) // DAY_US) * DAY_US
        return [edges[0] - length, edges[-1] - length]
    return edges_of(begin_of(edges[0], interval, zone, len(edges) - 1), edges[0], interval, zone)


def _time(parameters: Parameters, name: str, text: str | None, zone: str, now: Micros) -> Micros | None:
    if text is None:
        return None
    if (relative := _RELATIVE.fullmatch(text)) is not None:
        return now - int(relative[1]) * DAY_US * (7 if relative[2] == "w" else 1)
    written = text.replace(" ", "+") if "T" in text.upper() else text  # a plus sign that was not escaped arrives as a space
    try:
        moment = datetime.fromisoformat(written.upper())
        if moment.tzinfo is None:
            return from_datetime(moment.replace(tzinfo=ZoneInfo(zone)))
        return from_text(written.upper())
    except (ValueError, OverflowError):
        parameters.fault(name, "time", "must be a time such as 2026-11-20T09:30:00Z, a date such as 2026-11-20, or a length such as 30d")
        return None
