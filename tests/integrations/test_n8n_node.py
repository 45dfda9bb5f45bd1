"""The node for n8n: its description fits the interface, and built it works with a real server."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import Server
from tests.console.seed import sender

from touchbase.encryption.keys import encode_key, new_key
from touchbase.event_log.models import EVENT_TYPES
from touchbase.outgoing.signatures import signature_headers
from touchbase.routes import description

NODE = Path(__file__).parents[2] / "integrations" / "n8n-nodes-touchbase"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in NODE.rglob("*.ts") if not {"node_modules", "dist"} & {*path.parts}}
PATHS = description("1", keys_needed=True)["paths"]
JANE = {"email": "jane@example.com", "first_name": "Jane"}

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node here to run the node for n8n (Debian: nodejs npm)")
needs_packages = pytest.mark.skipif(
    not (NODE / "node_modules" / "n8n-workflow").exists(),
    reason=f"the npm packages of the node for n8n are not installed: npm ci in {NODE}",
)


def operations() -> set[tuple[str, str]]:
    """Method and path of each request that the sources name."""
    text = SOURCES["operations.ts"]
    results = {(method, at) for method, at in re.findall(r"method: '(\w+)',\s+url: '(/[^']+)'", text)}
    for method, remaining in re.findall(r"method: '(\w+)',\s*url: path\('([^']*)'\)", text):
        results |= {(method, f"/public/v2/{kind}{remaining.replace('{{ $parameter.id }}', '{id}')}") for kind in ("contacts", "companies")}
    endpoints = SOURCES["endpoints.ts"]
    at = re.search(r"ENDPOINTS = '([^']+)'", endpoints)
    assert at is not None
    results |= {(method, at[1]) for method in re.findall(r"hook, '(\w+)', ENDPOINTS", endpoints)}
    results |= {(method, at[1] + "/{id}") for method in re.findall(r"hook, '(\w+)', `\$\{ENDPOINTS\}/\$\{id\}`", endpoints)}
    return results


def test_operations__are_in_the_interface() -> None:
    result = operations()

    assert len(result) == 2 * 6 + 2 + 5
    assert [operation for operation in sorted(result) if operation[0].lower() not in PATHS.get(operation[1], {})] == []


def test_written_operations__take_a_key_for_repeats_where_the_interface_does() -> None:
    text = SOURCES["operations.ts"]
    once = set(re.findall(r"method: '(\w+)'(?:(?!method:).)*onceOnly", text, re.DOTALL))

    assert once == {"POST", "PUT"}
    for method, path in (("post", "/public/v2/contacts"), ("put", "/public/v2/companies"), ("post", "/public/v2/suppressions")):
        assert "Idempotency-Key" in [parameter.get("name") for parameter in PATHS[path][method]["parameters"]]


def test_events__are_all_types_of_the_log() -> None:
    listed = re.search(r"const TYPES = \[(.*?)\];", SOURCES["TouchbaseTrigger.node.ts"], re.DOTALL)
    assert listed is not None

    assert re.findall(r"'([^']+)'", listed[1]) == sorted(EVENT_TYPES)


def test_package__has_fixed_versions_and_names_no_registry() -> None:
    package, lock = (json.loads((NODE / name).read_text(encoding="utf-8")) for name in ("package.json", "package-lock.json"))

    assert [name for name, version in package["devDependencies"].items() if not version[0].isdigit()] == []
    assert [name for name, value in lock["packages"].items() if "resolved" in value] == []


class Host:
    """A Node process that runs the built node, in the place of n8n."""

    def __init__(self, built: Path) -> None:
        program = ["node", str(Path(__file__).with_name("n8n_host.cjs")), str(built)]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.target = self._read()["target"]

    def _read(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def do(self, command: str, **value: Any) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"command": command, **value}) + "\n")
        self.process.stdin.flush()
        return self._read()

    def execute(self, resource: str, operation: str, *, run: int = 0, **parameters: Any) -> Any:
        return self.do("execute", run=run, parameters={"resource": resource, "operation": operation, **parameters})

    def post(self, body: bytes, headers: dict[str, str]) -> int:
        """Send a webhook to the trigger, as anybody can."""
        try:
            with urllib.request.urlopen(urllib.request.Request(self.target, body, headers, method="POST")) as response:
                return int(response.status)
        except urllib.error.HTTPError as error:
            return error.code

    def received(self, count: int) -> list[dict[str, Any]]:
        """The items of the trigger, as soon as there are this many."""
        for _ in range(400):
            if len(result := self.do("state")["received"]) >= count:
                return list(result)
            time.sleep(0.05)
        raise AssertionError(f"{result} in place of {count} items")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The node, compiled; the tree stays as it is."""
    folder = tmp_path_factory.mktemp("n8n") / "node"
    shutil.copytree(NODE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(NODE / "node_modules")
    tsc = NODE / "node_modules" / "typescript" / "bin" / "tsc"
    process = subprocess.run(["node", str(tsc), "-p", str(folder)], capture_output=True, text=True, timeout=300, check=False)
    assert (process.returncode, process.stdout) == (0, "")
    return folder


@dataclass
class Together:
    """A server that may send to the host, and the host."""

    server: Server
    host: Host

    def send(self, method: str, path: str, body: object = None) -> Any:
        return sender(f"http://127.0.0.1:{self.server.port}", "default")(method, path, body)


@pytest.fixture
def together(engine_url: str, tmp_path: Path, built: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Together]:
    """A server on a store of each engine, and the host with credentials for it."""
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", encode_key(new_key()))
    host = Host(built)
    try:
        origin = host.target.rpartition("/webhook")[0]
        server = Server(tmp_path, ("--database", engine_url, "--webhook-allowed-origins", origin))
        try:
            host.do("connect", url=f"http://127.0.0.1:{server.port}/", apiKey="", clientId="default")
            yield Together(server, host)
        finally:
            server.clean_up()
    finally:
        host.close()


@pytest.mark.slow
@needs_node
@needs_packages
def test_node__does_each_operation(together: Together) -> None:
    host = together.host
    assert host.do("test")["statusCode"] == 200

    [jane] = host.execute("contact", "create", record=json.dumps(JANE))["items"]
    again = host.execute("contact", "create", record=JANE)
    other_round = host.execute("contact", "create", run=1, record=JANE)
    [firm] = host.execute("company", "upsert", match="domain", record={"domain": "example.com", "name": "Example"})["items"]
    [changed] = host.execute("contact", "upsert", match="email", record={**JANE, "last_name": "Doe", "company_id": "example.com"})["items"]
    [updated] = host.execute("contact", "update", id=jane["id"], record={"first_name": "Janet"})["items"]
    [marked] = host.execute("contact", "status", id=jane["id"], status="interested")["items"]
    [listed] = host.execute("suppression", "add", value="bob@example.net", reason="legal")["items"]

    assert (again["items"], again["headers"]["idempotency-replayed"]) == ([jane], "true")
    assert other_round["kind"] == "NodeApiError"
    assert "already" in other_round["error"]
    assert (changed["id"], changed["company_id"], updated["first_name"], marked["contact_status"]) == (
        jane["id"], firm["id"], "Janet", "interested",
    )  # fmt: skip
    assert (listed["outcome"], listed["entry"]["value"]) == ("created", "bob@example.net")
    assert host.execute("contact", "get", id=jane["id"])["items"] == [marked]
    assert [item["id"] for item in host.execute("contact", "getAll", where={"contact_status": "interested"})["items"]] == [jane["id"]]
    [match] = host.execute("contact", "match", match="email", value="jane@example.com")["items"]
    assert match["id"] == jane["id"]
    assert host.execute("message", "getAll", email="jane@example.com")["items"] == []


@pytest.mark.slow
@needs_node
@needs_packages
def test_node__says_what_the_interface_says_of_an_error(together: Together) -> None:
    host = together.host

    assert "no JSON" in host.execute("contact", "create", record="{email}")["error"]
    assert "JSON object" in host.execute("contact", "create", record="[1]")["error"]
    assert "/email" in host.execute("contact", "create", record={"email": "nobody"})["error"]
    assert "17" in host.execute("contact", "get", id=17)["error"]
    assert "/where" in host.execute("contact", "getAll", where={"contact_stat": "x"})["error"]


@pytest.mark.slow
@needs_node
@needs_packages
def test_trigger__gets_each_event_once_it_is_activated(together: Together) -> None:
    host, endpoints = together.host, "/public/v2/webhook-endpoints"
    assert host.do("deactivate") == {"done": True}
    first = host.do("activate", types=["contact.created"])
    assert host.do("activate", types=["contact.created", "contact.status_changed"])["existed"] is True

    [jane] = host.execute("contact", "create", record=JANE)["items"]
    host.execute("contact", "status", id=jane["id"], status="interested")
    created, changed = host.received(2)
    assert (created["type"], created["id"], created["data"]["object"]["email"]) == ("contact.created", "evt_1", JANE["email"])
    assert (changed["type"], changed["data"]["changed"]["contact_status"][1]) == ("contact.status_changed", "interested")
    assert together.send("GET", f"/public/v2/events/samples?types={changed['type']}")["data"] == [changed]

    together.send("POST", f"{endpoints}/{first['id']}/rotate-secret", {})
    host.execute("contact", "status", id=jane["id"], status="won")
    assert len(host.received(3)) == 3
    assert together.send("POST", f"{endpoints}/{first['id']}/test")["outcome"] == "delivered"
    assert len(host.do("state")["received"]) == 3

    host.do("forget")
    second = host.do("activate", types=["contact.created"])
    assert [item["id"] for item in together.send("GET", endpoints)["data"]] == [second["id"]]
    host.execute("contact", "create", record={"email": "ann@example.com"})
    assert len(host.received(4)) == 4
    assert host.do("deactivate") == {"done": True}
    assert together.send("GET", endpoints)["data"] == []


@pytest.mark.slow
@needs_node
@needs_packages
def test_trigger__refuses_what_touchbase_did_not_sign(together: Together) -> None:
    host = together.host
    now, body = time.time_ns() // 1000, b'{"id":"evt_1","type":"contact.replied","data":{}}'
    expected = host.do("activate", types=["contact.replied"])
    forged = signature_headers(["whsec_" + "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], "evt_1_1", now, body)
    old = signature_headers([expected["secret"]], "evt_1_1", now - 400_000_000, body)
    good = signature_headers([expected["secret"]], "evt_1_1", now, body)

    assert host.post(body, {}) == 401
    assert host.post(body, forged) == 401
    assert host.post(body, old) == 401
    assert host.post(body.replace(b"replied", b"created"), good) == 401
    assert host.do("state")["received"] == []
    assert host.post(body, good) == 200
    assert [item["id"] for item in host.received(1)] == ["evt_1"]
