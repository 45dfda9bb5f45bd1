"""Plan of the report by campaign from closed rows: counts of the time up to some hour, brought up to date with the events since.

Each number of a report is a sum over people. So only people with an event since that hour are looked at: what their earlier events add
is taken out of the closed rows, and what all their events add is put in.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from touchbase.common.timestamps import Micros
from touchbase.history.status import REPLY, SENT
from touchbase.reports.models import CampaignCounts
from touchbase.reports.parts import COUNTED, COUNTS, HOUR, MOST_ROWS, CampaignGroups, Group, group_at, group_of, order_of
from touchbase.sql.cell_answers import Division, divide_clients, union
from touchbase.sql.operation import query
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Statement

MANY_PEOPLE = 100
"""Of people with events since an earlier hour: for more, counting the closed rows again is quicker."""
MOST_EVENTS = 1_000
"""Of one effect since the present hour: with more, the whole report is counted from parts."""


@dataclass(frozen=True, slots=True)
class ClosedRows:
    """Rows of a client's report, counted from the events before an hour alone."""

    version: int
    """Of the events from the beginning of the report up to the hour."""
    horizon: Micros
    """When the hour begins."""
    until: Micros
    """End of the last interval."""
    rows: Sequence[CampaignCounts]


_HOURS: Columns = (("client", "bigint"), ("first", "bigint"), ("after", "bigint"))
VERSIONS = Statement(
    "report_versions",
    _HOURS,
    body="SELECT t.client, CAST(sum(t.version) AS bigint) FROM p CROSS JOIN event_hour t "
    "WHERE t.client = p.client AND t.hour >= p.first AND t.hour < p.after GROUP BY t.client",
)
_SINCE: Columns = (("client", "bigint"), ("since_us", "bigint"))
_OF_EFFECT = "event t WHERE t.client = p.client AND t.record_kind = 1 AND t.effect = '{}' AND t.occurred_us >= p.since_us"
_FEW = "(SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {}) AS few)"
_EFFECTS = sorted(COUNTED)
OPEN_EVENTS = Statement(
    "report_open_events",
    _SINCE,
    body=f"SELECT p.client, {', '.join(_FEW.format(_OF_EFFECT.format(effect), MOST_EVENTS + 1) for effect in _EFFECTS)} FROM p",
)
OPEN_PEOPLE = Statement(
    "report_open_people",
    _SINCE,
    body=" UNION ".join(f"SELECT p.client, t.record_id FROM p CROSS JOIN {_OF_EFFECT.format(effect)}" for effect in _EFFECTS),
)
EVENTS_OF_PEOPLE = Statement(
    "report_events_of_people",
    (("client", "bigint"), ("record_id", "bigint"), ("since_us", "bigint")),
    body="SELECT t.client, t.effect, t.record_id, t.tool, t.campaign_id, t.campaign, t.occurred_us FROM p CROSS JOIN event t "
    "WHERE t.client = p.client AND t.record_kind = 1 AND t.record_id = p.record_id AND t.occurred_us >= p.since_us "
    f"AND ({' OR '.join(f'''t.effect = '{effect}' ''' for effect in _EFFECTS)}) AND NOT EXISTS "
    "(SELECT 1 FROM deleted_record d WHERE d.client = p.client AND d.record_kind = 1 AND d.record_id = p.record_id)",
)
Event = tuple[str, int, Group, str | None, str | None, Micros]
"""Effect, contact, group, the campaign's id and name, and the time."""


