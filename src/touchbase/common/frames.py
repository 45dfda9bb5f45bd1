"""Frames: byte strings on a socket between two processes of ours, each behind its length."""

from __future__ import annotations

import pickle
import socket
from typing import Any

READY = b"ready"
"""What a process sends first, so that the time that it takes to start counts against no job."""
_LENGTH = 8
_USUAL = 256 * 1024


def pack(value: object) -> bytes:
    """A value for a frame."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpack(frame: bytes) -> Any:
    """The value in a frame. Both ends are our own program of one version, and no other process has the socket."""
    return pickle.loads(frame)  # noqa: S301 (see above)


def send(connection: socket.socket, frame: bytes) -> None:
    """Send one frame, in one call: each gives up the interpreter, and waits for it again."""
    connection.sendall(len(frame).to_bytes(_LENGTH, "big") + frame)


def receive(connection: socket.socket) -> bytes | None:
    """The next frame; None when the other end has closed. The other end sends nothing more before it gets an answer."""
    first = connection.recv(_USUAL)
    while len(first) < _LENGTH:
        more = connection.recv(_USUAL)
        if not more:
            return None
        first += more
    received = bytearray(int.from_bytes(first[:_LENGTH], "big"))
    at = len(first) - _LENGTH
    view = memoryview(received)
    view[:at] = first[_LENGTH:]
    while at < len(received):
        count = connection.recv_into(view[at:])
        if count == 0:
            return None
        at += count
    return bytes(received)
