"""A database moves to a promoted standby under load, by a command that is killed at one step after the other and then run again.

On `sqlite` the home database is a file, on `postgresql` it is at the first server and stays there, as a further database does.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from bench.server_process import ROOT, CannotMeasure, free_port

from fault_tests.check import Findings
from fault_tests.cluster import Cluster
from fault_tests.high_availability.senders import SENDERS, Senders
from fault_tests.journal import Journal, p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process, longest
from fault_tests.verify import verify_twice
from touchbase.encryption.keys import encode_key, new_key

STEPS = ("mark", "wait_for", "promote", "open_databases", "close_databases", "close_databases 2", "set_addresses", "timeline")
"""Before the last writes are marked, before they are awaited, ..., before the directory changes, and behind it."""
SHORT_STEPS = ("wait_for", "set_addresses")
BEFORE_SECONDS, AFTER_SECONDS = 1.0, 2.0
KILLED_SECONDS = (0.2, 1.0)
"""From the kill to the next attempt."""
STILL_SECONDS = 15.0
LEAVING, STAYING = "eu2", "eu1"
MOST_TRIES = 20
"""Attempts after a kill: until the server notices that the killed session is gone, another split is refused."""
COMMAND = """import os, signal, sys
from collections import Counter
from touchbase.routing import split
from touchbase.storage.postgres.split import ServerSession
step, _, count = sys.argv.pop(1).partition(" ")
if broken := sys.argv.pop(1):
    from fault_tests.mutants import MUTANTS
    MUTANTS[broken]()
calls = Counter()
def killing(name, call):
    def killed(*args, **named):
        calls[name] += 1
        if name == step and calls[name] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **named)
    return killed
for place in (split, ServerSession):
    for name in {step} & set(vars(place)):
        setattr(place, name, killing(name, getattr(place, name)))
