"""docs/performance.md is what the committed JSON gives; and a grown store is as the service would have written it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_the_page_of_figures_is_what_the_committed_runs_give() -> None:
    from bench.pages import DATA, PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page(DATA), "run `.venv/bin/python -m bench.pages`"


def test_every_run_that_is_told_says_on_what_machine_and_when() -> None:
    import json

    from bench.pages import DATA

    runs = {path.name: json.loads(path.read_text(encoding="utf-8"))["machine"] for path in DATA.glob("*.json")}

    assert runs
    assert [name for name, machine in runs.items() if not {"processor", "disk", "load before", "measured"} <= machine.keys()] == []


@pytest.mark.slow
@pytest.mark.parametrize("deliveries", [True, False])
def test_verify_finds_no_difference_in_a_grown_store(tmp_path: Path, deliveries: bool) -> None:
    from bench.grown import grow

    database = f"sqlite:///{tmp_path}/grown.db"
    grow(database, 2_000, tmp_path, deliveries=deliveries)

    verify = [sys.executable, "-m", "touchbase", "verify", "--no-bodies", "--database", database]
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "verified 2000 contacts, 200 companies, 22000 events: no differences"


@pytest.mark.slow
def test_a_grown_store_lives_on(tmp_path: Path) -> None:
    from bench.asked import shapes
    from bench.grown import grow
    from bench.inbox import fill, work_off

    database = f"sqlite:///{tmp_path}/grown.db"
    grow(database, 100, tmp_path)

    asyncio.run(fill(database, 300, shapes(100)["webhook"], "default"))
    work_off(database, 300, tmp_path)

    store = apsw.Connection(f"{tmp_path}/grown.db")
    ((contacts, events, waiting),) = store.execute(
        "SELECT (SELECT count(*) FROM contact), (SELECT count(*) FROM event), (SELECT count(*) FROM delivery WHERE state <> 'applied')"
    ).fetchall()
    assert (contacts, events, waiting) == (100, 1_400, 0)


def test_what_a_run_asks_of_known_contacts_is_of_those_that_there_are() -> None:
    from itertools import islice

    from bench.asked import shapes
    from bench.bodies import new_run

    paths = [path for path, _ in islice(shapes(1_000, 4_000)["get"].requests(new_run()), 1_000)]

    assert sorted(paths) == sorted(b"/public/v2/contacts/%d" % number for number in range(4_001, 5_001))
