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


@pytest.mark.parametrize(
    ("options", "forwarded", "status"),
    [
        (["--trusted-proxies", "127.0.0.1"], {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "hooks.example.com"}, 200),
        (["--trusted-proxies", "192.0.2.1"], {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "hooks.example.com"}, 401),
        ([], {"X_Forwarded_Proto": "https", "X_Forwarded_Host": "hooks.example.com"}, 401),
        (["--public-url", "https://hooks.example.com"], {"X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.example"}, 200),
        (
            ["--public-url", "https://hooks.example.com", "--trusted-proxies", "127.0.0.1"],
            {"X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.example"},
            200,
        ),
    ],
    ids=["listed", "another listed", "nobody listed", "public address", "public address and a listed proxy"],
)
def test_signed_address__is_that_of_a_trusted_proxy_or_the_public_url(
    serve: Serve, run: Run, options: list[str], forwarded: dict[str, str], status: int
) -> None:
    server = serve(*options)
    run("clients", "add", "acme")
    run("connections", "add", "--client", "acme", "--channel", "crm", "--tool", "hubspot", "--secret", SECRET)

    found, _, body = called(server, "POST", PATH, BODY, **signed_for("https://hooks.example.com"), **forwarded)

    assert (found, body == b"") == (status, status == 200)


def test_access_log__names_the_peer_given_by_a_trusted_proxy(serve: Serve) -> None:
    server = serve("--trusted-proxies", "127.0.0.0/8")

    called(server, "GET", "/public/v2/contacts", X_Forwarded_For="198.51.100.7, 203.0.113.9, 127.0.0.2")
    called(server, "GET", "/public/v2/contacts")
    server.stop()

    assert [json.loads(line)["peer"] for line in server.log().splitlines() if '"event":"request"' in line] == ["203.0.113.9", "127.0.0.1"]


def test_open_mode__rejects_requests_from_foreign_pages(serve: Serve) -> None:
    server = serve()
    contact = b'{"email": "contact@example.com"}'

    rebound = called(server, "GET", "/public/v2/contacts", Host=f"evil.example:{server.port}")
    crossed = called(server, "POST", "/public/v2/contacts", contact, Origin="https://evil.example", Content_Type="text/plain")
    asked = called(server, "OPTIONS", "/public/v2/contacts", Origin="https://evil.example", Access_Control_Request_Method="POST")
    own = called(server, "POST", "/public/v2/contacts", contact, Origin=f"http://127.0.0.1:{server.port}", Content_Type="application/json")
    _, _, listed = called(server, "GET", "/public/v2/contacts")

    assert [each[0] for each in (rebound, crossed, asked, own)] == [421, 403, 403, 201]
    assert len(json.loads(listed)["data"]) == 1


def test_open_mode_with_public_url__serves_only_webhooks_under_that_name(serve: Serve) -> None:
    server = serve("--auth", "none", "--allow-unauthenticated", "--public-url", "https://hooks.example.com")

    hook = called(server, "POST", "/public/crm-webhook/default", b"{}", Host="hooks.example.com")
    outside = [called(server, "GET", path, Host="hooks.example.com") for path in ("/public/v2/contacts", "/admin/v1/clients", "/metrics")]
    crossed = called(server, "POST", "/public/crm-webhook/default", b"{}", Origin="https://evil.example")
    here = called(server, "GET", "/admin/v1/clients")
    server.stop()

    assert [each[0] for each in (hook, *outside, crossed, here)] == [200, 403, 403, 403, 403, 200]
    assert {json.loads(body)["code"] for _, _, body in outside} == {"open_mode"}
    assert "OPEN MODE" in server.log()


def test_public_url__elsewhere_requires_api_keys(serve: Serve) -> None:
    server = serve("--public-url", "https://hooks.example.com")

    status, _, _ = called(server, "GET", "/public/v2/contacts")

    assert (status, "keys, every request" in server.banner) == (401, True)


def test_cors__allows_listed_origins_and_still_requires_a_key(serve: Serve) -> None:
    server = serve("--auth", "api-key", "--cors-origins", "https://app.example.com, https://other.example.com")
    page = {"Origin": "https://app.example.com"}

    asked = called(server, "OPTIONS", "/public/v2/contacts", **page, Access_Control_Request_Method="POST")
    keyless = called(server, "GET", "/public/v2/contacts", **page)
    stranger = called(server, "GET", "/public/v2/contacts", Origin="https://evil.example")

    assert (asked[0], asked[1]["access-control-allow-origin"]) == (204, page["Origin"])
    assert (keyless[0], keyless[1]["access-control-allow-origin"]) == (401, page["Origin"])
    assert "access-control-allow-origin" not in stranger[1]
    assert "access-control-allow-credentials" not in asked[1] | keyless[1]


@pytest.mark.parametrize(("public_url", "https"), [("https://hooks.example.com", True), ("http://hooks.example.com", False), ("", False)])
def test_hsts__is_sent_only_with_an_https_public_url(serve: Serve, public_url: str, https: bool) -> None:
    server = serve("--public-url", public_url)

    for path in ("/public/v2/contacts", "/docs", "/nowhere", "/metrics"):
        assert ("strict-transport-security" in called(server, "GET", path)[1]) is https


def test_response_headers__set_a_content_security_policy_and_no_store(serve: Serve) -> None:
    server = serve()
    data = ["/public/v2/contacts", "/public/v2/contacts/1", "/admin/v1/clients", "/public/crm-webhook/default", "/metrics", "/health/ready"]

    for path in [*data, "/nowhere", "/openapi.json"]:
        _, headers, _ = called(server, "GET", path)
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'", path
        assert headers["cache-control"] == "no-store", path
    for path in ("/docs", "/docs/docs.js"):
        policy = called(server, "GET", path)[1]["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'"), path
        assert "frame-ancestors 'none'" in policy