from touchbase.cli import cli
cli(prog_name="touchbase")
"""


@dataclass
class _Seen:
    found: Findings = field(default_factory=Findings)
    journals: list[Journal] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    """Longest time without an acknowledged write of the client that moves, of each round."""
    said: list[float] = field(default_factory=list)
    """Seconds that the command printed."""


@dataclass
class _Installation:
    """The servers, the addresses of the databases, and the environment of commands."""

    home: str
    first: Cluster
    second: Cluster
    names: dict[str, str]
    """The names that PostgreSQL has for the databases."""
    settings: dict[str, str]
    broken: str = ""

    def address(self, name: str) -> str:
        """Return the address of a database before the split."""
        return f"postgresql://touchbase@127.0.0.1:{self.first.port}/{self.names[name]}"

    def run(self, *arguments: str, kill_at: str = "") -> tuple[int, str]:
        """Run a command; return its status and what it printed."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TOUCHBASE_")} | self.settings
        command = [sys.executable, "-c", COMMAND, kill_at, self.broken, *arguments]
        done = subprocess.run(command, cwd=ROOT, env=clean, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def must(self, *arguments: str) -> None:
        """Run a command that prepares something."""
        status, printed = self.run(*arguments)
        if status:
            raise CannotMeasure(f"touchbase {arguments[0]}: {printed[-500:]}")


def run(plan: Plan, engine: str) -> None:
    """Split without a kill, and with one at each step; compare each time, and drop the copies."""
    first = Cluster(plan.new_folder(), free_port())
    steps = SHORT_STEPS if plan.short else STEPS * plan.rounds_of(1, 5)
    try:
        first.create()
        first.execute("CREATE ROLE touchbase LOGIN")
        for fault, kills in (("split", ("",)), ("split, killed", steps)):
            observed = _Seen()
            for number, step in enumerate(kills):
                _round(plan, engine, first, observed, f"split_{number + bool(step)}", step)
            seconds = [item for journal in observed.journals for item in journal.seconds]
            plan.report.add(
                fault, engine, len(kills), len(seconds), observed.found, p99_ms(seconds), plan.broken,
                refused=sum(journal.refused for journal in observed.journals),
                outcome_unknown=sum(journal.unknown for journal in observed.journals), longest_without_writes_s=longest(observed.refused),
                command_s=longest(observed.said),
            )  # fmt: skip
    except CannotMeasure as error:
        plan.report.note(f"a split was not tested: {error}")
    finally:
        first.remove()


def _round(plan: Plan, engine: str, first: Cluster, observed: _Seen, name: str, step: str) -> None:
    with ExitStack() as ending:
        installation = _installed(plan, engine, first, ending, name)
        folder = plan.new_folder()
        # With a spool no webhook is refused, so the refused time is seen without one.
        spool = ["--spool", f"{folder}/spool"] if step else []
        server = Process(installation.home, folder, *spool, broken=plan.broken, settings=installation.settings)
        ending.callback(server.kill)
        journals = {database: Journal(f"{name}-{database}") for database in (LEAVING, STAYING)}
        observed.journals += journals.values()
        senders = {database: Senders(server.address, journal, SENDERS[::2]) for database, journal in journals.items()}
        try:
            time.sleep(BEFORE_SECONDS)
            began = time.perf_counter()
            _split(plan, installation, step, observed)
            time.sleep(AFTER_SECONDS)
        finally:
            for item in senders.values():
                item.end()
        observed.refused.append(senders[LEAVING].longest_gap(began))
        if journals[STAYING].refused:
            observed.found.fault(f"{journals[STAYING].refused} requests of a client that stays were refused")
        addresses = {STAYING: installation.address(STAYING)}
        addresses[LEAVING] = installation.address(LEAVING).replace(f":{first.port}/", f":{installation.second.port}/")
        for database, journal in journals.items():
            verify_twice(plan, server, addresses[database], journal, observed.found, stall_seconds=STILL_SECONDS)
        status, printed = installation.run(*_words(installation), "--drop", "--from", first.address)
        if status or f"{LEAVING} at the first server" not in printed:
            observed.found.fault(f"the copies are not dropped: {printed[-300:]}")


def _split(plan: Plan, installation: _Installation, step: str, observed: _Seen) -> None:
    findings = observed.found
    if step:
        status, printed = installation.run(*_words(installation), kill_at=step)
        if status >= 0:
            findings.fault(f"the command was not killed at {step}: {printed[-300:]}")
        time.sleep(plan.rng.uniform(*KILLED_SECONDS))
    for _ in range(MOST_TRIES):
        status, printed = installation.run(*_words(installation))
        if "another split" not in printed:
            break
    observed.said += [float(seconds) for seconds in re.findall(r"refused for ([0-9.]+) s", printed)]
    if status:
        findings.fault(f"the split ends with {printed[-300:]}")


def _words(installation: _Installation) -> tuple[str, ...]:
    return ("databases", "split", LEAVING, "--to", installation.second.address)


def _installed(plan: Plan, engine: str, first: Cluster, ending: ExitStack, name: str) -> _Installation:
    names = {database: f"{name}_{database}" for database in ("home", STAYING, LEAVING)}
    for database in names.values():
        first.execute(f"CREATE DATABASE {database} OWNER touchbase")
        ending.callback(first.execute, f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")
    settings = {"TOUCHBASE_ENCRYPTION_KEY": encode_key(new_key())}
    second = Cluster(plan.new_folder(), free_port())
    installation = _Installation(f"sqlite:///{plan.new_folder()}/home.db", first, second, names, settings, plan.broken or "")
    if engine == "postgresql":
        installation.home = installation.address("home")
    settings["TOUCHBASE_DATABASE"] = installation.home
    installation.must("migrate")
    for database in (STAYING, LEAVING):
        installation.must("databases", "add", database, "--database", installation.address(database))
        installation.must("clients", "add", f"{name}-{database}", "--to", database)
    ending.callback(second.remove)
    second.follow(first)
    return installation
