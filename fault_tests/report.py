"""Report of a run: one printed line per fault, and `report.json`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from bench.report import table

from fault_tests.check import Findings

NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}
TITLES = ("fault", "store", "rounds", "acknowledged", "lost", "applied twice", "p99", "also seen", "")


@dataclass(slots=True)
class Row:
    """One fault on one engine."""

    fault: str
    engine: str
    rounds: int
    acknowledged: int
    lost: int
    twice: int
    wrong: int
    p99_ms: float
    more: dict[str, float | int | str]
    """Measurements that only this fault has."""
    complaints: list[str]
    missed: int = 0
    """Performance goals that were missed."""
    broken: str | None = None

    @property
    def survived(self) -> bool:
        """True if nothing was lost, duplicated or wrong."""
        return not (self.lost or self.twice or self.wrong)

    @property
    def verdict(self) -> str:
        """`ok`, `MISSED` if only a performance goal was missed, or `FAILED`."""
        return "FAILED" if not self.survived else "MISSED" if self.missed else "ok"

    def cells(self) -> list[str]:
        """The cells of a table row."""
        more = ", ".join(f"{name} {value:,.2f}" if isinstance(value, float) else f"{name} {value}" for name, value in self.more.items())
        counts = [f"{item:,}" for item in (self.rounds, self.acknowledged, self.lost, self.twice)]
        return [self.fault, NAMES[self.engine], *counts, f"{self.p99_ms:,.1f} ms" if self.p99_ms else "-", more, self.verdict]


@dataclass
class Report:
    """All rows of a run, and the machine."""

    machine: dict[str, str]
    command: str = "python -m fault_tests"
    """The command line of this run."""
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(
        self, fault: str, engine: str, rounds: int, acknowledged: int, findings: Findings, p99_ms: float = 0.0, broken: str | None = None,
        **more: float | int | str,
    ) -> None:  # fmt: skip
        """Add a row and print it."""
        named = {name.replace("_", " "): value for name, value in more.items()}
        counts = (len(findings.losses), len(findings.doubles), len(findings.faults))
        row = Row(fault, engine, rounds, acknowledged, *counts, p99_ms, named, findings.complaints, len(findings.missed), broken)
        self.rows.append(row)
        said = "  ".join(f"{title} {cell}" for title, cell in zip(TITLES[2:7], row.cells()[2:7], strict=True))
        print(f"  {row.cells()[-1]:<6}  {fault}, {NAMES[engine]}: {said}  {row.cells()[7]}", flush=True)
        for complaint in findings.complaints:
            print(f"          {complaint}", flush=True)

    def note(self, text: str) -> None:
        """Add a note below the rows."""
        self.notes.append(text)
        print(f"  note    {text}", flush=True)

    def write(self, folder: Path) -> None:
        """Write `report.json`."""
        rows = [asdict(row) | {"survived": row.survived} for row in self.rows]
        content = {"command": self.command, "machine": self.machine, "rows": rows, "notes": self.notes}
        (folder / "report.json").write_text(json.dumps(content, indent=1) + "\n")

    def lines(self) -> list[str]:
        """Render the report as text."""
        return [*table(TITLES, [row.cells() for row in self.rows]), "", *(f"note: {note}" for note in self.notes)]
