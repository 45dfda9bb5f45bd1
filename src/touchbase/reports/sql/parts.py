"""Plans of the report by campaign made of parts, which are stored for the next report.

Each stored part is compared with the versions of its hours, in the snapshot in which the report is made: one that is out of date is
counted again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate

from touchbase.common.timestamps import DAY, LATEST, Micros
from touchbase.history.status import REPLY
from touchbase.reports.models import CampaignCounts
from touchbase.reports.parts import (
    COUNTS,
    FEW_EVENTS,
    HOUR,
    MOST_COUNTED,
    MOST_ROWS,
    CampaignGroups,
    CountedPart,
    EventRow,
    Group,
    PartBuilder,
    Reported,
    ReportPart,
    ReportTooLarge,
    Span,
    Stretch,
    Union,
    packed,
    spans_of,
    unpacked,
)
from touchbase.reports.sql.campaigns import NOT_DELETED, any_deleted, count_campaigns, facts_of
from touchbase.reports.sql.closed import closed_version
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement

PAGE = 20_000
"""Events that are read at once."""
HOURS_STAY: Micros = 2 * DAY
"""How long parts of an hour are stored; then the part of their day has their events."""

_KEY: Columns = (("client", "bigint"), ("begin_us", "bigint"), ("end_us", "bigint"))
_PART: Columns = (*_KEY, ("version", "bigint"), ("stored_us", "bigint"), ("content", "bytea"))
_MATCH = "t.client = p.client AND t.begin_us = p.begin_us AND t.end_us = p.end_us"
PARTS = Statement(
    "report_parts", _KEY, body=f"SELECT t.begin_us, t.end_us, t.version, t.content FROM p CROSS JOIN report_part t WHERE {_MATCH}"
)
STORE_PARTS = Statement(
    "store_report_parts",
    _PART,
    body=f"INSERT INTO report_part ({names(_PART)}) SELECT * FROM p WHERE true ON CONFLICT (client, begin_us, end_us) "
    "DO UPDATE SET version = excluded.version, stored_us = excluded.stored_us, content = excluded.content",
)
_BEFORE: Columns = (("client", "bigint"), ("stored_us", "bigint"))
FORGET_HOURS = Statement(
    "forget_report_hours",
    _BEFORE,
    body=f"DELETE FROM report_part AS t USING p WHERE t.client = p.client AND t.end_us - t.begin_us = {HOUR} AND t.stored_us < p.stored_us",
    by_row=True,
)


@query(client="groups.client", standby=True)
def report_campaigns(
    groups: CampaignGroups,
    time_zone: str | None = None,
    stored: Mapping[Stretch, CountedPart] | None = None,
    few: int = FEW_EVENTS,
    most: int | None = MOST_COUNTED,
) -> Plan[Reported | ReportTooLarge]:
    """Report mails and their outcomes, a row for each group in which something happened.

    `time_zone`: the zone whose days are parts; None: all events are counted at once. `stored`: parts that earlier reads for this report
    have counted. `few`: events of each kind up to which all are counted at once. `most`: events after which no further part is counted;
    None: no limit.
    """
    version = (yield from closed_version(groups.client, groups.edges[0], groups.horizon)) if groups.horizon <= LATEST else 0
    spans = None if time_zone is None else spans_of(tuple(groups.edges), time_zone)
    if spans is None or (events := (yield from _most_events(groups, few + 1))) <= few:
        rows = (yield from count_campaigns(groups)) if spans is None or events else []
        return rows if isinstance(rows, ReportTooLarge) else Reported(rows, version=version)
    versions = yield from _versions(groups.client, spans)
    version_of = {(span.begin, span.end): version for span, version in zip(spans, versions, strict=True) if span.is_stored}
    parts = yield from _current_parts(groups, stored or {}, version_of)
    if parts is None:
        return ReportTooLarge()
    has_deleted = yield from any_deleted(groups.client)
    counted: dict[Stretch, CountedPart] = {}
    number = 0
    for run in _runs(sorted(version_of.keys() - parts.keys())):
        position = 0
        while position < len(run):
            if most is not None and number > most:
                return Reported(None, counted)
            first = yield from _first_of(groups.client, run[position:], MOST_COUNTED if most is None else most)
            for stretch, part in zip(first, (yield from _count(groups.client, first, has_deleted)), strict=True):
                parts[stretch] = part.at_level(groups.level)
                counted[stretch] = CountedPart(version_of[stretch], parts[stretch], packed(part))
                number += part.events
            position += len(first)
    rows = yield from _unite(groups, spans, parts, has_deleted)
    if isinstance(rows, ReportTooLarge):
        rows.counted = counted
        return rows
    return Reported(rows, counted, version)


def _most_events(groups: CampaignGroups, most: int) -> Plan[int]:
    """Return the number of the report's events of the effect that has most of them, up to `most`."""
    numbers = [0]
    for effect in COUNTS:
        limited = f"SELECT 1 FROM event e WHERE {facts_of('e', effect)} AND e.occurred_us >= ? AND e.occurred_us < ? LIMIT ?"
        rows = yield Select(f"SELECT count(*) FROM ({limited}) AS few", (groups.client, groups.edges[0], groups.edges[-1], most))
        numbers.append(rows[0][0])
        if numbers[-1] == most:
            break
    return max(numbers)


