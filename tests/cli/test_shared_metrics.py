"""The metrics of a server of several processes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client.multiprocess import MultiProcessCollector
from tests.cli.test_serve import Serve, Server, serve

pytestmark = pytest.mark.slow

__all__ = ["serve"]

CREATED = 'touchbase_http_request_duration_seconds_count{method="POST",route="/public/v2/contacts",status="201"}'
FOLDERS = Path("/dev/shm")


@pytest.fixture
def two(serve: Serve, postgres_url: str) -> Server:
    if not Path("/proc/self/task").exists():
        pytest.skip("the processes of a server are found under /proc")
    return serve("--database", postgres_url, "--workers", "2")


def processes(server: Server) -> list[int]:
    pid = server.process.pid
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def metrics(server: Server) -> dict[str, float]:
    lines = [line for line in server.get("/metrics")[1].splitlines() if not line.startswith("#")]
    return {series: float(value) for series, _, value in (line.rpartition(" ") for line in lines)}


def until(server: Server, holds: Callable[[dict[str, float]], bool]) -> dict[str, float]:
    """The first metrics of which this holds: the test's time limit ends it otherwise."""
    while not holds(result := metrics(server)):
        pass
    return result


def folder_of(server: Server) -> Path:
    pids = {str(process) for process in processes(server)}
    while not (parents := [file.parent for file in FOLDERS.glob("touchbase-metrics-*/*.pid") if file.read_text() in pids])[1:]:
        pass
    return parents[0]


def counted(folder: Path, name: str, route: str) -> list[float]:
    """What each process alone has counted of this route."""
    results = []
    files = list(folder.glob("histogram_*.db"))
    if len(files) < 2:
        return [0]
    for file in files:
        samples = [sample for metric in MultiProcessCollector.merge([str(file)]) for sample in metric.samples]
        results.append(sum(sample.value for sample in samples if sample.name == name and sample.labels["route"] == route))
    return results


def test_metrics__add_up_what_each_process_counted(two: Server) -> None:
    folder, created, reported = folder_of(two), 0, list[float]()
    count = "touchbase_http_request_duration_seconds_count"

    def create(number: int) -> int:
        return two.post("/public/v2/contacts", {"email": f"contact-{number}@example.com"})[0]

    with ThreadPoolExecutor(8) as callers:
        while not all(counted(folder, count, "/public/v2/contacts")):
            assert set(callers.map(create, range(created, created + 16))) == {201}
            created += 16
        until(two, lambda result: result.get(CREATED) == created)
        while not all(counted(folder, count, "/metrics")) or not reported:
            reported += [item[CREATED] for item in callers.map(lambda _: metrics(two), range(16))]
    matching_metrics = metrics(two)

    assert set(reported) == {created}
    assert matching_metrics[CREATED.replace("_count{", '_bucket{le="+Inf",')] == created
    assert matching_metrics['touchbase_build_info{version="0.1.0"}'] == 1
    assert matching_metrics["process_resident_memory_bytes"] > 2 * 20_000_000


def test_metrics__keep_the_counters_of_a_process_that_died(two: Server) -> None:
    before = processes(two)
    assert two.post("/public/v2/contacts", {"email": "contact@example.com"})[0] == 201
    until(two, lambda result: result.get(CREATED) == 1)

    for pid in before:
        os.kill(pid, signal.SIGKILL)
        while pid in processes(two) or len(processes(two)) < 2:
            pass
    matching_until = until(two, lambda result: result["touchbase_http_connections"] == 1)

    assert matching_until[CREATED] == 1
    assert set(processes(two)).isdisjoint(before)


def test_metrics__leave_no_files(two: Server) -> None:
    folder = folder_of(two)

    assert two.stop() == 0
    assert not folder.exists()


def test_metrics__leave_no_files_where_the_parent_was_killed(two: Server) -> None:
    folder, pids = folder_of(two), processes(two)

    two.process.kill()
    two.process.wait()
    while any(Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids):
        pass

    assert not folder.exists()
