"""Secrets stay where they were given: canaries in every place of a credential, and none comes back anywhere."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import socket
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import urlencode, urlsplit, urlunsplit

import pytest
from tests.cli.conftest import Run
from tests.cli.test_access import called
from tests.cli.test_serve import Serve, Server, serve
from tests.conftest import ENCRYPTION_KEYS

from touchbase import __version__
from touchbase.auth.authentication import make_key
from touchbase.http.dependencies import AuthMode
from touchbase.inbox.worker import InboxWorker
from touchbase.routes import description
from touchbase.server.health import Operations
from touchbase.server.limits import ServerLimits
from touchbase.server.logs import JsonFormatter
from touchbase.server.metrics import ProcessMetrics
from touchbase.server.server import listen, make_server
from touchbase.web import NO_ADAPTERS, Dependencies, build_app

__all__ = ["serve"]

PASSWORD = "canary-in-the-database-address"
SECRET, NEXT = "canary-in-a-connection", "canary-that-comes-next"
CLIENT = "canary-that-names-a-client"
SENT = {
    "Authorization": "Bearer tb_live_canaryInAuthorization_x_00000000",
    "X_Api_Key": "canary-in-x-api-key",
    "Cookie": "session=canary-in-a-cookie",
    "Proxy_Authorization": "Basic " + b64encode(b"user:canary-in-proxy-authorization").decode(),
    "X_Token": "canary-in-x-token",
}
QUERY = urlencode({"token": "canary-in-a-query", "api_key": "canary-in-an-api-key"})
CANARIES = [
    ENCRYPTION_KEYS.current,
    PASSWORD,
    SECRET,
    NEXT,
    "canaryInAuthorization",
    *re.findall(r"canary-in[a-z-]*", str(SENT) + QUERY),
    SENT["Proxy_Authorization"][6:],
]
BODIES = [b"", b"{", b"[]", b'{"email": "contact@example.com"}', b'{"first_name": 7}', b"\xff\xfe", b'{"a":' * 100]


def operations() -> Iterator[tuple[str, str]]:
    """Every method and address of the description, of the operator's calls, and some that are not there."""
    for path, item in description(__version__, keys_needed=True)["paths"].items():
        expected = {
            "client_id": CLIENT,
            "channel": "crm",
            "tool": "hubspot",
            "id": "1",
            "merge_id": "1",
            "field_id": "1",
            "name": "n",
            "key_id": "0123456789ab",
            "refused_id": "1",
            "user_id": "u0123456789a",
            "invitation_id": "1",
            "session_id": "1",
            "answer_id": "1",
            "note_id": "1",
            "task_id": "1",
            "item_id": "5f3a9c01b27d44e0",
            "view_id": "1",
            "link_id": "0123456789ab",
            "change_id": "1",
            "snippet_id": "1",
            "rule_id": "5b1f0a9c3e7d2468",
            "other_id": "2",
        }
        if path.endswith(("/suspend", "/rotate-id")):
            continue  # the client is what the calls are about
        for method in ("get", "post", "put", "patch", "delete"):
            if method in item or method == "delete":
                yield method.upper(), path.format(**expected)
    for path in ("/metrics", "/health/live", "/health/ready", "/openapi.json", "/docs", "/nowhere", "/admin/v1/clients/x/connections"):
        yield "GET", path
        yield "POST", path


def every_answer(server: Server, key: str) -> Iterator[tuple[str, bytes]]:
    """What a server answers to every call, with a key that is true and without one, however broken the body."""
    for method, path in operations():
        if (method, path) == ("DELETE", f"/admin/v1/clients/{CLIENT}/connections/crm/hubspot"):
            continue  # the connection is what the calls are about
        for headers in (SENT, {**SENT, "Authorization": f"Bearer {key}", "X_Client_Id": CLIENT}, {"X_Api_Key": key}):
            for body in BODIES if method != "GET" else [b""]:
                kinds = {"Content_Type": "application/json"} if body else {}
                status, result, answer = called(server, method, f"{path}?{QUERY}", body, **headers, **kinds)
                yield f"{method} {path} {body!r}", f"{status} {result}".encode() + answer


