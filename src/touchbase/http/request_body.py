"""Request bodies: read within limits of size and time, decompressed within the same limit of size, and decoded from JSON.

Decoding is fast for valid bodies, and finds all faults of invalid ones.
"""

from __future__ import annotations

import asyncio
import types
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

import msgspec

from touchbase.common.asgi import STREAMED, Headers, Message, Receive, Scope
from touchbase.errors import Fault, Invalid, MalformedBody
from touchbase.http.body_errors import THOROUGH_BYTES, decode_leniently, first_fault, parse_json, with_rules
from touchbase.http.dependencies import RequestLimits
from touchbase.http.problems import BodyTooSlow, TooLarge, UnsupportedMediaType

S = TypeVar("S", bound=msgspec.Struct)
Rules = Callable[[S], object]
"""Checks the rules beyond types; raises `Invalid`."""

MOST_VALUES = 1_000_000
"""Values in a JSON body, counted by their commas."""
MOST_CONTAINERS = 500_000
"""Objects and lists in a JSON body."""
_BUT_MARKS = bytes(set(range(256)) - set(b'[]{},"'))
_PIECE = 1_048_576
NUL = rb"\u0000"
"""Only this escape can put a NUL into a JSON text that msgspec accepts."""

_ALIKE = bytes.maketrans(b"{}", b"[]")

SLOWEST_FILE = 1024
"""Bytes a second that a file arrives at, measured over `body_seconds`: a client has few uploads at once, which drops must not occupy."""
MOST_PIECES = 16
"""Concatenated gzip members of one body."""


class ClientDisconnected(Exception):
    """The HTTP client disconnected before its body was complete; no response is possible."""


async def read_body(receive: Receive, headers: Headers, limit: int, limits: RequestLimits) -> bytes:
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


async def _read_in_pieces(step: Awaitable[Message], message: Message | None, receive: Receive, limit: int, limits: RequestLimits) -> bytes:
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


async def stream_body(scope: Scope, receive: Receive, headers: Headers, limit: int, limits: RequestLimits) -> AsyncIterator[bytes]:
    """Yield a body as it arrives; raises as `read_body` does. The pieces before are the caller's, and count no longer as memory."""
    announced = headers.get(b"content-length", b"")
    if announced.isdigit() and int(announced) > limit:
        raise _too_large(limit)
    if headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("a file is sent without Content-Encoding; decompress it")
    if headers.get(b"content-type", b"").lstrip().lower().startswith(b"multipart/"):
        raise UnsupportedMediaType("a file is the body itself and no part of a form; send it so, as `curl --data-binary @FILE` does")
    scope[STREAMED] = True
    loop = asyncio.get_running_loop()
    deadline, patience, size, more = loop.time() + limits.file_seconds, limits.body_seconds, 0, True
    while more:
        began = loop.time()
        try:
            async with asyncio.timeout_at(min(deadline, began + min(patience, limits.body_idle_seconds))):
                message = await receive()
        except TimeoutError:
            raise BodyTooSlow(
                f"the file must arrive within {limits.file_seconds:g} seconds, no pause in it may last {limits.body_idle_seconds:g}, and "
                f"after {limits.body_seconds:g} seconds it must have arrived at {SLOWEST_FILE:,} bytes a second or faster"
            ) from None
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        piece, more = message.get("body", b""), message.get("more_body", False)
        # Only waiting for the sender counts: while the store is slow, nothing is read.
        patience = min(limits.body_seconds, max(0.0, patience - (loop.time() - began)) + len(piece) / SLOWEST_FILE)
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
    parts: list[bytes] = []
    left = limit
    while body:
        if len(parts) == MOST_PIECES:
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
        parts.append(piece)
        body = stream.unused_data
    return b"".join(parts)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"the body may have at most {limit} bytes")


def _slow(limits: RequestLimits) -> str:
    return f"the body must arrive within {limits.body_seconds:g} seconds, and no pause in it may last {limits.body_idle_seconds:g}"


