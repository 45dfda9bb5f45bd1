"""Bodies: reading one within its limits of size and time, and undoing gzip within the same size."""

from __future__ import annotations

import asyncio
import types
import zlib
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any

from touchbase.errors import MalformedBody
from touchbase.http.asgi_types import Headers, Message, Receive
from touchbase.http.dependencies import Limits
from touchbase.http.problems import BodyTooSlow, TooLarge, UnsupportedMediaType

MOST_PIECES = 16
"""Pieces of gzip, each whole in itself, that may make up one body."""


class CallerLeft(Exception):
    """The caller went away before its body was whole: there is nobody to answer."""


async def read_body(receive: Receive, headers: Headers, limit: int, limits: Limits) -> bytes:
    """The whole body as it arrived.

    Raises `TooLarge`, `BodyTooSlow` and `CallerLeft`. A body that is too long is read on and thrown away
    for a while, since most callers read no answer before they have sent everything.
    """
    announced = headers.get(b"content-length", b"")
    too_long = announced.isdigit() and int(announced) > limit
    if too_long and (b"expect" in headers or int(announced) > limits.drained_bytes):
        raise _too_large(limit)
    # Nearly always the whole body is here already. Taking the first step by hand tells, without a timer.
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
    """Go on with a coroutine whose first step was taken, as if it had been awaited from the start."""
    try:
        while True:
            try:
                answer = yield waiting_for
            except BaseException as error:
                waiting_for = step.throw(error)
            else:
                waiting_for = step.send(answer)
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
            raise CallerLeft
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


def unpack(body: bytes, encoding: bytes, limit: int) -> bytes:
    """The body with its `Content-Encoding` undone; raises `TooLarge`, `MalformedBody` and `UnsupportedMediaType`."""
    name = encoding.strip().lower()
    if name in (b"", b"identity"):
        return body
    if name not in (b"gzip", b"x-gzip"):
        raise UnsupportedMediaType(f"Content-Encoding {name.decode('latin-1')!r} is not read here; send gzip, or no Content-Encoding")
    return gunzip(body, limit)


def gunzip(body: bytes, limit: int) -> bytes:
    """What a gzip body holds, if that is at most `limit` bytes; more is never expanded."""
    whole: list[bytes] = []
    left = limit
    while body:
        if len(whole) == MOST_PIECES:
            # What follows a piece is copied to be looked at: a body of nothing but small ones would cost the square of its length.
            raise MalformedBody(f"the body is gzip in more than {MOST_PIECES} pieces; pack it as one")
        stream = zlib.decompressobj(wbits=31)
        try:
            piece = stream.decompress(body, left + 1)
        except zlib.error as error:
            raise MalformedBody(f"the body is said to be gzip and cannot be expanded: {error}") from None
        left -= len(piece)
        if left < 0:
            raise TooLarge(f"the body expands to more than {limit} bytes")
        if not stream.eof:
            raise MalformedBody("the body is said to be gzip and ends too early")
        whole.append(piece)
        body = stream.unused_data
    return b"".join(whole)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body may have at most {limit} bytes")


def _slow(limits: Limits) -> str:
    return f"the body must arrive within {limits.body_seconds:g} seconds, and no pause in it may last {limits.body_idle_seconds:g}"
