"""The benchmark measures: a very short run from the command line, and its arithmetic. What it finds here means nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def bench(out: Path, *options: str) -> dict[str, Any]:
    """What a run reports."""
    command = [sys.executable, "-m", "bench", "--engine", "sqlite", "--generator", "own", "--out", str(out), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads((out / "report.json").read_text())
    return report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    short = ("--only", "processor,create,webhook,apply", "--rounds", "1", "--seconds", "0.2", "--backlog", "600")
    return bench(tmp_path_factory.mktemp("bench"), *short)


@pytest.mark.weekly
@pytest.mark.slow
def test_bench_run__reports_every_requested_figure_with_a_verdict(report: dict[str, Any]) -> None:
    result = {row["what"].partition(" (")[0]: row["verdict"] for row in report["rows"]}

    limited = {what for what, verdict in result.items() if verdict in ("ok", "MISSED")}
    assert limited == {
        "create contact, SQLite, 64 connections",
        "create contact, SQLite, beside single transactions",
        "create contact, SQLite, p99 at full load",
        "create contact, SQLite, p99 at half load",
        "receive webhook, SQLite, 64 connections",
        "receive webhook, SQLite, p99 at full load",
        "receive webhook, SQLite, p99 at half load",
        "apply events, SQLite, from a backlog of 600",
    }


@pytest.mark.weekly
@pytest.mark.slow
def test_bench_run__reports_the_processor_time_of_creates_and_webhooks(report: dict[str, Any]) -> None:
    times = {row["what"]: row["raw"]["microseconds"] for row in report["rows"] if row["what"].startswith("processor time")}

    assert times.keys() == {"processor time, contact created, SQLite", "processor time, webhook received and applied, SQLite"}
    assert min(map(min, times.values())) > 0


@pytest.mark.weekly
@pytest.mark.slow
def test_bench_run__has_no_failed_requests(report: dict[str, Any]) -> None:
    bursts = [item["burst"] for row in report["rows"] for name in ("real", "other", "rounds") for item in row["raw"].get(name, [])]

    assert bursts
    assert [burst["errors"] for burst in bursts if burst["errors"] or not burst["requests"]] == []


@pytest.mark.weekly
@pytest.mark.slow
def test_bench_run__lists_what_it_did_not_measure(report: dict[str, Any]) -> None:
    assert (
        "not measured: fairness, files, limits, start, translate, auth, paths, growth, processes, compare, batch, match, outgoing, "
        "endpoints, cells, postgresql" in report["notes"]
    )


@pytest.mark.weekly
@pytest.mark.slow
def test_bench_run__leaves_no_store(report: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folders = [path for path in tmp_path_factory.getbasetemp().glob("bench*/*") if path.is_dir()]

    assert folders == []


def test_bench_bodies__are_unique_within_and_across_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.bodies import CREATE, WEBHOOK, new_run

    for shape in (CREATE, WEBHOOK):
        bodies = [body for _ in range(2) for body in islice(shape.bodies(new_run()), 20_000)]

        assert len(set(bodies)) == len(bodies)
        assert all(json.loads(body) for body in bodies[:100])


async def test_bench_auth__times_every_way_to_authorise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    from bench.auth import TIMES, measured

    result = await measured(2)

    assert {what: len(times) for what, times in result.items()} == dict.fromkeys(
        ("key of one client", "key of no client", "open mode"), TIMES
    )
