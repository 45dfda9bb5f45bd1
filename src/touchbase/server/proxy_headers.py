"""Who calls, where proxies stand between the caller and us.

The address at the other end of a connection is a fact; `X-Forwarded-For`, `-Proto` and `-Host` are what
somebody says. They are believed on connections that come from a proxy that the operator has listed, and on
no others. What is believed takes the place of the connection's own facts in the scope, so that nobody
behind this module needs to know of proxies. `Forwarded` (RFC 7239) is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

Address = IPv4Address | IPv6Address

_HOST = re.compile(rb"(?:[A-Za-z0-9._\-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_SCHEMES = {b"http": "http", b"https": "https"}


def address_of(scope: Mapping[str, Any]) -> str:
    """The caller's address, as far as it can be known; empty where a connection has none (a Unix socket)."""
    client = scope.get("client")
    return client[0] if client else ""


class Proxies:
    """The proxies whose word on their callers is taken."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(each) for each in networks]

    def trust(self, address: str) -> bool:
        """Whether a connection from this address comes from one of them."""
        found = _address(address)
        return found is not None and self._has(found)

    def apply_forwarded_headers(self, scope: MutableMapping[str, Any]) -> None:
        """Put what a trusted proxy says of its caller in the place of what its connection shows.

        The caller is the rightmost address of `X-Forwarded-For` that is not a trusted proxy itself: whatever
        stands further left, the caller may have written. Of `-Proto` and `-Host` the last value counts.
        """
        said: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name.startswith(b"x-forwarded-"):
                said[name] = said[name] + b"," + value if name in said else value
        if not said:
            return
        if chain := said.get(b"x-forwarded-for"):
            scope["client"] = (self._caller(chain.decode("latin-1"), scope["client"][0]), 0)
        scheme = _SCHEMES.get(_last(said.get(b"x-forwarded-proto", b"")).lower())
        if scheme is not None:
            scope["scheme"] = scheme
        host = _last(said.get(b"x-forwarded-host", b""))
        if _HOST.fullmatch(host):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [(b"host", host), *others]

    def _caller(self, chain: str, peer: str) -> str:
        for each in reversed(chain.split(",")):
            found = _address(each.strip())
            if found is None:
                break
            peer = str(found)
            if not self._has(found):
                break
        return peer

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _address(text: str) -> Address | None:
    """An address that may carry a port, as some proxies write it; an IPv4 address in IPv6 clothes is an IPv4 address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _last(value: bytes) -> bytes:
    return value.rpartition(b",")[2].strip()
