"""The test of the test: a statement that forgets its client is found out on SQLite, and stopped by the wall on PostgreSQL."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.isolation.mutants import OPS, QUESTIONS, forgetful, mutated
from tests.isolation.probe import inserts, probe
from tests.isolation.trial import Opened, look_at_a, plan_of, settle_b, walk
from tests.isolation.world import World

from touchbase.domain.ports import Store

OF_ALL = {
    "inbox_reads.busy", "inbox_reads.counts", "inbox_reads.deliveries", "reads._any_key", "reads._client", "reads._clients", "reads._key",
}  # fmt: skip
"""Questions about clients themselves, or about all of them by right; they have no condition to forget (tests/storage/test_scoping.py)."""
UNNOTICED = {"statements.UNPARK_DELIVERY"}
"""Changes only a delivery that is parked although no event of it waits, and A has none such; its id is no other client's in any case."""
SCOPED = sorted({*OPS, *QUESTIONS} - OF_ALL)


def test_to_forget_is_to_have_no_condition_on_the_client() -> None:
    assert forgetful("SELECT 1 FROM event WHERE client = ? AND id = ?") == "SELECT 1 FROM event WHERE (1 = 1 OR client = ?) AND id = ?"
    assert forgetful("t.client = p.client AND t.id = p.id") == "(1 = 1 OR t.client = p.client) AND t.id = p.id"
    assert forgetful("SELECT client_id FROM client WHERE client_id = ?") == "SELECT client_id FROM client WHERE client_id = ?"
    assert {*QUESTIONS} >= OF_ALL
    assert len(SCOPED) > 40


class TestOnSqlite:
    """Where nothing stands behind the statements."""

    @pytest.fixture
    def engine_url(self, sqlite_url: str) -> str:
        return sqlite_url

    async def test_every_forgetful_statement_is_noticed(
        self, world: World, opened: Opened, emptied: Callable[[], None], engine_url: str
    ) -> None:
        path = Path(engine_url.removeprefix("sqlite:///"))
        saved = path.with_suffix(".saved")
        a, known = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        whole = await plan_of(world, a, known, b[0])
        # Most statements are only put to the probes; inserts and questions go the whole walk.
        short = {name for name in OPS if not inserts(name)}
        await (await opened()).close()
        shutil.copy(path, saved)
        alone = {}
        for few in (True, False):
            emptied()
            alone[few] = (
                await walk(world, opened, await settle_b(world, await opened()), replace(whole, requests=[]) if few else whole)
            ).told

        unnoticed = set()
        for name in SCOPED:
            await (await opened()).close()
            emptied()
            shutil.copy(saved, path)
            with mutated(name):
                try:
                    plan = replace(whole, requests=[]) if name in short else whole
                    faults = (await walk(world, opened, b, plan, like=alone[name in short])).faults
                except Exception as error:
                    faults = [repr(error)]
            if not faults and await world.dump(a.number) == before:
                unnoticed.add(name)

        assert unnoticed == UNNOTICED


class TestOnPostgres:
    """Where the wall stands behind them."""

    @pytest.fixture
    def engine_url(self, postgres_url: str) -> str:
        return postgres_url

    async def test_with_every_statement_forgetful_b_is_still_answered_as_if_there_were_no_a(
        self, world: World, opened: Opened, emptied: Callable[[], None]
    ) -> None:
        a, known = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        plan = await plan_of(world, a, known, b[0])

        with mutated(*SCOPED):
            beside = await walk(world, opened, b, plan)
        after = await world.dump(a.number)
        emptied()
        alone = await walk(world, opened, await settle_b(world, await opened()), plan)

        assert beside.faults == []
        assert after == before
        assert [(one, other) for one, other in zip(beside.told, alone.told, strict=True) if one != other] == []

    async def test_each_forgetful_statement_sees_and_changes_nothing_of_a(self, world: World, opened: Opened) -> None:
        a, known = await look_at_a(world, await opened())
        before = await world.dump(a.number)
        b = await settle_b(world, await opened())
        plan = await plan_of(world, a, known, b[0])
        store: Store = await opened()
        fitting = [one for one in plan.tries if not inserts(one.name)]  # a second insert finds the row of the first
        told = await probe(store, fitting, plan.questions)

        other = []
        for name in SCOPED:
            with mutated(name):
                now = await probe(store, [one for one in fitting if one.name == name], [] if name in OPS else plan.questions)
            other += [(name, text) for text in now if text not in told]

        assert other == []
        assert await world.dump(a.number) == before