def connecting_answers(server: Server, key: str) -> Iterator[tuple[str, bytes]]:
    """What a server answers when secrets are set, rightly and wrongly, and when tools show them."""
    admin = {"Authorization": f"Bearer {key}", "Content_Type": "application/json"}
    base = f"/admin/v1/clients/{CLIENT}"
    bodies: list[tuple[str, str, Any]] = [
        ("PUT", base, {"settings": {}}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "hubspot", "secrets": [SECRET], "settings": {}}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "hubspot", "secrets": [SECRET], "settings": {}}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": [f" {SECRET} ", NEXT]}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": [NEXT, NEXT]}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": [NEXT, NEXT, SECRET]}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": SECRET}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": {SECRET: 1}}),
        ("POST", f"{base}/connections", {"channel": "crm", "tool": "attio", "secrets": [SECRET * 1000]}),
        ("PATCH", f"{base}/connections/crm/hubspot", {"secrets": [SECRET, NEXT]}),
        ("PATCH", f"{base}/connections/crm/hubspot", {"secrets": [SECRET, NEXT, "x"]}),
        ("PATCH", f"{base}/connections/crm/hubspot", {"secrets": [NEXT, [SECRET]]}),
    ]
    for method, path, body in bodies:
        status, headers, answer = called(server, method, path, json.dumps(body).encode(), **admin)
        yield f"{method} {path} {body}", f"{status} {headers}".encode() + answer
    event = b'[{"eventId":1,"subscriptionType":"contact.creation","portalId":1,"objectId":9,"occurredAt":1790000000000}]'
    hook = f"/public/crm-webhook/{CLIENT}"
    for query, headers in (
        (f"?token={SECRET}", {}), (f"?token={SECRET}x", {}), ("", {"X_Token": NEXT}), ("", {"Authorization": f"Bearer {SECRET}"}),
        (f"?{QUERY}", SENT),
    ):  # fmt: skip
        status, result, answer = called(server, "POST", hook + query, event.replace(b":9,", b":%d," % len(query)), **headers)
        yield f"POST {hook}{query}", f"{status} {result}".encode() + answer
    for path in (
        f"{base}/connections",
        f"{base}/connections/crm/hubspot",
        "/admin/v1/deliveries",
        "/admin/v1/deliveries/1",
        "/admin/v1/deliveries/2",
    ):
        status, headers, answer = called(server, "GET", path, **admin)
        assert status == 200, path
        yield f"GET {path}", f"{status} {headers}".encode() + answer


