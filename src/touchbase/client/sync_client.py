"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from touchbase.client.core import Core, Wire, received
from touchbase.client.errors import IncompleteDownload
from touchbase.client.groups import Groups
from touchbase.client.request import Request, Response
from touchbase.client.retries import Broken, Received, Retries

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")


Opened = tuple[int, list[tuple[bytes, bytes]], Callable[[], Iterator[bytes]], Callable[[], bytes]]
"""Status, headers, and how to read the body: in pieces, or at once."""


class Transport(Protocol):
    """Sends requests; `transport.SyncTransport` sends them over connections."""

    def send(self, wire: Wire) -> Received | Broken:
        """Send a request and read its whole response."""

    def stream(self, wire: Wire) -> AbstractContextManager[Opened]:
        """Send a request and yield its response."""

    def close(self) -> None:
        """Close all connections."""


class _Connections:
    """The connections that clients of one address share; httpcore is loaded with the first request."""

    def __init__(self, verify: ssl.SSLContext | None, transport: Transport | None = None) -> None:
        self._verify = verify
        self._transport = transport
        self._lock = Lock()

    @property
    def transport(self) -> Transport:
        with self._lock:
            if self._transport is None:
                from touchbase.client.transport import SyncTransport

                self._transport = SyncTransport(self._verify)
            return self._transport

    def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()


class Touchbase(Groups):
    """A Touchbase server, for programs without an event loop; threads may share one.

    `url`: its address, with a path if it has one. `key`: an API key; none for a server without keys. `client_id`: the client to act
    for, if the key is not of one client. `timeout`: seconds without an answer before a request counts as lost. `retries`: how
    requests are repeated. `verify`: certificates to trust other than the system's.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        client_id: str | None = None,
        timeout: float = 30.0,
        retries: Retries | None = None,
        verify: ssl.SSLContext | None = None,
        transport: Transport | None = None,
    ) -> None:
        super().__init__(self)
        self._core = Core.of(url, key, client_id, timeout, retries or Retries())
        self._connections = _Connections(verify, transport)

    def for_client(self, client_id: str | None) -> Self:
        """Return the same server, acting for another client; both share their connections."""
        made = type(self)(self._core.url, timeout=self._core.timeout)
        made._core, made._connections = self._core.for_client(client_id), self._connections
        return made

    def __repr__(self) -> str:
        client = f", client_id={self._core.client_id!r}" if self._core.client_id else ""
        return f"Touchbase({self._core.url!r}{client})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._connections.close()

    @property
    def retries(self) -> Retries:
        """How requests are repeated."""
        return self._core.retries

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        time.sleep(seconds)

    def send(self, request: Request[T], /) -> Response[T]:
        """Send a request until it has a final outcome; return its answer or raise its error."""
        attempts = self._core.attempts(request)
        wire = self._core.wire(request, attempts)
        while True:
            ended = self._connections.transport.send(wire)
            pause = attempts.pause(ended)
            if pause is None:
                return self._core.answer(request, ended, attempts)
            self.sleep(pause)

    def stream(self, request: Request[bytes], /) -> Generator[bytes, None, None]:
        """Send a request and yield its answer in pieces; repeat it until the first piece, but not after it."""
        attempts = self._core.attempts(request)
        wire = self._core.wire(request, attempts)
        while True:
            with closing(self._pieces(wire)) as pieces:
                first = next(pieces)
                if isinstance(first, bytes):
                    for piece in pieces:
                        if not isinstance(piece, bytes):
                            raise IncompleteDownload(f"the connection to {self._core.url} broke before the end of the answer")
                        yield piece
                    return
            pause = attempts.pause(first)
            if pause is None:
                self._core.answer(request, first, attempts)
                return
            self.sleep(pause)

    def _pieces(self, wire: Wire) -> Generator[bytes | Received | Broken, None, None]:
        """Yield the pieces of a successful response, the first of them empty; or what it is in place of one."""
        from touchbase.client.transport import FAILURES, broken

        try:
            with self._connections.transport.stream(wire) as (status, headers, pieces, whole):
                if not 200 <= status < 300:
                    yield received(status, headers, whole())
                    return
                yield b""
                yield from pieces()
        except FAILURES as error:
            yield broken(error)
