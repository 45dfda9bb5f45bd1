"""Starting on an empty store, and memory after many creates."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from statistics import median

from bench.bodies import CREATE
from bench.load import Address
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.server_process import CannotMeasure, ServerProcess, as_installed

FIRST_ANSWER_SECONDS = 1.5
MEMORY_MB = 150.0
GROWTH = 1.1
"""What memory may become between half of the creates and all of them, and still be called flat."""
CREATED = 'touchbase_http_request_duration_seconds_count{method="POST",route="/public/v2/contacts",status="201"}'


def measure(plan: Plan) -> None:
    """Seconds to the first answer, and memory."""
    print("start: an empty store, and memory after many creates", flush=True)
    folder = plan.new_folder()
    times = [_first_answer(folder, number) for number in range(plan.rounds)]
    met = median(times) < FIRST_ANSWER_SECONDS
    plan.report.add(
        "first created contact after start, empty SQLite store",
        spread(times, " s", 2),
        f"under {FIRST_ANSWER_SECONDS:g} s",
        met,
        seconds=times,
    )
    with as_installed(f"sqlite:///{folder}/memory.db", folder) as running:
        _memory(plan, running)


def _first_answer(folder: Path, number: int) -> float:
    """From the command to the answer 201."""
    before = time.perf_counter()
    with as_installed(f"sqlite:///{folder}/start{number}.db", folder) as running:
        _create(running.address)
        return time.perf_counter() - before


def _create(address: Address) -> None:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=10)
    connection.request("POST", CREATE.path, json.dumps({"email": "first@example.com"}), {"Content-Type": "application/json"})
    status = connection.getresponse().status
    connection.close()
    if status != 201:
        raise CannotMeasure(f"the first create was answered {status}")


def _memory(plan: Plan, running: ServerProcess) -> None:
    if not (start := running.memory_mb()):
        plan.report.note("memory was not measured: this kernel has no /proc")
        return
    (few, half), (many, full) = (_after(plan, running, count) for count in (plan.creates // 2, plan.creates))
    limit = f"under {MEMORY_MB:g} MB" + ("" if plan.creates >= 200_000 else " after 200,000")
    measured = f"{full['VmRSS']:.0f} MB after {many:,} creates; {start['VmRSS']:.0f} MB at start"
    plan.report.add("memory (RSS), SQLite", measured, limit, full["VmRSS"] < MEMORY_MB, start=start, half=half, full=full)
    growth = full["VmRSS"] / half["VmRSS"]
    measured = f"x {growth:.2f} from {few:,} creates ({half['VmRSS']:.0f} MB) to {many:,}"
    plan.report.add("memory stays flat, SQLite", measured, f"at most x {GROWTH:g}", growth <= GROWTH)
    # SQLite's page cache has its own bound, and a store must be large before it is reached.
    twice, double = _after(plan, running, 2 * plan.creates)
    growth = double["VmRSS"] / full["VmRSS"]
    plan.report.add(
        "memory later on, SQLite", f"x {growth:.2f} from {many:,} creates to {twice:,} ({double['VmRSS']:.0f} MB)", "no limit", None
    )


def _after(plan: Plan, running: ServerProcess, creates: int) -> tuple[int, dict[str, float]]:
    """Memory once at least so many contacts are created, and how many there were."""
    while (done := int(running.metrics().get(CREATED, 0))) < creates:
        plan.generator.closed(running.address, CREATE, CONNECTIONS, 1.0)
    return done, running.memory_mb()
