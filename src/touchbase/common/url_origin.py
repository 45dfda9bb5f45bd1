"""The origin of a URL: scheme, host and port."""

from __future__ import annotations

from urllib.parse import urlsplit

_PORTS = {"https": 443, "http": 80}


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address; `ValueError` when it is none that may be asked (a password, a query)."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("no address of an API")
    parts.hostname.encode("idna")  # a label that is empty or too long is a `ValueError` too, here and not when it is looked up
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