def _versions(client: int, spans: Sequence[Span]) -> Plan[list[int]]:
    """Return the version of each span: the sum of its hours' versions, which never fall."""
    rows = yield Select(
        "SELECT hour, version FROM event_hour WHERE client = ? AND hour >= ? AND hour < ? ORDER BY hour",
        (client, spans[0].hours[0], spans[-1].hours[1]),
    )
    hours, sums = [row[0] for row in rows], [0, *accumulate(row[1] for row in rows)]
    return [sums[bisect_left(hours, end)] - sums[bisect_left(hours, begin)] for begin, end in (span.hours for span in spans)]


def _current_parts(
    groups: CampaignGroups, counted: Mapping[Stretch, CountedPart], versions: dict[Stretch, int]
) -> Plan[dict[Stretch, ReportPart] | None]:
    """Return the parts that need no counting: counted ones, and stored ones; None if they have too many campaigns for the report."""
    parts = {at: counted_part.part for at, counted_part in counted.items() if versions.get(at) == counted_part.version}
    campaigns: set[Group] = set()
    keys = [(groups.client, *stretch) for stretch in sorted(versions.keys() - parts.keys())]
    for begin, end, version, content in (yield Execute(PARTS, keys)):
        if version == versions[begin, end] and (part := unpacked(content)) is not None:
            parts[begin, end] = part.at_level(groups.level)
            if groups.by_campaign:
                campaigns |= part.campaigns
                if part.by_tool or len(campaigns) > MOST_ROWS:
                    return None
    return parts


def _unite(
    groups: CampaignGroups, spans: Sequence[Span], parts: dict[Stretch, ReportPart], has_deleted: bool
) -> Plan[list[CampaignCounts] | ReportTooLarge]:
    """Return the rows of the report; recount spans without a stored part."""
    union = Union(groups.edges, groups.level)
    unstored = [(span.begin, span.end) for span in reversed(spans) if not span.is_stored]
    later, *others = yield from _count_edges(groups, unstored, has_deleted, {group for part in parts.values() for group in part.campaigns})
    union.add_later(later)
    counted = iter(others)
    for span in reversed(spans):
        part = parts.pop((span.begin, span.end)) if span.is_stored else next(counted)
        if part.by_tool and groups.by_campaign:
            return ReportTooLarge()
        union.add(span.begin, part)
        if len(union) > MOST_ROWS:
            return ReportTooLarge()
    return union.rows()


# Replies before mails, as `PartBuilder` wants them.
_EFFECTS = (REPLY, *(effect for effect in COUNTS if effect != REPLY))
MOST_AT_EDGE = 1_000
"""Events of an effect up to which a stretch that is not stored is counted together with the others."""


def _count_edges(groups: CampaignGroups, unstored: Sequence[Stretch], has_deleted: bool, campaigns: set[Group]) -> Plan[list[ReportPart]]:
    """Count the replies after a report and the stretches of which no part is stored, in one read: on PostgreSQL each read takes 0.5 ms.

    `campaigns`: those of the other parts. Of the replies after a report by campaign, only those count whose campaign is in the report.
    """
    client, later = groups.client, (groups.edges[-1], groups.horizon)
    branches = [(later, REPLY), *((stretch, effect) for stretch in unstored for effect in _EFFECTS)]
    where = f"e.occurred_us >= ? AND e.occurred_us < ?{NOT_DELETED.format('e') if has_deleted else ''} LIMIT {MOST_AT_EDGE + 1}"
    texts = (
        f"SELECT * FROM (SELECT {number} AS branch, e.record_id, e.tool, e.campaign_id, e.campaign, e.occurred_us FROM event e "
        f"WHERE {facts_of('e', effect)} AND {where}) AS b{number}"
        for number, (_, effect) in enumerate(branches)
    )
    params = [value for stretch, _ in branches for value in (client, *stretch, *([client] if has_deleted else []))]
    rows: list[list[EventRow]] = [[] for _ in branches]
    for number, *row in (yield Select(" UNION ALL ".join(texts), tuple(params))):
        rows[number].append((row[0], row[1], row[2], row[3], row[4]))
    parts: list[ReportPart] = []
    for at in range(len(unstored), -1, -1):  # the replies after the report come last
        numbers = range(1 + (at - 1) * len(_EFFECTS), 1 + at * len(_EFFECTS)) if at else range(1)
        effects = [branches[number][1] for number in numbers]
        only = campaigns if groups.by_campaign and not at else None
        if any(len(rows[number]) > MOST_AT_EDGE for number in numbers):
            parts += yield from _count(client, [branches[numbers[0]][0]], has_deleted, effects, only)
        else:
            builder = PartBuilder(only=only)
            for number, effect in zip(numbers, effects, strict=True):
                builder.add(effect, rows[number])
            parts.append(builder.build())
        campaigns |= parts[-1].campaigns
    return parts[::-1]