def closed_version(client: int, since: Micros, horizon: Micros) -> Plan[int]:
    """Return the version of the events of closed rows."""
    rows = yield Execute(VERSIONS, [(client, since // HOUR, horizon // HOUR)])
    return rows[0][1] if rows else 0


@query(clients=lambda call: call.clients, divide=Division(divide_clients, union), standby=True)
def report_from_closed(
    clients: Sequence[int], groups: CampaignGroups, closed: Mapping[int, ClosedRows], hour: Micros
) -> Plan[dict[int, list[CampaignCounts] | None]]:
    """Return the rows of each client whose closed rows are current and few of whose people have events since.

    `hour`: the present one. None: so many have events since then that other closed rows would not help.
    """
    since = groups.edges[0]
    versions: dict[int, int] = dict(
        (yield Execute(VERSIONS, [(client, since // HOUR, closed[client].horizon // HOUR) for client in clients]))
    )
    current = [client for client in clients if versions.get(client, 0) == closed[client].version]
    numbers = {row[0]: row[1:] for row in (yield Execute(OPEN_EVENTS, [(client, closed[client].horizon) for client in current]))}
    reported: dict[int, list[CampaignCounts] | None] = {}
    for client in current:
        is_present = closed[client].horizon == hour
        if max(numbers[client]) <= (MOST_EVENTS if is_present else MANY_PEOPLE):
            reported[client] = [*closed[client].rows]
        elif is_present:
            reported[client] = None
    people = yield Execute(
        OPEN_PEOPLE, [(client, closed[client].horizon) for client, rows in reported.items() if rows is not None and any(numbers[client])]
    )
    events: defaultdict[int, list[Event]] = defaultdict(list)
    for client, effect, contact, tool, campaign_id, name, at in (
        yield Execute(EVENTS_OF_PEOPLE, sorted((client, contact, since) for client, contact in people))
    ):
        events[client].append((effect, contact, group_at(groups.level, group_of(tool, campaign_id, name)), campaign_id, name, at))
    for client, of_people in events.items():
        rows = _with_open(groups, closed[client], of_people)
        reported[client] = rows if len(rows) <= MOST_ROWS else None
    return reported


def _with_open(groups: CampaignGroups, closed: ClosedRows, events: Sequence[Event]) -> list[CampaignCounts]:
    """Return closed rows with the events of people that have some since."""
    rows = {(row.number, *_group_of_row(row)): replace(row) for row in closed.rows}
    before = _count(groups, [event for event in events if event[-1] < closed.horizon])
    for key, counts in _count(groups, events).items():
        row, earlier = rows.setdefault(key, CampaignCounts(key[0], key[1])), before.get(key)
        for name in _NUMBERS:
            setattr(row, name, getattr(row, name) + getattr(counts, name) - (getattr(earlier, name) if earlier else 0))
        row.campaign = max(filter(None, (row.campaign, counts.campaign)), default=None)
        row.campaign_id = row.campaign_id or counts.campaign_id
    return [rows[key] for key in sorted(rows, key=lambda key: order_of(*key))]


def _group_of_row(row: CampaignCounts) -> Group:
    return row.tool, row.campaign if row.campaign_id is None else row.campaign_id


_NUMBERS = [field.name for field in fields(CampaignCounts) if field.type == "int" and field.name != "number"]


def _count(groups: CampaignGroups, events: Sequence[Event]) -> dict[tuple[int, str | None, str | None], CampaignCounts]:
    """Count the events of a few people; a reply counts for their mails up to it, whenever it came."""
    edges, by_campaign = groups.edges, groups.by_campaign
    rows: dict[tuple[int, str | None, str | None], CampaignCounts] = {}
    counted: set[tuple[object, ...]] = set()
    last_replies: dict[tuple[int, Group], Micros] = {}
    for effect, contact, group, *_, at in sorted(events, key=lambda event: event[-1], reverse=True):
        if effect == REPLY:
            last_replies.setdefault((contact, group), at)
    for effect, contact, group, campaign_id, name, at in events:
        if at >= edges[-1]:
            continue
        number = bisect_right(edges, at) - 1
        key = (number, *group)
        row = rows.setdefault(key, CampaignCounts(number, group[0]))
        persons, total = COUNTS[effect]
        setattr(row, total, getattr(row, total) + 1)
        facts = [persons] if effect != SENT or at > last_replies.get((contact, group), at - 1) else [persons, "mailed_replied"]
        for fact in facts:
            if (*key, fact, contact) not in counted:
                counted.add((*key, fact, contact))
                setattr(row, fact, getattr(row, fact) + 1)
        if by_campaign:
            row.campaign = max(filter(None, (row.campaign, name)), default=None)
            row.campaign_id = row.campaign_id or campaign_id
    return rows
