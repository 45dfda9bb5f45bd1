"""Outgoing webhooks and the feed: from a call to the request, requests and events a second, and what dead endpoints cost others."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import islice
from statistics import median, quantiles
from typing import Any

from bench.bodies import WEBHOOK, new_run
from bench.load import Address
from bench.noise import process_seconds
from bench.plan import Plan
from bench.server_process import CannotMeasure, ServerProcess, as_installed, wait_until
from bench.throughput import NAMES
from bench.webhook_receiver import Arrival, Receiver, receiver
from touchbase.clients.sql.clients import ensure_client
from touchbase.encryption.keys import EncryptionKeys
from touchbase.outgoing.models import Endpoint, Secret
from touchbase.outgoing.signatures import new_secret
from touchbase.outgoing.sql.endpoints import add_endpoint
from touchbase.stores import open_store

CALLS_A_SECOND = 500
LATENCY_MS = 250.0
REQUESTS_A_SECOND = 3_000.0
EVENTS_A_SECOND = 20_000.0
OTHERS_SECONDS = 1.0
CONNECTIONS = 16
BATCH = 1_000
PER_CLIENT = 100
"""Endpoints of one client: as many as it may have; the first one is dead."""
CLIENTS_A_SECOND = 10
CLIENT = "bench"
KEY = base64.b64encode(bytes(32)).decode()
ENVIRONMENT = {"TOUCHBASE_ENCRYPTION_KEY": KEY}
REPLY = replace(WEBHOOK, body=WEBHOOK.body.replace("<who>", "<n>").replace("<kind>", "reply_received"))
"""A reply of a new person each time."""
_EMAIL_MARK = '"lead_email":"'


def measure(plan: Plan, engine: str) -> None:
    """Latency, requests a second and the feed, on one store."""
    print(f"outgoing webhooks, {NAMES[engine]}", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "outgoing")
    with receiver() as target, _server(database, plan, target) as running:
        _latency(plan, engine, running, target)
        _requests(plan, engine, running, target)
        _feed(plan, engine, running)


@contextmanager
def _server(database: str, plan: Plan, target: Receiver, *more: str) -> Iterator[ServerProcess]:
    origins = " ".join([target.origin, *more])
    with as_installed(database, plan.new_folder(), "--webhook-allowed-origins", origins, environment=ENVIRONMENT) as running:
        yield running


def _ask(running: ServerProcess, method: str, path: str, body: object = None, client: str = CLIENT) -> Any:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "X-Client-Id": client}
    request = urllib.request.Request(f"{running.address.url}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def _add_endpoint(running: ServerProcess, target: Receiver, **values: Any) -> int:
    return int(_ask(running, "POST", "/public/v2/webhook-endpoints", {"url": f"{target.origin}/hooks", **values})["id"])


def _remove(running: ServerProcess, endpoint: int) -> None:
    _ask(running, "DELETE", f"/public/v2/webhook-endpoints/{endpoint}")


def _latency(plan: Plan, engine: str, running: ServerProcess, target: Receiver) -> None:
    endpoint = _add_endpoint(running, target, types=["contact.replied"])
    asyncio.run(_call(running.address, [*islice(REPLY.bodies(new_run()), CONNECTIONS)]))
    _all_arrivals(target, CONNECTIONS)  # the processes that translate have started
    count = int(CALLS_A_SECOND * plan.seconds * plan.rounds)
    bodies = [*islice(REPLY.bodies(new_run()), count)]
    sent = asyncio.run(_call(running.address, bodies))
    arrivals = _all_arrivals(target, count)
    took = [(at - sent[email]) * 1_000 for email, _, at in arrivals if email in sent]
    _remove(running, endpoint)
    p99 = quantiles(took, n=100)[98]
    reported = f"p50 {median(took):,.0f} ms, p99 {p99:,.0f} ms, most {max(took):,.0f} ms; {len(took):,} calls"
    what = f"from a tool's call to the outgoing request, {NAMES[engine]}, {CALLS_A_SECOND} calls/s"
    met = p99 < LATENCY_MS if engine == "sqlite" else None
    plan.report.add(what, reported, f"p99 under {LATENCY_MS:g} ms" if met is not None else "no limit", met, p99_ms=p99)


async def _call(address: Address, bodies: list[bytes]) -> dict[str, float]:
    """Send webhooks at a fixed rate; return when each was sent, by the person's address."""
    sent: dict[str, float] = {}
    began, waiting = time.monotonic(), iter(enumerate(bodies))

    async def work() -> None:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        for number, body in waiting:
            await asyncio.sleep(max(0.0, began + number / CALLS_A_SECOND - time.monotonic()))
            text = body.decode()
            sent[text.partition(_EMAIL_MARK)[2].partition('"')[0]] = time.monotonic()
            head = f"POST {REPLY.path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            writer.write(head.encode() + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            await reader.readexactly(length)
            if b" 2" not in answer[:12]:
                raise CannotMeasure(f"a webhook was answered {answer[:40]!r}")
        writer.close()

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return sent


def _all_arrivals(target: Receiver, count: int, seconds: float = 120.0) -> list[Arrival]:
    arrivals: list[Arrival] = []

    def is_done() -> bool:
        arrivals.extend(target.arrivals())
        return len(arrivals) >= count

    if not wait_until(is_done, seconds, 0.2):
        raise CannotMeasure(f"{len(arrivals):,} of {count:,} requests arrived within {seconds:g} s")
    return arrivals


