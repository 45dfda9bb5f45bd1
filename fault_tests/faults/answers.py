"""Death at each step of an answer, from its request to the note that it was sent: the tool gets it at most once, and nothing is lost."""

from __future__ import annotations

import http.server
import json
import threading
import time
from contextlib import closing
from typing import Any

from fault_tests.calls import ApiClient, NoResponse
from fault_tests.check import Findings
from fault_tests.crash_points import ANSWER_POINTS
from fault_tests.fault_server import ENCRYPTION_KEY
from fault_tests.plan import Plan
from fault_tests.process import Process

CLIENT = "answers"
LEASE_SECONDS = 2
ENDS = ("sent", "failed", "unknown")
WAITS = 60.0
"""Seconds for what takes a moment on a quiet machine."""
KNOWN = {point: {"sent"} for point in ("queueing", "queued", "claiming", "settled")}
"""Points at which the outcome is certain; at another one the answer may be unknown."""


class Tool(http.server.ThreadingHTTPServer):
    """Speaks Smartlead's published call that answers a reply, and remembers the texts."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.texts: list[str] = []
        self.base = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    server: Tool

    def do_POST(self) -> None:
        self.server.texts.append(json.loads(self.rfile.read(int(self.headers["content-length"])))["email_body"])
        self.send_response(200)
        self.send_header("content-length", "12")
        self.end_headers()
        self.wfile.write(b'{"ok": true}')

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def run(plan: Plan, engine: str) -> None:
    """Die once at each point in a round; each death belongs to another answer of one store."""
    tool, findings, rounds = Tool(), Findings(), plan.rounds_of(1, 20)
    database = plan.new_store(engine, plan.new_folder())
    count = 0
    with closing(tool.socket):
        _prepare(plan, database, tool)
        for number in range(rounds):
            for point in ANSWER_POINTS:
                _die(plan, database, tool, point, f"{point} {number}", findings)
                count += 1
        tool.shutdown()
    plan.report.add("answers", engine, rounds, count, findings, 0.0, plan.broken, deaths=count, points=len(ANSWER_POINTS))


def _server(plan: Plan, database: str, tool: Tool, *injected: str) -> Process:
    return Process(
        database, plan.new_folder(), "--fetch-allowed-origins", tool.base, broken=plan.broken,
        injected=[f"quick-answers:{LEASE_SECONDS}", *injected], settings={"TOUCHBASE_ENCRYPTION_KEY": ENCRYPTION_KEY},
    )  # fmt: skip


def _prepare(plan: Plan, database: str, tool: Tool) -> None:
    """Connect the tool, and receive a reply."""
    server = _server(plan, database, tool)
    api = ApiClient(server.address, CLIENT)
    try:
        api.expect_ok("PUT", f"/admin/v1/clients/{CLIENT}", {"settings": {}})
        connection = {"channel": "email_campaign", "tool": "smartlead", "access_token": "a-token", "settings": {"api_base": tool.base}}
        api.expect_ok("POST", f"/admin/v1/clients/{CLIENT}/connections", connection)
        reply = {
            "event_type": "EMAIL_REPLY", "sl_email_lead_map_id": "1", "sl_lead_email": "ada@people.example",
            "to_email": "ada@people.example",
            "stats_id": "st-1", "from_email": "sam@agency.example", "campaign_id": 77, "subject": "Roofs",
            "reply_message": {"message_id": "<1@people.example>", "text": "Tell me more."},
        }  # fmt: skip
        api.expect_ok("POST", f"/public/emailcampaign-webhook/{CLIENT}", reply)
        _until(lambda: api.expect_ok("GET", "/team/v1/conversations")["data"])
    finally:
        api.close()
        server.kill()


def _die(plan: Plan, database: str, tool: Tool, point: str, text: str, findings: Findings) -> None:
    """Answer through a server that dies at a point; start another one, repeat the request, and look what became of the answer."""
    server = _server(plan, database, tool, f"point:{point}")
    try:
        _request(server, text)
        if not server.died(WAITS):
            findings.fault(f"the server never came to the point {point!r}")
    finally:
        server.kill()
    server = _server(plan, database, tool)
    api = ApiClient(server.address, CLIENT)
    try:
        repeated = _request(server, text)
        ended = _until(lambda: [answer for answer in _answers(api) if answer["id"] == repeated and answer["state"] in ENDS])
        state = ended[0]["state"] if ended else "missing"
        time.sleep(LEASE_SECONDS if plan.broken else 0)  # a broken server sends it again after its lease
        sent = tool.texts.count(text)
        findings.exactly(sent, f"the answer {text!r}, which is {state}", least=1 if state == "sent" else 0)
        if state not in KNOWN.get(point, {"sent", "unknown"}):
            findings.add_lost(f"the answer {text!r}: it is {state}")
        if state == "unknown":  # somebody has looked into the tool
            api.expect_ok("DELETE", f"/team/v1/conversations/{CLIENT}/1/answers/{repeated}")
    finally:
        api.close()
        server.kill()


def _request(server: Process, text: str) -> int | None:
    """Request an answer; a repeat has the same idempotency key, so it is no second answer."""
    api = ApiClient(server.address, CLIENT)
    try:
        body = {"message_id": 1, "text": text}
        key = text.replace(" ", "-")
        stored = api.expect_ok("POST", f"/team/v1/conversations/{CLIENT}/1/answers", body, Idempotency_Key=key)
        number: int = stored["id"]
    except NoResponse:
        return None
    finally:
        api.close()
    return number


def _answers(api: ApiClient) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = api.expect_ok("GET", f"/team/v1/conversations/{CLIENT}/1")["answers"]
    return answers


def _until(look: Any) -> list[Any]:
    """Return what a look finds, once it finds something; nothing after `WAITS`."""
    until = time.perf_counter() + WAITS
    while not (result := look()) and time.perf_counter() < until:
        time.sleep(0.05)
    rows: list[Any] = result
    return rows
