"""A tool's API with hostile responses, each perhaps without an end."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

LENGTH = b"content-length: "


class ToolServer:
    """Answers every request with `head`, then with `endless` until the peer closes; with `following` the second request and later ones."""

    def __init__(self) -> None:
        self.head = self.endless = self.following = b""
        self.has_answered = threading.Event()
        """Set once a response has been sent, as far as the peer reads it."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.base = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def answer(self, head: bytes, endless: bytes, following: bytes = b"") -> None:
        """Answer the next requests like this."""
        self.head, self.endless, self.following = head, endless, following
        self.has_answered.clear()

    def close(self) -> None:
        """Accept no more connections."""
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                with connection, suppress(OSError):
                    _read_request(connection)
                    connection.sendall(self.head)
                    while self.endless:
                        connection.sendall(self.endless)
                self.head = self.following or self.head
                self.has_answered.set()


def _read_request(connection: socket.socket) -> None:
    request = b""
    while (piece := connection.recv(65_536)) and b"\r\n\r\n" not in request + piece:
        request += piece
    head, _, body = (request + piece).partition(b"\r\n\r\n")
    length = int(head.lower().partition(LENGTH)[2].partition(b"\r\n")[0] or 0)
    while len(body) < length and (piece := connection.recv(65_536)):
        body += piece
