"""The report: every figure beside its limit, on the screen, as JSON and as a Markdown table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

OK, MISSED, NO_LIMIT = "ok", "MISSED", "-"
TITLES = ("what", "measured", "limit", "")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure. `met` is None where nothing was measured that it could be held to."""

    what: str
    measured: str
    limit: str
    met: bool | None
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED` or `-`."""
        return NO_LIMIT if self.met is None else OK if self.met else MISSED


@dataclass
class Report:
    """What was measured so far, and what could not be."""

    machine: dict[str, str]
    rows: list[Row] = field(default_factory=list)
    details: list[tuple[str, list[str], list[list[str]]]] = field(default_factory=list)
    """Further tables: title, column titles, rows."""
    notes: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """What was asked for and could not be measured."""

    def add(self, what: str, measured: str, limit: str, met: bool | None, **raw: Any) -> None:
        """Note a figure, and say it at once."""
        row = Row(what, measured, limit, met, raw)
        self.rows.append(row)
        print(f"  {row.verdict:<6}  {what}: {measured}  [{limit}]", flush=True)

    def fail(self, what: str, why: str) -> None:
        """Note that a figure could not be had."""
        self.failed.append(what)
        self.note(f"COULD NOT MEASURE {what}: {why}")

    def note(self, text: str) -> None:
        """Say something that belongs beside the figures."""
        self.notes.append(text)
        print(f"  note    {text}", flush=True)

    def write(self, folder: Path) -> None:
        """Put down `report.json` and `report.md`."""
        content = {"machine": self.machine, "rows": [asdict(row) | {"verdict": row.verdict} for row in self.rows], "notes": self.notes}
        content["details"] = [{"title": title, "columns": columns, "rows": rows} for title, columns, rows in self.details]
        (folder / "report.json").write_text(json.dumps(content, indent=1) + "\n")
        (folder / "report.md").write_text("\n".join(self._markdown()) + "\n")

    def lines(self) -> list[str]:
        """The report as it stands on the screen."""
        rows = [(row.what, row.measured, row.limit, row.verdict) for row in self.rows]
        lines = [f"{name:<12} {value}" for name, value in self.machine.items()]
        lines += ["", *table(TITLES, rows)]
        for title, columns, cells in self.details:
            lines += ["", title, *table(columns, cells)]
        return [*lines, "", *(f"note: {note}" for note in self.notes)]

    def _markdown(self) -> list[str]:
        lines = ["# Measured", "", *(f"- {name}: {value}" for name, value in self.machine.items()), ""]
        lines += markdown_table(TITLES, [(row.what, row.measured, row.limit, row.verdict) for row in self.rows])
        for title, columns, cells in self.details:
            lines += ["", f"## {title}", "", *markdown_table(columns, cells)]
        return [*lines, "", *(f"- {note}" for note in self.notes)]


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows in columns as wide as they need to be."""
    cells = [list(titles), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(titles))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]


def markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as a table in Markdown."""
    return [_line(titles), _line(["---"] * len(titles)), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def spread(values: Sequence[float], unit: str, digits: int = 0) -> str:
    """A median with the smallest and largest value: `9,812/s (9,310 to 10,020)`."""
    middle, least, most = (f"{value:,.{digits}f}" for value in (median(values), min(values), max(values)))
    return f"{middle}{unit}" if len(values) == 1 else f"{middle}{unit} ({least} to {most})"
