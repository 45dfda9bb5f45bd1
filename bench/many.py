"""Many records in one request: batches and upserts next to single creates, and lookups of a thousand keys in a large store."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench import loadgen
from bench.bodies import CREATE, Shape
from bench.load import Address, Burst
from bench.plan import CONNECTIONS, Plan
from bench.report import spread
from bench.server_process import ServerProcess, server
from bench.throughput import NAMES
from touchbase.storage.sqlite.connection import open_writer
from touchbase.stores import open_store

SIZE = 1_000
"""Commands of a batch, and items of a lookup."""
TIMES_SINGLE = 5.0
TIMES_CREATE = 2.0
MATCH_MS = 15.0
BATCHES_AT_ONCE = 2
PATH = "/public/v2/contacts"
_FIELDS = CREATE.body[1:-1].replace("p<n>", "p<n>-{0}")
_COMMANDS = ",".join(f'{{"op":"create","body":{{{_FIELDS.replace("{0}", str(number))}}}}}' for number in range(SIZE))
BATCH = Shape("batch", f"{PATH}/batch", f'{{"commands":[{_COMMANDS}]}}')
UPSERT = replace(CREATE, name="upsert", path=f"{PATH}?match=email", method="PUT")
KNOWN = Shape("upsert-known", UPSERT.path, '{"email":"known<known>@example.com","first_name":"N<n>","contact_status":"won"}', "PUT")


def batch(plan: Plan, engine: str) -> None:
    """Creates in batches, and upserts of new and of known contacts, in turn with single creates."""
    print(f"batches, {NAMES[engine]}: single creates, batches of {SIZE:,}, upserts", flush=True)
    folder = plan.new_folder()
    with server("real", plan.new_store(engine, folder, "batch"), folder) as running:
        expected = replace(KNOWN, known=plan.known)
        _create_known(running.address, plan.known)
        rates: dict[str, list[float]] = {}
        errors = 0
        for _ in range(plan.rounds):
            for name, burst, item in _bursts(plan, running, expected):
                rates.setdefault(name, []).append(burst.rate * item)
                errors += burst.errors
    _report(plan, NAMES[engine], rates, errors)


def _bursts(plan: Plan, running: ServerProcess, shape: Shape) -> Iterator[tuple[str, Burst, int]]:
    at, closed = running.address, plan.generator.closed
    yield "single", closed(at, CREATE, CONNECTIONS, plan.seconds), 1
    yield "one connection", closed(at, CREATE, 1, plan.seconds), 1
    # Our own generator: another one would need a script of 250 kB.
    yield "batch", loadgen.closed(at, BATCH, BATCHES_AT_ONCE, plan.seconds), SIZE
    yield "upsert", closed(at, UPSERT, CONNECTIONS, plan.seconds), 1
    yield "known", closed(at, shape, CONNECTIONS, plan.seconds), 1


def _report(plan: Plan, engine: str, rates: dict[str, list[float]], errors: int) -> None:
    middle = {name: median(rate) for name, rate in rates.items()}
    wrong = f", {errors} ERRORS" if errors else ""
    times = middle["batch"] / middle["single"]
    slow = middle["batch"] / middle["one connection"]
    what = f"create contacts in batches of {SIZE:,}, {engine}"
    alone = f"{spread(rates['one connection'], '/s')} single creates, one after the other"
    met = slow >= TIMES_SINGLE and not errors
    plan.report.add(what, f"{spread(rates['batch'], ' contacts/s')} = {slow:.1f} x{wrong}", f"{TIMES_SINGLE:g} x {alone}", met, rates=rates)
    single = f"{spread(rates['single'], '/s')} single creates over {CONNECTIONS} connections"
    plan.report.add(f"{what}, next to concurrent creates", f"{times:.1f} x{wrong}", f"{TIMES_SINGLE:g} x {single}", times >= TIMES_SINGLE)
    for name, about in (("upsert", "new"), ("known", "known")):
        slower = middle["single"] / middle[name]
        measured = f"{spread(rates[name], '/s')} = 1 / {slower:.2f} of create{wrong}"
        plan.report.add(f"upsert of {about} contacts, {engine}", measured, f"1 / {TIMES_CREATE:g} of {single}", slower <= TIMES_CREATE)


def _create_known(address: Address, count: int) -> None:
    with closing(HTTPConnection(address.host, address.port)) as connection:
        for first in range(0, count, SIZE):
            numbers = range(first, min(first + SIZE, count))
            commands = [{"op": "create", "body": {"email": f"known{n + 1}@example.com", "contact_status": "new"}} for n in numbers]
            _post(connection, f"{PATH}/batch", {"commands": commands})


def match(plan: Plan, engine: str) -> None:
    """Lookups of a thousand keys, half of them known, one after the other."""
    size = plan.sizes[-1]
    print(f"match, {NAMES[engine]}: {SIZE:,} of {size:,} contacts", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "match")
    asyncio.run(_fill(database, size, plan.superuser))
    with server("real", database, folder) as running, closing(HTTPConnection(running.address.host, running.address.port)) as connection:
        until = time.perf_counter() + plan.warm_seconds
        while time.perf_counter() < until:
            _lookup(connection, size)
        taken = sorted(_lookup(connection, size) for _ in range(max(50, int(20 * plan.seconds * plan.rounds))))
    p99 = quantiles(taken, n=100)[-1]
    what = f"match {SIZE:,} keys in {size:,} contacts, {NAMES[engine]}, one request at a time"
    measured = f"p50 {median(taken):.1f} ms, p99 {p99:.1f} ms, fastest {taken[0]:.1f} ms"
    plan.report.add(what, measured, f"p50 under {MATCH_MS:g} ms", median(taken) < MATCH_MS, taken_ms=taken)


def _lookup(connection: HTTPConnection, size: int) -> float:
    """Look up keys; return the milliseconds that it took."""
    items = [{"email": f"p{random.randrange(2 * size)}@example.com"} for _ in range(SIZE)]
    body = json.dumps({"items": items}).encode()
    before = time.perf_counter()
    connection.request("POST", f"{PATH}/match", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    result = answer.read()
    taken = (time.perf_counter() - before) * 1_000
    assert answer.status == 200, result
    return taken


def _post(connection: HTTPConnection, path: str, body: Any) -> None:
    connection.request("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text


_COLUMNS = "client, id, created_us, updated_us, email, email_key, linkedin_url, linkedin_key, from_api, status, last_sent_us"
# The rows lie in the order of creation; the keys, as those of people, in no order.
_VALUES = (
    "1, i, i, i, 'p' || (i * 7919 % {0}) || '@example.com', 'p' || (i * 7919 % {0}) || '@example.com', 'linkedin.com/in/p' || i, "
    "'linkedin.com/in/p' || i, 1, 'contacted', i"
)
_CLIENT = "INSERT INTO client (id, client_id, created_us, settings) VALUES (1, 'default', 0, '{}')"


async def _fill(database: str, size: int, superuser: str | None) -> None:
    """Store contacts without events, of the client `default`."""
    await (await open_store(database)).close()  # brings the schema
    values = _VALUES.format(size)
    if database.startswith("sqlite"):
        with closing(open_writer(database.removeprefix("sqlite:///"), durable=False)) as connection:
            cursor = connection.cursor()
            cursor.execute(f"BEGIN; {_CLIENT}")
            numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)"
            cursor.execute(f"{numbers} INSERT INTO contact ({_COLUMNS}) SELECT {values} FROM n", (size,))
            cursor.execute("COMMIT; ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)")
        return
    assert superuser is not None
    address = urlunsplit(urlsplit(superuser)._replace(path=urlsplit(database).path))
    admin: Any = await asyncpg.connect(address)
    try:
        await admin.execute(_CLIENT)
        await admin.execute(f"INSERT INTO contact ({_COLUMNS}) SELECT {values} FROM generate_series(1::bigint, {size}) AS n(i)")
        await admin.execute("VACUUM ANALYZE")
    finally:
        await admin.close()
