"""Content encodings: the bytes that a sender compressed, as they were before."""

from __future__ import annotations

import zlib

from touchbase.domain.errors import UnrecognisedPayload

LARGEST = 32 * 1024 * 1024
"""Bytes that a kept body may unfold to; more is no webhook call."""
LARGEST_SIGNED = 8 * 1024 * 1024
"""Bytes that a body may unfold to while its caller waits for us to check a signature over them."""


def decoded(encoding: str, body: bytes, largest: int = LARGEST) -> bytes:
    """The body without its content encoding; raises `UnrecognisedPayload` when it is broken, unknown or too large."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise UnrecognisedPayload(f"the body is encoded with {name}, which we cannot undo; have it sent plain or with gzip")
    # 32 more than the window means: gzip or zlib, by what the bytes say.
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        plain = inflater.decompress(body, largest)
    except zlib.error as error:
        raise UnrecognisedPayload(f"the body says {name} but cannot be unpacked: {error}") from error
    if inflater.unconsumed_tail:
        raise UnrecognisedPayload(f"the body unpacks to more than {largest} bytes")
    if not inflater.eof:
        raise UnrecognisedPayload(f"the body says {name} but is cut off")
    return plain
