"""Frames: byte strings on a socket between two processes of ours, each behind its length."""

from __future__ import annotations

import pickle
import socket
from typing import Any

_LENGTH = 8


def pack(value: object) -> bytes:
    """A value for a frame."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpack(frame: bytes) -> Any:
    """The value in a frame. Both ends are our own program, of one version, and nobody else has the socket."""
    return pickle.loads(frame)  # noqa: S301 (see above)


def send(connection: socket.socket, frame: bytes) -> None:
    """Send one frame."""
    connection.sendall(len(frame).to_bytes(_LENGTH, "big"))
    connection.sendall(frame)


def receive(connection: socket.socket) -> bytes | None:
    """The next frame; None when the other end has closed."""
    length = _exactly(connection, _LENGTH)
    return None if length is None else _exactly(connection, int.from_bytes(length, "big"))


def _exactly(connection: socket.socket, size: int) -> bytes | None:
    received = bytearray(size)
    view, at = memoryview(received), 0
    while at < size:
        count = connection.recv_into(view[at:])
        if count == 0:
            return None
        at += count
    return bytes(received)
