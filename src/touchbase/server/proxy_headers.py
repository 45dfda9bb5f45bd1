"""Proxy headers: the HTTP client's address, scheme and host behind trusted proxies.

Any peer can send `X-Forwarded-For`, `-Proto` and `-Host`, so they count only on connections from a proxy that
the operator has listed. They then replace the connection's own values in the scope, and no other module needs
to know of proxies. `Forwarded` (RFC 7239) is not supported.
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
    """Return the HTTP client's address; empty if the connection has none (a Unix socket)."""
    client = scope.get("client")
    return client[0] if client else ""


class TrustedProxies:
    """The proxies whose `X-Forwarded-*` headers are trusted."""

    def __init__(self, networks: Iterable[str]) -> None:
        self._networks = [ip_network(network) for network in networks]

    def trust(self, address: str) -> bool:
        """Return whether this is the address of a trusted proxy."""
        client = _address(address)
        return client is not None and self._includes(client)

    def apply_forwarded_headers(self, scope: MutableMapping[str, Any]) -> None:
        """Replace client, scheme and host in the scope with the values of the `X-Forwarded-*` headers.

        The client is the rightmost address of `X-Forwarded-For` that is not a trusted proxy: addresses further
        left may be forged. Of `-Proto` and `-Host` the last value counts.
        """
        forwarded: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name.startswith(b"x-forwarded-"):
                forwarded[name] = forwarded[name] + b"," + value if name in forwarded else value
        if not forwarded:
            return
        if chain := forwarded.get(b"x-forwarded-for"):
            scope["client"] = (self._client_address(chain.decode("latin-1"), scope["client"][0]), 0)
        scheme = _SCHEMES.get(_last(forwarded.get(b"x-forwarded-proto", b"")).lower())
        if scheme is not None:
            scope["scheme"] = scheme
        host = _last(forwarded.get(b"x-forwarded-host", b""))
        if _HOST.fullmatch(host):
            others = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope["headers"] = [(b"host", host), *others]

    def _client_address(self, chain: str, peer: str) -> str:
        for hop in reversed(chain.split(",")):
            client = _address(hop.strip())
            if client is None:
                break
            peer = str(client)
            if not self._includes(client):
                break
        return peer

    def _includes(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def _address(text: str) -> Address | None:
    """Parse an address with an optional port, as some proxies write it; an IPv4-mapped IPv6 address becomes the IPv4 address."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    mapped = parsed.ipv4_mapped if isinstance(parsed, IPv6Address) else None
    return mapped or parsed


def _last(value: bytes) -> bytes:
    return value.rpartition(b",")[2].strip()
