"""Connections: https with certificates of one's own, threads that share a client, addresses with a path."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.client.proxy import Proxy, read_request, response

from touchbase_client import NO_RETRIES, ConnectionFailed, Touchbase

PAGE = response(200, b'{"data": [], "next_cursor": null}', "Content-Type: application/json")


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of this machine that no system trusts, with its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "touchbase")])
    now = datetime.datetime.now(datetime.UTC)
    certificate_builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - datetime.timedelta(1), now + datetime.timedelta(1))
    certificate_builder = certificate_builder.add_extension(
        x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
    )
    certificate_builder = certificate_builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "server.pem").write_bytes(pem + certificate_builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    return tmp_path / "server.pem"


@contextlib.contextmanager
def https(certificate: Path) -> Iterator[str]:
    """The address of a server that answers each connection with a page."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            with contextlib.suppress(ssl.SSLError, ConnectionError):
                try:
                    plain, _ = listener.accept()
                except OSError:
                    return
                with context.wrap_socket(plain, server_side=True) as caller:
                    if not read_request(caller):
                        return
                    caller.sendall(PAGE)

    thread = threading.Thread(target=serve)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    trusting = ssl.create_default_context(cafile=certificate)
    with socket.create_connection(listener.getsockname()) as last, trusting.wrap_socket(last, server_hostname="127.0.0.1"):
        pass
    thread.join(10)
    listener.close()


def test_https__trusts_given_certificates_and_refuses_others(certificate: Path) -> None:
    trusting = ssl.create_default_context(cafile=certificate)
    with https(certificate) as url:
        with Touchbase(url, "tb_key", verify=trusting) as tb:
            assert tb.contacts.list()["data"] == []
        with Touchbase(url, "tb_key", retries=NO_RETRIES) as tb, pytest.raises(ConnectionFailed, match="certificate"):
            tb.contacts.list()


def test_threads__share_one_client(tb: Touchbase) -> None:
    with ThreadPoolExecutor(8) as pool:
        created = [*pool.map(lambda number: tb.contacts.create({"email": f"{number}@example.com"})["id"], range(24))]

    assert sorted(item["id"] for item in tb.contacts.iterate(limit=200)) == sorted(created)


def test_address__may_have_a_path() -> None:
    with Proxy(0, answers={0: PAGE}) as proxy, Touchbase(f"{proxy.url}/touchbase/") as tb:
        tb.contacts.list(fields=["id", "email"], filters={"contact_status[in]": "new,won"})

    assert proxy.requests[0].startswith(
        b"GET /touchbase/public/v2/contacts?fields=id%2Cemail&contact_status%5Bin%5D=new%2Cwon HTTP/1.1\r\n"
    )
