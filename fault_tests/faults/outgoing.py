"""SIGKILL at random moments while webhooks are sent to a receiver that also fails and hangs: nothing is lost, repeated or out of order."""

from __future__ import annotations

import time

from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings, check_integrity
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.receivers import (
    HANG,
    REFUSE,
    Receiver,
    add_endpoint,
    check_requests,
    newest_event,
    served,
    stored_as_delivered,
    timed_out,
    wait_until_sent,
)

CLIENT = "outgoing"
KILLS = 4
WRITE_SECONDS = (0.2, 0.9)
"""The time between two kills."""
RECORDS = 12
QUICK = "1:3"
"""Seconds for a response, and of leases: a process of a busy machine does not miss to renew these, or it would rightly lose its clients."""


def run(plan: Plan, engine: str) -> None:
    """Write contacts, kill and start the server while it sends, and compare what the receiver got with the log."""
    findings, receiver, stored = Findings(), Receiver(plan.rng, {REFUSE: 0.2, HANG: 0.02}), dict[int, set[int]]()
    database = plan.new_store(engine, plan.new_folder())
    with served({CLIENT: receiver}) as origin:
        server = start(plan, database, origin)
        try:
            api = ApiClient(server.address, CLIENT)
            endpoint, contacts = add_endpoint(api, origin), create_contacts(api, RECORDS)
            api.close()
            for number in range(1, KILLS + 1):
                change_contacts(plan, ApiClient(server.address, CLIENT), contacts, plan.rng.uniform(*WRITE_SECONDS))
                server.kill()
                stored[number] = stored_as_delivered(database, CLIENT, endpoint)
                receiver.begin_run(server.pid)
                server = start(plan, database, origin)
            api = ApiClient(server.address, CLIENT)
            wait_until_sent(plan, api, endpoint, receiver, findings)
            api.close()
            status, _ = server.stop()
            if status != 0:
                findings.fault(f"the server stopped with {status}")
            events, late = newest_event(database, CLIENT), timed_out(database, CLIENT)
        finally:
            server.kill()
    repeated = check_requests(receiver.got, events, stored, late, findings)
    if database.startswith("sqlite"):
        check_integrity(database.removeprefix("sqlite:///"), findings)
    plan.report.add("outgoing", engine, 1, events, findings, broken=plan.broken, kills=KILLS, requests=len(receiver.got), repeated=repeated)


def start(plan: Plan, database: str, origin: str, *injected: str, quick: str = QUICK) -> Process:
    """Start a server whose webhooks are quick."""
    more, built_in = ("--webhook-allowed-origins", origin), [*injected, f"quick-webhooks:{quick}"]
    return Process(database, plan.new_folder(), *more, broken=plan.broken, injected=built_in)


def create_contacts(api: ApiClient, count: int) -> list[int]:
    """Create contacts; return their ids."""
    return [api.expect_ok("POST", "/public/v2/contacts", {"email": f"p{number}@example.com"})["id"] for number in range(count)]


def change_contacts(plan: Plan, api: ApiClient, contacts: list[int], seconds: float) -> None:
    """Change contacts for some time, or until there is no server."""
    until, count = time.perf_counter() + seconds, 0
    try:
        while time.perf_counter() < until:
            count += 1
            api.call("PATCH", f"/public/v2/contacts/{plan.rng.choice(contacts)}", {"first_name": f"Name {until} {count}"})
    except NoResponse:
        pass
    api.close()
