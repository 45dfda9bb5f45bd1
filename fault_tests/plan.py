"""What is to be tested, how often, and where the stores lie."""

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
    """When nothing more was worked off for so long, nothing will be."""
    rng: random.Random = field(default_factory=random.Random)
    mounts: bool = True
    """Whether file systems may be mounted for the test."""
    _made: int = 0

    def rounds_of(self, short: int, long: int) -> int:
        """How often a fault is made to happen."""
        return self.rounds or (long if self.long else short)

    def size_of(self, short: int, usual: int, long: int) -> int:
        """How many connections, or deliveries, a fault takes."""
        return short if self.short else long if self.long else usual

    def new_folder(self) -> Path:
        """An empty folder for one fault's store and log."""
        self._made += 1
        folder = self.folder / f"{self._made}"
        folder.mkdir()
        return folder

    def new_store(self, engine: str, folder: Path) -> str:
        """The address of a new, empty store."""
        if engine == "sqlite":
            return f"sqlite:///{folder}/store.db"
        assert self.postgres is not None
        return self.postgres.new_database()
