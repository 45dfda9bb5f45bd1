"""Counted moves from status to status give the report that the records give, whatever was written, for any beginning and end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ExecuteSql
from tests.house import House
from tests.reports.test_any_sequence import DAY, Client
from tests.reports.test_statuses import statuses

from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import SECOND
from touchbase.history.events import CONTACT
from touchbase.records.sql.status_moves import QUARTER, audit_moves, correct_moves, moves_of
from touchbase.reports.models import StatusCounts
from touchbase.reports.parts import ReportTooLarge
from touchbase.reports.sql import statuses as plans
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan

WORDS = ClientSettings().words(CONTACT)


@query
def both_reports(
    client: int, edges: Sequence[int]
) -> Plan[tuple[list[StatusCounts] | ReportTooLarge | None, list[StatusCounts] | ReportTooLarge]]:
    """The report by counted moves, None if they do not tell, and by records."""
    moves, records = plans._Counts(edges, WORDS), plans._Counts(edges, WORDS)
    can_tell = yield from plans._add_moves(client, CONTACT, edges, moves)
    yield from plans._add_records(client, CONTACT, edges, records)
    return moves.rows() if can_tell else None, records.rows()


@pytest.mark.parametrize("seed", range(4))
async def test_moves__give_the_report_that_the_records_give(house: House, seed: int) -> None:
    chance = random.Random(f"moves {seed}")
    client, begin, told = Client(house, chance), house.call.clock.now, 0
    for _ in range(30):
        await client.step()
        length = max(1, house.call.clock.now - begin)
        edges = [begin + chance.randrange(-5 * DAY * SECOND, length) // QUARTER * QUARTER for _ in range(chance.choice((1, 3)))]
        edges = [*sorted({*edges}), begin + length + chance.choice((1, 0, -1, -DAY * SECOND, DAY * SECOND))]
        if edges[-2] >= edges[-1]:
            continue
        by_moves, by_records = await house.call.parts.store.read(both_reports(house.number, edges))
        told += by_moves is not None
        assert by_moves in (None, by_records)

    assert told > 10
    assert await house.call.parts.store.read(audit_moves(house.number, CONTACT)) == []


async def test_statuses__are_read_from_counts_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await house.contact(email="ann@example.com", contact_status="new")
    house.call.clock.move(DAY)
    monkeypatch.setattr(plans, "_add_records", None)

    assert await statuses(house, "interval=day&since=2026-11-21") == [("2026-11-21T00:00:00Z", "new", 1, 0)]


async def test_statuses__of_an_end_between_two_moves_of_a_quarter_are_read_from_records(house: House) -> None:
    await house.contact(email="ann@example.com", contact_status="new")
    until = house.call.clock.move(2)
    house.call.clock.move(2)
    await house.contact(email="bob@example.com", contact_status="new")

    house.call.clock.move(3_600)
    assert await statuses(house, f"interval=day&since=2026-11-20&until={until}") == [("2026-11-20T00:00:00Z", "new", 1, 1)]


async def test_verify__names_a_count_that_is_wrong(house: House, execute_sql: ExecuteSql) -> None:
    await house.contact(email="ann@example.com", contact_status="new")
    await execute_sql("UPDATE status_move SET n = 5 WHERE to_status = 'new' AND span < 0")

    assert await house.differences() == ["contact statuses: '' to 'new' in span -2147483648 is 5, and must be 1"]


async def test_recount__corrects_wrong_missing_and_needless_counts(house: House, execute_sql: ExecuteSql) -> None:
    for name, status in (("ann", "new"), ("bob", "new"), ("cat", "won")):
        await house.contact(email=f"{name}@example.com", contact_status=status)
    store = house.call.parts.store
    await execute_sql("UPDATE status_move SET n = 5 WHERE to_status = 'new'")
    await execute_sql("DELETE FROM status_move WHERE to_status = 'won'")
    await execute_sql(f"INSERT INTO status_move VALUES ({house.number}, {CONTACT}, 7, 'a', 'b', 3, 0, 0)")
    wrong = await store.read(audit_moves(house.number, CONTACT))
    await house.contact(email="dan@example.com", contact_status="won")

    await store.write(correct_moves(house.number, CONTACT, wrong))

    assert len(wrong) == 7
    assert await store.read(audit_moves(house.number, CONTACT)) == []
    house.call.clock.move(DAY)
    assert sorted(await statuses(house, "interval=day&since=2026-11-21")) == [
        ("2026-11-21T00:00:00Z", "new", 2, 0),
        ("2026-11-21T00:00:00Z", "won", 2, 0),
    ]


times = st.integers(-3, 3).map(lambda number: number * QUARTER // 2)


@given(created=times, path=st.dictionaries(times, st.sampled_from(["new", "won", None])))
def test_moves_of__lead_from_nowhere_to_the_last_status(created: int, path: dict[int, str | None]) -> None:
    text = msgspec.json.encode({str(at): path[at] for at in sorted(path)}).decode() if path else None
    moves = moves_of(created, text)

    assert moves[0][:2] == (created, " ")
    assert all(move[2] == following[1] and move[0] < following[0] for move, following in pairwise(moves))
    assert moves[-1][2] == (path[max(path)] or "" if path else "")
