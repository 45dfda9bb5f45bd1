"""A store is away while webhooks come, and the server is killed while it spools them: each acknowledged one is stored once, with its time.

On `sqlite` that is the store of a cell, a PostgreSQL, with the home store on SQLite; on `postgresql` it is the only store. Every second
round fills the disk of the spool before the kill.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from bench.server_process import ROOT, CannotMeasure, free_port

from fault_tests.calls import ApiClient
from fault_tests.check import PAGE, Findings
from fault_tests.cluster import Cluster
from fault_tests.faults.disk import small_disk
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.senders import Senders
from fault_tests.verify import verify_twice
from touchbase.clients.sql.clients import find_client
from touchbase.consistency.sql import audit_bodies
from touchbase.stores import open_store

BEFORE_SECONDS = (0.2, 0.6)
AFTER_SECONDS = (0.5, 2.5)
"""Until the senders end; a cell is opened again within two seconds."""
FEW, SOME = 10, 60
WAIT_SECONDS, REFUSED_SECONDS = 30.0, 5.0
STILL_SECONDS = 15.0
"""Longer than the 10 seconds for which the inbox worker skips a client whose batch failed."""
SPOOL_MEGABYTES = 8
CELL = "eu"


@dataclass
class Installation:
    """The server, its stores, and its spool."""

    plan: Plan
    cluster: Cluster
    home: str
    store: str
    """The address of the store that goes away: that of the cell, or the home store."""
    spool: Path
    folder: Path
    """Of the server's log, which is not to fill the disk of the spool."""
    fills: bool
    """Whether the spool has a disk of its own, which can be filled."""
    found: Findings = field(default_factory=Findings)
    spooled: int = 0
    server: Process | None = None

    @property
    def is_cell(self) -> bool:
        """Whether the store that goes away is that of a cell."""
        return self.home != self.store

    def start(self) -> Process:
        """Start the server, after a kill too."""
        self.server = Process(self.home, self.folder, "--spool", str(self.spool), broken=self.plan.broken)
        return self.server

    def kill(self) -> None:
        """Kill the server, if it runs."""
        if self.server is not None:
            self.server.kill()


def run(plan: Plan, engine: str) -> None:
    """Stop PostgreSQL under webhooks, kill the server, start both, and compare the store with what was acknowledged."""
    rounds, journals, cluster = plan.rounds_of(2, 20), [], Cluster(plan.new_folder(), free_port())
    with ExitStack() as ending:
        ending.callback(cluster.remove)
        try:
            cluster.create()
            there = _installed(plan, engine, cluster, ending)
        except CannotMeasure as error:
            plan.report.note(f"the spool was not tested: {error}")
            return
        ending.callback(there.kill)
        there.start()
        for number in range(rounds):
            journals.append(journal := Journal(f"spool-{number}"))
            _round(there, journal, fills=there.fills and number % 2 == 1)
    seconds = [item for journal in journals for item in journal.seconds]
    plan.report.add(
        "spool", engine, rounds, len(seconds), there.found, p99_ms(seconds), plan.broken,
        spooled=there.spooled, refused=sum(item.refused for item in journals), cut_off=sum(item.unanswered for item in journals),
    )  # fmt: skip


def _installed(plan: Plan, engine: str, cluster: Cluster, ending: ExitStack) -> Installation:
    folder, store = plan.new_folder(), cluster.new_database()
    home = store if engine == "postgresql" else f"sqlite:///{folder}/home.db"
    disk = _disk(plan, ending)
    _touchbase("migrate", "--database", home)
    if home != store:
        _touchbase("databases", "add", CELL, "--database", store, "--home", home)
    return Installation(plan, cluster, home, store, (disk or folder) / "spool", folder, disk is not None)


def _disk(plan: Plan, ending: ExitStack) -> Path | None:
    """A small disk for the spool, if one can be mounted here."""
    try:
        return ending.enter_context(small_disk(plan.new_folder(), SPOOL_MEGABYTES)) if plan.mounts else None
    except CannotMeasure as error:
        plan.report.note(f"a full disk of the spool was not tested: {error}")
        return None


