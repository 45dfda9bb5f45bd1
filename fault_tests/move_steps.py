"""What a fault test builds into `touchbase clients move`: it writes down each of its steps, and stops itself at one of them.

A step is one of the transactions and locks by which a move changes a store: those of the client's rows in the source and in the
target, and those of the move itself in the home store. Between two steps a move only reads.
"""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from fault_tests import mutants
from touchbase import routing
from touchbase.cells import EndMove, NoteMove, SwitchPlace, TakeMove, moves_sql
from touchbase.common.timestamps import SECOND
from touchbase.routing import CellRouter, router
from touchbase.storage.postgres.moving import PostgresRows
from touchbase.storage.sqlite.moving import SqliteRows

PAGE_ROWS, PARENT_ROWS = 200, 16
DELETION_DELAY, LEASE, PAUSE_SECONDS = 3 * SECOND, SECOND, 0.5
OF_A_STORE = ("write", "watch", "unwatch", "settle")
OF_THE_HOME_STORE = (TakeMove, NoteMove, SwitchPlace, EndMove)


class Steps:
    """Writes each step to a file before it is done; stops the process before the step `wanted`, such as `target replace*2`, the second."""

    def __init__(self, path: Path, wanted: str) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._wanted = wanted
        self._passes: Counter[str] = Counter()

    def come_to(self, name: str) -> None:
        """Note the step, and stop if it is the one. Somebody else continues or kills the process."""
        self._passes[name] += 1
        step = f"{name}*{self._passes[name]}"
        self._file.write(f"{time.perf_counter():.6f} {step}\n")
        if step == self._wanted:
            os.kill(os.getpid(), signal.SIGSTOP)


def watch_steps(argument: str) -> None:
    """Write the steps of a move to a file, and stop at one: `FILE`, or `FILE:STEP`."""
    path, _, wanted = argument.partition(":")
    steps = Steps(Path(path), wanted)
    opened: list[object] = []
    for kind in (SqliteRows, PostgresRows):
        for method in OF_A_STORE:
            _before(kind, method, lambda rows, what: steps.come_to(f"{_end(opened, rows)} {what}"))
    _before_moves_in_home(steps)


def _end(opened: list[object], rows: object) -> str:
    """Tell which of the two stores these rows are in: a move writes into the source first."""
    if not any(each is rows for each in opened):
        opened.append(rows)
    return "source" if opened[0] is rows else "target"


def _before(kind: type, method: str, come_to: Callable[[object, str], None]) -> None:
    whole = getattr(kind, method)

    async def stepping(self: Any, what: Any, *more: Any) -> Any:
        come_to(self, what.__name__ if method == "write" else method)
        return await whole(self, what, *more)

    mutants.replace(kind, method, stepping)


def _before_moves_in_home(steps: Steps) -> None:
    start = CellRouter.start

    async def started(self: Any, **named: Any) -> None:
        self.home = SteppingStore(self.home, steps)
        await start(self, **named)

    mutants.replace(CellRouter, "start", started)


class SteppingStore:
    """The home store, of which the steps of a move are noted."""

    def __init__(self, store: Any, steps: Steps) -> None:
        self._store, self._steps = store, steps

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, command: Any) -> Any:
        """Note the step, then execute the command."""
        if isinstance(command, OF_THE_HOME_STORE):
            self._steps.come_to(f"home {type(command).__name__}")
        return await self._store.write(command)


def quick_moves(encryption_key: str) -> None:
    """Shorten the lease, the pages and the delay of a move, and the pause of a server that cannot read the directory, which is shorter."""
    os.environ["TOUCHBASE_ENCRYPTION_KEY"] = encryption_key
    shorter = {"DELETION_DELAY": DELETION_DELAY, "LARGEST_PAGE": PAGE_ROWS, "SMALLEST_PAGE": PARENT_ROWS, "NOTE_EVERY": 0}
    for name, value in shorter.items():
        replace_in_moves(name, value)
    mutants.replace(moves_sql, "LEASE", LEASE)
    mutants.replace(router, "PAUSE_SECONDS", PAUSE_SECONDS)


def replace_in_moves(name: str, stand_in: object) -> None:
    """Replace an attribute of each module of moves that has it; raise if none has."""
    modules = [
        import_module(f"{routing.__name__}.{each.name}") for each in iter_modules(routing.__path__) if each.name.startswith("moving")
    ]
    having = [module for module in modules if hasattr(module, name)]
    if not having:
        raise AttributeError(f"no module of moves has {name}")
    for module in having:
        setattr(module, name, stand_in)
