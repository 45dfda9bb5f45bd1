"""Calling out: to checked addresses only, https only, no redirect followed, a bounded answer, and nothing told of what was sent."""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.enrichment.fake_tool_api import fake_api

from touchbase.connections.tools import ApiRequest, FetchFailed
from touchbase.enrichment import http_client as caller_module
from touchbase.enrichment import http_connection
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.http_pool import certificates

SECRET = "Bearer of-a-secret"
CALL = ApiRequest("GET", "/v2/me?a=b", {"authorization": SECRET})


@pytest.fixture
async def careful() -> AsyncIterator[HttpClient]:
    """A caller that may call public addresses only."""
    http_client = HttpClient("touchbase/1")
    yield http_client
    await http_client.close()


def resolving_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Let every name lead to these addresses; answers the list of names that were looked up."""
    looked_up: list[str] = []

    def getaddrinfo(host: str, port: int, **more: Any) -> list[Any]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return looked_up


@pytest.mark.parametrize(
    "host",
    [
     "127.0.0.1", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
     "169.254.169.254",
     "10.0.0.1", "[fd00:ec2::254]", "0.0.0.0"],
)  # fmt: skip
async def test_http_client__never_connects_to_a_non_public_address(careful: HttpClient, host: str) -> None:
    async with asyncio.timeout(30), fake_api(lambda request: (200, {})) as server:
        with pytest.raises(FetchFailed, match=r"not a public address|cannot be reached") as refused:
            await careful.send(f"https://{host}:{server.port}", CALL)

    assert server.requests == []
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("addresses", [("10.0.0.1",), ("8.8.8.8", "127.0.0.1"), ("169.254.169.254", "8.8.8.8")])
async def test_http_client__refuses_a_name_that_resolves_to_any_private_address(
    careful: HttpClient, monkeypatch: pytest.MonkeyPatch, addresses: tuple[str, ...]
) -> None:
    resolving_to(monkeypatch, *addresses)

    with pytest.raises(FetchFailed, match=r"resolves to .*not a public address") as refused:
        await careful.send("https://api.example.com", CALL)

    assert refused.value.stop


async def test_http_client__connects_to_the_checked_address(careful: HttpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up, connected = resolving_to(monkeypatch, "8.8.8.8", "8.8.4.4"), []

    async def create_connection(self: object, protocol: object, host: str, *args: Any, **options: Any) -> Any:
        connected.append((host, options["server_hostname"]))
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    with pytest.raises(FetchFailed, match=r"api\.example\.com cannot be reached: ConnectionRefusedError nobody there"):
        await careful.send("https://api.example.com", CALL)

    assert looked_up == ["api.example.com"]
    assert connected == [("8.8.8.8", "api.example.com"), ("8.8.4.4", "api.example.com")]


@pytest.mark.parametrize(
    "base",
    ["http://api.example.com", "ftp://api.example.com", "https://user:pw@api.example.com", "https://", "x", "https://h:x", "https://a..b"],
)
async def test_http_client__refuses_base_urls_other_than_plain_https(careful: HttpClient, base: str) -> None:
    with pytest.raises(FetchFailed, match="api_base") as refused:
        await careful.send(base, CALL)

    assert refused.value.stop
    assert "pw" not in str(refused.value)


async def test_fetch_allowed__permits_only_the_listed_base_url() -> None:
    async with (
        asyncio.timeout(30),
        fake_api(lambda request: (200, {"me": 1})) as server,
        fake_api(lambda request: (200, {})) as other_fake_api,
    ):
        caller = HttpClient("touchbase/1", [server.base])
        answer = await caller.send(server.base + "/", CALL)
        with pytest.raises(FetchFailed, match="by https only"):
            await caller.send(other_fake_api.base, CALL)
        with pytest.raises(FetchFailed, match="not a public address"):
            await caller.send(f"https://127.0.0.1:{other_fake_api.port}", CALL)
        await caller.close()

    (request,) = server.requests
    assert (answer.status, answer.body) == (200, b'{"me": 1}')
    assert (request.method, request.path, request.headers["authorization"], request.headers["user-agent"]) == (
        "GET", "/v2/me?a=b", SECRET, "touchbase/1",
    )  # fmt: skip
    assert other_fake_api.requests == []


async def test_http_client__does_not_follow_redirects() -> None:
    async with asyncio.timeout(30), fake_api(lambda request: (302, {})) as server:
        server.respond = lambda request: (302, {}, {"location": f"{server.base}/elsewhere"})
        caller = HttpClient("touchbase/1", [server.base])
        answer = await caller.send(server.base, CALL)
        await caller.close()

    assert answer.status == 302
    assert len(server.requests) == 1


async def test_http_client__refuses_a_response_over_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_module, "MAX_RESPONSE", 1000)
    async with asyncio.timeout(30), fake_api(lambda request: (200, b"x" * 1001)) as server:
        caller = HttpClient("touchbase/1", [server.base])
        with pytest.raises(FetchFailed, match="longer than 1000 bytes"):
            await caller.send(server.base, CALL)
        server.respond = lambda request: (200, b"x" * 1000)
        assert len((await caller.send(server.base, CALL)).body) == 1000
        await caller.close()


async def test_http_client__refuses_a_response_in_very_many_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "PIECE_BYTES", caller_module.MAX_RESPONSE // 100)
    ended = asyncio.Event()
    async with asyncio.timeout(30):

        async def chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 1_000)
            await reader.read()
            writer.close()
            ended.set()

        async with await asyncio.start_server(chunks, "127.0.0.1", 0) as server:
            base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            caller = HttpClient("touchbase/1", [base])
            with pytest.raises(FetchFailed, match="pieces"):
                await caller.send(base, CALL)
            await caller.close()
            await ended.wait()


async def test_http_client__times_out_on_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_module, "SECONDS", 0.05)
    release = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with asyncio.timeout(30), server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        caller = HttpClient("touchbase/1", [base])
        with pytest.raises(FetchFailed, match="cannot be reached: TimeoutError") as given_up:
            await caller.send(base, CALL)
        release.set()
        await caller.close()

    assert not given_up.value.stop


async def test_http_client__sends_no_header_that_a_value_adds() -> None:
    async with asyncio.timeout(30), fake_api(lambda request: (200, {})) as server:
        caller = HttpClient("touchbase/1", [server.base])
        await caller.send(server.base, ApiRequest("GET", "/", {"authorization": f"{SECRET}\r\nx-more: 1"}))
        await caller.close()

    (request,) = server.requests
    assert request.headers["authorization"] == f"{SECRET}  x-more: 1"
    assert not {"x-more", "content-length"} & {*request.headers}


def certificate(folder: Path, name: str) -> tuple[Path, ssl.SSLContext]:
    """A certificate of our own for this name or address, as a file that may be trusted, and a server that shows it."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    place = x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    now = dt.datetime.now(dt.UTC)
    created = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([place]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    file = folder / f"{name}.pem"
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(created.public_bytes(serialization.Encoding.PEM) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return file, context


@pytest.mark.parametrize(("name", "trusted"), [("127.0.0.1", True), ("other.example.com", True), ("127.0.0.1", False)])
async def test_http_client__verifies_the_certificate_and_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, trusted: bool
) -> None:
    file, context = certificate(tmp_path, name)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    certificates.cache_clear()  # read once per process
    async with asyncio.timeout(30), fake_api(lambda request: (200, {}), context) as server:
        caller = HttpClient("touchbase/1", [server.base])
        try:
            if trusted and name == "127.0.0.1":
                assert (await caller.send(server.base, CALL)).status == 200
            else:
                with pytest.raises(FetchFailed, match="certificate verify failed"):
                    await caller.send(server.base, CALL)
        finally:
            certificates.cache_clear()
            await caller.close()


def test_api_request__hides_headers_in_its_repr() -> None:
    assert SECRET not in repr(CALL)
