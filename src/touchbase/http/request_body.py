"""Request bodies: read within limits of size and time, and decompressed within the same limit of size."""

from __future__ import annotations

import asyncio
import types
import zlib
from collections.abc import AsyncIterator, Awaitable, Coroutine, Generator
from typing import Any

from touchbase.common.asgi import STREAMED
from touchbase.errors import MalformedBody
from touchbase.http.asgi_types import Headers, Message, Receive, Scope
from touchbase.http.dependencies import Limits
from touchbase.http.problems import BodyTooSlow, TooLarge, UnsupportedMediaType

MOST_PIECES = 16
"""Concatenated gzip members of one body."""


class ClientDisconnected(Exception):
    """The HTTP client disconnected before its body was complete; no response is possible."""


async def read_body(receive: Receive, headers: Headers, limit: int, limits: Limits) -> bytes:
    """Read the whole body, without decompressing it.

    Raises `TooLarge`, `BodyTooSlow` and `ClientDisconnected`. A body that is too long is read and discarded up to
    a limit, because most HTTP clients read no response before they have sent everything.
    """
    announced = headers.get(b"content-length", b"")
    too_long = announced.isdigit() and int(announced) > limit
    if too_long and (b"expect" in headers or int(announced) > limits.drained_bytes):
        raise _too_large(limit)
    # Usually the whole body is here already. Starting the coroutine by hand shows it, without a timer.
    step = receive()
    message: Message | None = None
    if isinstance(step, types.CoroutineType):
        try:
            waiting_for = step.send(None)
        except StopIteration as stop:
            message = stop.value
        else:
            step = _resumed(step, waiting_for)
    if message is not None and message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _too_large(limit)
        return body
    return await _read_in_pieces(step, message, receive, limit, limits)


@types.coroutine
def _resumed(step: Coroutine[Any, Any, Message], waiting_for: Any) -> Generator[Any, Any, Message]:
    """Continue a coroutine after its first step, as if it had been awaited from the start."""
    try:
        while True:
            try:
                result = yield waiting_for
            except BaseException as error:
                waiting_for = step.throw(error)
            else:
                waiting_for = step.send(result)
    except StopIteration as stop:
        message: Message = stop.value
        return message


async def _read_in_pieces(step: Awaitable[Message], message: Message | None, receive: Receive, limit: int, limits: Limits) -> bytes:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + limits.body_seconds
    pieces: list[bytes] = []
    size = 0
    while True:
        if message is None:
            try:
                async with asyncio.timeout_at(min(deadline, loop.time() + limits.body_idle_seconds)):
                    message = await step
            except TimeoutError:
                raise BodyTooSlow(_slow(limits)) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        piece: bytes = message.get("body", b"")
        size += len(piece)
        if size <= limit:
            pieces.append(piece)
        elif size > limits.drained_bytes:
            raise _too_large(limit)
        else:
            pieces.clear()
        if not message.get("more_body", False):
            break
        step, message = receive(), None
    if size > limit:
        raise _too_large(limit)
    return b"".join(pieces)


async def stream_body(scope: Scope, receive: Receive, headers: Headers, limit: int, limits: Limits) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; raises as `read_body` does. The pieces before are the caller's, and count no longer as memory."""
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("a file is sent without Content-Encoding; decompress it")
    scope[STREAMED] = True
    deadline, size, more = asyncio.get_running_loop().time() + limits.file_seconds, 0, True
    while more:
        try:
            async with asyncio.timeout_at(min(deadline, asyncio.get_running_loop().time() + limits.body_idle_seconds)):
                message = await receive()
        except TimeoutError:
            raise BodyTooSlow(
                f"the file must arrive within {limits.file_seconds:g} seconds, and no pause in it may last {limits.body_idle_seconds:g}"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        piece, more = message.get("body", b""), message.get("more_body", False)
        size += len(piece)
        if size > limit:
            raise _too_large(limit)
        if piece:
            yield piece


def unpack(body: bytes, encoding: bytes, limit: int) -> bytes:
    """Decompress the body by its `Content-Encoding`; raises `TooLarge`, `MalformedBody` and `UnsupportedMediaType`."""
    name = encoding.strip().lower()
    if name in (b"", b"identity"):
        return body
    if name not in (b"gzip", b"x-gzip"):
        raise UnsupportedMediaType(f"Content-Encoding {name.decode('latin-1')!r} is not supported; send gzip, or no Content-Encoding")
    return gunzip(body, limit)


def gunzip(body: bytes, limit: int) -> bytes:
    """Decompress a gzip body, never more than `limit` bytes."""
    whole: list[bytes] = []
    left = limit
    while body:
        if len(whole) == MOST_PIECES:
            # The data after each member is copied, so a body of only small members would take quadratic time.
            raise MalformedBody(f"the body has more than {MOST_PIECES} gzip members; compress it as one")
        stream = zlib.decompressobj(wbits=31)
        try:
            piece = stream.decompress(body, left + 1)
        except zlib.error as error:
            raise MalformedBody(f"the body has Content-Encoding gzip and cannot be decompressed: {error}") from None
        left -= len(piece)
        if left < 0:
            raise TooLarge(f"the body expands to more than {limit} bytes")
        if not stream.eof:
            raise MalformedBody("the body has Content-Encoding gzip and ends too early")
        whole.append(piece)
        body = stream.unused_data
    return b"".join(whole)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body may have at most {limit} bytes")


def _slow(limits: Limits) -> str:
    return f"the body must arrive within {limits.body_seconds:g} seconds, and no pause in it may last {limits.body_idle_seconds:g}"