def _create(running: ServerProcess, count: int, client: str = CLIENT) -> None:
    """Create contacts in batches."""
    run = new_run()
    for first in range(0, count, BATCH):
        numbers = range(first, min(count, first + BATCH))
        commands = [{"op": "create", "body": {"email": f"b{number}.{run}@example.com", "first_name": "Nora"}} for number in numbers]
        _ask(running, "POST", "/public/v2/contacts/batch", {"commands": commands}, client)


def _requests(plan: Plan, engine: str, running: ServerProcess, target: Receiver) -> None:
    endpoint = _add_endpoint(running, target)
    _ask(running, "PATCH", f"/public/v2/webhook-endpoints/{endpoint}", {"disabled": True})
    count = plan.backlog // 5
    _create(running, count)
    before = running.cpu_seconds(), process_seconds(target.pid)
    _ask(running, "PATCH", f"/public/v2/webhook-endpoints/{endpoint}", {"disabled": False})
    times = [at for _, _, at in _all_arrivals(target, count)]
    seconds = max(times) - min(times)
    ours, theirs = running.cpu_seconds() - before[0], process_seconds(target.pid) - before[1]
    _remove(running, endpoint)
    rate = count / seconds
    reported = f"{rate:,.0f}/s; of the processor time the receiver took {theirs / (ours + theirs or 1):.0%}; {count:,} requests"
    what = f"outgoing requests to one fast receiver, {NAMES[engine]}"
    plan.report.add(
        what, reported, f"at least {REQUESTS_A_SECOND:,.0f}/s", rate >= REQUESTS_A_SECOND, rate=rate, server_s=ours, receiver_s=theirs
    )


def _feed(plan: Plan, engine: str, running: ServerProcess) -> None:
    cursor, count, began = "evt_0", 0, time.perf_counter()
    with closing(socket.create_connection((running.address.host, running.address.port))) as connection:
        stream = connection.makefile("rb")
        while True:
            head = f"GET /public/v2/events?after={cursor}&limit={BATCH} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-client-id: {CLIENT}\r\n\r\n"
            connection.sendall(head.encode())
            length = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            body = stream.read(length)
            if not body.startswith(b'{"data":'):
                raise CannotMeasure(f"the feed answered {body[:200]!r}")
            result = body.count(b'"timestamp":')
            count, cursor = count + result, body.rpartition(b'"next_cursor":"')[2].partition(b'"')[0].decode()
            if b'"has_more":true' not in body[-40:]:
                break
    rate = count / (time.perf_counter() - began)
    what = f"events read from the feed in pages of {BATCH:,}, {NAMES[engine]}"
    plan.report.add(what, f"{rate:,.0f}/s; {count:,} events", f"at least {EVENTS_A_SECOND:,.0f}/s", rate >= EVENTS_A_SECOND, rate=rate)


def dead(plan: Plan, engine: str) -> None:
    """Many endpoints of which one in a hundred accepts connections and never answers, and the same without these."""
    clients = max(1, plan.crowd // 10_000)
    print(f"endpoints, {NAMES[engine]}: {clients * PER_CLIENT:,}, of which {clients} are dead", flush=True)
    with socket.create_server(("127.0.0.1", 0), backlog=4_096) as silent, receiver() as target:
        dead_origin = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with_dead, without = (_delays(plan, engine, target, clients, origin) for origin in (dead_origin, target.origin))
    extra = with_dead - without
    reported = f"p99 {with_dead * 1_000:,.0f} ms, without dead ones {without * 1_000:,.0f} ms"
    what = f"delay of live endpoints, {NAMES[engine]}, {clients * PER_CLIENT:,} endpoints, {clients} of them dead"
    plan.report.add(what, reported, f"at most {OTHERS_SECONDS:g} s more", extra <= OTHERS_SECONDS, with_dead=with_dead, without=without)


def _delays(plan: Plan, engine: str, target: Receiver, clients: int, dead_origin: str) -> float:
    """Return the p99 of the seconds from a call to the requests of live endpoints."""
    database = plan.new_store(engine, plan.new_folder(), f"dead{dead_origin.rpartition(':')[2]}")
    names = [f"c{number}" for number in range(clients)]
    with _server(database, plan, target, dead_origin) as running:
        _ask(running, "GET", "/public/v2/contacts?limit=1")
    asyncio.run(_fill(database, names, target.origin, dead_origin))
    with _server(database, plan, target, dead_origin) as running:
        time.sleep(plan.warm_seconds)
        target.arrivals()
        sent: dict[str, float] = {}
        for turn in range(plan.rounds):
            for name in names:
                email = f"e{turn}@{name}.example"
                sent[email] = time.monotonic()
                _ask(running, "POST", "/public/v2/contacts", {"email": email}, name)
                time.sleep(1 / CLIENTS_A_SECOND)
        live = PER_CLIENT if dead_origin == target.origin else PER_CLIENT - 1
        took = [at - sent[email] for email, path, at in _all_arrivals(target, len(sent) * live) if path != "dead"]
    return quantiles(took, n=100)[98]


async def _fill(database: str, names: list[str], origin: str, dead_origin: str) -> None:
    store = await open_store(database, encryption_keys=EncryptionKeys(KEY))
    now = time.time_ns() // 1_000
    try:
        for name in names:
            client = await store.write(ensure_client(name, now, now))
            for first in range(0, PER_CLIENT, 25):
                urls = [f"{dead_origin}/dead" if number == 0 else f"{origin}/{name}/{number}" for number in range(first, first + 25)]
                endpoints = [Endpoint(client.number, 0, url, now, now, secrets=[Secret(new_secret())], state_us=now) for url in urls]
                await asyncio.gather(*(store.write(add_endpoint(endpoint)) for endpoint in endpoints))
    finally:
        await store.close()
