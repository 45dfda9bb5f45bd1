"""The runs on docs/explanation/reliability.md, made from the JSON that they left in docs/explanation/reliability/.

`python -m crash ... --keep NAME` keeps a run as NAME.json there and writes the page anew; a test holds that it is what the files give.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from crash.report import TITLES, Row

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "explanation" / "reliability"
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
BEGIN = "<!-- what follows is made by `python -m crash.pages` -->\n"
OF_A_RUN = ("measured", "load before", "disk", "PostgreSQL")
"""What a run tells of itself; the rest of the machine is the same for all of them."""


def page(before: str, data: Path) -> str:
    """The page with everything behind `BEGIN` made anew from these runs."""
    reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(data.glob("*.json"))}
    machine = next((report["machine"] for report in reports.values()), {})
    told = [f"- {name}: {value}" for name, value in machine.items() if name not in OF_A_RUN]
    runs = [line for report in reports.values() for line in ("", *_run(report))]
    return before.partition(BEGIN)[0] + BEGIN + "\n".join(["", *told, *runs]) + "\n"


def write() -> None:
    """Write docs/explanation/reliability.md anew."""
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), DATA), encoding="utf-8")


def keep(report: Path, name: str) -> None:
    """Let a run stand on the page under this name, in place of the one that had it."""
    DATA.mkdir(exist_ok=True)
    shutil.copyfile(report, DATA / f"{name}.json")
    write()


def rows_of(report: dict[str, Any]) -> list[str]:
    """A run's table."""
    rows = [Row(**{name: value for name, value in row.items() if name != "survived"}) for row in report["rows"]]
    return [f"| {' | '.join(TITLES)} |", "|---" * len(TITLES) + "|", *(f"| {' | '.join(row.cells())} |" for row in rows)]


def _run(report: dict[str, Any]) -> list[str]:
    own = [f"- {name}: {value}" for name, value in report["machine"].items() if name in OF_A_RUN]
    return [f"### `{report['command']}`", "", *rows_of(report), "", *(f"- {note}" for note in report["notes"]), *own]


if __name__ == "__main__":
    write()
