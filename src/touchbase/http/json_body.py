"""Reading a JSON body: from bytes to checked values, quickly when all is well and thoroughly when not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from touchbase.errors import Invalid, MalformedBody
from touchbase.http.asgi_types import Headers, Receive
from touchbase.http.body_errors import loaded, salvaged, with_rules
from touchbase.http.dependencies import Limits
from touchbase.http.problems import UnsupportedMediaType
from touchbase.http.request_body import read_body, unpack

S = TypeVar("S", bound=msgspec.Struct)

_BUT_BRACKETS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[^\[\]{}"]+', re.DOTALL)

_ALIKE = bytes.maketrans(b"{}", b"[]")


async def read_json(receive: Receive, headers: Headers, limits: Limits) -> bytes:
    """The bytes of a JSON body, unpacked, valid UTF-8 and not nested beyond the limit."""
    kind = headers.get(b"content-type")
    if kind is not None and kind != b"application/json":
        check_json_type(kind)
    body = await read_body(receive, headers, limits.api_body_bytes, limits)
    encoding = headers.get(b"content-encoding")
    if encoding is not None:
        body = unpack(body, encoding, limits.api_body_bytes)
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
        raise UnsupportedMediaType(f"Content-Type {name.decode('latin-1')!r} is not read here; send application/json")


def check_nesting(body: bytes, deepest: int) -> None:
    """Raise `MalformedBody` when brackets are nested deeper than `deepest`, or do not match."""
    brackets = _BUT_BRACKETS.sub(b"", body).translate(_ALIKE)
    for _ in range(deepest):
        # Each turn takes the innermost level away. Whether the kinds match is for the parser to say.
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise MalformedBody(f"the body is nested deeper than {deepest} levels, or its brackets do not match")


def read_struct(body: bytes, decoder: msgspec.json.Decoder[S], wanted: type[S], rules: Callable[[S], object]) -> S:
    """The body as `wanted`.

    When its types or texts are wrong, raises `MalformedBody`, or `Invalid` with all of its faults, those of
    `rules` included. A body whose types are right has its rules checked by whoever uses it.
    """
    refusal: Exception | None = None
    try:
        asked = decoder.decode(body)
        # The escape is the only way for a NUL to be in a JSON text that msgspec accepts.
        if b"\\u0000" not in body:
            return asked
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refusal = error
    data = loaded(body)
    made: Any
    made, faults = salvaged(data, wanted)
    if faults:
        raise Invalid(with_rules(faults, lambda: rules(made)))
    if refusal is not None:
        # Of a name that is there twice `loaded` takes the last value, while msgspec refuses the first one that is wrong.
        _, at, place = str(refusal).rpartition(" - at ")
        raise MalformedBody(f"the body cannot be read{' at ' + place if at else ': ' + place}; perhaps it has one name twice")
    return asked
