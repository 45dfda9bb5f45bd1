"""Budgets: hostile bodies cost the server's threads a fraction of a second and little memory, and leave it in service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from fault_tests.bodies import BODIES, LOAD, STATES, TOOL, V2, WEBHOOK, HostileBody, state_of_a_wide_record
from fault_tests.calls import ApiClient, NoResponse, Response
from fault_tests.check import Findings
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.tool_server import ToolServer
from fault_tests.usage import Usage, UsageMeter
from touchbase.auth.service import add_first_key
from touchbase.encryption.keys import encode_key, new_key
from touchbase.stores import open_store

THREAD_SECONDS = 0.25
"""Processor seconds of the event loop, or of any other thread of the server, for one body."""
TRIES = 3
"""How often a body is sent, by another client each time, until it keeps to these seconds: a neighbour on the machine makes work longer."""
BUSY = 8
"""How many times as long work may take in a short run, which tests start beside others on a busy machine.

Not for a broken server, which a fast machine must notice too.
"""
MEGABYTES = 150.0
SANDBOX_SECONDS = 65.0
"""Processor seconds of one sandbox process: two attempts at the limit of one delivery, and its start."""
SETTLE_SECONDS = 120.0
THIN_EVENT = b'[{"eventId":1,"portalId":1,"occurredAt":1790000000000,"subscriptionType":"contact.creation","objectId":1}]'
"""A webhook of HubSpot whose record is fetched."""
NO_ROWS = b'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 12\r\n\r\n{"items":[]}'
"""The pages of a tool's history after the hostile one."""
PAUSE = 1.0
"""Seconds between two looks at the deliveries, each some milliseconds of the server."""
IDLE_LOOKS = 10
"""Looks while the server has nothing to do: what it takes then is of no body, and a slow machine waits longer."""


def run(plan: Plan, engine: str) -> None:
    """Send each body to a server as a client of its own, and measure what it takes until its delivery is settled."""
    folder, findings = plan.new_folder(), Findings()
    database = plan.new_store(engine, folder)
    worst, sent = Usage(0.0, 0.0, 0.0), 0
    key = asyncio.run(_first_key(database))
    tool = ToolServer()
    settings = {
        "TOUCHBASE_AUTH": "keys",
        "TOUCHBASE_ENCRYPTION_KEY": encode_key(new_key()),
        "TOUCHBASE_FETCH_ALLOWED_ORIGINS": tool.base,
    }
    limit = THREAD_SECONDS * (BUSY if plan.short and not plan.broken else 1)
    server = Process(database, folder, broken=plan.broken, settings=settings)
    try:
        _warm_up(Calls(server, "warm", key))
        meter = UsageMeter(server.pid)
        with closing(Calls(server, "idle", key)) as idle:
            meter.measure_idle(partial(_look, idle))
        for number, body in enumerate(BODIES):
            usages: list[Usage] = []
            while not usages or (usages[-1].thread_seconds > limit and len(usages) < TRIES):
                calls = Calls(server, f"budget-{number}-{len(usages)}", key)
                _prepare(calls, body, tool)
                headers, content = ({}, THIN_EVENT if body.way == TOOL else b"{}") if body.way in (TOOL, LOAD) else body.sent()
                meter.begin()
                status = _send(calls, body, headers, content, meter)
                if body.way == TOOL:
                    _await_fetch(calls, tool)
                calls.close()
                usages.append(meter.end())
                sent += status is not None
            usage = min(usages, key=lambda each: each.thread_seconds)
            _judge(findings, body.name, status, usage, limit)
            worst = Usage(
                max(worst.thread_seconds, usage.thread_seconds),
                max(worst.megabytes, usage.megabytes),
                max(worst.sandbox_seconds, usage.sandbox_seconds),
            )
            if plan.long:
                print(f"          {body.name}: {status}, {usage}", flush=True)
        with closing(ApiClient(server.address, "warm")) as client:
            if client.call("GET", "/health/live").status != 200:
                findings.fault("the server is not in service afterwards")
    finally:
        server.kill()
        tool.close()
    plan.report.add(
        "budget", engine, 1, sent, findings, broken=plan.broken, bodies=len(BODIES), most_seconds_of_a_thread=worst.thread_seconds,
        most_mb=worst.megabytes, most_seconds_of_a_sandbox=worst.sandbox_seconds,
    )  # fmt: skip


class Calls(ApiClient):
    """Calls for one client with the administrator's key."""

    def __init__(self, server: Process, client: str, key: str) -> None:
        super().__init__(server.address, client)
        self.client, self._key = client, key
        self.expect_ok("POST", "/admin/v1/clients", {"client_id": client})

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        """Send a request with the key; `NoResponse` as in the class above."""
        return super().call(method, path, body, **{"X_Api_Key": self._key, **headers})

    def settle(self) -> None:
        """Wait until no webhook of the client waits."""
        _until(lambda: not self.expect_ok("GET", f"/admin/v1/deliveries?client={self.client}&state=received")["data"])


