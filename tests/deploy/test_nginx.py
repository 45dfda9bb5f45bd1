"""deploy/nginx.conf, tried with a real nginx in front of a real server."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.cli.test_access import BODY, PATH, SECRET, called, signed_for
from tests.cli.test_serve import Serve, Server, serve
from tests.deploy.test_files import LARGEST_BODY, MIB

from touchbase.config import Settings
from touchbase.http.dependencies import RequestLimits

pytestmark = pytest.mark.slow

__all__ = ["serve"]

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="there is no nginx here to try deploy/nginx.conf with (Debian: nginx-light)")

CONF = (Path(__file__).parents[2] / "deploy" / "nginx.conf").read_text(encoding="utf-8")
NAME = "hooks.example.com"
CALLER = "127.0.0.2"
"""Where the tests call from, so that nginx sees another address than its own."""


class Nginx:
    """A running nginx with our file, its addresses and folders changed to the test's."""

    def __init__(self, folder: Path, upstream: int) -> None:
        self.folder = folder
        self.plain, self.tls = free_ports(2)
        certificate(folder)
        site = CONF.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}")
        site = site.replace("listen 80;", f"listen 127.0.0.1:{self.plain};").replace("listen 443 ssl", f"listen 127.0.0.1:{self.tls} ssl")
        site = site.replace("/etc/ssl/touchbase", str(folder)).replace("/var/log/nginx", str(folder))
        (folder / "site.conf").write_text(site)
        stored = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.getuid() == 0 else ""
        main = f"{user} pid {folder}/pid; error_log {folder}/main.log; worker_processes 1; events {{}}"
        (folder / "nginx.conf").write_text(f"{main} http {{ {stored} include {folder}/site.conf; }}")
        self._do()

    def _do(self, *words: str) -> None:
        assert NGINX is not None
        command = [NGINX, "-e", str(self.folder / "main.log"), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        """End it, and wait until it is gone."""
        if not (self.folder / "pid").exists():
            return
        number = int((self.folder / "pid").read_text())
        self._do("-s", "stop")
        with contextlib.suppress(ProcessLookupError):
            while (self.folder / "pid").exists():
                os.kill(number, 0)

    def logs(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("*.log"))

    def called(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer over TLS."""
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection("127.0.0.1", self.tls, timeout=60, source_address=(CALLER, 0), context=trusting)
        try:
            named = {"Host": NAME, **{name.replace("_", "-"): value for name, value in headers.items()}}
            connection.request(method, path, body, named)
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()


def free_ports(count: int) -> list[int]:
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [item.getsockname()[1] for item in taken]
    for entry in taken:
        entry.close()
    return ports


def certificate(folder: Path) -> None:
    """A key and a certificate that it signs itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate_builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1))
    (folder / "fullchain.pem").write_bytes(certificate_builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))


Front = Callable[[int], Nginx]


@pytest.fixture
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    started: list[Nginx] = []

    def start(upstream: int) -> Nginx:
        started.append(Nginx(tmp_path_factory.mktemp("nginx"), upstream))
        return started[-1]

    yield start
    for item in started:
        item.stop()


@pytest.fixture
def behind(serve: Serve) -> Server:
    """A server as the file wants it: behind a proxy on the same machine, with keys."""
    return serving(serve)


def serving(serve: Serve, *options: str) -> Server:
    """A server behind a proxy, with keys and a client."""
    server = serve("--auth", "api-key", "--trusted-proxies", "127.0.0.1", *options)
    status, _ = server.post("/admin/v1/clients", {"client_id": "default"}, Authorization=key_of(server)["Authorization"])
    assert status == 201
    return server


def key_of(server: Server) -> dict[str, str]:
    result = re.search(r"key +(tb_\w+)", server.banner)
    assert result
    return {"Authorization": f"Bearer {result[1]}", "X_Client_Id": "default"}


def test_nginx__sets_the_peer_address_and_ignores_forwarded_headers(front: Front, behind: Server) -> None:
    nginx = front(behind.port)

    status, headers, _ = nginx.called("GET", "/public/v2/contacts", X_Forwarded_For="203.0.113.9", **key_of(behind))
    behind.stop()

    line = json.loads(behind.log().splitlines()[1])  # the first one made the client
    assert (status, line["peer"], line["route"]) == (200, CALLER, "list_contacts")
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"
    assert headers["server"] == "nginx"


def test_nginx__gives_signed_addresses_the_https_scheme(front: Front, behind: Server) -> None:
    nginx, admin = front(behind.port), {**key_of(behind), "Content_Type": "application/json"}
    connection = json.dumps({"channel": "crm", "tool": "hubspot", "secrets": [SECRET]}).encode()
    assert nginx.called("PUT", "/admin/v1/clients/acme", b'{"settings": {}}', **admin)[0] == 201
    assert nginx.called("POST", "/admin/v1/clients/acme/connections", connection, **admin)[0] == 201

    true, _, _ = nginx.called("POST", PATH, BODY, **signed_for(f"https://{NAME}"))
    false, _, _ = nginx.called("POST", PATH, BODY, **signed_for(f"http://{NAME}"), X_Forwarded_Proto="http")

    assert (true, false) == (200, 401)


