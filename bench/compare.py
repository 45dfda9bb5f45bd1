"""Compared with what people write: FastAPI and SQLModel with a session for each request (`bench.template`), in one run with ours.

The template has an environment of its own under `.bench/`, installed from `bench/requirements.lock` the first time, so that its
packages come into nothing of ours. Both are one process and both answer once the data is on disk. Ours applies a webhook call
after its answer; how much it applied meanwhile is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from bench.bodies import CREATE, WEBHOOK, Shape
from bench.interleaving import PROCESSED, settle
from bench.load import Address, Burst
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.server_process import ROOT, CannotMeasure, ServerProcess, as_installed, free_port, wait_until
from bench.throughput import NAMES

LOCK = ROOT / "bench" / "requirements.lock"
HOME = ROOT / ".bench" / "template"
POOLS = {"sqlite": 4, "postgresql": 10}
"""Connections of the template's pool. Of 1, 4, 10 and 40 none was clearly better: 190 to 390 answers a second with all of them."""
START_SECONDS = 30


def measure(plan: Plan, engine: str) -> None:
    """Creating and receiving, ours and theirs in turn."""
    print(f"compare, {NAMES[engine]}: ours and the template", flush=True)
    python = installed()
    folder = plan.new_folder()
    with as_installed(plan.new_store(engine, folder, "ours"), folder) as ours, template(python, plan, engine, folder) as theirs:
        for shape in (CREATE, WEBHOOK):
            _compare(plan, engine, shape, ours, theirs)


def _compare(plan: Plan, engine: str, shape: Shape, ours: ServerProcess, theirs: Address) -> None:
    for address in (ours.address, theirs):
        plan.generator.closed(address, shape, CONNECTIONS, plan.warm_seconds)
    settle(ours)
    bursts: tuple[list[Burst], list[Burst]] = ([], [])
    applied = []
    for _ in range(plan.rounds):
        before = ours.total(PROCESSED)
        bursts[0].append(plan.generator.closed(ours.address, shape, CONNECTIONS, plan.seconds))
        applied.append((ours.total(PROCESSED) - before) / bursts[0][-1].seconds)
        settle(ours)
        bursts[1].append(plan.generator.closed(theirs, shape, CONNECTIONS, plan.seconds))
    _report_rows(plan, f"{shape.name}, {NAMES[engine]}", bursts[0], bursts[1], applied if shape is WEBHOOK else [])


def _report_rows(plan: Plan, what: str, ours: list[Burst], theirs: list[Burst], applied: list[float]) -> None:
    errors = sum(burst.errors for burst in (*ours, *theirs))
    ratio = sorted(burst.rate for burst in ours)[len(ours) // 2] / max(1e-9, sorted(burst.rate for burst in theirs)[len(theirs) // 2])
    meanwhile = f"; applied meanwhile {spread(applied, '/s')}" if applied else ""
    measured = f"{_shown(ours)} = {ratio:.1f} x{meanwhile}"
    raw = {"ours": [burst.rate for burst in ours], "theirs": [burst.rate for burst in theirs], "errors": errors}
    plan.report.add(
        f"{what}, {CONNECTIONS} connections", measured, f"FastAPI and SQLModel: {_shown(theirs)}", False if errors else None, **raw
    )


def _shown(bursts: list[Burst]) -> str:
    return f"{spread([burst.rate for burst in bursts], '/s')}, p99 {spread([burst.p99_ms for burst in bursts], ' ms', 0)}"


def installed() -> Path:
    """The Python that has the template's packages; made when the lock is not the one that it was made from."""
    mark, digest = HOME / "lock", sha256(LOCK.read_bytes()).hexdigest()
    python = HOME / "bin" / "python"
    if not mark.exists() or mark.read_text() != digest:
        print("  installing the template's packages", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(HOME)], check=True)
        wanted = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:", "-r", str(LOCK)]
        subprocess.run([str(python), "-m", "pip", "install", *wanted], check=True)
        mark.write_text(digest)
    return python


@contextmanager
def template(python: Path, plan: Plan, engine: str, folder: Path, pool: int | None = None) -> Iterator[Address]:
    """The template's server on a new, empty store."""
    database = plan.new_store(engine, folder, "theirs").replace("postgresql://", "postgresql+psycopg://")
    address = Address("127.0.0.1", free_port())
    options = ["--loop", "uvloop", "--http", "httptools", "--no-access-log", "--log-level", "warning", "--port", str(address.port)]
    env = os.environ | {"TEMPLATE_DATABASE": database, "TEMPLATE_POOL": str(pool or POOLS[engine])}
    with (folder / "template.log").open("ab") as log:
        command = [str(python), "-m", "uvicorn", "bench.template.app:app", *options]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=ROOT, env=env)
    try:
        if not wait_until(lambda: _responds(address) or process.poll() is not None, START_SECONDS) or process.poll() is not None:
            raise CannotMeasure(f"the template did not start: {(folder / 'template.log').read_text()[-500:]}")
        yield address
    finally:
        process.terminate()
        process.wait()


def _responds(address: Address) -> bool:
    try:
        urllib.request.urlopen(f"{address.url}/openapi.json", timeout=5).close()
    except urllib.error.URLError:
        return False
    return True
