"""Verify after a fault: every stored delivery is applied, and every acknowledged write is there once, also after a resend."""

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
    findings: Findings,
    *,
    stall_seconds: float = 0.0,
    answered_only: bool = False,
) -> bool:
    """Wait until the inbox of this client is empty, then compare the store with the journal; return False if it stalls.

    `stall_seconds` raises the plan's limit of seconds without progress.
    """
    is_done = wait_until_applied(server.address, journal.client, max(stall_seconds, plan.stall_limit))
    if not is_done:
        findings.fault(f"deliveries of {journal.client} are never applied")
    findings.add(check(database, journal, answered_only=answered_only))
    return is_done


def verify_twice(plan: Plan, server: Process, database: str, journal: Journal, findings: Findings, *, stall_seconds: float = 0.0) -> None:
    """Verify, resend requests as their senders would, and verify that nothing is there twice."""
    if verify(plan, server, database, journal, findings, stall_seconds=stall_seconds):
        resend(server.address, journal)
        verify(plan, server, database, journal, findings, stall_seconds=stall_seconds)