async def _first_key(database: str) -> str:
    store = await open_store(database)
    try:
        key = await add_first_key(store, time.time_ns() // 1_000)
        assert key is not None
        return key
    finally:
        await store.close()


def _warm_up(calls: Calls) -> None:
    """Let the server load what it loads once: adapters, the first sandbox processes, its caches."""
    calls.call("POST", "/public/crm-webhook/warm", {"email": "warm@example.com", "event": "contact.created"})
    calls.call("POST", "/public/v2/contacts", {"email": "ann@example.com"})
    calls.call("POST", "/public/v2/messages", {"direction": "received", "contact_email": "ann@example.com", "html": "<p>warm</p>"})
    calls.call("POST", "/public/v2/contacts/imports", b"email\nwarm@example.com\n", Content_Type="text/csv")
    calls.settle()
    calls.close()


def _prepare(calls: Calls, body: HostileBody, tool: ToolServer) -> None:
    """Store the person whose erasure follows, and the connection with its secret or the tool's API."""
    for email in ("erased@example.com", "ann@example.com"):
        calls.expect_ok("POST", "/public/v2/contacts", {"email": email})
    if body.way in (TOOL, LOAD):
        tool.answer(body.build(), body.endless, NO_ROWS if body.way == LOAD else b"")
        channel, name = ("crm", "hubspot") if body.way == TOOL else ("email_campaign", "instantly")
        requested = {"channel": channel, "tool": name, "access_token": "token-of-ours-%61", "settings": {"api_base": tool.base}}
        calls.expect_ok("POST", f"/admin/v1/clients/{calls.client}/connections", requested)
    if body.secret:
        channel, name = ("crm", "hubspot") if "crm" in body.path else ("email_campaign", "smartlead")
        connection = {"channel": channel, "tool": name, "secrets": [body.secret]}
        calls.expect_ok("POST", f"/admin/v1/clients/{calls.client}/connections", connection)


def _send(calls: Calls, body: HostileBody, headers: dict[str, str], content: bytes, meter: UsageMeter) -> int | None:
    """Send a body, wait until its delivery is settled, and do what follows; return the status of its response, None without one."""
    path = body.path.format(client=calls.client) + (f"?token={body.secret}" if body.secret and body.is_proven else "")
    try:
        response = calls.call("POST", path, content, **headers)
        if body.way == LOAD:
            job = f"{V2}/jobs/{response.json['id']}"
            _until(lambda: calls.expect_ok("GET", job)["state"] in ("succeeded", "failed"))
        if body.way in (WEBHOOK, LOAD):
            calls.settle()
        if body.then in ("history", "explain"):
            for number in range(1, STATES):
                calls.call("POST", path, state_of_a_wide_record(number))
            calls.settle()
            meter.begin()  # of the reading: twenty webhooks are not one body
            (contact,) = calls.expect_ok("GET", f"{V2}/contacts?email=wide@example.com")["data"]
            calls.call("GET", f"{V2}/contacts/{contact['id']}/{body.then}")
        if body.then == "erase":
            (contact,) = calls.expect_ok("GET", "/public/v2/contacts?email=erased@example.com")["data"]
            calls.expect_ok("DELETE", f"/public/v2/contacts/{contact['id']}?erase=true")
            _until(lambda: all(erasure["done_time"] is not None for erasure in calls.expect_ok("GET", "/public/v2/erasures")["data"]))
        if body.then == "search":
            calls.call("GET", f"/admin/v1/deliveries?client={calls.client}&text=nothing")
    except NoResponse:
        return None
    return response.status


def _look(calls: Calls) -> None:
    """Look as the run does while it waits for a body."""
    for _ in range(IDLE_LOOKS):
        calls.settle()
        time.sleep(PAUSE)


def _await_fetch(calls: Calls, tool: ToolServer) -> None:
    """Wait until the tool's response is read, and its record is applied or the attempt has failed."""
    tool.has_answered.wait(SETTLE_SECONDS)

    def is_read() -> bool:
        (connection,) = calls.expect_ok("GET", f"/admin/v1/clients/{calls.client}/connections")["data"]
        return bool(connection["fetching"]["state"] != "working")

    _until(is_read)
    calls.settle()


def _until(is_done: Callable[[], bool]) -> None:
    until = time.monotonic() + SETTLE_SECONDS
    while not is_done() and time.monotonic() < until:
        time.sleep(PAUSE)


def _judge(findings: Findings, name: str, status: int | None, usage: Usage, limit: float) -> None:
    if status is None or status == 500:
        findings.fault(f"{name}: {'no response' if status is None else 'a 500'}")
    if usage.thread_seconds > limit:
        findings.fault(f"{name}: {usage.thread_seconds:.2f} s of one thread of the server, {limit:g} at most")
    if usage.megabytes > MEGABYTES:
        findings.fault(f"{name}: {usage.megabytes:.0f} MB more, {MEGABYTES:g} at most")
    if usage.sandbox_seconds > SANDBOX_SECONDS:
        findings.fault(f"{name}: {usage.sandbox_seconds:.0f} s of a sandbox process")
