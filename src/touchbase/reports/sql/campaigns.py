"""Plan of the report by campaign: counts the events that the index `event_report` has at once, interval by interval.

The events themselves are counted, so an event that was repeated, moved or removed counts as it does in the record's history. Events of
deleted records are left out. Steps and labels are those of the events' messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.history.events import CONTACT
from touchbase.history.status import REPLY, SENT
from touchbase.reports.models import CAMPAIGN, LABEL, STEP, TOOL, CampaignCounts
from touchbase.reports.parts import (
    COUNTS,
    MOST_MESSAGES,
    MOST_ROWS,
    CampaignGroups,
    Reported,
    ReportTooLarge,
    TooManyMessages,
    order_of,
)
from touchbase.search.counted import key_of
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan, Row, Select

NOT_DELETED = " AND {0}.record_id NOT IN (SELECT d.record_id FROM deleted_record d WHERE d.client = ? AND d.record_kind = 1)"
_GROUPS = (TOOL, CAMPAIGN, STEP, LABEL)
_NONE = "CAST(NULL AS text)"

Group = tuple[int, str | None, str | None, str | None, str | None]
"""Number of the interval, tool, identifier of the campaign, step, label."""


def any_deleted(client: int) -> Plan[bool]:
    """Return whether the client has deleted contacts."""
    return bool((yield Select("SELECT 1 FROM deleted_record WHERE client = ? AND record_kind = ? LIMIT 1", (client, CONTACT))))


@query(client="groups.client", long=True, standby=True)
def report_messages(groups: CampaignGroups, most: int = MOST_MESSAGES) -> Plan[Reported | ReportTooLarge]:
    """Report mails and their outcomes by step or label: an event's message has them, so each event is read. `most`: of them."""
    messages = 0
    for effect in (REPLY,) if groups.by_label else COUNTS:
        limited = f"SELECT 1 FROM event e WHERE {facts_of('e', effect)} AND e.occurred_us >= ? AND e.occurred_us < ? LIMIT ?"
        span = (groups.client, groups.edges[0], groups.edges[-1], most - messages + 1)
        messages += (yield Select(f"SELECT count(*) FROM ({limited}) AS found", span))[0][0]
        if messages > most:
            return TooManyMessages()
    rows = yield from count_campaigns(groups)
    return rows if isinstance(rows, ReportTooLarge) else Reported(rows, messages=messages)


def count_campaigns(groups: CampaignGroups) -> Plan[list[CampaignCounts] | ReportTooLarge]:
    """Return the rows of the report, counted from all events of its time."""
    has_deleted = yield from any_deleted(groups.client)
    rows: dict[Group, CampaignCounts] = {}
    for number, (since, until) in enumerate(pairwise(groups.edges)):
        sql, params = _count_facts(groups, since, until, has_deleted)
        for effect, tool, key, step, label, events, people, name, campaign_id in (yield Select(sql, params, _in_order(sql))):
            row = rows.setdefault((number, tool, key, step, label), CampaignCounts(number, tool, step=step, label=label))
            row.campaign = max(filter(None, (row.campaign, name)), default=None)
            row.campaign_id = row.campaign_id or campaign_id
            counted, total = COUNTS[effect]
            setattr(row, counted, people)
            setattr(row, total, events)
        if len(rows) > MOST_ROWS:
            return ReportTooLarge()
    if not groups.by_label:
        sql, params = _count_replied(groups, has_deleted)
        for *group, people in (yield Select(sql, params)):
            rows[tuple(group)].mailed_replied = people
    return [rows[group] for group in sorted(rows, key=_order)]


def _order(group: Group) -> tuple[Any, ...]:
    number, tool, campaign, step, label = group
    is_number = step is not None and step.isascii() and step.isdigit()
    return (*order_of(number, tool, campaign), step is None, int(step) if is_number and step else 0, step or "", label is None, label or "")


