"""Processor time of what the console asks: the first screen of all clients, and a page of conversations, at many clients."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from bench.dataset import create_dataset
from bench.dataset_sample import address_of, webhook
from bench.noise import family_seconds
from bench.plan import Plan
from bench.processor import rest
from bench.server_process import server
from bench.throughput import NAMES

CLIENTS, QUICK_CLIENTS = 200, 20
REPLIES = 5
"""Contacts of a client who have written."""
TIMES = 20
"""Screens, with an event before each: the system counts processor time in hundredths of a second."""
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
    contacts = plan.sizes[-1]
    print(f"console, {NAMES[engine]}: {contacts:,} contacts of {clients} clients", flush=True)
    folder = plan.new_folder()
    database = plan.new_store(engine, folder, "console")
    create_dataset(database, contacts, folder, plan.superuser, deliveries=False, clients=clients)
    with server("real", database, folder) as running:
        connection = HTTPConnection(urlsplit(running.address.url).netloc, timeout=120)
        for number in range(clients):
            _fill(connection, f"default-{number + 1}", number * (contacts // clients) + 1)
        rest(running)
        postgres = None if engine == "sqlite" or plan.postgres is None else plan.postgres.pid
        pids = [running.pid, *([postgres] if postgres else [])]
        paths = {name: path.format(since=_since()) for name, path in FIRST_SCREEN.items()} | {"page": CONVERSATIONS}
        for path in paths.values():
            _ask(connection, "GET", path)
        seconds = dict.fromkeys(paths, 0.0)
        for number in range(TIMES):
            # Something has happened in one of the clients, so that no answer of before is still true.
            _event(connection, f"default-{number % clients + 1}", number % clients * (contacts // clients) + 1)
            rest(running)
            for name, path in paths.items():
                before = sum(map(family_seconds, pids))
                _ask(connection, "GET", path)
                seconds[name] += sum(map(family_seconds, pids)) - before
        times = {name: value / TIMES * 1e3 for name, value in seconds.items()}
    page = times.pop("page")
    first = sum(times.values())
    parts = ", ".join(f"{name} {time:.1f}" for name, time in times.items())
    about = f"{contacts:,} contacts of {clients} clients with {clients * REPLIES:,} open conversations, {NAMES[engine]}"
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


def _fill(connection: HTTPConnection, client: str, first: int) -> None:
    for number in range(first, first + REPLIES):
        message = {"direction": "received", "contact_email": address_of(number), "subject": "Re: a question", "text": "Yes, tell me more."}
        _ask(connection, "POST", "/public/v2/messages", message, client)


def _event(connection: HTTPConnection, client: str, contact: int) -> None:
    when = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    for kind in ("email_sent", "reply_received"):
        _ask(connection, "POST", f"/public/emailcampaign-webhook/{client}", webhook(kind, address_of(contact), f"mail-{when}", when))


def _since() -> str:
    return (datetime.now(UTC) - timedelta(days=29)).date().isoformat()


def _ask(connection: HTTPConnection, method: str, path: str, body: Any = None, client: str = "") -> None:
    headers = {"content-type": "application/json", **({"x-client-id": client} if client else {})}
    connection.request(method, path, body if isinstance(body, str | None) else json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    if response.status >= 400:
        raise RuntimeError(f"{method} {path} answered {response.status}: {text[:300]!r}")
