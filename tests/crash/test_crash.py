"""The faults find nothing on a whole server, and find what is wrong with a broken one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from crash.__main__ import main
from crash.check import Found
from crash.report import Report, page


def report_of(folder: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """The status and the rows of a run on SQLite."""
    status = main([*arguments, "--engine", "sqlite", "--out", str(folder), "--seed", "7", "--still", "2", "--no-mounts"])
    return status, json.loads((folder / "report.json").read_text())["rows"]


def test_a_server_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "kill", "--rounds", "1")

    assert (status, row["complaints"], row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


def test_a_server_that_answers_before_it_commits_is_found_out(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "kill", "--rounds", "1", "--broken", "no-flush")

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0


@pytest.mark.parametrize("fault", ["duplicates", "apply"])
def test_a_whole_server_stands_it(tmp_path: Path, fault: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1")

    assert (status, row["complaints"], row["survived"]) == (0, [], True)


def test_a_server_that_knows_no_repeats_is_found_out(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "duplicates", "--rounds", "1", "--broken", "no-dedup")

    assert (status, row["twice"]) == (1, 63)


def test_a_server_that_forgets_what_waits_is_found_out(tmp_path: Path) -> None:
    status, (row,) = report_of(tmp_path, "--only", "apply", "--rounds", "1", "--broken", "no-sweeper")

    assert (status, row["lost"]) == (1, row["acknowledged"])
    assert "deliveries of apply-0 are never applied" in row["complaints"]


@pytest.mark.parametrize("fault", ["power", "io", "points", "clock"])
def test_a_whole_server_stands_what_disks_and_clocks_do(tmp_path: Path, fault: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1")

    assert (status, row["complaints"], row["survived"]) == (0, [], True)
    assert row["acknowledged"] > 20


@pytest.mark.parametrize(
    ("fault", "way"), [("power", "no-sync"), ("io", "no-refusal"), ("points", "no-sweeper"), ("clock", "no-event-times")]
)
def test_a_server_that_breaks_its_promise_is_found_out(tmp_path: Path, fault: str, way: str) -> None:
    status, (row,) = report_of(tmp_path, "--only", fault, "--rounds", "1", "--broken", way)

    assert (status, row["survived"]) == (1, False)
    assert row["lost"] > 0 or fault == "clock"


def test_a_goal_of_speed_that_was_missed_is_told_apart_from_a_loss(tmp_path: Path) -> None:
    slow, wrong = Found(), Found("acme")
    slow.miss("served too little")
    wrong.lose("contact 1")
    report = Report({"memory": "some"})
    report.add("overload", "sqlite", 1, 9, slow)
    report.add("kill", "sqlite", 1, 9, wrong)
    report.write(tmp_path)

    written = page(tmp_path).splitlines()

    assert [row.verdict for row in report.rows] == ["MISSED", "FAILED"]
    assert [line.rpartition("| ")[2] for line in written if line.startswith(("| overload", "| kill"))] == ["MISSED |", "FAILED |"]
