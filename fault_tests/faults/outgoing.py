"""SIGKILL at random moments while webhooks are sent to a receiver that also fails and hangs: nothing is lost, repeated or out of order."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings, check_integrity
from fault_tests.fault_server import ENCRYPTION_KEY
from fault_tests.plan import Plan
from fault_tests.process import Process
from touchbase.clients.commands import FindClient
from touchbase.encryption import EncryptionKeys
from touchbase.event_log import ListLoggedEvents
from touchbase.outgoing import ReadServed
from touchbase.storage import open_store

CLIENT = "outgoing"
KILLS = 4
WRITE_SECONDS = (0.2, 0.9)
"""The time between two kills."""
RECORDS = 12
HANG_SECONDS = 1.2
"""More than the time that a request gets."""
FAILS, HANGS = 0.2, 0.02
MOST_FAILURES = 3
"""Of one event."""


@dataclass
class Request:
    """A request that the receiver answered."""

    sequence: int
    record: int
    status: int
    run: int
    """The number of the server process that was started last when it came."""


@dataclass
class Receiver:
    """Answers with a mixture of 200, 500 and timeouts."""

    rng: random.Random
    run: int = 0
    got: list[Request] = field(default_factory=list)
    _failures: Counter[int] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, body: bytes) -> int:
        """Return the status of a request; 0 for none in time."""
        data = json.loads(body)["data"]
        sequence = int(data["id"].removeprefix("evt_"))
        with self._lock:
            chance, status = self.rng.random(), 200
            if self._failures[sequence] < MOST_FAILURES:
                status = 0 if chance < HANGS else 500 if chance < HANGS + FAILS else 200
            self._failures[sequence] += status != 200
            self.got.append(Request(sequence, data["record_id"], status, self.run))
        return status

    def start(self) -> ThreadingHTTPServer:
        """Serve on a free port."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(length := int(self.headers["content-length"]))
                status = receiver.answer(body) if len(body) == length else 0
                self.close_connection = not status
                if not status:
                    time.sleep(HANG_SECONDS if len(body) == length else 0)
                    return
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server


def run(plan: Plan, engine: str) -> None:
    """Write contacts, kill and start the server while it sends, and compare what the receiver got with the log."""
    folder, found, receiver = plan.new_folder(), Findings(), Receiver(plan.rng)
    database, stored, events = plan.new_store(engine, folder), {}, 0
    web = receiver.start()
    origin = f"http://127.0.0.1:{web.server_address[1]}"
    server = _start(plan, database, origin)
    try:
        api = ApiClient(server.address, CLIENT)
        endpoint = api.expect_ok("POST", "/public/v2/webhook-endpoints", {"url": f"{origin}/hooks"})["id"]
        contacts = [api.expect_ok("POST", "/public/v2/contacts", {"email": f"p{n}@example.com"})["id"] for n in range(RECORDS)]
        api.close()
        for number in range(1, KILLS + 1):
            _write(plan, ApiClient(server.address, CLIENT), contacts, number)
            server.kill()
            stored[number] = asyncio.run(_stored(database, endpoint))
            receiver.run = number
            server = _start(plan, database, origin)
        api = ApiClient(server.address, CLIENT)
        _wait(plan, api, endpoint, receiver, found)
        api.close()
        status, _ = server.stop()
        if status != 0:
            found.fault(f"the server stopped with {status}")
        events = asyncio.run(_newest(database))
    finally:
        server.kill()
        web.shutdown()
        web.server_close()
    _check(receiver.got, events, stored, found)
    if database.startswith("sqlite"):
        check_integrity(database.removeprefix("sqlite:///"), found)
    again = Counter(one.sequence for one in receiver.got if one.status == 200)
    repeated = sum(count - 1 for count in again.values())
    plan.report.add("outgoing", engine, 1, events, found, broken=plan.broken, kills=KILLS, requests=len(receiver.got), repeated=repeated)


def _start(plan: Plan, database: str, origin: str) -> Process:
    more = ("--webhook-allowed-origins", origin)
    return Process(database, plan.new_folder(), *more, broken=plan.broken, injected=["quick-webhooks:1"])


def _write(plan: Plan, api: ApiClient, contacts: list[int], number: int) -> None:
    """Change contacts for a random time."""
    until, count = time.perf_counter() + plan.rng.uniform(*WRITE_SECONDS), 0
    try:
        while time.perf_counter() < until:
            count += 1
            api.call("PATCH", f"/public/v2/contacts/{plan.rng.choice(contacts)}", {"first_name": f"Name {number} {count}"})
    except NoResponse:
        pass
    api.close()


async def _stored(database: str, endpoint: int) -> set[int]:
    """Return the events that are stored as delivered, while no server runs."""
    store = await open_store(database, as_is=True, encryption_keys=EncryptionKeys(ENCRYPTION_KEY))
    try:
        client = await store.read(FindClient(CLIENT))
        assert client is not None
        served = await store.read(ReadServed(client.number, endpoint))
        assert served is not None
        waiting = {one.sequence for one in served.pending}
        return {*range(served.progress.start + 1, served.progress.position + 1)} - waiting
    finally:
        await store.close()


async def _newest(database: str) -> int:
    store = await open_store(database, as_is=True, encryption_keys=EncryptionKeys(ENCRYPTION_KEY))
    try:
        client = await store.read(FindClient(CLIENT))
        assert client is not None
        return (await store.read(ListLoggedEvents(client.number, None, 1))).newest
    finally:
        await store.close()


def _wait(plan: Plan, api: ApiClient, endpoint: int, receiver: Receiver, found: Findings) -> None:
    """Wait until nothing waits any more."""
    before, until = -1, time.perf_counter() + plan.stall_limit
    while api.expect_ok("GET", f"/public/v2/webhook-endpoints/{endpoint}")["progress"]["waiting"]:
        if len(receiver.got) != before:
            before, until = len(receiver.got), time.perf_counter() + plan.stall_limit
        if time.perf_counter() > until:
            found.fault("events wait and nothing is sent")
            return
        time.sleep(0.05)


def _check(got: list[Request], events: int, stored: dict[int, set[int]], found: Findings) -> None:
    """Compare the requests with the log: each event arrived, in the order of its record, and came again after a kill only."""
    first: dict[int, int] = {}
    answered: set[tuple[int, int]] = set()
    for place, one in enumerate(got):
        if (one.sequence, one.run) in answered:
            found.add_duplicate(f"event {one.sequence}, by the process that got the 200")
        if one.status == 200:
            answered.add((one.sequence, one.run))
            first.setdefault(one.sequence, place)
        for run in range(1, one.run + 1):
            if one.sequence in stored[run]:
                found.add_duplicate(f"event {one.sequence}, stored before kill {run}")
    for sequence in range(1, events + 1):
        if sequence not in first:
            found.add_lost(f"event {sequence}")
    of_record: defaultdict[int, set[int]] = defaultdict(set)
    for one in got:
        of_record[one.record].add(one.sequence)
    for record, sequences in of_record.items():
        places = [first[each] for each in sorted(sequences) if each in first]
        if places != sorted(places):
            found.fault(f"the events of contact {record} arrived out of order")
