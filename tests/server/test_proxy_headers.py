"""Who calls: a proxy's word counts where the operator has listed the proxy, and nowhere else."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.conftest import Start

from touchbase.server.proxy_headers import TrustedProxies, address_of

LISTED = ("10.0.0.0/8", "127.0.0.1", "fd00::/8")


def after_belief(*said: tuple[str, str], peer: str = "127.0.0.1") -> dict[str, Any]:
    headers = [(b"host", b"inner:8000"), *((name.encode(), value.encode("latin-1")) for name, value in said)]
    scope: dict[str, Any] = {"client": (peer, 5000), "scheme": "http", "headers": headers}
    TrustedProxies(LISTED).apply_forwarded_headers(scope)
    return scope


CHAINS = {
    "one proxy": ("192.0.2.1", "192.0.2.1"),
    "two proxies": ("192.0.2.1, 10.1.2.3", "192.0.2.1"),
    "an address that the caller made up": ("203.0.113.9, 192.0.2.1, 10.1.2.3", "192.0.2.1"),
    "a listed address that the caller made up": ("10.9.9.9, 192.0.2.1", "192.0.2.1"),
    "nobody but proxies": ("10.1.1.1, 10.1.2.3", "10.1.1.1"),
    "with a port": ("192.0.2.1:4711", "192.0.2.1"),
    "IPv6": ("2001:DB8::1", "2001:db8::1"),
    "IPv6 with a port": ("[2001:db8::1]:4711", "2001:db8::1"),
    "IPv4 as IPv6": ("::ffff:192.0.2.1", "192.0.2.1"),
    "a proxy's own IPv6": ("2001:db8::1, fd00::1", "2001:db8::1"),
    "nonsense": ("unknown", "127.0.0.1"),
    "nonsense before a proxy": ("192.0.2.1, unknown, 10.1.2.3", "10.1.2.3"),
    "nothing": ("", "127.0.0.1"),
    "an injected line": ("192.0.2.1\\r\\nX: y", "127.0.0.1"),
}


@pytest.mark.parametrize(("chain", "caller"), CHAINS.values(), ids=CHAINS)
def test_x_forwarded_for__gives_the_rightmost_address_that_is_not_a_trusted_proxy(chain: str, caller: str) -> None:
    assert address_of(after_belief(("x-forwarded-for", chain))) == caller


def test_x_forwarded_for__joins_repeated_headers_into_one_chain() -> None:
    scope = after_belief(("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "10.1.2.3"))

    assert address_of(scope) == "192.0.2.1"


@pytest.mark.parametrize(
    ("said", "scheme"), [("https", "https"), ("HTTPS", "https"), ("http, https", "https"), ("gopher", "http"), ("", "http")]
)
def test_x_forwarded_proto__gives_the_scheme_of_the_nearest_proxy(said: str, scheme: str) -> None:
    assert after_belief(("x-forwarded-proto", said))["scheme"] == scheme


@pytest.mark.parametrize(
    ("said", "host"),
    [
        ("hooks.example.com", b"hooks.example.com"),
        ("made.up, hooks.example.com:8443", b"hooks.example.com:8443"),
        ("[2001:db8::1]:443", b"[2001:db8::1]:443"),
        ("a/b", b"inner:8000"),
        ("user@hooks.example.com", b"inner:8000"),
        ("", b"inner:8000"),
    ],
)
def test_x_forwarded_host__gives_the_host_of_the_nearest_proxy_if_valid(said: str, host: bytes) -> None:
    headers = after_belief(("x-forwarded-host", said))["headers"]

    assert [value for name, value in headers if name == b"host"] == [host]


def test_address_of__is_empty_without_a_peer_address() -> None:
    assert address_of({"client": None}) == address_of({}) == ""


addresses = st.one_of(st.ip_addresses().map(str), st.sampled_from(["10.1.2.3", "127.0.0.1", "unknown", "", "::1", "fd00::7"]))


@given(st.lists(addresses, max_size=5), st.ip_addresses(v=4, network="192.0.2.0/24").map(str))
def test_x_forwarded_for__ignores_any_addresses_before_the_one_the_proxy_added(made_up: list[str], real: str) -> None:
    assert address_of(after_belief(("x-forwarded-for", ", ".join([*made_up, real])))) == real


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_proxy_headers__with_any_text_leave_a_valid_scope(chain: str, scheme: str, host: str) -> None:
    said = (("x-forwarded-for", chain), ("x-forwarded-proto", scheme), ("x-forwarded-host", host))

    scope = after_belief(*((name, text.encode("utf-8", "replace").decode("latin-1")) for name, text in said))

    socket.inet_pton(socket.AF_INET6 if ":" in address_of(scope) else socket.AF_INET, address_of(scope).partition("%")[0])
    assert scope["scheme"] in ("http", "https")


async def echo_caller(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what the application is told of its caller."""
    host = dict(scope["headers"])[b"host"].decode()
    body = json.dumps([address_of(scope), scope["scheme"], host]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


CALL = (
    b"GET / HTTP/1.1\r\nHost: inner\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outer\r\n"
    b"Forwarded: for=192.0.2.2;proto=https;host=outer\r\n\r\n"
)


@pytest.mark.parametrize(
    ("proxies", "says"),
    [
        (None, ["127.0.0.1", "http", "inner"]),
        (TrustedProxies(["192.0.2.0/24"]), ["127.0.0.1", "http", "inner"]),
        (TrustedProxies(["127.0.0.0/8"]), ["192.0.2.1", "https", "outer"]),
    ],
    ids=["nobody listed", "another listed", "listed"],
)
async def test_proxy_headers__are_used_only_from_a_trusted_proxy(
    start: Start, monkeypatch: pytest.MonkeyPatch, proxies: TrustedProxies | None, says: list[str]
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # what uvicorn itself would heed
    caller = await (await start(echo_caller, proxies=proxies)).call()

    for _ in range(2):
        await caller.send(CALL)
        assert json.loads((await caller.response())[2]) == says
