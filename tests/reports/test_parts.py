"""The report by campaign made of stored parts says what a recount of all its events says, also after any change of them."""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.house import House
from tests.reports.test_any_sequence import Client
from tests.reports.test_campaigns import DAY, columns_of, mail, report
from tests.storage.statements import STATEMENTS

from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.status import REPLY, SENT
from touchbase.reports import campaigns as service
from touchbase.reports.event_hours import BY_EVENT, BY_RECORD
from touchbase.reports.intervals import edges_of
from touchbase.reports.models import CampaignCounts
from touchbase.reports.parts import (
    BY_CAMPAIGN,
    COUNTED,
    COUNTS,
    LEVELS,
    MOST_ROWS,
    CampaignGroups,
    PartBuilder,
    People,
    ReportTooLarge,
    Union,
    group_at,
    packed,
    spans_of,
    unpacked,
)
from touchbase.reports.sql import parts as parts_sql
from touchbase.reports.sql.parts import report_campaigns
from touchbase.sql.statement import Statement

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu")
HOURS = 3_600 * SECOND
# A week in which summer time ends in Berlin, and another one in New York.
BEGIN = 1_792_886_400 * SECOND
GROUPS = (("campaign",), ("tool",), ())


@pytest.fixture
def _made_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small reports be made of parts too, and let them be read in pages."""
    monkeypatch.setattr(parts_sql, "report_campaigns", partial(report_campaigns, few=-1))
    monkeypatch.setattr(parts_sql, "PAGE", 2)
    monkeypatch.setattr(parts_sql, "MOST_AT_EDGE", 1)


async def both(house: House, edges: Sequence[Micros], groups: Sequence[str], zone: str) -> tuple[list[Any], list[Any]]:
    """The report made of parts, and the one that counts all events."""
    store, now = house.call.parts.store, house.call.clock.now
    new_report_campaigns = await service.report_campaigns(store, house.number, edges, groups, zone, now)
    counted = await store.read(report_campaigns(CampaignGroups(house.number, edges, "tool" in groups, "campaign" in groups)))
    assert not isinstance(counted, Exception)
    assert counted.rows is not None
    return new_report_campaigns, counted.rows


@pytest.mark.usefixtures("_made_of_parts")
@pytest.mark.parametrize("seed", range(4))
async def test_report__made_of_parts_says_what_a_recount_says_after_any_sequence(house: House, seed: int) -> None:
    chance = random.Random(f"parts {seed}")
    client = Client(house, chance)
    for _ in range(12):
        await client.step()
        now, zone = house.call.clock.now, chance.choice(ZONES[:2])
        since = now - chance.choice((9 * DAY, 30 * DAY + 5)) * SECOND
        interval = chance.choice(("day", "week", None, None))
        edges = [since, now] if interval is None else edges_of(since, now, interval, zone)

        created, counted = await both(house, edges, chance.choice(GROUPS), zone)

        assert created == counted


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__counts_any_number_of_events_of_a_part_of_an_hour(house: House) -> None:
    names = ("ann", "bob", "cat", "dan")
    await house.hook("camp", *(mail(who, -900 + at) for at, who in enumerate(names)))
    await house.hook("camp", *(mail(who, -300 + at, event="email_replied") for at, who in enumerate(names)))
    now = house.call.clock.now

    created, counted = await both(house, [now - 1_200 * SECOND, now - 600 * SECOND], ["tool"], "UTC")

    assert created == counted
    assert [(row.mails, row.mailed_replied) for row in created] == [(4, 4)]


EVENTS = st.tuples(
    st.sampled_from([*sorted(COUNTED), SENT, SENT, REPLY]),
    st.integers(1, 4).map(lambda number: number * 5_000),
    st.sampled_from(["camp", "plain"]),
    st.sampled_from([None, "7", "8"]),
    st.sampled_from([None, "Autumn", "Winter"]),
    st.integers(0, 7 * 24 * 4).map(lambda quarter: BEGIN + quarter * HOURS // 4),
)


def recount(events: Sequence[Any], edges: Sequence[Micros], level: int) -> dict[Any, tuple[Any, ...]]:
    """Count the rows of a report, event by event."""
    group_of = [group_at(level, (tool, name if number is None else number)) for _, _, tool, number, name, _ in events]
    rows: dict[Any, Any] = defaultdict(lambda: (Counter(), defaultdict(set), set()))
    for (effect, who, *_, at), group in zip(events, group_of, strict=True):
        if not edges[0] <= at < edges[-1]:
            continue
        totals, people, answered = rows[bisect_right(edges, at) - 1, group]
        totals[effect] += 1
        people[effect].add(who)
        answers = (event for event, second in zip(events, group_of, strict=True) if (event[0], event[1], second) == (REPLY, who, group))
        if effect == SENT and any(answer[5] >= at for answer in answers):
            answered.add(who)
    return {
        key: (dict(totals), {key: len(ids) for key, ids in people.items()}, len(answered))
        for key, (totals, people, answered) in rows.items()
    }


def shown(row: CampaignCounts, level: int) -> Any:
    campaign = None if level < BY_CAMPAIGN else row.campaign_id or row.campaign
    totals = {effect: total for effect, (_, name) in COUNTS.items() if (total := getattr(row, name))}
    people = {effect: total for effect, (name, _) in COUNTS.items() if (total := getattr(row, name))}
    return (row.number, (row.tool, campaign)), (totals, people, row.mailed_replied)


@example(  # a reply at the time of the mail
    [(SENT, 5_000, "camp", "7", None, BEGIN), (REPLY, 5_000, "camp", "7", None, BEGIN)], "UTC", BY_CAMPAIGN, 0, 60, None, None
)
@given(
    events=st.lists(EVENTS, max_size=30), zone=st.sampled_from(ZONES), level=st.sampled_from(LEVELS),
    since=st.integers(0, 5 * 24 * 60), length=st.integers(1, 4 * 24 * 60), interval=st.sampled_from(["day", "week", None]),
    most=st.sampled_from([None, 0, 1, 2]),
)  # fmt: skip
def test_parts__of_any_events_add_up(
    events: list[Any], zone: str, level: int, since: int, length: int, interval: str | None, most: int | None
) -> None:
    begin = BEGIN + since * 60 * SECOND
    until = begin + length * 60 * SECOND
    edges = [begin, until] if interval is None else edges_of(begin, until, interval, zone)
    spans = spans_of(tuple(edges), zone)
    assert spans is not None
    union = Union(edges, level)
    for low, high in reversed([*((span.begin, span.end) for span in spans), (until, BEGIN * 2)]):
        builder = PartBuilder(None if level == BY_CAMPAIGN else most)
        for effect in (REPLY, *(COUNTED - {REPLY})):
            builder.add(effect, [(who, *more, at) for what, who, *more, at in events if what == effect and low <= at < high])
        part = unpacked(packed(builder.build()))
        assert part is not None
        part = part.at_level(level)
        if low < until:
            union.add(low, part)
        else:
            union.add_later(part)

    assert dict(shown(row, level) for row in union.rows()) == recount(events, edges, level)


@given(st.lists(st.sets(st.integers(0, 2**40)), max_size=4))
def test_people__of_any_sets_are_counted_once(sets: list[set[int]]) -> None:
    people, common = People(), People()
    for item in sets:
        people.add_all(People.unpacked(People.of(item).packed()))
    if sets:
        common.add_common(people, People.of(sets[0]))

    assert len(people) == len(set().union(*sets))
    assert len(common) == len(sets[0] if sets else ())


@given(st.sampled_from(ZONES), st.integers(0, 10**6), st.lists(st.integers(1, 10**6), min_size=1, max_size=4))
def test_spans__of_any_edges_cover_their_time_and_are_days_or_hours_where_stored(zone: str, first: int, lengths: list[int]) -> None:
    edges = [BEGIN + first * SECOND]
    for length in lengths:
        edges.append(edges[-1] + length * SECOND)

    spans = spans_of(tuple(edges), zone)

    assert spans is not None
    assert [span.begin for span in spans] + [edges[-1]] == [edges[0]] + [span.end for span in spans]
    assert {*edges} <= {spans[0].begin, *(span.end for span in spans)}
    assert all(span.end - span.begin in (HOURS, 23 * HOURS, 24 * HOURS, 25 * HOURS) for span in spans if span.is_stored)
    # What is not stored is shorter than an hour; in a zone with odd minutes up to two such rests of a day.
    assert all(span.end - span.begin < HOURS for span in spans if not span.is_stored)


def test_spans__of_too_long_a_time_are_none() -> None:
    assert spans_of((0, 2_000 * DAY * SECOND), "UTC") is None
    assert spans_of((-(10**17), 0), "Europe/Berlin") is None


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__counts_a_past_day_once(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await house.hook("camp", mail("ann", -3 * DAY), mail("bob", -2 * DAY), mail("ann", -DAY, event="email_replied"))
    before = await report(house, "group_by=tool&since=7d")
    requested: list[Any] = []
    page = parts_sql._page
    monkeypatch.setattr(
        parts_sql, "_page", lambda *given_parts_sql: requested.append((given_parts_sql[2], given_parts_sql[3])) or page(*given_parts_sql)
    )

    assert await report(house, "group_by=tool&since=7d") == before
    assert {end - at[0] for at, end in requested if end < 2 * house.call.clock.now} <= {1_800 * SECOND}  # the hours that are not over


async def test_report__counts_all_days_that_are_not_stored_in_one_pass(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts_sql, "report_campaigns", partial(report_campaigns, few=-1))
    await house.hook("camp", *(mail("ann", -days * DAY) for days in range(2, 300, 20)))
    pages: list[Any] = []
    page = parts_sql._page
    monkeypatch.setattr(parts_sql, "_page", lambda *parameters: pages.append(parameters) or page(*parameters))

    rows = await report(house, "group_by=day&since=300d")

    assert [row["mails"] for row in rows] == [1] * 15
    assert len(pages) <= 3 * len(COUNTED) + 1  # of the days and hours, of the hours that are not whole, and later replies


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__counts_a_past_day_again_after_a_late_event(house: House) -> None:
    await house.hook("camp", mail("ann", -3 * DAY), mail("bob", -3 * DAY))
    assert columns_of(await report(house, "group_by=day&since=5d"), "mailed", "mailed_replied") == [(2, 0)]

    await house.hook("camp", mail("cat", -3 * DAY), mail("ann", -DAY, event="email_replied"))

    assert columns_of(await report(house, "group_by=day&since=5d"), "mailed", "mailed_replied") == [(3, 1), (0, 0)]


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__counts_a_past_day_again_after_deletion_restoration_and_erasure(house: House) -> None:
    await house.hook("camp", mail("ann", -3 * DAY), mail("bob", -3 * DAY))
    ann = (await house.listed())[0]["id"]
    results = []
    for change in ("get", "delete", "restore", "erase"):
        if change == "delete":
            await house.delete(ann)
        elif change == "restore":
            await house.request("POST", f"/public/v2/contacts/{ann}/restore")
        elif change == "erase":
            await house.request("DELETE", f"/public/v2/contacts/{ann}?erase=true")
        results.append([row["mails"] for row in await report(house, "group_by=day&since=5d")])

    assert results == [[2], [1], [2], [1]]


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__has_no_part_and_no_event_of_another_client(house: House) -> None:
    first, second = [await House.of(house.call, name) for name in ("one", "other")]
    await first.hook("camp", mail("ann", -3 * DAY))
    await second.hook("camp", mail("bob", -3 * DAY), mail("cat", -3 * DAY))
    now = house.call.clock.now

    for _ in ("counted", "stored"):
        rows = [await both(item, [now - 9 * DAY * SECOND, now], ("campaign",), "UTC") for item in (first, second)]
        assert [[row.mails for row in created] for created, _ in rows] == [[1], [2]]
        assert all(created == counted for created, counted in rows)


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__counts_all_mails_of_a_person_at_one_time(house: House) -> None:
    mails = [mail(who, -3 * DAY, campaign) for who in ("ann", "bob") for campaign in ("Autumn", "Winter", "Spring", None)]
    await house.hook("camp", *mails)
    now = house.call.clock.now

    created, counted = await both(house, [now - 9 * DAY * SECOND, now], ("campaign",), "UTC")

    assert created == counted
    assert sum(row.mails for row in created) == 8


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__of_many_events_is_read_part_by_part(house: House) -> None:
    await house.hook("camp", mail("ann", -3 * DAY), mail("bob", -2 * DAY), mail("cat", -DAY))
    store, now = house.call.parts.store, house.call.clock.now
    query = partial(report_campaigns, CampaignGroups(house.number, [now - 7 * DAY * SECOND, now], True, False), "UTC", few=-1, most=0)
    reads, counted = 0, {}
    rows = None
    while rows is None:
        result = await store.read(query(counted))
        assert not isinstance(result, Exception)
        rows, reads = result.rows, reads + 1
        counted |= result.counted

    assert reads == 4  # a part with an event is the last of its read
    assert [row.mailed for row in rows] == [3]


# The first event of a record, and a repeated statement of a request, are none that a report counts; the status of an event, the content
# of a deleted record, a request to erase it and what a repeat of an event adds do not count.
OTHERS = {
    "create_contact",
    "create_checked_contact",
    "create_company",
    "set_event_status",
    "replace_deleted_record",
    "ask_erasure",
    "delete_event",
    "complete_event",
}


def test_statements__that_write_counted_events_raise_the_versions_of_their_hours() -> None:
    written = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO) (event|deleted_record)\b")

    def texts(op: Statement) -> str:
        return " ".join((op.body, op.sqlite, op.sqlite_set, op.postgres, op.more_set, op.last_set, op.end_set, op.first_set))

    writing = {op.name for op in STATEMENTS.values() if written.search(texts(op))}

    assert writing - OTHERS == BY_EVENT.keys() | BY_RECORD


@pytest.mark.usefixtures("_made_of_parts")
async def test_report__of_too_many_campaigns_is_refused_without_counting_again_and_counts_by_tool(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts_sql, "MOST_ROWS", 2)
    monkeypatch.setattr(parts_sql, "PartBuilder", lambda only=None: PartBuilder(2, only))
    await house.hook("camp", *(mail(who, -3 * DAY, campaign) for who in ("ann", "bob") for campaign in ("Autumn", "Winter", "Spring")))
    await house.hook("camp", mail("ann", -3 * DAY + 9, "Winter", event="email_replied"))
    store, now = house.call.parts.store, house.call.clock.now
    edges = [now - 9 * DAY * SECOND, now]
    with pytest.raises(ReportTooLarge):
        await service.report_campaigns(store, house.number, edges, ("campaign",), "UTC", now)
    monkeypatch.setattr(parts_sql, "_count", None)

    with pytest.raises(ReportTooLarge):
        await service.report_campaigns(store, house.number, edges, ("campaign",), "UTC", now)
    (row,) = await service.report_campaigns(store, house.number, edges, ("tool",), "UTC", now)

    assert (row.mails, row.mailed, row.replies, row.mailed_replied) == (6, 2, 1, 1)


def test_part__of_more_campaigns_than_a_report_may_have_rows_counts_by_tool() -> None:
    builder = PartBuilder()
    for page in range(3):
        builder.add(SENT, [(1, "camp", f"{number}", "name", BEGIN) for number in range(page * MOST_ROWS, (page + 1) * MOST_ROWS)])

    part = builder.build()

    assert (part.by_tool, len(part.facts), part.events) == (True, 1, 3 * MOST_ROWS)
    assert unpacked(packed(part)) is not None
    assert len(packed(part)) < 1_000