def test_nginx__passes_on_bodies_that_touchbase_itself_rejects(front: Front, behind: Server) -> None:
    nginx = front(behind.port)
    match = re.search(r"client_max_body_size (\d+)m;", CONF)
    assert match is not None

    largest = nginx.called("POST", "/public/crm-webhook/default", b"x" * RequestLimits().webhook_body_bytes)
    longer = nginx.called("POST", "/public/crm-webhook/default", b"x" * (RequestLimits().webhook_body_bytes + 1))
    longest = nginx.called("POST", "/public/v2/contacts", b"x" * RequestLimits().drained_bytes, **key_of(behind))
    too_long = nginx.called("POST", "/public/v2/contacts", b"x" * (int(match[1]) * MIB + 1), **key_of(behind))

    assert int(match[1]) * MIB > LARGEST_BODY
    assert [item[0] for item in (largest, longer, longest, too_long)] == [200, 413, 413, 413]
    assert json.loads(longer[2])["code"] == json.loads(longest[2])["code"] == "too_large"
    assert b"nginx" in too_long[2]


def test_nginx__passes_on_a_503_and_does_not_retry(front: Front, serve: Serve) -> None:
    server = serving(serve, "--max-requests", "1", "--body-idle-timeout", "30")
    nginx = front(server.port)

    with socket.create_connection(("127.0.0.1", server.port)) as busy:
        # A request in progress, for its body is still to come.
        busy.sendall(b"POST /public/crm-webhook/default HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
        assert busy.recv(100).startswith(b"HTTP/1.1 100")
        status, headers, body = nginx.called("POST", "/public/v2/contacts", b"{}", **key_of(server))
    server.stop()

    assert (status, headers["retry-after"], headers["content-type"]) == (503, "1", "application/problem+json")
    assert json.loads(body)["code"] == "overloaded"
    assert server.log().count('"status":503') == 1


def test_nginx__reuses_its_connection_to_the_server(front: Front) -> None:
    accepted: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        while connection.recv(65536):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted.append(listener.accept()[0])
                threading.Thread(target=answer, args=(accepted[-1],), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    nginx = front(listener.getsockname()[1])

    statuses = [nginx.called("GET", "/")[0] for _ in range(5)]
    listener.shutdown(socket.SHUT_RDWR)
    accepting.join(30)
    for item in (*accepted, listener):
        item.close()

    assert statuses == [200] * 5
    assert len(accepted) == 1


def test_server_keep_alive__outlasts_that_of_nginx() -> None:
    match = re.search(r"keepalive_timeout (\d+)s;", CONF)

    assert match is not None
    assert int(match[1]) < Settings.read({}).keep_alive


def test_nginx_log__contains_no_webhook_address_or_token(front: Front, behind: Server) -> None:
    nginx = front(behind.port)

    nginx.called("POST", "/public/crm-webhook/nobody-may-guess?token=swordfish", b"{}")
    behind.stop()
    match = re.search(r"client_max_body_size (\d+)m;", CONF)
    assert match is not None
    too_long = b"x" * (int(match[1]) * MIB + 1)
    status, _, _ = nginx.called("POST", "/public/crm-webhook/nobody-may-guess?token=swordfish", too_long)
    away, _, _ = nginx.called("POST", "/public/crm-webhook/nobody-may-guess?token=swordfish", b"{}")
    nginx.stop()

    assert (status, away) == (413, 502)
    assert nginx.logs().count(" POST ") == 3
    assert "nobody-may-guess" not in nginx.logs() + behind.log()
    assert "swordfish" not in nginx.logs() + behind.log()


def test_nginx__restricts_metrics_and_readiness_and_redirects_http_to_https(front: Front, behind: Server) -> None:
    nginx = front(behind.port)

    denied = [nginx.called("GET", path)[0] for path in ("/metrics", "/health/ready")]

    class Plain:
        port = nginx.plain

    moved, headers, _ = called(Plain, "GET", "/public/v2/contacts?a=1", Host=NAME)  # type: ignore[arg-type]
    assert denied == [403, 403]
    assert (moved, headers["location"]) == (308, f"https://{NAME}/public/v2/contacts?a=1")


def test_nginx__limits_the_rate_per_address_with_retry_after(front: Front, behind: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = CONF.replace("rate=100r/s", "rate=1r/m").replace("burst=300", "burst=2")
    assert slow.count("1r/m") == slow.count("burst=2 ") == 1
    monkeypatch.setattr(sys.modules[__name__], "CONF", slow)
    nginx = front(behind.port)

    answers = [nginx.called("GET", "/health/live") for _ in range(5)]

    assert [status for status, _, _ in answers] == [200, 200, 200, 503, 503]
    assert answers[-1][1]["retry-after"] == "1"
