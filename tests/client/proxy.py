"""A proxy between a client and a server that breaks connections as a test says."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

Plan = Callable[[int, bytes], str]
"""Number of a request, and its bytes -> `pass`, `lose` (the server carries it out, its response is lost) or `refuse` (it never arrives)."""


@dataclass
class Proxy:
    """Passes requests on one after the other, one connection each, and says what it passed on."""

    to: int
    plan: Plan = lambda number, request: "pass"
    answers: dict[int, bytes] = field(default_factory=dict)
    """Responses that the proxy gives by itself, by the number of the request."""
    requests: list[bytes] = field(default_factory=list)

    def __enter__(self) -> Proxy:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            self.listener.close()
        self.thread.join(30)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _serve(self) -> None:
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            with caller, contextlib.suppress(OSError):
                if request := read_request(caller):
                    self._pass(caller, request)

    def _pass(self, caller: socket.socket, request: bytes) -> None:
        number = len(self.requests)
        self.requests.append(request)
        if number in self.answers:
            caller.sendall(self.answers[number])
            return
        step = self.plan(number, request)
        if step == "refuse":
            return
        with socket.create_connection(("127.0.0.1", self.to)) as server:
            head, _, body = request.partition(b"\r\n\r\n")
            server.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
            response = b"".join(iter(lambda: server.recv(65_536), b""))
        if step == "cut":
            caller.sendall(response[:-5])
        elif step != "lose":
            caller.sendall(response)


def read_request(caller: socket.socket) -> bytes:
    """Read one request with its body."""
    result = b""
    while b"\r\n\r\n" not in result:
        piece = caller.recv(65_536)
        if not piece:
            return b""
        result += piece
    head, _, body = result.partition(b"\r\n\r\n")
    length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    while len(body) < length:
        body += caller.recv(65_536)
    return head + b"\r\n\r\n" + body


def response(status: int, body: bytes = b"", *headers: str) -> bytes:
    """A whole response."""
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body
