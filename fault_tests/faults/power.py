"""Power cut under load: all or part of the unflushed writes are gone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from bench.server_process import CannotMeasure

from fault_tests.calls import NoResponse
from fault_tests.check import Findings, check
from fault_tests.disk_image import copied, mounted, new_image
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify_twice
from fault_tests.writers import Load

LEAST_SECONDS, MOST_SECONDS = 0.1, 1.0
"""Shorter than the delay after which the kernel writes dirty pages by itself."""


@dataclass
class Cut:
    """Totals of all rounds."""

    found: Findings = field(default_factory=Findings)
    journals: list[Journal] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)


def run(plan: Plan, engine: str) -> None:
    """Cut the power of a mounted file system image, and of the simulated disk, which also tears writes."""
    if engine != "sqlite":
        plan.report.note("power cuts are tested on SQLite only: PostgreSQL's flushes are its own")
        return
    if plan.mounts:
        try:
            _row(plan, "power, image", _on_images)
        except CannotMeasure as error:
            plan.report.note(f"a power cut on a file system of its own was not tested: {error}")
    _row(plan, "power, torn", _on_volatile)


def _row(plan: Plan, name: str, go: Callable[[Plan, Cut, int], None]) -> None:
    cut, rounds = Cut(), plan.rounds_of(3, 30)
    go(plan, cut, rounds)
    plan.report.add(
        name, "sqlite", rounds, sum(journal.acknowledged for journal in cut.journals), cut.found,
        p99_ms([seconds for journal in cut.journals for seconds in journal.seconds]), plan.broken,
        cut_off=sum(journal.unanswered for journal in cut.journals), slowest_start_s=longest(cut.starts),
    )  # fmt: skip


def _on_images(plan: Plan, cut: Cut, rounds: int) -> None:
    """Each round continues with the image that the previous power cut left."""
    folder = plan.new_folder()
    image = new_image(folder / "0.img")
    for number in range(rounds):
        left = folder / f"{number + 1}.img"
        with mounted(image, folder / "before") as place:
            _load_until_dark(plan, cut, place, lambda server, before=image, after=left: _freeze_and_copy(server, before, after))
        image.unlink()
        image = left
        with mounted(image, folder / "after") as place:
            _verify(plan, cut, place, everything=number == rounds - 1)


def _freeze_and_copy(server: Process, image: Path, copy: Path) -> None:
    server.freeze()
    copied(image, copy)


def _on_volatile(plan: Plan, cut: Cut, rounds: int) -> None:
    """Kill a server on the simulated disk: its unflushed writes are lost."""
    place = plan.new_folder()
    for number in range(rounds):
        _load_until_dark(plan, cut, place, lambda _: None, f"volatile:{place / 'switch'}")
        # Shared memory is no file of a disk.
        (place / "store.db-shm").unlink(missing_ok=True)
        _verify(plan, cut, place, everything=number == rounds - 1)


def _load_until_dark(plan: Plan, cut: Cut, place: Path, before: Callable[[Process], None], *injected: str) -> None:
    journal = Journal(f"power-{len(cut.journals)}")
    cut.journals.append(journal)
    with ExitStack() as stack:
        server = Process(_store(place), plan.new_folder(), broken=plan.broken, injected=injected)
        stack.callback(server.kill)
        load = Load(server.address, journal)
        stack.callback(load.end)
        time.sleep(plan.rng.uniform(LEAST_SECONDS, MOST_SECONDS))
        before(server)
        server.kill()


def _verify(plan: Plan, cut: Cut, place: Path, *, everything: bool) -> None:
    """Start a server without faults on the disk and verify it before and after a resend."""
    journal, database = cut.journals[-1], _store(place)
    try:
        server = Process(database, plan.new_folder())
    except CannotMeasure as error:
        cut.found.add_lost(f"the whole store: {error}")
        return
    cut.starts.append(server.start_seconds)
    try:
        verify_twice(plan, server, database, journal, cut.found)
        for item in cut.journals[:-1] if everything else ():
            cut.found.add(check(database, item))
    except (NoResponse, AssertionError) as error:
        cut.found.add_lost(f"{journal.client}: {error}")
    finally:
        server.kill()


def _store(place: Path) -> str:
    return f"sqlite:///{place}/store.db"
