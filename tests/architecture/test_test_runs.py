"""No test is lost: those that `make test` and CI leave out run in `make test-all`, once a week."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import ENGINES, ExecuteSql

ROOT = Path(__file__).parents[2]


def selected(target: str) -> list[str]:
    """The `-m` expression of each pytest run of a target."""
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe is not None
    return [given_match.strip('"') for given_match in re.findall(r'pytest [^;\n]*-m ("[^"]*"|\w+)', recipe[1])]


def test_make_test_all__runs_every_test_once() -> None:
    assert selected("test-all") == ["not serial", "serial"]


def test_make_test__leaves_out_slow_serial_and_weekly_tests_only() -> None:
    assert selected("test") == ["not slow and not serial and not weekly"]


def test_fault_runs__are_serial() -> None:
    """Without a serial test the second run of `make test-all` would find nothing, and fail."""
    assert "\npytestmark = pytest.mark.serial\n" in (ROOT / "tests" / "fault_tests" / "test_faults.py").read_text(encoding="utf-8")


def test_make_test_ci__leaves_out_weekly_tests_only() -> None:
    assert selected("test-ci") == ["not serial and not weekly", "serial and not weekly", "serial"]


def test_a_workflow__runs_all_tests_once_a_week() -> None:
    workflow = (ROOT / ".github" / "workflows" / "weekly.yml").read_text(encoding="utf-8")

    assert "schedule:" in workflow
    assert "make test-all" in workflow


def test_ci__runs_the_tests() -> None:
    steps = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert [line.split(" ||")[0] for line in steps if line.startswith("make test")] == ["make test-ci"]


async def test_make_test__runs_on_sqlite_and_a_real_postgresql(engine_url: str, execute_sql: ExecuteSql) -> None:
    [[version]] = await execute_sql("SELECT version()" if engine_url.startswith("postgresql:") else "SELECT 'SQLite ' || sqlite_version()")

    assert {*ENGINES} == {"sqlite", "postgresql"}
    assert version.split()[0].lower() == engine_url.partition(":")[0]