def _keys(groups: CampaignGroups, event: str, effect: str) -> list[str]:
    """Return the expressions of tool, campaign, step and label; NULL where the report is not by them."""
    flags = (groups.by_tool or groups.by_campaign, groups.by_campaign, groups.by_step, groups.by_label)
    return [key_of(group, event, effect) if is_by else _NONE for group, is_by in zip(_GROUPS, flags, strict=True)]


def facts_of(table: str, effect: str) -> str:
    """Return the condition of a client's events of an effect."""
    # Literals, because the planners use a partial index only for what they can see.
    return f"{table}.client = ? AND {table}.record_kind = 1 AND {table}.effect = '{effect}'"


def _in_order(sql: str) -> str:
    """Return the text for PostgreSQL, which else orders names by the database's language."""
    return sql.replace("max(e.campaign)", 'max(e.campaign COLLATE "C")')


def _count_facts(groups: CampaignGroups, since: Micros, until: Micros, has_deleted: bool) -> tuple[str, Row]:
    """Return the statement that counts the facts of one interval by group."""
    names = "max(e.campaign), max(e.campaign_id)" if groups.by_campaign else f"{_NONE}, {_NONE}"
    parts, params = [], []
    for effect in (REPLY,) if groups.by_label else COUNTS:
        keys = _keys(groups, "e", effect)
        grouped = [str(place) for place, key in enumerate(keys, 2) if key != _NONE]
        by = f" GROUP BY {', '.join(grouped)}" if grouped else " HAVING count(*) > 0"
        parts.append(
            f"SELECT '{effect}', {', '.join(keys)}, count(*), count(DISTINCT e.record_id), {names} FROM event e "
            f"WHERE {facts_of('e', effect)} AND e.occurred_us >= ? AND e.occurred_us < ?"
            f"{NOT_DELETED.format('e') if has_deleted else ''}{by}"
        )
        params += [groups.client, since, until, *([groups.client] if has_deleted else [])]
    return " UNION ALL ".join(parts), tuple(params)


def _count_replied(groups: CampaignGroups, has_deleted: bool) -> tuple[str, Row]:
    """Return the statement that counts, by group, people who replied after one of the group's mails: few reply, so it begins with them."""
    since, until = groups.edges[0], groups.edges[-1]
    replied, mailed = _keys(groups, "e", REPLY), _keys(groups, "s", SENT)
    named = [f"{key} AS k{place}" for place, key in enumerate(replied)]
    grouped = [place for place, key in enumerate(replied) if key != _NONE]
    same = "".join(f" AND {mailed[place]} IS NOT DISTINCT FROM r.k{place}" for place in grouped)
    sql = (
        f"WITH r AS (SELECT e.record_id, {', '.join(named)}, max(e.occurred_us) AS last_us FROM event e "
        f"WHERE {facts_of('e', REPLY)} AND e.occurred_us >= ? AND e.occurred_us < ?{NOT_DELETED.format('e') if has_deleted else ''} "
        f"GROUP BY {', '.join(['1', *(str(place + 2) for place in grouped)])}), "
        f"m AS (SELECT {_interval('s.occurred_us', groups.edges)} AS number, r.k0, r.k1, r.k2, r.k3, s.record_id "
        f"FROM r CROSS JOIN event s WHERE {facts_of('s', SENT)} AND s.record_id = r.record_id AND s.occurred_us >= ? AND s.occurred_us < ? "
        f"AND s.occurred_us <= r.last_us{same}) "
        "SELECT number, k0, k1, k2, k3, count(DISTINCT record_id) FROM m GROUP BY number, k0, k1, k2, k3"
    )
    params: list[Any] = [groups.client, since, groups.horizon, *([groups.client] if has_deleted else []), groups.client, since, until]
    return sql, tuple(params)


def _interval(column: str, edges: Sequence[Micros], first: int = 0) -> str:
    """Return an expression for the number of the interval with a time: a binary search over the edges."""
    count = len(edges) - 1
    if count == 1:
        return str(first)
    middle = count // 2
    low, high = _interval(column, edges[: middle + 1], first), _interval(column, edges[middle:], first + middle)
    return f"CASE WHEN {column} < {edges[middle]:d} THEN {low} ELSE {high} END"
