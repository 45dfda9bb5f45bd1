"""What pages in a browser may do, and what every answer tells browsers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.conftest import RawConnection, Running, Start, echo

from touchbase.server.limits import ServerLimits
from touchbase.server.origin_guard import Cors, OriginGuard
from touchbase.server.proxy_headers import TrustedProxies
from touchbase.server.server import make_server

OURS = OriginGuard(("127.0.0.1", "hooks.example.com"), ("https://app.example.com",))
APP = b"https://app.example.com"


async def send_request(
    caller: RawConnection, method: bytes = b"GET", path: bytes = b"/", host: bytes = b"localhost", **headers: bytes
) -> Any:
    lines = b"".join(b"%b: %b\r\n" % (name.replace("_", "-").encode(), value) for name, value in headers.items())
    await caller.send(b"%b %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (method, path, host, lines))
    return await caller.response()


@pytest.mark.parametrize(
    "host",
    [b"localhost", b"localhost:8000", b"LOCALHOST", b"app.localhost:1", b"127.0.0.1:8000", b"[::1]:8000", b"10.0.0.7", b"hooks.example.com",
     b"HOOKS.example.com.:443"],
)  # fmt: skip
async def test_open_mode__serves_local_names_ip_addresses_and_the_public_host(start: Start, host: bytes) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    assert (await send_request(caller, host=host))[0] == 200
    assert (await send_request(caller, host=host, origin=b"http://" + host))[0] == 200


@pytest.mark.parametrize(
    "host", [b"evil.example", b"evil.example:8000", b"127.0.0.1.evil.example", b"localhost.evil.example", b"xlocalhost", b"1.2"]
)
async def test_open_mode__refuses_a_foreign_host_with_421(start: Start, host: bytes) -> None:
    running = await start(origin_guard=OURS)
    caller = await running.call()

    status, headers, body = await send_request(caller, host=host)
    again, _, _ = await send_request(caller)

    assert (status, json.loads(body)["code"]) == (421, "foreign_host")
    assert json.loads(body)["request_id"] == headers["x-request-id"]
    assert again == 200
    assert running.ended == [("/", 421), ("/", 200)]


@pytest.mark.parametrize(
    "origin", [b"https://evil.example", b"null", b"http://localhost:9999", b"https://app.example.com.evil.example", b"x"]
)
@pytest.mark.parametrize("method", [b"GET", b"POST", b"OPTIONS"])
async def test_open_mode__refuses_a_foreign_origin_with_403(start: Start, method: bytes, origin: bytes) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    status, headers, body = await send_request(caller, method, host=b"localhost:8000", origin=origin)

    assert (status, json.loads(body)["code"]) == (403, "foreign_origin")
    assert "access-control-allow-origin" not in headers


HOOK = b"/public/crm-webhook/default"
PUBLIC = OriginGuard(("127.0.0.1",), ("https://app.example.com",), public=("hooks.example.com",), any_name=True)


async def test_open_mode__accepts_a_listed_origin_and_webhooks_to_any_host(start: Start) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    listed, _, _ = await send_request(caller, origin=APP)
    tool, _, _ = await send_request(caller, b"POST", HOOK, b"tunnel.example", content_length=b"0")

    assert (listed, tool) == (200, 200)


@pytest.mark.parametrize("sites", [OURS, PUBLIC], ids=["on this machine only", "allowed to be open"])
@pytest.mark.parametrize(
    ("host", "page"),
    [
        (b"localhost:8000", {"origin": b"https://evil.example"}),
        (b"localhost:8000", {"origin": b"null"}),
        (b"localhost:8000", {"origin": b"https://evil.example", "sec_fetch_site": b"same-origin"}),
        (b"localhost:8000", {"sec_fetch_site": b"cross-site"}),
        (b"hooks.example.com", {"sec_fetch_site": b"Cross-Site"}),
    ],
)
async def test_open_mode__refuses_a_webhook_from_a_foreign_page(
    start: Start, sites: OriginGuard, host: bytes, page: dict[str, bytes]
) -> None:
    running = await start(origin_guard=sites)
    caller = await running.call()

    status, _, body = await send_request(caller, b"POST", HOOK, host, content_length=b"0", **page)

    assert (status, json.loads(body)["code"]) == (403, "foreign_origin")
    assert running.ended == [(HOOK.decode(), 403)]


async def test_open_mode__refuses_a_webhook_from_a_page_by_dns_rebinding(start: Start) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    rebound, _, _ = await send_request(caller, b"POST", HOOK, b"evil.example", content_length=b"0", origin=b"http://evil.example")

    assert rebound == 403


async def test_on_foreign_origin__reports_only_webhooks_refused_for_their_origin(start: Start) -> None:
    observed: list[str] = []
    caller = await (await start(origin_guard=OURS, on_foreign_origin=lambda scope: observed.append(scope["path"]))).call()

    for origin in (b"https://evil.example", b""):
        await send_request(caller, b"POST", b"/public/crm-webhook/acme", **({"origin": origin} if origin else {}))

    assert observed == ["/public/crm-webhook/acme"]


async def test_open_mode__accepts_webhooks_from_same_origin_and_listed_pages(start: Start) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    own, _, _ = await send_request(caller, b"POST", HOOK, b"localhost:80", content_length=b"0", origin=b"http://localhost:80")
    listed, _, _ = await send_request(caller, b"POST", HOOK, content_length=b"0", origin=APP, sec_fetch_site=b"cross-site")

    assert (own, listed) == (200, 200)


async def test_cross_site_page__may_link_to_the_docs_but_not_post_a_form(start: Start) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    link, _, _ = await send_request(caller, b"GET", b"/docs", sec_fetch_site=b"cross-site")
    form, _, _ = await send_request(caller, b"POST", b"/docs", content_length=b"0", sec_fetch_site=b"cross-site")

    assert (link, form) == (200, 403)


@pytest.mark.parametrize(
    "way",
    [{"host": b"hooks.example.com"}, {"host": b"HOOKS.example.com.:443"}, {"host": b"localhost", "x_forwarded_host": b"hooks.example.com"}],
)
@pytest.mark.parametrize("path", [b"/admin/v1/clients", b"/public/v2/contacts", b"/docs", b"/metrics", b"/public/crm-webhook"])
async def test_open_mode__serves_only_webhook_addresses_under_the_public_host(start: Start, way: dict[str, bytes], path: bytes) -> None:
    caller = await (await start(origin_guard=PUBLIC)).call()

    status, _, body = await send_request(caller, path=path, **way)
    hook, _, _ = await send_request(caller, b"POST", HOOK, content_length=b"0", **way)
    here, _, _ = await send_request(caller, path=path, host=b"127.0.0.1:8000")

    assert (status, json.loads(body)["code"]) == (403, "open_mode")
    assert "--auth api-key" in json.loads(body)["detail"]
    assert (hook, here) == (200, 200)


async def test_open_mode__serves_only_webhook_addresses_through_a_trusted_proxy(start: Start) -> None:
    caller = await (await start(origin_guard=PUBLIC, proxies=TrustedProxies(["127.0.0.1"]))).call()

    status, _, body = await send_request(caller, path=b"/admin/v1/clients")
    hook, _, _ = await send_request(caller, b"POST", HOOK, content_length=b"0", x_forwarded_for=b"192.0.2.1")

    assert (status, json.loads(body)["code"], hook) == (403, "open_mode", 200)


async def test_open_mode__checks_x_forwarded_host_of_an_untrusted_proxy(start: Start) -> None:
    caller = await (await start(origin_guard=OURS)).call()

    status, _, _ = await send_request(caller, x_forwarded_host=b"localhost, tunnel.example")
    hook, _, _ = await send_request(caller, b"POST", HOOK, content_length=b"0", x_forwarded_host=b"tunnel.example")

    assert (status, hook) == (421, 200)


async def test_cors__sends_no_headers_unless_configured(start: Start) -> None:
    caller = await (await start()).call()

    _, headers, _ = await send_request(caller, origin=APP)

    assert [name for name in headers if name.startswith("access-control") or name == "vary"] == []


async def test_cors__allows_a_listed_origin_without_credentials(start: Start) -> None:
    caller = await (await start(Cors(echo, ["https://app.example.com"]))).call()

    _, headers, _ = await send_request(caller, origin=APP)

    assert headers["access-control-allow-origin"] == "https://app.example.com"
    assert "X-Request-Id" in headers["access-control-expose-headers"]
    assert headers["vary"] == "origin"
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize(
    "origin",
    [b"https://app.example.com.", b"http://app.example.com", b"https://app.example.com:8443", b"https://example.com", b"null", b"*"],
)
async def test_cors__sends_no_headers_for_an_unlisted_origin(start: Start, origin: bytes) -> None:
    caller = await (await start(Cors(echo, ["https://app.example.com"]))).call()

    _, headers, _ = await send_request(caller, origin=origin)
    _, preflight, _ = await send_request(caller, b"OPTIONS", origin=origin, access_control_request_method=b"POST")

    for item in (headers, preflight):
        assert [name for name in item if name.startswith("access-control")] == []
        assert item["vary"] == "origin"


async def test_cors__responds_to_a_preflight_without_the_application(start: Start) -> None:
    running = await start(Cors(echo, ["https://app.example.com"]))
    caller = await running.call()

    status, headers, body = await send_request(caller, b"OPTIONS", b"/a", origin=APP, access_control_request_method=b"PATCH")

    assert (status, body) == (204, b"")
    assert headers["access-control-allow-origin"] == "https://app.example.com"
    assert "PATCH" in headers["access-control-allow-methods"]
    assert {"Authorization", "X-Client-Id", "If-Match"} <= set(headers["access-control-allow-headers"].split(", "))
    assert "access-control-allow-credentials" not in headers


async def test_cors__passes_options_without_preflight_headers_to_the_application(start: Start) -> None:
    caller = await (await start(Cors(echo, ["https://app.example.com"]))).call()

    assert (await send_request(caller, b"OPTIONS", origin=APP))[0] == 200


async def answers_of_every_kind(running: Running) -> list[dict[str, str]]:
    """Headers of an answer of the application and of one that the server gives itself."""
    caller, broken = await running.call(), await running.call()
    _, first, _ = await send_request(caller)
    await broken.send(b"nonsense\r\n\r\n")
    _, second, _ = await broken.response()
    return [first, second]


async def test_response__of_every_kind_has_no_store_and_a_closed_content_security_policy(start: Start) -> None:
    for headers in await answers_of_every_kind(await start()):
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "strict-transport-security" not in headers


async def test_response__of_the_application_overrides_default_headers_without_repeating_them(start: Start) -> None:
    async def page(scope: Any, receive: Any, send: Any) -> None:
        own = [(b"Content-Security-Policy", b"default-src 'self'"), (b"cache-control", b"max-age=60"), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body"})

    caller = await (await start(page)).call()

    await caller.send(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    head = (await caller.read_to_end()).decode().lower()

    assert (head.count("content-security-policy"), head.count("cache-control")) == (1, 1)
    assert "default-src 'self'" in head
    assert "max-age=60" in head


def test_strict_transport_security__is_sent_only_with_https() -> None:
    limits = ServerLimits(5, 5, 5, 20, 2000, 10, 10, lambda cycle: None)

    def headers(https: bool) -> dict[str, str]:
        return dict(make_server(echo, limits, shutdown_timeout=1, https=https).config.headers)

    assert headers(True)["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in headers(False)
