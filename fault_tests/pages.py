"""Generate the tables of docs/explanation/reliability.md from docs/explanation/reliability.json.

`python -m fault_tests ... --keep` puts a run's rows there in place of older ones of the same faults, and writes the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fault_tests.report import Row

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "explanation" / "reliability.json"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
BEGIN = "<!-- what follows is made by `python -m fault_tests.pages` -->\n"
TITLES = ("fault", "store", "rounds", "acknowledged", "lost", "applied twice", "p99", "")
OF_A_RUN = ("measured", "load before", "disk", "PostgreSQL")
"""Machine properties that differ between runs."""
Runs = list[dict[str, Any]]


def load() -> Runs:
    """Load the stored runs; each has the rows that no later run has replaced."""
    runs: Runs = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else []
    return runs


def page(before: str, runs: Runs) -> str:
    """Render the page; everything after `BEGIN` comes from these runs."""
    return before.partition(BEGIN)[0] + BEGIN + "\n".join(["", *_machine(runs), "", *_table(runs)]) + "\n"


def write() -> None:
    """Write docs/explanation/reliability.md."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), load()), encoding="utf-8")


def keep(report: Path) -> None:
    """Add a run; its rows replace older rows of the same fault and engine."""
    new = json.loads(report.read_text(encoding="utf-8"))
    replaced = {(row["fault"], row["engine"]) for row in new["rows"]}
    runs = [{**run, "rows": [row for row in run["rows"] if (row["fault"], row["engine"]) not in replaced]} for run in load()]
    runs = [run for run in runs if run["rows"]] + [{name: new[name] for name in ("command", "machine", "rows")}]
    DATA.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")


def cells_of(run: dict[str, Any]) -> Iterator[list[str]]:
    """Render a run's rows as table cells."""
    for row in run["rows"]:
        yield Row(**{name: value for name, value in row.items() if name != "survived"}).cells()


def _machine(runs: Runs) -> list[str]:
    properties: dict[str, str] = {**(runs[0]["machine"] if runs else {}), **_postgres(runs)}
    lines = [f"- {name}: {value}" for name, value in properties.items() if name == "PostgreSQL" or name not in OF_A_RUN]
    days = sorted(run["machine"].get("measured", "")[:10] for run in runs)
    return [*lines, *([f"- measured: {days[0]} to {days[-1]}"] if days else [])]


def _postgres(runs: Runs) -> dict[str, str]:
    """The settings of PostgreSQL in the newest run that used it."""
    return next(({"PostgreSQL": run["machine"]["PostgreSQL"]} for run in reversed(runs) if "PostgreSQL" in run["machine"]), {})


def _table(runs: Runs) -> list[str]:
    rows = sorted((*cells[:7], cells[-1]) for run in runs for cells in cells_of(run))
    return [f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|", *(f"| {' | '.join(row)} |" for row in rows)]


if __name__ == "__main__":
    write()
