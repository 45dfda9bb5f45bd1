"""`python -m bench.pages`: docs/explanation/performance.md, made from docs/explanation/performance.json.

The JSON holds the newest run of each kind: its rows without raw figures, its machine, its command. `python -m bench.rerun` measures
and keeps runs there. Only what each section measures is typed by hand.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from bench.pages_text import GROWTH, INTRODUCTION, SECTIONS
from bench.report import TITLES, markdown_table

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "explanation" / "performance.json"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
Runs = dict[str, dict[str, Any]]

OF_A_RUN = ("measured", "load before", "disk", "PostgreSQL")
"""Of a machine, what differs from run to run."""
TOLD = ("ERRORS", "COULD NOT MEASURE", "is fastest with")
"""Words of the notes that stand on the page."""
_GROWN = re.compile(r"(?P<what>.+?),? with (?P<count>[\d,]+) contacts(?P<order>, scattered over all of them)?, \w+|"
                    r"(?P<page>page of 50).*, (?P<of>[\d,]+) contacts, \w+")  # fmt: skip


def keep(name: str, report: Path, command: str) -> None:
    """Put a run's rows, notes, machine and command in place of the run that had this name."""
    document = json.loads(report.read_text(encoding="utf-8"))
    rows = [[row["what"], row["measured"], row["limit"], row["verdict"]] for row in document["rows"]]
    notes = [note for note in document["notes"] if any(word in note for word in TOLD)]
    runs = {**load(), name: {"command": command, "machine": document["machine"], "rows": rows, "notes": notes}}
    DATA.write_text(json.dumps(dict(sorted(runs.items())), indent=1) + "\n", encoding="utf-8")


def load() -> Runs:
    """The runs that are kept, by name."""
    runs: Runs = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    return runs


def page(runs: Runs) -> str:
    """The page that these runs give."""
    first: dict[str, str] = next(iter(runs.values()))["machine"] if runs else {}
    postgres = next((f"- PostgreSQL: {run['machine']['PostgreSQL']}" for run in runs.values() if "PostgreSQL" in run["machine"]), None)
    machine = [f"- {name}: {value}" for name, value in first.items() if name not in OF_A_RUN]
    days = sorted(run["machine"]["measured"][:10] for run in runs.values())
    lines = [INTRODUCTION, *machine, *filter(None, [postgres]), *([f"- measured: {days[0]} to {days[-1]}"] if days else []), ""]
    for section, about in SECTIONS.items():
        here = {name: run for name, run in runs.items() if name.partition("-")[0] == section}
        table = _growth(here) if section == "growth" else _table([row for run in here.values() for row in run["rows"]])
        notes = [f"- {note}" for run in here.values() for note in run["notes"]]
        lines += [about, *(table if here else ["Not measured yet."]), "", *notes, *([""] if notes else [])]
    return "\n".join(lines).rstrip() + "\n"


def _table(rows: list[list[str]]) -> list[str]:
    """Return the rows without columns that say nothing: no limit, no verdict."""
    wanted = [place for place in range(len(TITLES)) if {row[place] for row in rows} - {"-", "no limit"}]
    return markdown_table([TITLES[place] for place in wanted], [[row[place] for place in wanted] for row in rows])


def _growth(runs: Runs) -> list[str]:
    """A column for each size of millions in each run, with its day and machine; in a cell the rate and its ratio to the small store's."""
    cells: dict[str, dict[str, str]] = {}
    columns: list[str] = []
    for name in sorted(runs, key=lambda first: list(GROWTH).index(first) if first in GROWTH else len(GROWTH)):
        for what, measured, _, verdict in runs[name]["rows"]:
            match = _GROWN.fullmatch(what)
            if match is None or not (count := match["count"] or match["of"]).endswith(",000,000"):
                continue
            day, processor = runs[name]["machine"]["measured"][:10], runs[name]["machine"]["processor"].split(",")[0]
            column = f"{GROWTH.get(name, name)}, {count.removesuffix(',000,000')} million ({day}, {processor})"
            columns += [column] if column not in columns else []
            line = f"{match['what'] or 'page of 50, slowest filter and depth'}{', scattered' if match['order'] else ''}"
            cells.setdefault(line, {})[column] = _short(measured) + (f" {verdict}" if verdict == "MISSED" else "")
    return markdown_table(["", *columns], [[line, *(by.get(column, "") for column in columns)] for line, by in cells.items()])


def _short(measured: str) -> str:
    """`14,368/s (13,863 to 15,137) = 0.97 x` as `14,368/s = 0.97 x`; sizes without their units."""
    measured = re.sub(r" bytes per (contact|event|delivery)(,?)", r"\2", measured)
    return re.sub(r" \([^)]*\)|, of which .*", "", measured)


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(load()), encoding="utf-8")


if __name__ == "__main__":
    write()
    sys.exit(0)
