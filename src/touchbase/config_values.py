"""Values of settings: addresses, networks and origins, as they may be given."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_ORIGIN = re.compile(r"https?://(?:[a-z0-9.\-]+|\[[0-9a-f:]+\])(?::[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}

# Python versions differ on whether an IPv4-mapped IPv6 address is a loopback address.
_LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))


def is_loopback(address: str) -> bool:
    """Return whether a text is an address that only this machine can reach."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(found in network for network in _LOOPBACK)


def is_address(url: str) -> bool:
    """Return whether a text is an http or https URL without query and fragment."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.query and not parts.fragment
    except ValueError:
        return False


def is_network(text: str) -> bool:
    """Return whether a text is an address or a network, but not the whole internet."""
    try:
        return ipaddress.ip_network(text).prefixlen > 0
    except ValueError:
        return False


def is_origin(text: str) -> bool:
    """Return whether a text is an origin as browsers write it: scheme, host in lower case, port only if it is not the default."""
    return _ORIGIN.fullmatch(text) is not None and not text.endswith(_DEFAULT_PORTS[text.partition(":")[0]])


def is_api_origin(text: str) -> bool:
    """Return whether a text is an origin of a tool's API: a URL without password, path, query and fragment."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return text.isascii() and is_address(text) and "@" not in parts.netloc and parts.path in ("", "/")
