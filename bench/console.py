"""Processor time of what the console asks: the first screen of all clients, and a page of conversations, at many clients."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from bench.noise import family_seconds
from bench.plan import Plan
from bench.processor import rest
from bench.server_process import server
from bench.throughput import NAMES

CLIENTS, QUICK_CLIENTS = 200, 20
CONTACTS, REPLIES = 100, 5
"""Contacts of a client, and those of them who have written."""
TIMES = 20
"""Requests of a kind: the system counts processor time in hundredths of a second."""
FIRST_SCREEN = {
    "session": "/console/session",
    "clients": "/admin/v1/clients?limit=200",
    "attention": "/team/v1/attention?limit=100",
    "counters": "/team/v1/counters?by_client=true",
    "oldest reply": "/team/v1/conversations?sort=waiting&limit=1",
    "snoozed": "/team/v1/conversations?state=snoozed&limit=100",
    "report by client": "/admin/v1/reports/campaigns?since={since}&time_zone=UTC&group_by=client&limit=200",
    "report by day": "/admin/v1/reports/campaigns?since={since}&time_zone=UTC&group_by=day&limit=200",
}
"""With `since` the midnight of the first of 30 days, as the console asks."""
CONVERSATIONS = "/team/v1/conversations?limit=50"
MOST_FIRST, MOST_PAGE = 300.0, 40.0
"""Milliseconds of the server's processor, and of PostgreSQL's."""


def measure(plan: Plan, engine: str) -> None:
    """Fill a store, and ask for the first screen and a page of conversations."""
    clients = QUICK_CLIENTS if plan.sizes[-1] <= 10_000 else CLIENTS
    print(f"console, {NAMES[engine]}: {clients} clients", flush=True)
    folder = plan.new_folder()
    with server("real", plan.new_store(engine, folder, "console"), folder) as running:
        connection = HTTPConnection(urlsplit(running.address.url).netloc, timeout=120)
        for number in range(clients):
            _fill(connection, f"client-{number}")
        rest(running)
        database = None if engine == "sqlite" or plan.postgres is None else plan.postgres.pid
        pids = [running.pid, *([database] if database else [])]
        paths = {name: path.format(since=_since()) for name, path in FIRST_SCREEN.items()} | {"page": CONVERSATIONS}
        times = {name: _milliseconds(connection, path, pids) for name, path in paths.items()}
    page = times.pop("page")
    first = sum(times.values())
    parts = ", ".join(f"{name} {time:.1f}" for name, time in times.items())
    about = f"{clients} clients with {clients * REPLIES:,} open conversations, {NAMES[engine]}"
    plan.report.add(
        f"processor time, first screen of {about}",
        f"{first:.0f} ms: {parts}",
        f"{MOST_FIRST:g} ms",
        first <= MOST_FIRST,
        milliseconds=times,
    )
    plan.report.add(
        f"processor time, page of 50 conversations of {about}", f"{page:.1f} ms", f"{MOST_PAGE:g} ms", page <= MOST_PAGE, milliseconds=page
    )


def _fill(connection: HTTPConnection, client: str) -> None:
    _ask(connection, "PUT", f"/admin/v1/clients/{client}", {"name": client, "settings": {}})
    commands = [{"op": "create", "body": {"email": f"p{number}@{client}.example", "first_name": "Ann"}} for number in range(CONTACTS)]
    _ask(connection, "POST", "/public/v2/contacts/batch", {"commands": commands}, client)
    for number in range(REPLIES):
        message = {
            "direction": "received",
            "contact_email": f"p{number}@{client}.example",
            "subject": "Re: a question",
            "text": "Yes, tell me more.",
        }
        _ask(connection, "POST", "/public/v2/messages", message, client)


def _milliseconds(connection: HTTPConnection, path: str, pids: list[int]) -> float:
    _ask(connection, "GET", path)
    before = sum(map(family_seconds, pids))
    for _ in range(TIMES):
        _ask(connection, "GET", path)
    return (sum(map(family_seconds, pids)) - before) / TIMES * 1e3


def _since() -> str:
    return (datetime.now(UTC) - timedelta(days=29)).date().isoformat()


def _ask(connection: HTTPConnection, method: str, path: str, body: Any = None, client: str = "") -> None:
    headers = {"content-type": "application/json", **({"x-client-id": client} if client else {})}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    if response.status >= 400:
        raise RuntimeError(f"{method} {path} answered {response.status}: {text[:300]!r}")