def _touchbase(*arguments: str) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")}
    done = subprocess.run([sys.executable, "-m", "touchbase", *arguments], cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotMeasure(f"touchbase {arguments[0]}: {done.stderr[-500:]}")


def _round(there: Installation, journal: Journal, *, fills: bool) -> None:
    server, plan, result = there.server, there.plan, there.found
    assert server is not None
    _add_client(server, there, journal.client)
    senders = Senders(server.address, journal)
    try:
        time.sleep(plan.rng.uniform(*BEFORE_SECONDS))
        there.cluster.stop_at_once()
        before = journal.acknowledged
        if not senders.acknowledges(SOME, WAIT_SECONDS):
            result.fault("webhooks are not acknowledged while their store is away")
        ballast = _fill(there.spool.parent) if fills else None
        if ballast is not None and not senders.are_refused(FEW, REFUSED_SECONDS):
            result.fault("webhooks are not refused on the full disk of the spool")
        there.spooled += journal.acknowledged - before
        server.kill()
        senders.pause()
        if not there.is_cell:
            there.cluster.start()
        server = there.start()
        senders.go_on(server.address)
        if there.is_cell and ballast is not None and not senders.are_refused(FEW, REFUSED_SECONDS):
            result.fault("webhooks are not refused on the full disk of the spool after the start")
        if ballast is not None:
            ballast.unlink()
        if not senders.acknowledges(SOME, WAIT_SECONDS):
            result.fault("webhooks are not acknowledged after the start")
        if there.is_cell:
            there.cluster.start()
        time.sleep(plan.rng.uniform(*AFTER_SECONDS))
    finally:
        senders.end()
    _wait_until_stored(server, result)
    _check_times(there, journal, senders)
    verify_twice(plan, server, there.store, journal, result, stall_seconds=STILL_SECONDS)


def _add_client(server: Process, there: Installation, client: str) -> None:
    """Add the client to the store that goes away, once the server uses it."""
    api, until = ApiClient(server.address, client), time.perf_counter() + WAIT_SECONDS
    while not all(cell["answers"] for cell in api.expect_ok("GET", "/admin/v1/databases")["data"]) and time.perf_counter() < until:
        time.sleep(0.05)
    api.expect_ok("POST", "/admin/v1/clients", {"client_id": client, "database": CELL if there.is_cell else ""})
    api.close()


def _fill(disk: Path) -> Path:
    """Leave no room on a disk; return the file that takes it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)) == 4096:
                pass
        except OSError:
            return ballast
    return ballast


def _wait_until_stored(server: Process, findings: Findings) -> None:
    """Wait until the spool is empty; it may take long, but something is stored all the time."""
    api, left, until = ApiClient(server.address, "watch"), -1, time.perf_counter() + WAIT_SECONDS
    while (spool := api.expect_ok("GET", "/admin/v1/status")["spool"])["webhooks"]:
        if spool["webhooks"] != left:
            left, until = spool["webhooks"], time.perf_counter() + WAIT_SECONDS
        if time.perf_counter() > until:
            findings.fault(f"{left} webhooks stay in the spool")
            break
        time.sleep(0.05)
    if spool["set_aside"]:
        findings.fault(f"{spool['set_aside']} webhooks were set aside")
    api.close()


def _check_times(there: Installation, journal: Journal, senders: Senders) -> None:
    """Each acknowledged webhook is there once, received between its request and its response."""
    stored = asyncio.run(_received(there.store, journal.client))
    for email, (sent, acknowledged) in senders.times.items():
        times = stored.get(email, [])
        there.found.exactly(len(times), f"webhook about {email}")
        if any(not sent <= at <= acknowledged for at in times):
            there.found.fault(f"the webhook about {email} has not the time of its receipt")


async def _received(database: str, client_id: str) -> dict[str, list[int]]:
    """When the deliveries about each e-mail address were received."""
    store = await open_store(database, as_is=True)
    try:
        client, result = await store.read(find_client(client_id)), dict[str, list[int]]()
        after: int | None = 0
        assert client is not None, "the client itself is gone"
        while after is not None:
            page = await store.read(audit_bodies(client.number, after, PAGE))
            for item in page.bodies:
                result.setdefault(msgspec.json.decode(item.body or b"{}").get("lead_email", ""), []).append(item.received_us)
            after = page.last
        return result
    finally:
        await store.close()
