"""Whom open mode serves: calls that address this machine by a name of its own, and come from no foreign web page.

Without keys, whoever reaches us may do everything; bound to loopback, that is this machine. A web page that
somebody here looks at could reach us too: by a name that it makes to resolve to 127.0.0.1 (then `Host` gives
it away), or by sending a form across origins (then `Origin` does).
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from touchbase.api.asgi import Headers
from touchbase.api.errors import ForeignCaller

MOST_REMEMBERED = 1_000


class Hosts:
    """The names that are our own; `names` besides those of this machine."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names | {"localhost"}
        self._known: set[bytes | None] = {None}  # HTTP/1.0, which no browser speaks

    def check(self, headers: Headers) -> None:
        """Raise `ForeignCaller` unless the call names us and comes from no other site."""
        host = headers.get(b"host")
        if host not in self._known:
            self._look_at(host)
        origin = headers.get(b"origin")
        if origin is not None and not self._is_own(urlsplit_or_none(origin.decode("latin-1"))):
            raise ForeignCaller(
                f"open mode takes no calls from a web page of {origin[:100].decode('latin-1')!r}; serve with --auth keys for that"
            )

    def _look_at(self, host: bytes | None) -> None:
        name = (host or b"").decode("latin-1")
        if not self._is_own(urlsplit_or_none(f"//{name}")):
            raise ForeignCaller(
                f"open mode serves this machine only, and the call is for {name[:100]!r}: call 127.0.0.1, "
                "name the address with --public-url, or serve with --auth keys"
            )
        if len(self._known) < MOST_REMEMBERED:
            self._known.add(host)

    def _is_own(self, name: str | None) -> bool:
        if name is None:
            return False
        if name in self._names or name.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return False


def urlsplit_or_none(url: str) -> str | None:
    """The host of an address, in small letters; None when there is none."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
