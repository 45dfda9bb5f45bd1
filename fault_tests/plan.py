"""Plan of a run: which faults, how many rounds, and the folder of the stores."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from bench.postgres import Postgres

from fault_tests.report import Report

ENGINES = ("sqlite", "postgresql")


@dataclass(slots=True)
class Plan:
    """One run."""

    folder: Path
    report: Report
    long: bool = False
    rounds: int | None = None
    broken: str | None = None
    short: bool = False
    postgres: Postgres | None = None
    stall_limit: float = 15.0
    """Seconds without progress after which a backlog counts as stalled."""
    rng: random.Random = field(default_factory=random.Random)
    mounts: bool = True
    """True if the test may mount file systems."""
    _made: int = 0

    def rounds_of(self, short: int, long: int) -> int:
        """Number of rounds of a fault."""
        return self.rounds or (long if self.long else short)

    def size_of(self, short: int, usual: int, long: int) -> int:
        """Number of connections or deliveries of a fault."""
        return short if self.short else long if self.long else usual

    def new_folder(self) -> Path:
        """Create an empty folder for the store and log of one fault."""
        self._made += 1
        folder = self.folder / f"{self._made}"
        folder.mkdir()
        return folder

    def new_store(self, engine: str, folder: Path) -> str:
        """Create an empty store; return its URL."""
        if engine == "sqlite":
            return f"sqlite:///{folder}/store.db"
        assert self.postgres is not None
        return self.postgres.new_database()
