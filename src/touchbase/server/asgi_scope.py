"""The ASGI scope of a request, and the checks against request smuggling: no request that two servers could read differently."""

from __future__ import annotations

import re
import urllib.parse
from typing import Any

from touchbase.server.error_responses import MALFORMED, NO_HOST, OTHER_HOST, OTHER_VERSION, Refused

SCHEMES = (b"http", b"https")
_SLASH = re.compile("%2f", re.IGNORECASE)
Ends = tuple[Any, Any, Any]
"""The server's address, the peer's address, and the scheme of a connection."""


def make_scope(target: bytes, host: bytes, version: str, method: str, headers: list[tuple[bytes, bytes]], ends: Ends) -> dict[str, Any]:
    """Build the ASGI scope of a request for this target on a connection with these ends; raises `Refused`."""
    raw_path, query = split_target(target, host)
    server, client, scheme = ends
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": version,
        "server": server,
        "client": client,
        "scheme": scheme,
        "method": method,
        "root_path": "",
        "path": path_of(raw_path.decode("ascii")),
        "raw_path": raw_path,
        "query_string": query,
        "headers": headers,
        "state": {},
    }


def path_of(raw: str) -> str:
    """Decode a path for routing, except `%2F`, which does not separate segments; a proxy in front reads it the same way."""
    if "%" not in raw:
        return raw
    return "%2F".join(urllib.parse.unquote(part) for part in _SLASH.split(raw))


def split_target(target: bytes, host: bytes) -> tuple[bytes, bytes]:
    """Split a request's target into path and query.

    A target may be a whole URL (absolute form, as sent to proxies) if it names the same host as the Host
    header; anything else (another host, `*`, `host:port`, a fragment) raises `Refused`.
    """
    if target[:1] != b"/":
        scheme, _, rest = target.partition(b"://")
        authority, slash, path = rest.partition(b"/")
        if scheme.lower() not in SCHEMES:
            raise Refused(MALFORMED)
        if authority.lower() != host.lower():
            raise Refused(OTHER_HOST)
        target = b"/" + path if slash else b"/"
    if b"#" in target:
        raise Refused(MALFORMED)
    path, _, query = target.partition(b"?")
    return path, query


def check_version(version: str, *, chunked: bool, hosts: int) -> None:
    """Raise `Refused` for an unsupported version of HTTP, and for a request that its version does not allow."""
    if version not in ("1.1", "1.0"):
        raise Refused(OTHER_VERSION)
    if chunked and version == "1.0":
        # An HTTP/1.0 proxy forwards chunks without knowing their framing.
        raise Refused(MALFORMED)
    if hosts != 1 and (hosts or version == "1.1"):
        raise Refused(NO_HOST)


def head_without_upgrade(method: bytes, url: bytes, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Rebuild the head of a request without its `Upgrade` header, to parse it a second time."""
    lines = [b"%b: %b\r\n" % (name, value) for name, value in headers if name not in (b"upgrade", b"connection")]
    return b"%b %b HTTP/1.1\r\n%bconnection: close\r\n\r\n" % (method, url, b"".join(lines))
