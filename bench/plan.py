"""What is to be measured, for how long, and with which load generator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench import loadgen, wrk
from bench.load import Generator
from bench.postgres import Postgres
from bench.report import Report

USUAL = ("processor", "create", "webhook", "apply", "fairness", "files", "limits", "start", "translate", "auth")
"""What a run without `--only` measures."""
FIGURES = (*USUAL, "paths", "growth", "processes", "compare", "console", "batch", "match", "outgoing", "endpoints", "databases")
ENGINES = ("sqlite", "postgresql")
CONNECTIONS = 64


@dataclass(slots=True)
class Plan:
    """One run of the benchmark."""

    only: tuple[str, ...]
    engines: tuple[str, ...]
    rounds: int
    seconds: float
    """Length of one burst of load."""
    warm_seconds: float
    backlog: int
    """Deliveries that wait when applying begins."""
    crowd: int
    """Deliveries of one client that wait when fairness is measured."""
    creates: int
    """Creates after which memory is looked at the second time; the first time is at half of them."""
    folder: Path
    """Where stores lie; on the disk that is measured."""
    generator: Generator
    report: Report
    known: int = 10_000
    """Contacts of the store that `paths` asks."""
    sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    """Contacts of the stores that `growth` compares; the first is what the others are held to."""
    deliveries: bool = True
    """Whether the deliveries of its events are in such a store."""
    grown: Path | None = None
    """A folder with grown SQLite stores, which are used again and kept."""
    postgres: Postgres | None = None
    _made: int = 0

    def new_folder(self) -> Path:
        """An empty folder for one figure's stores and logs."""
        self._made += 1
        folder = self.folder / f"{self._made}"
        folder.mkdir()
        return folder

    def new_store(self, engine: str, folder: Path, name: str) -> str:
        """The address of a new, empty store."""
        if engine == "sqlite":
            return f"sqlite:///{folder}/{name}.db"
        assert self.postgres is not None
        return self.postgres.new_database()

    @property
    def superuser(self) -> str | None:
        """The address by which we may do everything on PostgreSQL."""
        return None if self.postgres is None else self.postgres.address

    def has(self, engine: str) -> bool:
        """Whether this engine is asked for and there."""
        return engine in self.engines and (engine == "sqlite" or self.postgres is not None)


def chosen(choice: str) -> Generator:
    """The load generator, `wrk` or `own`; `auto` takes wrk where it is installed."""
    version = wrk.found() if choice in ("auto", "wrk") else None
    if version is not None:
        return Generator(f"{version}, one thread", wrk.closed, wrk.at_rate)
    if choice == "wrk":
        raise SystemExit("wrk is not installed: apt-get install wrk, or use --generator own")
    return Generator("own (httptools and uvloop, one thread)", loadgen.closed, loadgen.at_rate)
