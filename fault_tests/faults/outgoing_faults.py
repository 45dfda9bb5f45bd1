"""Faults around sent webhooks: receivers and networks that break off, a store that refuses results, and two processes of which one dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.faults.disk import wait_until_serving
from fault_tests.faults.outgoing import change_contacts, create_contacts, start
from fault_tests.plan import Plan
from fault_tests.receivers import (
    HALF_BODY,
    HALF_HEAD,
    RESET,
    RESET_LATE,
    SLOW,
    STALL,
    Receiver,
    add_endpoint,
    check_requests,
    newest_event,
    served,
    stored_as_delivered,
    timed_out,
    wait_until_sent,
)
from fault_tests.shared_flag import FAIL_WRITES, SharedFlags

NETWORK = {RESET: 0.1, RESET_LATE: 0.08, HALF_HEAD: 0.08, HALF_BODY: 0.08, SLOW: 0.05, STALL: 0.02}
WRITE_SECONDS = 1.5
RECORDS = 12
STICKY = 2
"""Each second event is refused while the store refuses to write."""
REFUSING_SECONDS = 1.0
AFTER_SECONDS = 0.5
PEOPLE = 60
"""So many events are being sent when the store begins to refuse: each takes `SLOW_SECONDS`."""
QUICK = "8:3"
"""Longer schedules than usual, so that refused events still wait when the store can write again."""
SHARED_SECONDS = 2.0
CLIENTS = 4
SENDING_SECONDS = 5.0
"""How long the first request may take."""
MOST_UNSTORED = 512
"""Delivered events of one endpoint that may not be stored yet."""


def receivers(plan: Plan, engine: str) -> None:
    """Let a receiver reset connections, cut responses and respond byte by byte, some too late."""
    findings, receiver, client = Findings(), Receiver(plan.rng, NETWORK), "receivers"
    database = plan.new_store(engine, plan.new_folder())
    with served({client: receiver}) as origin:
        server = start(plan, database, origin)
        try:
            api = ApiClient(server.address, client)
            endpoint, contacts = add_endpoint(api, origin), create_contacts(api, RECORDS)
            change_contacts(plan, ApiClient(server.address, client), contacts, WRITE_SECONDS)
            wait_until_sent(plan, api, endpoint, receiver, findings)
            api.close()
            server.stop()
            events, late = newest_event(database, client), timed_out(database, client)
        finally:
            server.kill()
    check_requests(receiver.got, events, {}, late, findings)
    for way in NETWORK:
        if not receiver.met[way]:
            findings.fault(f"no response was of the kind {way!r}")
    plan.report.add("receivers", engine, 1, events, findings, broken=plan.broken, requests=len(receiver.got))


def results(plan: Plan, engine: str) -> None:
    """Let the store refuse to write what became of requests, then let it, and cut the power. SQLite, on the simulated disk."""
    if engine != "sqlite":
        return
    findings, receiver, client = Findings(), Receiver(plan.rng, {SLOW: 1.0}, sticky=STICKY), "results"
    folder = plan.new_folder()
    database, flags = plan.new_store(engine, folder), SharedFlags(folder / "switch")
    flags.set()
    with served({client: receiver}) as origin:
        server = start(plan, database, origin, f"volatile:{flags.path}", quick=QUICK)
        try:
            api = ApiClient(server.address, client)
            endpoint = add_endpoint(api, origin)
            people = [{"op": "create", "body": {"email": f"p{number}@example.com"}} for number in range(PEOPLE)]
            api.expect_ok("POST", "/public/v2/contacts/batch", {"commands": people})
            _until_sending(receiver)
            before = len(receiver.got)
            flags.set(FAIL_WRITES)
            time.sleep(REFUSING_SECONDS)
            unwritten = len(receiver.got) - before
            flags.set()
            wait_until_serving(api, findings, "the store could write again")
            time.sleep(AFTER_SECONDS)
            api.close()
            server.kill()
            (folder / "store.db-shm").unlink(missing_ok=True)
            receiver.begin_run(server.pid)
            receiver.sticky = 0
            stored = stored_as_delivered(database, client, endpoint)
            server = start(plan, database, origin, quick=QUICK)
            api = ApiClient(server.address, client)
            wait_until_sent(plan, api, endpoint, receiver, findings)
            api.close()
            server.stop()
            events, late = newest_event(database, client), timed_out(database, client)
        finally:
            flags.set()
            server.kill()
    repeated = check_requests(receiver.got, events, {1: stored}, late, findings)
    plan.report.add("results", engine, 1, events, findings, broken=plan.broken, unwritten=unwritten, repeated=repeated)


def _until_sending(receiver: Receiver) -> None:
    """Wait until the first request has come: an endpoint is known a moment after it was added."""
    until = time.monotonic() + SENDING_SECONDS
    while not receiver.got and time.monotonic() < until:
        time.sleep(0.01)


def senders(plan: Plan, engine: str) -> None:
    """Let two processes send the events of several clients, and kill one. PostgreSQL."""
    if engine != "postgresql":
        return
    findings, names = Findings(), [f"senders-{number}" for number in range(CLIENTS)]
    all_receivers = {name: Receiver(plan.rng, {}) for name in names}
    database = plan.new_store(engine, plan.new_folder())
    with served(all_receivers) as origin:
        servers = [start(plan, database, origin) for _ in range(2)]
        try:
            endpoints, contacts = {}, {}
            for name in names:
                api = ApiClient(servers[0].address, name)
                endpoints[name], contacts[name] = add_endpoint(api, origin), create_contacts(api, RECORDS)
                api.close()
            time.sleep(SHARED_SECONDS)  # the second process gets its share of the clients
            threads = [
                threading.Thread(target=change_contacts, args=(plan, ApiClient(servers[1].address, name), contacts[name], WRITE_SECONDS))
                for name in names
            ]
            for thread in threads:
                thread.start()
            time.sleep(plan.rng.uniform(0.5, 1.0))
            servers[0].kill()
            _next_run(all_receivers.values(), servers[0].pid)
            stored = {name: stored_as_delivered(database, name, endpoints[name]) for name in names}
            _next_run(all_receivers.values())
            for thread in threads:
                thread.join()
            for name in names:
                api = ApiClient(servers[1].address, name)
                wait_until_sent(plan, api, endpoints[name], all_receivers[name], findings)
                api.close()
            servers[1].stop()
            events, late = {name: newest_event(database, name) for name in names}, {name: timed_out(database, name) for name in names}
        finally:
            for server in servers:
                server.kill()
    repeated = {}
    for name in names:
        of_client = Findings(name)
        repeated[name] = check_requests(all_receivers[name].got, events[name], {2: stored[name]}, late[name], of_client)
        if repeated[name] > MOST_UNSTORED:
            of_client.add_duplicate(f"{repeated[name]} events, more than the {MOST_UNSTORED} that may not be stored yet")
        findings.add(of_client)
    plan.report.add(
        "senders", engine, 1, sum(events.values()), findings, broken=plan.broken, clients=CLIENTS, repeated=sum(repeated.values())
    )  # fmt: skip


def _next_run(item: Iterable[Receiver], killed: int | None = None) -> None:
    for receiver in item:
        receiver.begin_run(killed)
