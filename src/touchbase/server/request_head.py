"""The head of a request: read, limited, checked against request smuggling, and made into an ASGI scope.

Request smuggling: no request may pass that a proxy in front could read in another way than this server.

The parser (llhttp) accepts several blanks for one, and RTSP and ICE for HTTP; a proxy in front may read such a line in another
way. The parser's result can only be compared with the bytes of the line, and the parser does not report where a request begins.
So it is fed parts in which a request begins at the start or not at all (`RequestLine.parts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from touchbase.common.asgi import path_of
from touchbase.server.error_responses import (
    HEADERS_TOO_LARGE,
    MALFORMED,
    NO_HOST,
    OTHER_HOST,
    OTHER_VERSION,
    TOO_MANY_HEADERS,
    TWO_LENGTHS,
    Refused,
)
from touchbase.server.limits import MAX_CHUNKS, ServerLimits
from touchbase.server.proxy_headers import TrustedProxies

SPECIAL = frozenset((b"content-length", b"transfer-encoding", b"host", b"expect", b"origin", b"sec-fetch-site", b"x-forwarded-host"))
"""Headers that determine where a request ends, how to respond, or whether to refuse it."""


BLANK_LINE = b"\r\n\r\n"
_LINE_ENDS = b"\r\n"
SCHEMES = (b"http", b"https")
Ends = tuple[Any, Any, Any]
"""The server's address, the peer's address, and the scheme of a connection."""


class RequestLine:
    """The request line that one connection is reading, byte for byte."""

    __slots__ = ("_is_open", "_last", "body_left", "text")

    def __init__(self) -> None:
        self.text = b""
        """The line as received, with its end; a part of it until the end is read."""
        self.body_left = 0
        """Bytes of a body with a Content-Length that are still to be read."""
        self._is_open = True
        self._last = b""
        """The last bytes that were read, if a blank line may begin in them."""

    def next(self) -> None:
        """Begin another request: the last one is complete."""
        self.text, self._is_open, self.body_left = b"", True, 0

    def parts(self, data: bytes) -> Iterator[bytes]:
        """Split data into parts that contain no byte after the end of a request; bytes of the line are recorded first."""
        if self._is_open and data.find(BLANK_LINE) == len(data) - len(BLANK_LINE) and not self._last:
            self._record(data)
            yield data  # the usual case: one request without a body, or the head of one
            return
        start = 0
        while start < len(data):
            end = self._end(data, start)
            part = data[start:end]
            if self._is_open:
                self._record(part)
            self._last = b"" if part.endswith(BLANK_LINE) else (self._last + part[-3:])[-3:]
            yield part
            start = end

    def is_as_understood(self, method: bytes, url: bytes, version: str) -> bool:
        """Return whether the line has exactly the parsed values, with single spaces."""
        return self.text == b"%b %b HTTP/%b\r\n" % (method, url, version.encode())

    def _end(self, data: bytes, start: int) -> int:
        """Return the end of the part that begins here: a request ends at a blank line or at the end of a body of known length."""
        if self.body_left:
            return min(start + self.body_left, len(data))
        if self._last and not start:
            end = (self._last + data[:3]).find(BLANK_LINE)
            if end >= 0:
                return end + len(BLANK_LINE) - len(self._last)
        end = data.find(BLANK_LINE, start)
        return len(data) if end < 0 else end + len(BLANK_LINE)

    def _record(self, part: bytes) -> None:
        text = self.text + part
        if not self.text:
            text = text.lstrip(_LINE_ENDS)  # line breaks before a request do not belong to it
        end = text.find(b"\n") + 1
        self._is_open = not end
        self.text = text[:end] if end else text


class HeadReader(HttpToolsProtocol):
    """The part of a connection that reads request heads."""

    def __init__(self, limits: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.limits = limits
        self.proxies: TrustedProxies | None = None
        """The trusted proxies, if the peer is one of them."""
        self.in_headers = False
        self.chunk_bytes = 0
        self.header_bytes = 0
        self.line = RequestLine()
        self.lengths = self.hosts = self.length = 0
        self.url = self.host = self.origin = self.fetch_site = self.forwarded_host = b""
        self.chunked = False
        self.framing = 0
        self.chunks: list[bytes] = []
        """Parts of a body in chunks that the parser has read in the data that it is being fed."""
        self.chunks_left = MAX_CHUNKS
        """How many chunks the body may still have."""
        self.has_deadline = False
        """Whether the current head already has its deadline."""

    def on_message_begin(self) -> None:
        """Reset the state at the first byte of a request."""
        self.limits.idle.pop(self, None)  # type: ignore[call-overload]  # it is a `protocol.Connection`
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self.in_headers, self.header_bytes, self.lengths, self.hosts, self.length = True, 0, 0, 0, 0
        self.host = self.origin = self.fetch_site = self.forwarded_host = b""
        self.chunked, self.framing, self.chunks_left = False, 0, MAX_CHUNKS
        self.has_deadline = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store one header field; trailers of a chunked body are dropped."""
        if not self.in_headers:
            return
        name, value = name.lower(), value.rstrip(b" \t")  # the parser leaves the white space after a value
        self.headers.append((name, value))
        if name in SPECIAL:
            self._record(name, value)

    def _record(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self.hosts += 1
            self.host = value
        elif name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        elif name == b"origin":
            self.origin = value
        elif name == b"sec-fetch-site":
            self.fetch_site = value.lower()
        elif name == b"x-forwarded-host":
            self.forwarded_host += b"," + value if self.forwarded_host else value
        else:
            self.lengths += 1
            if self.lengths > 1:
                raise Refused(TWO_LENGTHS)
            if not (value.isdigit() if name == b"content-length" else value.lower() == b"chunked"):
                raise Refused(MALFORMED)
            self.chunked = name == b"transfer-encoding"
            self.length = 0 if self.chunked else int(value)

    def _check_size(self) -> None:
        if len(self.headers) > self.limits.max_headers:
            raise Refused(TOO_MANY_HEADERS)
        most = self.limits.max_header_bytes
        # Count only if the received bytes may exceed the limit: counting is slow.
        if self.header_bytes + self.chunk_bytes > most:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > most:
                raise Refused(HEADERS_TOO_LARGE)

    def _make_scope(self, version: str) -> dict[str, Any]:
        method, ends = self.parser.get_method().decode("ascii"), (self.server, self.client, self.scheme)
        scope = make_scope(self.url, self.host, version, method, self.headers, ends)
        if self.proxies is not None:
            self.proxies.apply_forwarded_headers(scope)
            self.host = dict(scope["headers"]).get(b"host", b"")
        return scope


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


def split_target(target: bytes, host: bytes) -> tuple[bytes, bytes]:
    """Split a request's target into path and query.

    A target may be a whole URL (absolute form, as sent to proxies) if it names the same host as the Host
    header; anything else (another host, `*`, `host:port`, a fragment) raises `Refused`.
    """
    if target[:1] != b"/":
        scheme, _, remainder = target.partition(b"://")
        authority, slash, path = remainder.partition(b"/")
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
