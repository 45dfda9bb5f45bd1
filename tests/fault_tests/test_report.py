"""The report of fault runs and the page that is made from it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fault_tests.check import Findings
from fault_tests.pages import PAGE, cells_of, load, page
from fault_tests.report import Report

from fault_tests import pages


def test_report__separates_a_missed_speed_goal_from_a_loss(tmp_path: Path) -> None:
    slow, wrong = Findings(), Findings("acme")
    slow.add_missed("served too little")
    wrong.add_lost("contact 1")
    report = Report({"memory": "some"})
    report.add("overload", "sqlite", 1, 9, slow)
    report.add("kill", "sqlite", 1, 9, wrong)
    report.write(tmp_path)

    written = list(cells_of(json.loads((tmp_path / "report.json").read_text())))

    assert [row.verdict for row in report.rows] == ["MISSED", "FAILED"]
    assert [(cells[0], cells[-1]) for cells in written] == [("overload", "MISSED"), ("kill", "FAILED")]


def test_page__shows_the_stored_runs() -> None:
    written = PAGE.read_text(encoding="utf-8")

    assert written == page(written, load()), "run `.venv/bin/python -m fault_tests.pages`"
    assert "FAILED" not in written.partition("## The runs")[2]
    assert written.count("\n") <= 150


def test_page__replaces_an_earlier_run_with_a_run_with_a_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "DATA", tmp_path / "reliability.json")
    for command, lost in (("python -m fault_tests", 0), ("python -m fault_tests --only kill", 1)):
        findings = Findings("acme")
        for number in range(lost):
            findings.add_lost(f"contact {number}")
        report = Report({"memory": "some", "disk": "a page takes 9 us", "measured": "2026-11-22 13:06 UTC"}, command)
        report.add("kill", "sqlite", 1, 9, findings)
        report.write(tmp_path)
        pages.keep(tmp_path / "report.json")

    shown = page("Prose.\n", load())

    assert shown.startswith("Prose.\n")
    assert [line for line in shown.splitlines() if line.startswith("| kill")] == ["| kill | SQLite | 1 | 9 | 1 | 0 | - | FAILED |"]
    assert "- measured: 2026-11-22 to 2026-11-22" in shown
    assert page(shown, load()) == shown
