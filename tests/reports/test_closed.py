"""Reports from closed rows say what a recount of all events says, whatever happened since the rows were counted."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.reports.test_any_sequence import Client
from tests.reports.test_campaigns import DAY, columns_of, mail
from tests.reports.test_parts import BEGIN, EVENTS, HOURS, recount, shown

from touchbase.common.timestamps import SECOND, Micros
from touchbase.reports import campaigns as service
from touchbase.reports.intervals import edges_of
from touchbase.reports.parts import LEVELS, TOGETHER, CampaignGroups, group_at, group_of
from touchbase.reports.sql import closed as plans
from touchbase.reports.sql.parts import report_campaigns
from touchbase.sql.store import Store

GROUPS = (("campaign",), ("tool",), ())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[CampaignGroups]:
    """The reports that were counted from parts or events."""
    groups: list[CampaignGroups] = []
    report = service._report

    async def noted(store: Store, counted: CampaignGroups, *more: Any) -> Any:
        groups.append(counted)
        return await report(store, counted, *more)

    monkeypatch.setattr(service, "_report", noted)
    return groups


async def both(house: House, edges: Sequence[Micros], groups: Sequence[str]) -> tuple[list[Any], list[Any]]:
    """The report as it is answered, and the one that counts all events."""
    store, now = house.call.parts.store, house.call.clock.now
    answered = await service.report_campaigns(store, house.number, edges, groups, "UTC", now)
    recounted = await store.read(report_campaigns(CampaignGroups(house.number, edges, "tool" in groups, "campaign" in groups)))
    assert not isinstance(recounted, Exception)
    assert recounted.rows is not None
    return answered, recounted.rows


@pytest.mark.parametrize("seed", range(4))
async def test_report__from_closed_rows_says_what_a_recount_says_after_any_sequence(
    house: House, seed: int, counted: list[CampaignGroups], monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"closed {seed}")
    monkeypatch.setattr(plans, "MANY_PEOPLE", chance.choice((1, 100)))
    monkeypatch.setattr(plans, "MOST_EVENTS", chance.choice((1, 100)))
    client = Client(house, chance)
    since = house.call.clock.now // HOURS * HOURS - 4 * DAY * SECOND
    ends = [since + DAY * SECOND, since + 5 * DAY * SECOND + 77]
    remembered = 0
    for _ in range(15):
        await client.step()
        now = house.call.clock.now
        for edges in ([since, now], edges_of(since, now, "week", "UTC"), *([since, end] for end in ends if end < now)):
            counted.clear()
            groups = chance.choice(GROUPS)

            answered, recounted = await both(house, edges, groups)

            assert answered == recounted, (edges, groups)
            remembered += not counted

    assert remembered > 2


async def test_report__counts_again_only_people_with_events_since(house: House, counted: list[CampaignGroups]) -> None:
    await house.hook("camp", mail("ann", -3 * DAY), mail("bob", -3 * DAY), mail("ann", -2 * DAY, event="email_replied"))
    since = house.call.clock.now // HOURS * HOURS - 5 * DAY * SECOND
    await both(house, [since, house.call.clock.now], [])
    first = [groups.horizon for groups in counted]
    counted.clear()
    house.call.clock.move(20)
    await house.hook("camp", mail("bob", -10, event="email_replied"), mail("ann", -5, event="email_replied"), mail("cat", -5))

    answered, recounted = await both(house, [since, house.call.clock.now], [])

    assert first == [house.call.clock.now // HOURS * HOURS]
    assert counted == []
    assert answered == recounted
    (row,) = answered
    assert (row.mailed, row.mails, row.replied, row.replies, row.mailed_replied) == (3, 3, 2, 3, 2)


async def test_report__counts_closed_rows_again_after_a_late_event(house: House, counted: list[CampaignGroups]) -> None:
    await house.hook("camp", mail("ann", -3 * DAY))
    since = house.call.clock.now // HOURS * HOURS - 5 * DAY * SECOND
    await both(house, [since, house.call.clock.now], [])
    counted.clear()
    await house.hook("camp", mail("bob", -2 * DAY))

    answered, recounted = await both(house, [since, house.call.clock.now], [])

    assert [groups.horizon for groups in counted] == [house.call.clock.now // HOURS * HOURS]
    assert answered == recounted
    assert answered[0].mailed == 2


async def test_report__of_an_odd_time_is_not_remembered(house: House, counted: list[CampaignGroups]) -> None:
    await house.hook("camp", mail("ann", -3 * DAY))
    since = house.call.clock.now // HOURS * HOURS - 5 * DAY * SECOND + 1

    for _ in range(2):
        answered, recounted = await both(house, [since, house.call.clock.now], [])
        assert answered == recounted

    assert [groups.edges[0] for groups in counted] == [since, since]
    assert not any(groups.horizon < house.call.clock.now for groups in counted)


async def test_reports_of_all_clients__hold_each_clients_own_events(
    store: Store, make_client: MakeClient, counted: list[CampaignGroups]
) -> None:
    call = make_client(store, read=read)
    houses = [await House.of(call, name) for name in ("acme", "beta", "gamma")]
    for house in houses[:2]:
        await house.hook("camp", mail("ann", -2 * DAY))
    path = "/admin/v1/reports/campaigns?group_by=client&since=2026-11-16"
    await call.get(path)
    counted.clear()
    await houses[1].hook("camp", mail("bob", -60))

    reply = await call.get(path)

    assert columns_of(reply.json()["data"], "client_id", "mailed") == [("acme", 1), ("beta", 2)]
    assert counted == []


def test_remembered_rows__are_as_many_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "MOST_REMEMBERED", 3)
    remembered = service._ClosedReports()
    keys: list[service._Key] = [(number, (0,), False, False) for number in range(5)]
    for key in keys:
        remembered.put(key, plans.ClosedRows(1, 10, 10, []))
        remembered.get(keys[0], 20)

    assert [key[0] for key in keys if remembered.get(key, 20)] == [0, 3, 4]
    assert remembered.get(keys[0], 5) is None
    remembered.put((9, tuple(range(16)), False, False), plans.ClosedRows(1, 10, 10, []))  # its edges take as much as two rows
    assert [key[0] for key in keys if remembered.get(key, 20)] == []


@given(
    events=st.lists(EVENTS, max_size=30), level=st.sampled_from(LEVELS), since=st.integers(0, 100), length=st.integers(1, 100),
    horizon=st.integers(0, 200), by_day=st.booleans(),
)  # fmt: skip
def test_closed_rows__of_any_events_are_brought_up_to_date(
    events: list[Any], level: int, since: int, length: int, horizon: int, by_day: bool
) -> None:
    begin, until, closes = BEGIN + since * HOURS, BEGIN + (since + length) * HOURS, BEGIN + (since + horizon + 1) * HOURS
    edges = edges_of(begin, until, "day", "UTC") if by_day else [begin, until]
    groups = CampaignGroups(1, edges, level > TOGETHER, level == max(LEVELS))
    told = [
        (effect, who, group_at(level, group_of(tool, number, name)), number, name, at)
        for effect, who, tool, number, name, at in events
        if at >= edges[0]
    ]
    closed_edges = [*(edge for edge in edges if edge < min(until, closes)), min(until, closes)]
    closed_groups = CampaignGroups(1, closed_edges, groups.by_tool, groups.by_campaign)
    before = plans._count(closed_groups, [event for event in told if event[-1] < closes])
    people = {event[1] for event in told if event[-1] >= closes}

    rows = plans._with_open(groups, plans.ClosedRows(0, closes, closed_edges[-1], [*before.values()]), [e for e in told if e[1] in people])

    assert dict(shown(row, level) for row in rows) == recount(events, edges, level)
