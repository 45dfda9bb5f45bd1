"""Looking after a fault: everything that was kept is applied, and what was acknowledged is there once; also when it is sent again."""

from __future__ import annotations

from fault_tests.check import Findings, check, wait_until_applied
from fault_tests.journal import Journal
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.writers import resend


def verify(
    plan: Plan,
    server: Process,
    database: str,
    journal: Journal,
    found: Findings,
    *,
    stall_seconds: float = 0.0,
    answered_only: bool = False,
) -> bool:
    """Wait until nothing of this client waits, and hold the store to what the callers know; False when something waits for ever.

    `patience` is how many seconds without progress are not yet for ever, if that is more than the run's own.
    """
    is_done = wait_until_applied(server.address, journal.client, max(stall_seconds, plan.stall_limit))
    if not is_done:
        found.fault(f"deliveries of {journal.client} are never applied")
    found.add(check(database, journal, answered_only=answered_only))
    return is_done


def verify_twice(plan: Plan, server: Process, database: str, journal: Journal, found: Findings, *, stall_seconds: float = 0.0) -> None:
    """What was acknowledged must be there without anybody sending it again, and must not be there twice when they do."""
    if verify(plan, server, database, journal, found, stall_seconds=stall_seconds):
        resend(server.address, journal)
        verify(plan, server, database, journal, found, stall_seconds=stall_seconds)
