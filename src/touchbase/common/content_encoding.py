"""Encodings: the bytes that a sender compressed, or wrote as base64, as they were before."""

from __future__ import annotations

import zlib
from base64 import b64decode

from touchbase.errors import UnrecognisedPayload

LARGEST = 32 * 1024 * 1024
"""Bytes that a kept body may unfold to; more is no webhook call."""
LARGEST_SIGNED = 8 * 1024 * 1024
"""Bytes that a body may unfold to while its caller waits for us to check a signature over them."""
MOST_PIECES = 16
"""Packed pieces, each whole in itself, that one body may be made of: what follows a piece is copied to be looked at."""
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def from_base64(text: str | bytes) -> bytes:
    """What base64 of either alphabet stands for, with its padding or without; raises `ValueError` for what is none."""
    packed = (text.encode("ascii") if isinstance(text, str) else text).translate(_URL_SAFE).rstrip(b"=")
    return b64decode(packed + b"=" * (-len(packed) % 4), validate=True)


def decoded(encoding: str, body: bytes, largest: int = LARGEST) -> bytes:
    """The body without its content encoding; raises `UnrecognisedPayload` when it is broken, unknown or too large."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise UnrecognisedPayload(f"the body is encoded with {name}, which we cannot undo; have it sent plain or with gzip")
    whole, rest = b"", body
    for _ in range(MOST_PIECES):
        piece, rest = _first_piece(name, rest, largest - len(whole))
        whole += piece
        if len(whole) > largest:
            raise UnrecognisedPayload(f"the body unpacks to more than {largest} bytes")
        if not rest:
            return whole
    raise UnrecognisedPayload(f"the body is {name} in more than {MOST_PIECES} pieces; have it packed as one")


def _first_piece(name: str, body: bytes, most: int) -> tuple[bytes, bytes]:
    """What the first packed piece holds, one byte too much where it is more than `most`; and the pieces behind it."""
    # 32 more than the window means: gzip or zlib, by what the bytes say.
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        plain = inflater.decompress(body, most + 1)
    except zlib.error as error:
        raise UnrecognisedPayload(f"the body says {name} but cannot be unpacked: {error}") from error
    if len(plain) <= most and not inflater.eof:
        raise UnrecognisedPayload(f"the body says {name} but is cut off")
    return plain, inflater.unused_data.lstrip(b"\0")  # some fill up with zeros
