"""The report of fault runs and the page that is made from it."""

from __future__ import annotations

import json
from pathlib import Path

from crash.check import Found
from crash.pages import DATA, PAGE, page, rows_of
from crash.report import Report


def test_a_goal_of_speed_that_was_missed_is_told_apart_from_a_loss(tmp_path: Path) -> None:
    slow, wrong = Found(), Found("acme")
    slow.miss("served too little")
    wrong.lose("contact 1")
    report = Report({"memory": "some"})
    report.add("overload", "sqlite", 1, 9, slow)
    report.add("kill", "sqlite", 1, 9, wrong)
    report.write(tmp_path)

    written = rows_of(json.loads((tmp_path / "report.json").read_text()))

    assert [row.verdict for row in report.rows] == ["MISSED", "FAILED"]
    assert [line.rpartition("| ")[2] for line in written if line.startswith(("| overload", "| kill"))] == ["MISSED |", "FAILED |"]


def test_the_page_tells_what_the_kept_runs_found() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == page(written, DATA), "run `.venv/bin/python -m crash.pages`"
    assert "FAILED" not in written.partition("## The runs")[2]


def test_a_run_with_a_loss_shows_on_the_page(tmp_path: Path) -> None:
    found = Found("acme")
    found.lose("contact 1")
    report = Report({"memory": "some", "disk": "slow"}, "python -m crash --only kill")
    report.add("kill", "sqlite", 1, 9, found)
    report.write(tmp_path)

    shown = page("Prose.\n", tmp_path)

    assert shown.startswith("Prose.\n")
    assert "### `python -m crash --only kill`" in shown
    assert "| kill | SQLite | 1 | 9 | 1 | 0 | - |  | FAILED |" in shown
    assert page(shown, tmp_path) == shown