async def read_json(receive: Receive, headers: Headers, limits: RequestLimits, most: int | None = None) -> bytes:
    """Read a JSON body of at most `most` bytes: decompressed, valid UTF-8 and not nested beyond the limit."""
    most = limits.api_body_bytes if most is None else most
    kind = headers.get(b"content-type")
    if kind is not None and kind != b"application/json":
        check_json_type(kind)
    body = await read_body(receive, headers, most, limits)
    encoding = headers.get(b"content-encoding")
    if encoding is not None:
        body = unpack(body, encoding, most)
    if not body.isascii():
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedBody(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    if len(body) > MOST_VALUES or body.count(b"[") + body.count(b"{") > limits.nesting:
        check_structure(body, limits.nesting)
    return body


def check_json_type(content_type: bytes) -> None:
    """Raise `UnsupportedMediaType` unless this is JSON, whatever its parameters."""
    name = content_type.partition(b";")[0].strip().lower()
    if name and name != b"application/json" and not (name.startswith(b"application/") and name.endswith(b"+json")):
        raise UnsupportedMediaType(f"Content-Type {name.decode('latin-1')!r} is not supported; send application/json")


def check_structure(body: bytes, deepest: int) -> None:
    """Raise `MalformedBody` when brackets are nested deeper than `deepest`, or do not match, and `Invalid` for too many values.

    A body of 16 KB can expand to eight million values; it takes half a gigabyte to decode them before a list is found too long.
    """
    brackets = _brackets_and_commas(body)
    commas = brackets.count(b",")
    if commas >= MOST_VALUES or len(brackets) - commas > 2 * MOST_CONTAINERS:
        raise _too_many()
    brackets = brackets.translate(_ALIKE, b",")
    for _ in range(deepest):
        # Each iteration removes the innermost level. The parser checks whether the kinds of brackets match.
        before = len(brackets)
        brackets = brackets.replace(b"[]", b"")
        if len(brackets) == before:
            break
    if brackets:
        raise MalformedBody(f"the body is nested deeper than {deepest} levels, or its brackets do not match")


def _too_many() -> Invalid:
    detail = f"has more than {MOST_VALUES:,} values, or {MOST_CONTAINERS:,} objects and lists; send fewer at a time"
    return Invalid([Fault("", "too_many", detail)])


def _brackets_and_commas(body: bytes) -> bytes:
    """Return the brackets and commas outside of texts; raise `Invalid` for more texts than as many values and their names can be."""
    if b"\\" in body:
        body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # Two quotes without a mark in between can go: whether a later mark is outside of texts stays the same.
    marks = body.translate(None, _BUT_MARKS).replace(b'""', b"")
    if marks.count(b'"') > 4 * MOST_VALUES:
        raise _too_many()
    outside: list[bytes] = []
    is_inside = 0
    for start in range(0, len(marks), _PIECE):  # a list of all pieces would take ten times the body
        pieces = marks[start : start + _PIECE].split(b'"')
        outside.append(b"".join(pieces[is_inside::2]))
        is_inside = (is_inside + len(pieces) - 1) % 2
    return b"".join(outside)


def read_struct(body: bytes, decoder: msgspec.json.Decoder[S], wanted: type[S], rules: Rules[S], *, thorough: bool = True) -> S:
    """Decode the body as `wanted`.

    Raises `MalformedBody`, or `Invalid` with all faults, including the ones of `rules`, if types or texts are
    invalid. If they are valid, the caller checks the rules. Of a body that is long or not to be read `thorough`ly the first fault
    is raised alone.
    """
    refusal: Exception | None = None
    try:
        decoded = decoder.decode(body)
        if NUL not in body:
            return decoded
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refusal = error
    if len(body) > THOROUGH_BYTES or not thorough:
        if refusal is not None:
            raise first_refusal(refusal) from None
        if NUL in msgspec.json.encode(decoded).replace(rb"\\", b""):
            raise Invalid([Fault("", "unusable_text", "must not contain the NUL character (\\u0000)")])
        return decoded
    data = parse_json(body)
    decoded_leniently: Any
    decoded_leniently, faults = decode_leniently(data, wanted)
    if faults:
        raise Invalid(with_rules(faults, lambda: rules(decoded_leniently)))
    if refusal is not None:
        # Of a duplicate name `parse_json` takes the last value, while msgspec refuses the first invalid one.
        _, at, position = str(refusal).rpartition(" - at ")
        raise MalformedBody(f"the body cannot be decoded{' at ' + position if at else ': ' + position}; perhaps it has one name twice")
    return decoded


def first_refusal(error: Exception) -> Invalid | MalformedBody:
    """Return the error for a body that msgspec refuses, with the first fault alone."""
    if isinstance(error, msgspec.ValidationError):
        return Invalid([first_fault(error)])
    return MalformedBody(f"the body is not JSON: {error}")
