"""The head of a request as it is read, and what is refused before it is whole."""

from __future__ import annotations

from typing import Any

from touchbase.server.asgi_scope import make_scope
from touchbase.server.deadlines import Deadlines
from touchbase.server.error_responses import HEADERS_TOO_LARGE, MALFORMED, TOO_MANY_HEADERS, TWO_LENGTHS, Refused
from touchbase.server.limits import ServerLimits
from touchbase.server.request_line import RequestLine

SPECIAL = frozenset((b"content-length", b"transfer-encoding", b"host", b"expect", b"origin", b"sec-fetch-site", b"x-forwarded-host"))
"""Headers that say where a request ends, how to answer it, or who must not be answered."""


class HeadReader(Deadlines):
    """A connection, as far as it reads heads."""

    def __init__(self, bounds: ServerLimits, *, config: Any, server_state: Any, app_state: Any, _loop: Any = None) -> None:
        super().__init__(bounds, config=config, server_state=server_state, app_state=app_state, _loop=_loop)
        self.chunk_bytes = 0
        self.header_bytes = 0
        self.line = RequestLine()
        self.lengths = self.hosts = self.length = 0
        self.url = self.host = self.origin = self.fetch_site = self.forwarded_host = b""
        self.chunked = False
        self.framing = 0
        self.timed = False
        """Whether the head that is being read has its deadline already."""

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self.bounds.idle.pop(self, None)
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self.in_headers, self.header_bytes, self.lengths, self.hosts, self.length = True, 0, 0, 0, 0
        self.host = self.origin = self.fetch_site = self.forwarded_host = b""
        self.chunked, self.framing = False, 0
        self.timed = False

    def wait_for_head(self) -> None:
        """Give the caller its time for the rest of a head, counted from the piece that the head began in."""
        if not self.timed:
            self.timed = True
            self.wait(self.bounds.header_timeout)

    def on_header(self, name: bytes, value: bytes) -> None:
        """One header field; those after a chunked body are dropped."""
        if not self.in_headers:
            return
        name, value = name.lower(), value.rstrip(b" \t")  # white space around a value is none of it, and the parser leaves what is behind
        self.headers.append((name, value))
        if name in SPECIAL:
            self._note(name, value)

    def _note(self, name: bytes, value: bytes) -> None:
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
        if len(self.headers) > self.bounds.max_headers:
            raise Refused(TOO_MANY_HEADERS)
        most = self.bounds.max_header_bytes
        # Counting costs, and is idle when all that has come in is less than what is allowed.
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
