"""The origin of a URL: scheme, host and port."""

from __future__ import annotations

from urllib.parse import urlsplit

_PORTS = {"https": 443, "http": 80}


def origin_of(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port of an API's address; raise `ValueError` for other URLs (a password, a query)."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("not the address of an API")
    parts.hostname.encode("idna")  # raises `ValueError` for an empty or too long label now, not at the DNS lookup
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme]
