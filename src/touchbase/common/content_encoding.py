"""Content encodings: decompress bodies and decode base64, within limits."""

from __future__ import annotations

import zlib
from base64 import b64decode
from contextlib import suppress

from touchbase.errors import UnrecognisedPayload

LARGEST = 32 * 1024 * 1024
"""Bytes that a stored body may decompress to; a larger one is not a webhook."""
LARGEST_SIGNED = 8 * 1024 * 1024
"""Bytes that a body may decompress to while the sender waits for the check of a signature over them."""
COUNTED_BYTES = 64 * 1024
"""Bytes that are decompressed at once where they are only counted."""
MOST_PIECES = 16
"""Compressed members that one body may consist of: the bytes after each member are copied."""
_URL_SAFE = bytes.maketrans(b"-_", b"+/")


def from_base64(text: str | bytes) -> bytes:
    """Decode base64 of either alphabet, with or without padding; raise `ValueError` for other text."""
    packed = (text.encode("ascii") if isinstance(text, str) else text).translate(_URL_SAFE).rstrip(b"=")
    return b64decode(packed + b"=" * (-len(packed) % 4), validate=True)


def decoded(encoding: str, body: bytes, largest: int = LARGEST) -> bytes:
    """Return the body without its content encoding; raise `UnrecognisedPayload` if it is broken, unknown or too large."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    if name not in ("gzip", "x-gzip", "deflate"):
        raise UnrecognisedPayload(f"the body is encoded with {name}, which is not supported; send it uncompressed or with gzip")
    decoded_body, compressed = b"", body
    for _ in range(MOST_PIECES):
        piece, compressed = _first_piece(name, compressed, largest - len(decoded_body))
        decoded_body += piece
        if len(decoded_body) > largest:
            raise UnrecognisedPayload(f"the body decompresses to more than {largest} bytes")
        if not compressed:
            return decoded_body
    raise UnrecognisedPayload(f"the body is {name} in more than {MOST_PIECES} members; compress it as one")


def decoded_size(encoding: str, body: bytes, most: int = LARGEST) -> int:
    """Return how many bytes the body has without its content encoding; counting ends above `most`, and where the body is broken."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return len(body)
    size, compressed = 0, body
    for _ in range(MOST_PIECES):
        inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        with suppress(zlib.error):
            while compressed and not inflater.eof and size <= most:
                size += len(inflater.decompress(compressed, COUNTED_BYTES))
                compressed = inflater.unconsumed_tail
        compressed = inflater.unused_data.lstrip(b"\0")
        if not compressed or size > most:
            break
    return size


def _first_piece(name: str, body: bytes, most: int) -> tuple[bytes, bytes]:
    """Return the content of the first compressed member, at most `most` + 1 bytes, and the bytes after the member."""
    # 32 added to the window size: detect gzip or zlib from the header.
    inflater = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    try:
        plain = inflater.decompress(body, most + 1)
    except zlib.error as error:
        raise UnrecognisedPayload(f"the body is declared as {name} but cannot be decompressed: {error}") from error
    if len(plain) <= most and not inflater.eof:
        raise UnrecognisedPayload(f"the body is declared as {name} but is truncated")
    return plain, inflater.unused_data.lstrip(b"\0")  # some senders pad with zeros
