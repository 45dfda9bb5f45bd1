"""The files of deploy/high-availability, with the addresses and folders of one machine in place of those of three."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bench.server_process import ROOT, CannotMeasure, free_port

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
        },
    )


def etcd(addresses: Addresses, folder: Path) -> dict[str, str]:
    """Environment variables of the only member of etcd."""
    text = filled(
        "etcd.env",
        {
            "db1=http://10.0.0.11:2380,db2=http://10.0.0.12:2380,app1=http://10.0.0.21:2380": f"db1=http://{HOME}:{addresses.etcd_peers}",
            "10.0.0.11:2379": f"{HOME}:{addresses.etcd}",
            "10.0.0.11:2380": f"{HOME}:{addresses.etcd_peers}",
            "/var/lib/etcd/touchbase": f"{folder}/etcd",
        },
    )
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def haproxy(addresses: Addresses) -> str:
    """HAProxy's file."""
    one, two = addresses.hosts["db1"], addresses.hosts["db2"]
    return filled(
        "haproxy.cfg",
        {
            "  user haproxy\n  group haproxy\n": "",
            "127.0.0.1:5000": f"{HOME}:{addresses.haproxy}",
            "10.0.0.11:5432 check port 8008": f"{HOME}:{one.postgres} check port {one.patroni}",
            "10.0.0.12:5432 check port 8008": f"{HOME}:{two.postgres} check port {two.patroni}",
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
