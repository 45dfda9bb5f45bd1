"""Peers: who is at the other end of a connection, as far as limits for each address are concerned."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

NOBODY = ""
"""The peer of a call that came over no network, such as a Unix socket."""


def peer_of(scope: Mapping[str, Any]) -> str:
    """The peer of an ASGI scope. Where a proxy is trusted, the scope tells of its caller by now."""
    return peer_at(scope.get("client"))


def peer_at(address: Sequence[Any] | None) -> str:
    """The peer at a socket's address (host, port); `NOBODY` where there is none."""
    return _named(str(address[0])) if address else NOBODY


@lru_cache(maxsize=4096)
def _named(host: str) -> str:
    """An IPv4 address as it is; of an IPv6 address its /64, since whoever has one address of that has them all."""
    try:
        found = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))
