"""The files of deploy/high-availability, with the addresses and folders of one machine in place of those of three."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from bench.server_process import ROOT, CannotMeasure, free_port
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

SHIPPED = ROOT / "deploy" / "high-availability"
HOME = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Ports:
    """Ports of one database host."""

    postgres: int
    patroni: int


@dataclass(frozen=True, slots=True)
class Addresses:
    """Ports of the whole set; all of its hosts are this machine."""

    hosts: Mapping[str, Ports]
    etcd: int
    etcd_peers: int
    haproxy: int
    pgbouncer: int

    @classmethod
    def free(cls) -> Addresses:
        """Choose ports that nothing uses."""
        return cls({name: Ports(free_port(), free_port()) for name in ("db1", "db2")}, *(free_port() for _ in range(4)))


def filled(name: str, replaced: Mapping[str, str]) -> str:
    """Return a shipped file with its places replaced, each of which it must name."""
    text = (SHIPPED / name).read_text(encoding="utf-8")
    for shipped, ours in replaced.items():
        if shipped not in text:
            raise CannotMeasure(f"deploy/high-availability/{name} does not say {shipped!r}")
        text = text.replace(shipped, ours)
    return text


def patroni(name: str, addresses: Addresses, folder: Path, programs: Path) -> str:
    """Patroni's file of one host."""
    ports = addresses.hosts[name]
    return filled(
        "patroni.yml",
        {
            "name: db1": f"name: {name}",
            "10.0.0.11:2379,10.0.0.12:2379,10.0.0.21:2379": f"{HOME}:{addresses.etcd}",
            "10.0.0.11:8008": f"{HOME}:{ports.patroni}",
            "10.0.0.11:5432": f"{HOME}:{ports.postgres}",
            "10.0.0.0/24": f"{HOME}/32",
            "/var/lib/postgresql/touchbase": f"{folder}/{name}",
            "/usr/lib/postgresql/15/bin": f"{programs}",
            "/var/run/postgresql": f"{folder}",
            "/etc/touchbase-tls": f"{folder}",
        },
    )


def etcd(addresses: Addresses, folder: Path) -> dict[str, str]:
    """Environment variables of the only member of etcd."""
    text = filled(
        "etcd.env",
        {
            "db1=https://10.0.0.11:2380,db2=https://10.0.0.12:2380,app1=https://10.0.0.21:2380": f"db1=https://{HOME}:{addresses.etcd_peers}",
            "10.0.0.11:2379": f"{HOME}:{addresses.etcd}",
            "10.0.0.11:2380": f"{HOME}:{addresses.etcd_peers}",
            "/var/lib/etcd/touchbase": f"{folder}/etcd",
            "/etc/touchbase-tls": f"{folder}",
        },
    )
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def haproxy(addresses: Addresses, folder: Path) -> str:
    """HAProxy's file."""
    first, second = addresses.hosts["db1"], addresses.hosts["db2"]
    return filled(
        "haproxy.cfg",
        {
            "  user haproxy\n  group haproxy\n": "",
            "/etc/touchbase-tls": f"{folder}",
            "127.0.0.1:5000": f"{HOME}:{addresses.haproxy}",
            "10.0.0.11:5432 check port 8008": f"{HOME}:{first.postgres} check port {first.patroni}",
            "10.0.0.12:5432 check port 8008": f"{HOME}:{second.postgres} check port {second.patroni}",
        },
    )


def pgbouncer(addresses: Addresses, folder: Path) -> str:
    """PgBouncer's file."""
    return filled(
        "pgbouncer.ini",
        {
            "port=5000": f"port={addresses.haproxy}",
            "listen_port = 6432": f"listen_port = {addresses.pgbouncer}",
            "/etc/pgbouncer/userlist.txt": f"{folder}/userlist.txt",
        },
    )


def certificates(folder: Path) -> ssl.SSLContext:
    """Write `ca.pem`, and `host.pem` and `host.key` for this machine; return the context of a client that has them."""
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "host")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"touchbase {name}")]) for name in keys}
    today = datetime.now(UTC)
    for name, key in keys.items():
        builder = (
            x509.CertificateBuilder(names["ca"], names[name], key.public_key(), x509.random_serial_number())
            .not_valid_before(today - timedelta(days=1))
            .not_valid_after(today + timedelta(days=2))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(HOME))]), critical=False)
        )
        created = builder.sign(keys["ca"], hashes.SHA256())
        (folder / f"{name}.pem").write_bytes(created.public_bytes(serialization.Encoding.PEM))
    pem = keys["host"].private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "host.key").write_bytes(pem)
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "host.pem", folder / "host.key")
    return context
