"""Receivers of webhooks that fail in ways that a test chooses, and the check of what they got against the log."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fault_tests.calls import ApiClient
from fault_tests.check import Findings
from fault_tests.fault_server import ENCRYPTION_KEY, SENDER
from fault_tests.plan import Plan
from touchbase.clients.sql.clients import find_client
from touchbase.encryption.keys import EncryptionKeys
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.outgoing.models import TIMEOUT
from touchbase.outgoing.sql.dispatch import list_attempts, read_served
from touchbase.sql.operation import Query
from touchbase.sql.statement import T
from touchbase.stores import open_store

OK, REFUSE, HANG, RESET, RESET_LATE, HALF_HEAD, HALF_BODY, SLOW, STALL = (
    "ok", "refuse", "hang", "reset", "reset late", "half head", "half body", "slow", "stall",
)  # fmt: skip
DELIVERED = (OK, SLOW)
"""What ends with a complete 200 in time."""
LATE = (HANG, STALL)
"""What ends in a time-out."""
HANG_SECONDS = 1.2
"""More than the time that a request gets."""
SLOW_SECONDS = 0.3
"""Duration of a response that comes byte by byte and still in time."""
MOST_ATTEMPTS = 10_000
"""Of one client, that a check reads."""
MOST_FAILURES = 3
"""Of one event."""
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\nthank you\r\n\r"
HEAD_BYTES = 20


@dataclass
class Request:
    """A request that a receiver got."""

    sequence: int
    record: int
    way: str
    """How it ended."""
    run: int
    """How many kills, or looks at what is stored, came before it was sent."""

    @property
    def is_delivered(self) -> bool:
        """Whether its response was a complete 200, in time as the receiver sees it."""
        return self.way in DELIVERED


@dataclass
class Receiver:
    """Decides how requests of one client end, and remembers them. `ways`: faults with their shares; the rest succeeds."""

    rng: random.Random
    ways: dict[str, float]
    sticky: int = 0
    """If set, each event whose sequence it divides is refused, until this is 0 again."""
    run: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    """Processes that were killed, and the run in which: on a busy machine their last requests are read after the next run has begun."""
    got: list[Request] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    _failures: Counter[int] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, data: dict[str, object], sender: str) -> str:
        """Return how a request of a process ends."""
        sequence, record = int(str(data["id"]).removeprefix("evt_")), int(str(data["record_id"]))
        with self._lock:
            way = self._way(sequence)
            self._failures[sequence] += way not in DELIVERED
            self.met[way] += 1
            self.got.append(Request(sequence, record, way, self.ended.get(sender, self.run)))
        return way

    def begin_run(self, killed: int | None = None) -> None:
        """Note that a process, if any, was killed, and begin the next run."""
        with self._lock:
            if killed is not None:
                self.ended[str(killed)] = self.run
            self.run += 1

    def _way(self, sequence: int) -> str:
        if self.sticky and sequence % self.sticky == 0:
            return REFUSE
        if self._failures[sequence] >= MOST_FAILURES:
            return OK
        return self.rng.choices([*self.ways, OK], [*self.ways.values(), max(0.0, 1.0 - sum(self.ways.values()))])[0]


@contextmanager
def served(receivers: dict[str, Receiver]) -> Iterator[str]:
    """Serve the receivers of these clients on a free port; yield the origin."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.close_connection = True
            body = self.rfile.read(length := int(self.headers["content-length"]))
            if len(body) < length:  # its sender was killed
                return
            data = json.loads(body)["data"]
            way = receivers[data["client_id"]].choose(data, self.headers[SENDER])
            self.close_connection = not _respond(self.connection, way)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads, block_on_close = True, False

        def handle_error(self, request: object, client_address: object) -> None:
            """A sender that has given up or was killed is expected; other errors show as requests without an end."""
            if not isinstance(sys.exception(), OSError):
                super().handle_error(request, client_address)  # type: ignore[arg-type]

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def _respond(connection: socket.socket, way: str) -> bool:
    """End a request in this way; return whether the connection can be used again."""
    if way in (RESET, RESET_LATE):
        if way == RESET_LATE:
            connection.sendall(RESPONSE[:HEAD_BYTES])
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    elif way == HANG:
        time.sleep(HANG_SECONDS)
    elif way in (HALF_HEAD, HALF_BODY):
        connection.sendall(RESPONSE[: HEAD_BYTES if way == HALF_HEAD else -HEAD_BYTES // 4])
    elif way in (SLOW, STALL):
        pause = (SLOW_SECONDS if way == SLOW else HANG_SECONDS) / len(RESPONSE)
        for byte in RESPONSE:
            connection.sendall(bytes([byte]))
            time.sleep(pause)
        return way == SLOW
    else:
        connection.sendall(RESPONSE if way == OK else b"HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n")
        return True
    return False


def add_endpoint(api: ApiClient, origin: str) -> int:
    """Add an endpoint for all events; return its id."""
    webhook_endpoint_id: int = api.expect_ok("POST", "/public/v2/webhook-endpoints", {"url": f"{origin}/hooks"})["id"]
    return webhook_endpoint_id


def wait_until_sent(plan: Plan, api: ApiClient, endpoint: int, receiver: Receiver, findings: Findings) -> None:
    """Wait until nothing waits any more."""
    before, until = -1, time.perf_counter() + plan.stall_limit
    while api.expect_ok("GET", f"/public/v2/webhook-endpoints/{endpoint}")["progress"]["waiting"]:
        if len(receiver.got) != before:
            before, until = len(receiver.got), time.perf_counter() + plan.stall_limit
        if time.perf_counter() > until:
            findings.fault("events wait and nothing is sent")
            return
        time.sleep(0.05)


def stored_as_delivered(database: str, client: str, endpoint: int) -> set[int]:
    """Return the events that are stored as delivered to an endpoint."""
    [served] = _read(database, client, lambda number: read_served(number, [endpoint]))
    waiting = {item.sequence for item in served.pending}
    return {*range(served.progress.start + 1, served.progress.position + 1)} - waiting


def timed_out(database: str, client: str) -> Counter[int]:
    """Return the events of which the sender noted time-outs, with their number."""
    attempts = _read(database, client, lambda number: list_attempts(number, MOST_ATTEMPTS, outcome=TIMEOUT))
    return Counter(attempt.sequence for attempt in attempts)


def newest_event(database: str, client: str) -> int:
    """Return the number of a client's events."""
    return _read(database, client, lambda number: list_logged_events(number, None, 1)).newest


def _read(database: str, client: str, question: Callable[[int], Query[T]]) -> T:
    """Ask the store something about a client, by its number."""

    async def read() -> T:
        store = await open_store(database, as_is=True, encryption_keys=EncryptionKeys(ENCRYPTION_KEY))
        try:
            owner = await store.read(find_client(client))
            assert owner is not None
            return await store.read(question(owner.number))
        finally:
            await store.close()

    return asyncio.run(read())


def check_requests(got: list[Request], events: int, stored: dict[int, set[int]], late: Counter[int], findings: Findings) -> int:
    """Compare requests with the log; return the number of repeats.

    Each event arrived, in the order of its record, and came again after a kill only, and only if it was not `stored` before that one.
    Events of `late`, by the number of time-outs that the sender noted, may come again if that is more than the receiver caused: the
    machine stood still, and the sender did not get a response in time.
    """
    missed = late - Counter(first_item.sequence for first_item in got if first_item.way in LATE)
    first: dict[int, int] = {}
    answered: set[tuple[int, int]] = set()
    for place, one in enumerate(got):
        if (one.sequence, one.run) in answered and not missed[one.sequence]:
            findings.add_duplicate(f"event {one.sequence}, without a kill since its 200 (after {one.run})")
        if one.is_delivered:
            answered.add((one.sequence, one.run))
            first.setdefault(one.sequence, place)
        for run in range(1, one.run + 1):
            if one.sequence in stored.get(run, ()):
                findings.add_duplicate(f"event {one.sequence}, stored before kill {run}")
    for sequence in range(1, events + 1):
        if sequence not in first:
            findings.add_lost(f"event {sequence}")
    of_record: defaultdict[int, set[int]] = defaultdict(set)
    for one in got:
        of_record[one.record].add(one.sequence)
    for record, sequences in of_record.items():
        places = [first[item] for item in sorted(sequences) if item in first]
        if places != sorted(places):
            findings.fault(f"the events of contact {record} arrived out of order")
    again = Counter(first_item.sequence for first_item in got if first_item.is_delivered)
    return sum(count - 1 for count in again.values())
