"""Fuzzed webhooks, read as the server reads them: each is translated or refused within its time and memory budget."""

from __future__ import annotations

import random

from fault_tests.check import Findings
from fault_tests.mutated_webhooks import Tally, mutated, try_out
from fault_tests.plan import Plan

MOST_SHOWN = 20


def run(plan: Plan, engine: str) -> None:
    """Run once: no store is involved."""
    if engine != "sqlite":
        return
    rounds, findings, tally = plan.rounds_of(300, 50_000), Findings(), Tally()
    first = plan.rng.randrange(2**32)
    for number in range(first, first + rounds):
        rng = random.Random(number)
        before = len(tally.faults)
        try_out(mutated(rng), rng, tally)
        for fault in tally.faults[before:]:
            if len(tally.faults) <= MOST_SHOWN:
                findings.fault(f"call {number}: {fault}")
    if len(tally.faults) > MOST_SHOWN:
        findings.fault(f"{len(tally.faults)} faults in all")
    plan.report.add(
        "fuzz", engine, rounds, tally.calls, findings, 0.0, plan.broken, checks_of_signatures=tally.checks, slowest_ms=tally.slowest * 1000
    )
