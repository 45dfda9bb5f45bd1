"""How fast a backlog went down, out of the times that the store keeps."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

SECOND = 1_000_000


def test_drain_rates__are_computed_per_part_without_the_last_batch() -> None:
    from bench.drain import rates

    turns = [(5 * SECOND, 10), (6 * SECOND, 30), (7 * SECOND, 999)]

    assert rates(turns, 1) == [pytest.approx(20)]
    assert rates(turns, 2) == [pytest.approx(15), pytest.approx(30)]
    assert rates(turns, 4) == [pytest.approx(10), pytest.approx(30), pytest.approx(30), pytest.approx(30)]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_drain_backlog__processes_all_deliveries_and_finds_the_batches(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    from bench.drain import batches_since
    from bench.inbox import drain_backlog, fill

    database = f"sqlite:///{tmp_path}/backlog.db" if engine == "sqlite" else request.getfixturevalue("postgres_url")
    asyncio.run(fill(database, 300))

    result, ended = drain_backlog(database, 300, tmp_path)

    assert sum(count for _, count in batches_since(database, 0)) == 300
    assert len(result) == 3
    assert ended == {'touchbase_deliveries_processed_total{channel="email_campaign",outcome="applied",tool="instantly"}': 300}
