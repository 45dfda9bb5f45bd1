"""Who gets in at a running server's doors: proxies, pages in browsers, and what all of them are told."""

from __future__ import annotations

import hmac
import http.client
import json
import time
from base64 import b64encode
from hashlib import sha256

import pytest
from tests.cli.conftest import Run
from tests.cli.test_serve import Serve, Server, serve

pytestmark = pytest.mark.slow

__all__ = ["serve"]

PATH = "/public/crm-webhook/acme?a=1"
BODY = b'[{"eventId":1,"subscriptionType":"contact.creation","portalId":1,"objectId":9,"occurredAt":1790000000000}]'
SECRET = "a-secret-of-ours"


def called(server: Server, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer; underscores in header names stand for dashes."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def signed_for(base: str) -> dict[str, str]:
    """HubSpot's third signature of the call, made for the address under which HubSpot reached the proxy."""
    at = str(time.time_ns() // 1_000_000)
    message = f"POST{base}{PATH}".encode() + BODY + at.encode()
    signature = b64encode(hmac.new(SECRET.encode(), message, sha256).digest()).decode()
    return {"X_HubSpot_Signature_v3": signature, "X_HubSpot_Request_Timestamp": at}


def connect_hubspot(run: Run) -> None:
    run("clients", "add", "acme")
    run("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", SECRET)


@pytest.mark.parametrize(("proxies", "status"), [("127.0.0.0/8", 200), ("192.0.2.1", 401)], ids=["this proxy", "another one"])
def test_trusted_proxies_option__decides_whose_headers_count(serve: Serve, run: Run, proxies: str, status: int) -> None:
    server = serve("--trusted-proxies", proxies)
    connect_hubspot(run)
    forwarded = {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "hooks.example.com", "X_Forwarded_For": "198.51.100.7, 203.0.113.9"}

    answer = called(server, "POST", PATH, BODY, **signed_for("https://hooks.example.com"), **forwarded)
    server.stop()

    peers = [json.loads(line)["peer"] for line in server.log().splitlines() if '"event":"request"' in line]
    assert (answer[0], peers) == (status, ["203.0.113.9" if status == 200 else "127.0.0.1"])


def test_public_url_and_cors_options__reach_the_server(serve: Serve, run: Run) -> None:
    page = {"Origin": "https://app.example.com"}
    server = serve(
        "--auth", "none", "--allow-unauthenticated", "--public-url", "https://hooks.example.com",
        "--cors-origins", "https://app.example.com, https://other.example.com",
    )  # fmt: skip
    connect_hubspot(run)

    hook = called(server, "POST", PATH, BODY, **signed_for("https://hooks.example.com"), X_Forwarded_Host="evil.example")
    outside = called(server, "GET", "/public/v2/contacts", Host="hooks.example.com")
    crossed = called(server, "POST", "/public/crm-webhook/acme", b"{}", Origin="https://evil.example")
    requested = called(server, "OPTIONS", "/public/v2/contacts", **page, Access_Control_Request_Method="POST")
    here = called(server, "GET", "/admin/v1/clients")
    server.stop()

    assert [item[0] for item in (hook, outside, crossed, requested, here)] == [200, 403, 403, 204, 200]
    assert json.loads(outside[2])["code"] == "open_mode"
    assert requested[1]["access-control-allow-origin"] == page["Origin"]
    assert "strict-transport-security" in here[1]
    assert "OPEN MODE" in server.log()
