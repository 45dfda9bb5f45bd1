"""Overload at three times the capacity: the surplus is refused early, and the rest is served as usual."""

from __future__ import annotations

import threading
import time

from bench.bodies import CREATE

from bench import loadgen
from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings, contacts_of
from fault_tests.journal import p99_ms
from fault_tests.open_loop import Tally, send_at_rate
from fault_tests.plan import Plan
from fault_tests.process import Process

CONNECTIONS, USUAL, FLOOD = 64, 500, 1024
IN_PROGRESS = 256
"""Limit of concurrent requests: below the number of connections, so that the server must refuse."""
TIMES = 3
GOOD_PART = 0.8
BACK_SECONDS = 5.0
IN_A_ROW = 20
QUICK_SECONDS = 0.1
MOST_MB = 512.0
PAUSE = 0.05


class Watch:
    """A separate client during the overload that also samples the memory."""

    def __init__(self, server: Process) -> None:
        self._server = server
        self._ended = threading.Event()
        self.served: list[float] = []
        self.refused: list[float] = []
        self.odd: set[int] = set()
        self.most_mb = 0.0
        self._thread = threading.Thread(target=self._live)
        self._thread.start()

    def end(self) -> None:
        """Stop sampling."""
        self._ended.set()
        self._thread.join()

    def _live(self) -> None:
        api = ApiClient(self._server.address, "watch")
        while not self._ended.wait(PAUSE):
            self.most_mb = max(self.most_mb, self._server.memory_mb())
            try:
                answer = api.call("POST", "/public/v2/contacts", {"first_name": "Watch"})
            except NoResponse:
                self.odd.add(0)
                continue
            if answer.status not in (201, 503):
                self.odd.add(answer.status)
            (self.served if answer.status == 201 else self.refused).append(answer.seconds)
        api.close()


def run(plan: Plan, engine: str) -> None:
    """Overload the server with its default limits, then with a limit of concurrent requests that makes it refuse."""
    _overload(plan, engine, "overload", USUAL, ())
    _overload(plan, engine, "overload, refusing", FLOOD, ("--max-requests", str(IN_PROGRESS), "--max-connections-per-address", "0"))


def _overload(plan: Plan, engine: str, fault: str, connections: int, options: tuple[str, ...]) -> None:
    """Measure the capacity, send three times that at a fixed rate, measure the recovery."""
    folder, seconds, findings = plan.new_folder(), 1.0 if plan.short else 20.0 if plan.long else 5.0, Findings()
    database = plan.new_store(engine, folder)
    server = Process(database, folder, *options, broken=plan.broken)
    try:
        bursts = [loadgen.closed(server.address, CREATE, CONNECTIONS, item) for item in (1.0, seconds / 2)]
        capacity = bursts[-1].rate
        watch = Watch(server)
        try:
            tally = send_at_rate(server.address, CREATE, connections, seconds, TIMES * capacity)
        finally:
            watch.end()
        back = _itself_again(server)
    finally:
        server.stop()
    served = len(tally.served) / tally.seconds
    acknowledged = len(tally.served) + sum(burst.requests - burst.errors for burst in bursts)
    for number in range(acknowledged - contacts_of(database, "default")):
        findings.add_lost(f"contact {number + 1} of {acknowledged}")
    _judge(findings, watch, tally, back)
    if options and not tally.refused:
        findings.fault(f"nobody of {connections} was refused, where {IN_PROGRESS} requests may be in progress")
    if served < GOOD_PART * capacity:
        findings.add_missed(f"served {served:,.0f}/s of {capacity:,.0f}/s, less than {GOOD_PART:.0%}")
    plan.report.add(
        fault, engine, 1, acknowledged, findings, p99_ms(tally.served), plan.broken, capacity_per_s=round(capacity),
        due_per_s=round(tally.due / tally.seconds), sent_per_s=round((tally.due - tally.unsent) / tally.seconds),
        served_per_s=round(served), part_of_capacity=served / capacity, refused=len(tally.refused),
        refusal_p99_ms=p99_ms(tally.refused), most_MB=watch.most_mb, itself_again_after_s=back,
    )  # fmt: skip


def _judge(findings: Findings, watch: Watch, tally: Tally, back: float) -> None:
    if back > BACK_SECONDS:
        findings.add_missed(f"was itself again only after {back:.1f} s")
    if watch.most_mb > MOST_MB:
        findings.add_missed(f"took {watch.most_mb:.0f} MB")
    if watch.odd or tally.odd or tally.broken:
        findings.fault(f"answers nobody should get: {sorted(watch.odd)}, {tally.odd}; connections that ended without one: {tally.broken}")


def _itself_again(server: Process) -> float:
    """Seconds until a number of requests in a row were fast."""
    api, began, expect_ok = ApiClient(server.address, "watch"), time.perf_counter(), 0
    since = began
    while expect_ok < IN_A_ROW and time.perf_counter() - began < 2 * BACK_SECONDS:
        if not expect_ok:
            since = time.perf_counter()
        answer = api.call("POST", "/public/v2/contacts", {"first_name": "After"})
        expect_ok = expect_ok + 1 if answer.status == 201 and answer.seconds < QUICK_SECONDS else 0
    api.close()
    return (since if expect_ok else time.perf_counter()) - began
