"""JSON bodies: from bytes to validated values; fast for valid bodies, with all faults for invalid ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from touchbase.errors import Invalid, MalformedBody
from touchbase.http.asgi_types import Headers, Receive
from touchbase.http.body_errors import decode_leniently, parse_json, with_rules
from touchbase.http.dependencies import Limits
from touchbase.http.problems import UnsupportedMediaType
from touchbase.http.request_body import read_body, unpack

S = TypeVar("S", bound=msgspec.Struct)
Rules = Callable[[S], object]
"""Checks the rules beyond types; raises `Invalid`."""

NUL = rb"\u0000"
"""Only this escape can put a NUL into a JSON text that msgspec accepts."""
_ALIKE = bytes.maketrans(b"{}", b"[]")
_BUT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


async def read_json(receive: Receive, headers: Headers, limits: Limits, most: int | None = None) -> bytes:
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
    if body.count(b"[") + body.count(b"{") > limits.nesting:
        check_nesting(body, limits.nesting)
    return body


def check_json_type(content_type: bytes) -> None:
    """Raise `UnsupportedMediaType` unless this is JSON, whatever its parameters."""
    name = content_type.partition(b";")[0].strip().lower()
    if name and name != b"application/json" and not (name.startswith(b"application/") and name.endswith(b"+json")):
        raise UnsupportedMediaType(f"Content-Type {name.decode('latin-1')!r} is not supported; send application/json")


def check_nesting(body: bytes, deepest: int) -> None:
    """Raise `MalformedBody` when brackets are nested deeper than `deepest`, or do not match."""
    if b"\\" in body:
        body = body.replace(rb"\\", b"").replace(rb"\"", b"")
    # Without escaped quotes, every second piece between quotes is outside of texts.
    brackets = b"".join(body.split(b'"')[::2]).translate(_ALIKE, _BUT_BRACKETS)
    for _ in range(deepest):
        # Each iteration removes the innermost level. The parser checks whether the kinds of brackets match.
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise MalformedBody(f"the body is nested deeper than {deepest} levels, or its brackets do not match")


def read_struct(body: bytes, decoder: msgspec.json.Decoder[S], wanted: type[S], rules: Rules[S]) -> S:
    """Decode the body as `wanted`.

    Raises `MalformedBody`, or `Invalid` with all faults, including the ones of `rules`, if types or texts are
    invalid. If they are valid, the caller checks the rules.
    """
    refusal: Exception | None = None
    try:
        decoded = decoder.decode(body)
        if NUL not in body:
            return decoded
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refusal = error
    data = parse_json(body)
    made: Any
    made, faults = decode_leniently(data, wanted)
    if faults:
        raise Invalid(with_rules(faults, lambda: rules(made)))
    if refusal is not None:
        # Of a duplicate name `parse_json` takes the last value, while msgspec refuses the first invalid one.
        _, at, position = str(refusal).rpartition(" - at ")
        raise MalformedBody(f"the body cannot be decoded{' at ' + position if at else ': ' + position}; perhaps it has one name twice")
    return decoded
