"""Plan of the report by campaign: counts the events that the index `event_report` has at once, interval by interval.

The events themselves are counted, so an event that was repeated, moved or removed counts as it does in the record's history. Events of
deleted records are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.history.events import CONTACT
from touchbase.history.status import REPLY, SENT
from touchbase.reports.models import CampaignCounts
from touchbase.reports.parts import COUNTS, MOST_ROWS, CampaignGroups, ReportTooLarge, order_of
from touchbase.sql.statement import Plan, Row, Select

_CAMPAIGN = "COALESCE({0}.campaign_id, {0}.campaign)"
"""Identifier of a campaign within its tool."""
NOT_DELETED = " AND {0}.record_id NOT IN (SELECT d.record_id FROM deleted_record d WHERE d.client = ? AND d.record_kind = 1)"

Group = tuple[int, str | None, str | None]
"""Number of the interval, tool, identifier of the campaign."""


def any_deleted(client: int) -> Plan[bool]:
    """Return whether the client has deleted contacts."""
    return bool((yield Select("SELECT 1 FROM deleted_record WHERE client = ? AND record_kind = ? LIMIT 1", (client, CONTACT))))


def count_campaigns(groups: CampaignGroups) -> Plan[list[CampaignCounts] | ReportTooLarge]:
    """Return the rows of the report, counted from all events of its time."""
    has_deleted = yield from any_deleted(groups.client)
    rows: dict[Group, CampaignCounts] = {}
    for number, (since, until) in enumerate(pairwise(groups.edges)):
        sql, params = _count_facts(groups, since, until, has_deleted)
        for effect, tool, key, events, people, name, campaign_id in (yield Select(sql, params, _in_order(sql))):
            row = rows.setdefault((number, tool, key), CampaignCounts(number, tool))
            row.campaign = max(filter(None, (row.campaign, name)), default=None)
            row.campaign_id = row.campaign_id or campaign_id
            counted, total = COUNTS[effect]
            setattr(row, counted, people)
            setattr(row, total, events)
        if len(rows) > MOST_ROWS:
            return ReportTooLarge()
    sql, params = _count_replied(groups, has_deleted)
    for number, tool, key, people in (yield Select(sql, params)):
        rows[number, tool, key].mailed_replied = people
    return [rows[group] for group in sorted(rows, key=lambda group: order_of(*group))]


def _keys(groups: CampaignGroups, table: str) -> tuple[str, str]:
    """Return the columns of tool and campaign; NULL where the report is not by them."""
    tool = f"{table}.tool" if groups.by_tool or groups.by_campaign else "CAST(NULL AS text)"
    return tool, _CAMPAIGN.format(table) if groups.by_campaign else "CAST(NULL AS text)"


def facts_of(table: str, effect: str) -> str:
    """Return the condition of a client's events of an effect."""
    # Literals, because the planners use a partial index only for what they can see.
    return f"{table}.client = ? AND {table}.record_kind = 1 AND {table}.effect = '{effect}'"


def _in_order(sql: str) -> str:
    """Return the text for PostgreSQL, which else orders names by the database's language."""
    return sql.replace("max(e.campaign)", 'max(e.campaign COLLATE "C")')


def _count_facts(groups: CampaignGroups, since: Micros, until: Micros, has_deleted: bool) -> tuple[str, Row]:
    """Return the statement that counts the facts of one interval by group."""
    tool, campaign = _keys(groups, "e")
    names = "max(e.campaign), max(e.campaign_id)" if groups.by_campaign else "CAST(NULL AS text), CAST(NULL AS text)"
    grouped = [column for column, is_by in ((tool, groups.by_tool or groups.by_campaign), (campaign, groups.by_campaign)) if is_by]
    by = f" GROUP BY {', '.join(grouped)}" if grouped else " HAVING count(*) > 0"
    parts, params = [], []
    for effect in COUNTS:
        parts.append(
            f"SELECT '{effect}', {tool}, {campaign}, count(*), count(DISTINCT e.record_id), {names} FROM event e "
            f"WHERE {facts_of('e', effect)} AND e.occurred_us >= ? AND e.occurred_us < ?"
            f"{NOT_DELETED.format('e') if has_deleted else ''}{by}"
        )
        params += [groups.client, since, until, *([groups.client] if has_deleted else [])]
    return " UNION ALL ".join(parts), tuple(params)


def _count_replied(groups: CampaignGroups, has_deleted: bool) -> tuple[str, Row]:
    """Return the statement that counts, by group, people who replied after one of the group's mails: few reply, so it begins with them."""
    since, until = groups.edges[0], groups.edges[-1]
    tool, campaign = _keys(groups, "e")
    mailed_tool, mailed_campaign = _keys(groups, "s")
    same = " AND s.tool = r.tool" if groups.by_tool or groups.by_campaign else ""
    same += f" AND {mailed_campaign} IS NOT DISTINCT FROM r.campaign" if groups.by_campaign else ""
    grouped = [column for column, is_by in ((tool, groups.by_tool or groups.by_campaign), (campaign, groups.by_campaign)) if is_by]
    sql = (
        f"WITH r AS (SELECT e.record_id, {tool} AS tool, {campaign} AS campaign, max(e.occurred_us) AS last_us FROM event e "
        f"WHERE {facts_of('e', REPLY)} AND e.occurred_us >= ?{NOT_DELETED.format('e') if has_deleted else ''} "
        f"GROUP BY {', '.join(['e.record_id', *grouped])}), "
        f"m AS (SELECT {_interval('s.occurred_us', groups.edges)} AS number, {mailed_tool} AS tool, {mailed_campaign} AS campaign, "
        "s.record_id "
        f"FROM r CROSS JOIN event s WHERE {facts_of('s', SENT)} AND s.record_id = r.record_id AND s.occurred_us >= ? AND s.occurred_us < ? "
        f"AND s.occurred_us <= r.last_us{same}) "
        "SELECT number, tool, campaign, count(DISTINCT record_id) FROM m GROUP BY number, tool, campaign"
    )
    params: list[Any] = [groups.client, since, *([groups.client] if has_deleted else []), groups.client, since, until]
    return sql, tuple(params)


def _interval(column: str, edges: Sequence[Micros], first: int = 0) -> str:
    """Return an expression for the number of the interval with a time: a binary search over the edges."""
    count = len(edges) - 1
    if count == 1:
        return str(first)
    middle = count // 2
    low, high = _interval(column, edges[: middle + 1], first), _interval(column, edges[middle:], first + middle)
    return f"CASE WHEN {column} < {edges[middle]:d} THEN {low} ELSE {high} END"