def _runs(stretches: Sequence[Stretch]) -> list[list[Stretch]]:
    """Divide stretches into runs that have no gap."""
    runs: list[list[Stretch]] = []
    for stretch in stretches:
        if runs and runs[-1][-1][1] == stretch[0]:
            runs[-1].append(stretch)
        else:
            runs.append([stretch])
    return runs


def _first_of(client: int, run: Sequence[Stretch], most: int) -> Plan[Sequence[Stretch]]:
    """Return the first stretches of a run, up to the one in which an effect has more than `most` events since the run's beginning."""
    end = run[-1][1]
    for effect in COUNTS:
        rows = yield Select(
            f"SELECT e.occurred_us FROM event e WHERE {facts_of('e', effect)} AND e.occurred_us >= ? AND e.occurred_us < ? "
            "ORDER BY e.occurred_us LIMIT 1 OFFSET ?",
            (client, run[0][0], end, most),
        )
        if rows:
            end = next(until for _, until in run if rows[0][0] < until)
    return [stretch for stretch in run if stretch[1] <= end]


def _count(
    client: int, run: Sequence[Stretch], has_deleted: bool, effects: Sequence[str] = _EFFECTS, only: set[Group] | None = None
) -> Plan[list[ReportPart]]:
    """Count the events of stretches of time without a gap, in one pass; those of `only` these campaigns, if they are given."""
    builders, ends = [PartBuilder(only=only) for _ in run], [end for _, end in run]
    for effect in effects:
        at: tuple[Micros, int] | None = (run[0][0], 0)
        while at is not None:
            rows, at = yield from _page(client, effect, at, ends[-1], has_deleted)
            begin = 0
            while begin < len(rows):
                number = bisect_right(ends, rows[begin][4])
                end = bisect_left(rows, ends[number], begin, key=lambda row: row[4])
                builders[number].add(effect, rows[begin:end])
                begin = end
    return [builder.build() for builder in builders]


def _page(
    client: int, effect: str, at: tuple[Micros, int], end: Micros, has_deleted: bool, limit: int = PAGE
) -> Plan[tuple[Sequence[EventRow], tuple[Micros, int] | None]]:
    """Return events from this time and person on, and where the next ones begin; None if there are none."""
    where = f"{facts_of('e', effect)} AND (e.occurred_us, e.record_id) >= (?, ?) AND e.occurred_us < ?"
    where += NOT_DELETED.format("e") if has_deleted else ""
    rows = yield Select(
        f"SELECT e.record_id, e.tool, e.campaign_id, e.campaign, e.occurred_us FROM event e WHERE {where} "
        "ORDER BY e.occurred_us, e.record_id LIMIT ?",
        (client, *at, end, *([client] if has_deleted else []), limit),
    )
    if len(rows) < limit:
        return rows, None
    last = (rows[-1][4], rows[-1][0])
    full_times = [row for row in rows if (row[4], row[0]) != last]  # the last person may have more events at that time
    return (full_times, last) if full_times else (yield from _page(client, effect, at, end, has_deleted, 2 * limit))


@command(background=True)
def store_parts(client: int, parts: Mapping[Stretch, CountedPart], at: Micros) -> Plan[None]:
    """Store parts of reports in place of older ones, and remove hours that no present report has."""
    yield Execute(FORGET_HOURS, [(client, at - HOURS_STAY)])
    rows = [(client, *stretch, part.version, at, part.content) for stretch, part in sorted(parts.items())]
    yield Execute(STORE_PARTS, rows)