def unreadable_answers(server: Server) -> Iterator[tuple[str, bytes]]:
    """What a server answers before it has understood the request."""
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in SENT.items())
    for start in (f"GET /?{QUERY} HTTP/1.1\r\n{head}X : y\r\n\r\n", f"GET /?{QUERY} HTTP/3\r\n{head}\r\n",
                  f"canary-in-a-query {head}\r\n\r\n",
                  f"GET /{'x' * 40_000}?{QUERY} HTTP/1.1\r\n{head}\r\n", f"GET / HTTP/1.1\r\nHost: x\r\n{head * 30}\r\n"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as caller:
            caller.sendall(start.encode())
            yield start[:60], b"".join(iter(lambda: caller.recv(65536), b""))


@pytest.mark.slow
def test_secrets__appear_in_no_response_log_metric_or_banner(
    serve: Serve, engine_url: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", ENCRYPTION_KEYS.current)
    parts = urlsplit(engine_url)
    if parts.scheme == "postgresql":
        place = parts.netloc.rpartition("@")[2]
        engine_url = urlunsplit(parts._replace(netloc=f"{parts.username or 'postgres'}:{PASSWORD}@{place}"))
    server = serve("--auth", "api-key", "--log-level", "debug", "--database", engine_url)
    match = re.search(r"key +(tb_\w+)", server.banner)
    assert match
    key = match[1]
    canaries = [*CANARIES, key, key.split("_")[3]]

    answers = [*connecting_answers(server, key), *every_answer(server, key), *unreadable_answers(server)]
    listed = run("clients", "list", "--database", engine_url).output + run("inbox", "list", "--database", engine_url).output
    assert server.stop() == 0

    assert len(answers) > 400
    assert [(call, canary) for call, answer in answers for canary in canaries if canary.encode() in answer] == []
    assert [canary for canary in [*canaries, CLIENT] if canary in server.log()] == []
    assert [canary for canary in CANARIES if canary in server.banner + listed] == []
    assert [canary for call, answer in answers for canary in [CLIENT] if "metrics" in call and canary.encode() in answer] == []


class Crashing:
    """A store whose every answer is a fault that quotes what it was given."""

    queue_depth = commands_taken = 0

    def __init__(self, kind: type[Exception]) -> None:
        self._kind = kind

    async def _fail(self, *value: Any) -> Any:
        try:
            raise ConnectionError(f"could not connect with {PASSWORD}")
        except ConnectionError as error:
            raise self._kind(f"failed on {value} beside postgresql://user:{PASSWORD}@db/x") from error

    read = write = work = dry_run = migrate = check = _fail


class Lines(logging.StreamHandler):
    """Takes log records as a server's standard error does, and tells when the inbox worker has failed."""

    def __init__(self) -> None:
        self.written = io.StringIO()
        super().__init__(self.written)
        self.setFormatter(JsonFormatter())
        self.worker_failed = asyncio.Event()
        logging.getLogger().handlers[:] = [self]

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        if record.getMessage().startswith("a client's batch failed"):
            self.worker_failed.set()


async def all_answers(port: int, key: str) -> bytes:
    """What a server answers to every call with this key."""
    answers = b""
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in {**SENT, "Authorization": f"Bearer {key}"}.items())
    for method, path in operations():
        for body in BODIES[:4]:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            first = f"{method} {path}?{QUERY} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n{head}\r\n"
            writer.write(first.encode() + body)
            async with asyncio.timeout(30):
                answers += await reader.read()
            writer.close()
            await writer.wait_closed()
    return answers


@pytest.mark.parametrize("auth", ["none", "api-key"])
@pytest.mark.parametrize("kind", [RuntimeError, OSError])
async def test_crashing_store__leaks_no_secret_in_responses_or_logs(kind: type[Exception], auth: str, own_logging: None) -> None:
    lines, key, statuses = Lines(), make_key().text, set[int]()
    store: Any = Crashing(kind)
    metrics = ProcessMetrics()
    operations = Operations(store, lambda: 1, metrics)
    app = build_app(Dependencies(store, lambda: 1, auth=cast(AuthMode, auth), metrics=metrics), operations.by_path)
    limits = ServerLimits(5, 5, 5, 100, 50_000, 50, 50, lambda cycle: statuses.add(cycle.status))
    listener = listen("127.0.0.1", 0)
    server = make_server(app, limits, shutdown_timeout=1)
    serving = asyncio.create_task(server.serve([listener]))
    worker = InboxWorker(store, NO_ADAPTERS.translate, lambda: 1, connections=store.read)
    worker.wake_client(1)
    working = asyncio.create_task(worker.run())

    answers = await all_answers(listener.getsockname()[1], key)
    async with asyncio.timeout(30):
        await lines.worker_failed.wait()
    worker.stop()
    server.stop()
    await asyncio.gather(working, serving)

    assert {500, 503} <= statuses
    assert "the application failed" in lines.written.getvalue()
    assert [canary for canary in [*CANARIES, CLIENT, key] if canary.encode() in answers or canary in lines.written.getvalue()] == []
