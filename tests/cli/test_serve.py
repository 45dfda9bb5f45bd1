"""`touchbase serve` as its operator sees it: a process of its own."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from tests.forked import ForkedProcess

Serve = Callable[..., "Server"]
NUMBERS = itertools.count()


class Server:
    """A running `touchbase serve`, from its banner to its end."""

    process: subprocess.Popen[str] | ForkedProcess

    def __init__(self, folder: Path, arguments: tuple[str, ...], program: tuple[str, ...] = ()) -> None:
        environment = {
            name: value for name, value in os.environ.items() if name == "TOUCHBASE_ENCRYPTION_KEY" or not name.startswith("TOUCHBASE_")
        }
        # A file of its own, and to append: the server writes where we have read to, and would write over what it said before.
        self.errors = (folder / f"errors-{next(NUMBERS)}").open("a+")
        words = ["serve", "--port", "0", *arguments]
        # Several processes choose the kind of their metrics by an import.
        if program or "--workers" in arguments or not hasattr(os, "pidfd_open"):
            command = [*(program or (sys.executable, "-m", "touchbase")), *words]
            self.process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        else:
            self.process = ForkedProcess(words, folder, environment, self.errors.fileno())
        assert self.process.stdout is not None
        self.banner = ""
        for line in self.process.stdout:
            self.banner += line
            if "try it" in line:
                break
        match = re.search(r"http://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)", self.banner)
        assert match, self.log()
        self.port = int(match[1])

    def log(self) -> str:
        self.errors.seek(0)
        return self.errors.read()

    def delete(self, path: str) -> tuple[int, str]:
        return self.get(path, "DELETE")

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def post(self, path: str, body: object, **headers: str) -> tuple[int, dict[str, Any]]:
        data = json.dumps(body).encode()
        every = {"Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, every)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def stop(self, number: int = signal.SIGTERM) -> int:
        """The exit status after this signal."""
        self.process.send_signal(number)
        return self.process.wait(10)

    def clean_up(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.errors.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    started: list[Server] = []

    def start(*arguments: str) -> Server:
        started.append(Server(tmp_path, arguments))
        return started[-1]

    yield start
    for server in started:
        server.clean_up()


def test_serve__without_options_creates_a_contact_and_stops_cleanly(serve: Serve, tmp_path: Path) -> None:
    server = serve()

    status, contact = server.post("/public/v2/contacts", {"email": "contact@example.com"})
    foreign, _ = server.post("/public/v2/contacts", {"email": "other@example.com"}, Host="rebound.example")
    ended = server.stop()

    assert (status, contact["email"], foreign) == (201, "contact@example.com", 421)
    assert ended == 0
    assert "!!" not in server.log()  # open mode on loopback needs no warning
    assert (tmp_path / "touchbase.db").exists()
    assert "sqlite:///touchbase.db" in server.banner
    assert "no key needed" in server.banner


@pytest.mark.slow
def test_serve_with_api_keys__creates_one_first_key_and_no_default_client(serve: Serve, run: Run) -> None:
    first = serve("--auth", "api-key")
    match = re.search(r"key +(tb_\w+)", first.banner)
    assert match
    key = match[1]

    refused, _ = first.post("/public/v2/contacts", {"email": "a@example.com"})
    guessed, _ = first.post("/public/crm-webhook/default", {})
    _, clients = first.get("/admin/v1/clients", Authorization=f"Bearer {key}")
    run("clients", "add", "acme")
    taken, _ = first.post("/public/v2/contacts", {"email": "b@example.com"}, Authorization=f"Bearer {key}", **{"X-Client-Id": "acme"})
    first.stop()
    second = serve("--auth", "api-key")
    again, _ = second.get("/admin/v1/clients", Authorization=f"Bearer {key}")
    second.stop()

    assert (refused, guessed, json.loads(clients)["data"], taken, again) == (401, 404, [], 201, 200)
    assert "tb_" not in second.banner
    assert '"X-Client-Id: CLIENT"' in first.banner
    assert "touchbase clients add" in first.banner
    assert key not in first.log() + second.log()


@pytest.mark.slow
def test_open_mode__on_a_public_address_prints_a_warning(serve: Serve) -> None:
    server = serve("--auth", "none", "--allow-unauthenticated", "--host", "0.0.0.0")

    assert server.stop() == 0
    lines = server.log().splitlines()
    assert len([line for line in lines if line.startswith("!!")]) > 5
    assert "OPEN MODE ON 0.0.0.0" in server.log()
    assert "--auth api-key" in server.log()


@pytest.mark.slow
def test_serve__finishes_a_client_deletion_and_records_key_use(serve: Serve, run: Run) -> None:
    server = serve("--auth", "api-key")
    result = re.search(r"key +(tb_\w+)", server.banner)
    assert result
    sent = {"Authorization": f"Bearer {result[1]}"}
    run("clients", "add", "acme")
    created = [server.post("/public/v2/contacts", {"email": f"{n}@example.com"}, **sent, **{"X-Client-Id": "acme"})[0] for n in range(3)]

    deleted, _ = server.get("/admin/v1/clients/acme?confirm=acme", "DELETE", **sent)
    closed, _ = server.post("/public/v2/contacts", {"first_name": "Jane"}, **sent, **{"X-Client-Id": "acme"})
    while not re.search(r'"removed_rows":1\d\b', server.get("/admin/v1/clients/acme", **sent)[1]):
        pass  # one more if a part of the use counts was outdated before, or a quarter of an hour began
    while '"last_used_time":null' in server.get("/admin/v1/keys", **sent)[1]:
        pass
    ended = server.stop()

    assert (created, deleted, closed, ended) == ([201] * 3, 202, 404, 0)


@pytest.mark.slow
def test_connection__verifies_webhooks_and_maps_statuses_in_a_running_server(serve: Serve, run: Run) -> None:
    server = serve("--public-url", "https://hooks.example.com", "--auth", "none", "--allow-unauthenticated")
    run("clients", "add", "acme")
    connected = run(
        "connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", "a-secret-of-ours",
        "--setting", "status_property.contact=stage", "--setting", "status_labels.3=customer",
    )  # fmt: skip
    event = {"subscriptionType": "contact.propertyChange", "portalId": 1, "objectId": 9, "occurredAt": 1_790_000_000_000}
    calls = [
        [{**event, "eventId": 7, "propertyName": "email", "propertyValue": "contact@example.com"}],
        [{**event, "eventId": 8, "propertyName": "stage", "propertyValue": "3"}],
    ]

    refused, _ = server.post("/public/crm-webhook/acme", calls)
    taken = [server.post("/public/crm-webhook/acme?token=a-secret-of-ours", body)[0] for body in calls]
    challenge = server.post("/public/crm-webhook/acme?token=a-secret-of-ours", {"challenge": "abc"})
    while '"state":"received"' in (listed := server.get("/admin/v1/deliveries?client=acme")[1]):
        pass
    _, contacts = server.get("/public/v2/contacts", **{"X-Client-Id": "acme"})
    _, counted = server.get("/metrics")
    gone, nothing = server.delete("/admin/v1/clients/acme/connections/crm/hubspot")
    server.stop()

    assert (connected.exit_code, refused, taken) == (0, 401, [200, 200])
    assert challenge == (200, {"challenge": "abc"})
    assert json.loads(contacts)["data"][0]["contact_status"] == "customer"
    assert {(item["tool"], item["verified"]) for item in json.loads(listed)["data"]} == {("hubspot", True)}
    assert '\ntouchbase_deliveries_refused_total{cause="not_verified",channel="crm",' in counted
    assert (gone, nothing) == (204, "")
    assert "https://hooks.example.com/public/crm-webhook/CLIENT" in server.banner
    assert "a-secret-of-ours" not in server.log() + listed


@pytest.mark.slow
def test_body_limits__are_those_of_the_options(serve: Serve, run: Run) -> None:
    server = serve("--max-webhook-body-bytes", "60", "--max-api-body-bytes", "30", "--body-idle-timeout", "0.1", "--no-inbox-worker")
    webhook = {"event": "sent", "email": "ann@example.com"}

    created, refused = (server.post("/public/v2/contacts", {"email": name + "@example.com"}) for name in ("ann", "ann.of.the.longer.name"))
    taken, too_long = (server.post("/public/crm-webhook/default", body) for body in (webhook, {**webhook, "more": "bytes"}))
    listed = run("inbox", "list", "--json")
    with socket.create_connection(("127.0.0.1", server.port)) as caller:
        caller.sendall(b"POST /public/v2/contacts HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
        slow = b"".join(iter(lambda: caller.recv(65536), b""))

    assert server.stop(signal.SIGINT) == 0
    assert slow.startswith(b"HTTP/1.1 408 ")
    assert [created[0], refused[0], taken[0], too_long[0]] == [201, 413, 200, 413]
    assert refused[1]["detail"] == "the body may have at most 30 bytes"
    assert too_long[1]["detail"] == "the body may have at most 60 bytes"
    assert [item["size"] for item in json.loads(listed.output)] == [len(json.dumps(webhook))]


@pytest.mark.slow
def test_second_server__on_one_file_is_reported(serve: Serve) -> None:
    first = serve()
    alone = first.log()

    second = serve()
    created = [server.post("/public/v2/contacts", {"email": f"{n}@example.com"})[0] for n, server in enumerate((first, second))]
    reported, counted = second.log(), second.get("/metrics")[1]
    first.stop()
    second.process.kill()
    second.process.wait()
    third = serve()
    third.stop()

    assert "another server" not in alone + third.log()
    assert "another server uses touchbase.db too" in reported
    assert "stop one of them" in reported
    assert "\ntouchbase_store_warnings 1.0\n" in counted
    assert created == [201, 201]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "warned"), [((), True), (("--no-inbox-worker",), False)])
def test_worker__next_to_a_server_that_applies_the_inbox_is_reported(
    serve: Serve, tmp_path: Path, arguments: tuple[str, ...], warned: bool
) -> None:
    serve(*arguments)

    work = subprocess.Popen(
        [sys.executable, "-m", "touchbase", "worker"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert work.stdout is not None
    begun = work.stdout.readline()
    work.terminate()
    _, communicate = work.communicate(timeout=10)

    assert "stop it with Ctrl+C" in begun
    assert work.returncode == 0
    assert ("another process applies the inbox of touchbase.db too" in communicate) is warned


@pytest.mark.slow
def test_serve__shares_a_port_among_processes_on_postgresql(serve: Serve, postgres_url: str) -> None:
    server = serve("--database", postgres_url, "--workers", "2")

    answers = [server.post("/public/v2/contacts", {"email": f"contact-{number}@example.com"})[0] for number in range(6)]
    ended = server.stop()

    assert answers == [201] * 6
    assert ended == 0


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--workers", "2"], 2, "SQLite is served by one process"),
        (["--host", "0.0.0.0", "--auth", "none"], 2, "--allow-unauthenticated"),
        (["--host", "0.0.0.0", "--auth", "open", "--no-allow-open"], 2, "--allow-unauthenticated"),  # old names
        (["--auth", "keys", "--allow-open", "--fetch-allow", "crm"], 2, "TOUCHBASE_FETCH_ALLOWED_ORIGINS must list origins"),
        (["--limit-key-requests", "-1"], 2, "TOUCHBASE_RATE_LIMIT_KEY_REQUESTS must be at least 0"),
        (["--auth", "none", "--public-url", "https://hooks.example.com"], 2, "hooks.example.com is not this machine: use --auth api-key"),
        (["--auth", "none", "--trusted-proxies", "127.0.0.1"], 2, "requests come through trusted proxies: use --auth api-key"),
        (["--port", "70000"], 2, "at most 65535"),
        (["--auth", "sometimes"], 2, "sometimes"),
        (["--host", "256.0.0.1"], 2, "no address of this machine"),
        (["--host", "192.0.2.1"], 2, "no address of this machine"),
        (
            ["--port", "0", "--database", "oracle://x"],
            2,
            "--database (TOUCHBASE_DATABASE) names no store: no storage engine is called 'oracle'",
        ),
        (["--port", "0", "--database", "postgres:/x"], 2, "write sqlite:///touchbase.db or postgresql://USER:PASSWORD@HOST/NAME"),
        (["--port", "0", "--database", "sqlite://relative.db"], 2, "'sqlite://relative.db' names no file; write sqlite:///touchbase.db"),
        (["--port", "0", "--database", "postgresql://user:sec/ret@127.0.0.1:1/x"], 2, "write %2F for /"),
        (["--port", "0", "--database", "user:secret@db/x"], 2, "it is not an address: write sqlite:///touchbase.db"),
        (["--port", "0", "--database", "sqlite:///missing/folder.db"], 1, "cannot use missing/folder.db"),
        (["--port", "0", "--database", "postgresql://user:secret@127.0.0.1:1/x"], 1, "cannot connect to PostgreSQL"),
    ],
)
def test_serve__rejects_invalid_options_in_one_line(run: Run, arguments: list[str], status: int, says: str) -> None:
    result = run("serve", *arguments)

    assert result.exit_code == status
    assert says in result.output.splitlines()[-1]
    assert "secret" not in result.output


def test_serve__reports_a_port_in_use_in_one_line(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other_server:
        result = run("serve", "--port", str(other_server.getsockname()[1]))

    assert result.exit_code == 1
    assert "Address already in use" in result.output
    assert "--port (TOUCHBASE_PORT)" in result.output
    assert "--port 0" in result.output


@pytest.mark.parametrize(("database", "ends"), [("sqlite://", True), ("sqlite:///", True), ("sqlite:///touchbase.db", False)])
def test_banner__warns_of_an_in_memory_store(database: str, ends: bool) -> None:
    from touchbase.cli.serve import banner
    from touchbase.config import Settings

    with socket.create_server(("127.0.0.1", 0)) as listener:
        reported = banner(Settings.read({}, database=database), listener, None)

    assert ("all data is lost when this process ends" in reported) is ends


def test_public_address__requires_api_keys_unless_disabled(run: Run) -> None:
    from touchbase.config import Settings

    public = Settings.read({}, host="0.0.0.0")
    reported = Settings.read({}, host="0.0.0.0", auth="none", allow_unauthenticated=True)

    assert not public.open_mode
    assert reported.open_mode
    reported.check_serving()


def test_preview__does_not_import_the_server() -> None:
    code = (
        "import sys; from touchbase.cli import cli\n"
        "cli(['preview', '--channel', 'email_campaign', '-'], standalone_mode=False)\n"
        "print([name for name in ('touchbase.server', 'uvicorn', 'asyncpg', 'apsw', 'touchbase.storage') if name in sys.modules])"
    )

    result = subprocess.run(
        [sys.executable, "-c", code],
        input='{"event_type": "email_sent", "lead_email": "contact@example.com"}',
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_erasure__leaves_no_byte_of_the_person_in_the_files_of_a_quiet_server(serve: Serve, tmp_path: Path) -> None:
    person = "goldfinch.canary@example.com"
    server = serve()
    _, contact = server.post("/public/v2/contacts", {"email": person, "first_name": "Goldfinch"})
    hook, text = "/public/crm-webhook/default", json.dumps([{"event": "x", "email": person}])
    for body, headers in (
        (text.encode(), {}),
        (gzip.compress(text.encode()), {"Content-Encoding": "gzip"}),
        (text.encode("utf-16"), {}),
        (f"plain {person}".encode(), {"Content-Type": "text/plain"}),
    ):
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}{hook}", body, {"Content-Type": "application/json", **headers})
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 200

    # The webhooks still wait in the queue: the erasure must not be done before they are applied without the person.
    assert server.delete(f"/public/v2/contacts/{contact['id']}?erase=true")[0] == 200
    while json.loads(server.get("/public/v2/erasures")[1])["data"][0]["done_time"] is None:
        pass

    needles = (b"goldfinch", "goldfinch".encode("utf-16-le"), gzip.compress(text.encode())[12:40])
    files = {file.name: file.read_bytes().lower() for file in tmp_path.glob("*.db*")}
    assert {"touchbase.db", "touchbase.db-wal"} <= files.keys()
    assert [name for name, content in files.items() for needle in needles if needle.lower() in content] == []
    assert server.get("/metrics")[1].count('touchbase_erasures_open{waits="cleaning"} 0') == 1
