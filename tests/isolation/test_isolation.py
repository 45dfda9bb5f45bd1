"""Nobody sees, changes or even notices another client, whatever he calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.isolation.trial import Opened, look_at_a, plan_of, settle_b, walk
from tests.isolation.world import World


@pytest.fixture
def engine_url(sqlite_url: str) -> str:
    """SQLite alone: on PostgreSQL `test_mutants` walks the same with no client condition at all."""
    return sqlite_url


async def test_every_route__gives_a_client_the_same_responses_as_without_the_other_client(
    world: World, opened: Opened, emptied: Callable[[], None]
) -> None:
    a, expected = await look_at_a(world, await opened())
    before = await world.dump(a.number)
    b = await settle_b(world, await opened())
    plan = await plan_of(world, a, expected, b[0])

    beside = await walk(world, opened, b, plan)
    after = await world.dump(a.number)
    emptied()
    again = await settle_b(world, await opened())
    alone = await walk(world, opened, again, plan)

    assert again[0] == b[0]
    assert beside.faults == []
    assert after == before
    assert [(first, second) for first, second in zip(beside.facts, alone.facts, strict=True) if first != second] == []
