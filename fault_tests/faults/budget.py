"""Budgets: hostile bodies cost the server's threads a fraction of a second and little memory, and leave it in service."""

from __future__ import annotations

import time
from collections.abc import Callable

from fault_tests.bodies import BODIES, WEBHOOK, HostileBody
from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings
from fault_tests.plan import Plan
from fault_tests.process import Process
from fault_tests.usage import Usage, UsageMeter

THREAD_SECONDS = 0.25
"""Processor seconds of the event loop, or of any other thread of the server, for one body."""
MEGABYTES = 150.0
SANDBOX_SECONDS = 65.0
"""Processor seconds of one sandbox process: two attempts at the limit of one delivery, and its start."""
SETTLE_SECONDS = 120.0
PAUSE = 0.1


def run(plan: Plan, engine: str) -> None:
    """Send each body to a server as a client of its own, and measure what it takes until its delivery is settled."""
    folder, findings = plan.new_folder(), Findings()
    database = plan.new_store(engine, folder)
    worst, sent = Usage(0.0, 0.0, 0.0), 0
    server = Process(database, folder, broken=plan.broken)
    try:
        _warm_up(server)
        meter = UsageMeter(server.pid)
        for number, body in enumerate(BODIES):
            client = f"budget-{number}"
            _prepare(server, client, body)
            headers, content = body.sent()
            meter.begin()
            status = _send(server, client, body, headers, content)
            usage = meter.end()
            sent += status is not None
            _judge(findings, body.name, status, usage)
            worst = Usage(
                max(worst.thread_seconds, usage.thread_seconds),
                max(worst.megabytes, usage.megabytes),
                max(worst.sandbox_seconds, usage.sandbox_seconds),
            )
            if plan.long:
                print(f"          {body.name}: {status}, {usage}", flush=True)
        if ApiClient(server.address, "default").call("GET", "/health/live").status != 200:
            findings.fault("the server is not in service afterwards")
    finally:
        server.kill()
    plan.report.add(
        "budget", engine, 1, sent, findings, broken=plan.broken, bodies=len(BODIES), most_seconds_of_a_thread=worst.thread_seconds,
        most_mb=worst.megabytes, most_seconds_of_a_sandbox=worst.sandbox_seconds,
    )  # fmt: skip


def _warm_up(server: Process) -> None:
    """Let the server load what it loads once: adapters, the first sandbox processes, its caches."""
    api = ApiClient(server.address, "warm")
    api.call("POST", "/public/crm-webhook/warm", {"email": "warm@example.com", "event": "contact.created"})
    api.call("POST", "/public/v2/contacts", {"email": "ann@example.com"})
    api.call("POST", "/public/v2/messages", {"direction": "received", "contact_email": "ann@example.com", "html": "<p>warm</p>"})
    api.call("POST", "/public/v2/contacts/imports", b"email\nwarm@example.com\n", Content_Type="text/csv")
    _settle(api, "warm")
    api.close()


def _prepare(server: Process, client: str, body: HostileBody) -> None:
    """Create the client with the person whose erasure follows, and its secret."""
    api = ApiClient(server.address, client)
    api.expect_ok("POST", "/public/v2/contacts", {"email": "erased@example.com"})
    api.expect_ok("POST", "/public/v2/contacts", {"email": "ann@example.com"})
    if body.secret:
        channel, tool = ("crm", "hubspot") if "crm" in body.path else ("email_campaign", "smartlead")
        given = {"channel": channel, "tool": tool, "secrets": [body.secret]}
        api.expect_ok("POST", f"/admin/v1/clients/{client}/connections", given)
    api.close()


def _send(server: Process, client: str, body: HostileBody, headers: dict[str, str], content: bytes) -> int | None:
    """Send a body, wait until its delivery is settled, and do what follows; return the status of its response, None without one."""
    api = ApiClient(server.address, client)
    try:
        response = api.call("POST", body.path.format(client=client), content, **headers)
        if body.way == WEBHOOK:
            _settle(api, client)
        if body.then == "erase":
            (contact,) = api.expect_ok("GET", "/public/v2/contacts?email=erased@example.com")["data"]
            api.expect_ok("DELETE", f"/public/v2/contacts/{contact['id']}?erase=true")
            _until(lambda: all(erasure["done_time"] is not None for erasure in api.expect_ok("GET", "/public/v2/erasures")["data"]))
        if body.then == "search":
            api.call("GET", f"/admin/v1/deliveries?client={client}&text=nothing")
    except NoResponse:
        return None
    finally:
        api.close()
    return response.status


def _settle(api: ApiClient, client: str) -> None:
    _until(lambda: not api.expect_ok("GET", f"/admin/v1/deliveries?client={client}&state=received")["data"])


def _until(is_done: Callable[[], bool]) -> None:
    until = time.monotonic() + SETTLE_SECONDS
    while not is_done() and time.monotonic() < until:
        time.sleep(PAUSE)


def _judge(findings: Findings, name: str, status: int | None, usage: Usage) -> None:
    if status is None or status == 500:
        findings.fault(f"{name}: {'no response' if status is None else 'a 500'}")
    if usage.thread_seconds > THREAD_SECONDS:
        findings.fault(f"{name}: {usage.thread_seconds:.2f} s of one thread of the server, {THREAD_SECONDS:g} at most")
    if usage.megabytes > MEGABYTES:
        findings.fault(f"{name}: {usage.megabytes:.0f} MB more, {MEGABYTES:g} at most")
    if usage.sandbox_seconds > SANDBOX_SECONDS:
        findings.fault(f"{name}: {usage.sandbox_seconds:.0f} s of a sandbox process")
