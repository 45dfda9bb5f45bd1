"""docs/explanation/performance.md is what the kept runs give; and a grown store is as the service would have written it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from touchbase.stores import COPY_RULES

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))


def test_performance_page__matches_the_stored_runs() -> None:
    from bench.pages import PAGE, load, page

    assert PAGE.read_text(encoding="utf-8") == page(load()), "run `.venv/bin/python -m bench.pages`"


def test_performance_page__has_at_most_150_lines() -> None:
    from bench.pages import load, page

    assert page(load()).count("\n") <= 150


def test_performance_runs__name_their_machine_and_time() -> None:
    from bench.pages import load
    from bench.rerun import RUNS

    runs = load()

    assert runs.keys() == RUNS.keys()
    assert [name for name, run in runs.items() if not {"processor", "disk", "load before", "measured"} <= run["machine"].keys()] == []


def test_a_run_that_is_kept__takes_the_place_of_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.report import Report

    from bench import pages

    monkeypatch.setattr(pages, "DATA", tmp_path / "performance.json")
    for rate in ("1/s", "2/s = 0.50 x"):
        report = Report({"processor": "one", "disk": "a page takes 9 us", "measured": "now"})
        report.add("create with 1,000,000 contacts, SQLite", rate, "0.85 x", met=False, rates=[1.0])
        report.note("2 ERRORS of create")
        report.note("the whole run took 1 s")
        report.write(tmp_path)
        pages.keep("growth-sqlite", tmp_path / "report.json", "bench --only growth")

    shown = pages.page(pages.load())

    assert "| create | 2/s = 0.50 x MISSED |" in shown
    assert "- 2 ERRORS of create" in shown
    assert ("the whole run" in shown, "1/s |" in shown, "rates" in (tmp_path / "performance.json").read_text()) == (False, False, False)
    assert "- measured: now to now" in shown


@pytest.mark.slow
@pytest.mark.parametrize("deliveries", [True, pytest.param(False, marks=pytest.mark.weekly)])
def test_dataset__is_verified_without_differences(tmp_path: Path, deliveries: bool) -> None:
    from bench.dataset import create_dataset

    database = f"sqlite:///{tmp_path}/grown.db"
    create_dataset(database, 2_000, tmp_path, deliveries=deliveries)
    with closing(apsw.Connection(f"{tmp_path}/grown.db")) as grown:
        for sql in COPY_RULES.at_the_end:  # the dataset has no index for the search
            grown.execute(sql)

    verify = [sys.executable, "-m", "touchbase", "verify", "--no-bodies", "--database", database]
    done = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "verified 2000 contacts, 200 companies, 22000 events: no differences"


@pytest.mark.slow
def test_dataset__accepts_further_deliveries(tmp_path: Path) -> None:
    from bench.dataset import create_dataset
    from bench.inbox import drain_backlog, fill
    from bench.requests import shapes

    database = f"sqlite:///{tmp_path}/grown.db"
    create_dataset(database, 100, tmp_path)

    asyncio.run(fill(database, 300, shapes(100)["webhook"], "default"))
    drain_backlog(database, 300, tmp_path)

    store = apsw.Connection(f"{tmp_path}/grown.db")
    ((contacts, events, waiting),) = store.execute(
        "SELECT (SELECT count(*) FROM contact), (SELECT count(*) FROM event), (SELECT count(*) FROM delivery WHERE state <> 'applied')"
    ).fetchall()
    assert (contacts, events, waiting) == (100, 1_400, 0)


def test_bench_requests__address_existing_contacts() -> None:
    from itertools import islice

    from bench.bodies import new_run
    from bench.requests import shapes

    paths = [path for path, _ in islice(shapes(1_000, 4_000)["get"].requests(new_run()), 1_000)]

    assert sorted(paths) == sorted(b"/public/v2/contacts/%d" % number for number in range(4_001, 5_001))
