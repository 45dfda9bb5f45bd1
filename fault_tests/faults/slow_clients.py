"""Slow and dead clients: they are cut off, idle keep-alive connections are not, and other requests are as fast as before."""

from __future__ import annotations

from collections import Counter

from fault_tests.background_load import BackgroundLoad, SlowClientCounts
from fault_tests.check import Findings, contacts_of
from fault_tests.journal import p99_ms
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.slow_clients import KINDS, raise_file_limit
from fault_tests.steady_load import steady_load

DEADLINES = ("--header-timeout", "1", "--body-timeout", "2", "--body-idle-timeout", "1", "--send-timeout", "1")
ROOM = ("--max-connections", "8192", "--max-connections-per-address", "0")
SHORT, USUAL, LONG = (20, 5), (5_000, 50), (5_000, 200)
"""Idle connections, and slow clients of each kind."""
CALLERS, RATE, SHORT_RATE = 16, 300.0, 50.0
TIMES = 2.0
CUT_SECONDS = 10.0
"""Several times the deadline: a client connected longer than this has no deadline."""


def run(plan: Plan, engine: str) -> None:
    """Send at a fixed rate, first without and then with the slow clients."""
    folder, findings = plan.new_folder(), Findings()
    database, seconds = plan.new_store(engine, folder), 1.0 if plan.short else 20.0 if plan.long else 6.0
    idle, slow = SHORT if plan.short else LONG if plan.long else USUAL
    rate = SHORT_RATE if plan.short else RATE
    raise_file_limit()
    server = Process(database, folder, *DEADLINES, *ROOM, broken=plan.broken)
    try:
        usual = [steady_load(server.address, CALLERS, item, rate) for item in (0.5, seconds)]
        with BackgroundLoad(server.address, idle, slow) as background:
            beside = steady_load(server.address, CALLERS, seconds, rate)
            counts = background.wait_until_cut(CUT_SECONDS)
        acknowledged = sum(len(item.seconds) for item in (*usual, beside))
        if (remaining := contacts_of(database, "default")) < acknowledged:
            findings.add_lost(f"{acknowledged - remaining} of {acknowledged} contacts")
    finally:
        server.kill()
    _judge(findings, background.never_cut(counts), counts, sum(item.failed for item in (*usual, beside)), idle)
    before, during = p99_ms(usual[-1].seconds), p99_ms(beside.seconds)
    if during > TIMES * before:
        findings.add_missed(f"others' p99 was {during:.1f} ms beside them, more than {TIMES:g} times {before:.1f} ms")
    plan.report.add(
        "peers", engine, 1, acknowledged, findings, during, plan.broken, usual_p99_ms=before,
        idle_connections=counts.idle, cut=sum(counts.cut.values()), **_by_kind(counts.cut),
    )  # fmt: skip


def _judge(findings: Findings, never_cut: Counter[str], counts: SlowClientCounts, failed: int, idle: int) -> None:
    for kind, count in never_cut.items():
        findings.fault(f"{count} peers with {kind} were never cut")
    if counts.idle < idle:
        findings.fault(f"only {counts.idle} of {idle} idle connections were left alone")
    if failed:
        findings.fault(f"{failed} calls of others were not served")


def _by_kind(cut: Counter[str]) -> dict[str, int]:
    return {f"{kind.replace(' ', '_')}": cut[kind] for kind in KINDS}
