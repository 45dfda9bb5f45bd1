"""The console's built files, in memory, each also compressed.

The names of assets contain a hash of their content, so that they can be cached for ever. The page names them relative to its own
address, because a proxy may serve the console below a prefix that the server does not see.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources

ASSETS = "assets"
"""The folder of all files but the page."""
BASE = b"{base}"
"""In the page: the way from its address to the console's."""
TYPES = {
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "woff2": b"font/woff2",
    "txt": b"text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    content: bytes
    compressed: bytes
    """Empty if the content is compressed by its own format, as fonts are."""
    content_type: bytes
    etag: bytes


def asset(name: str) -> File | None:
    """Return the asset of this name, or None."""
    return _assets().get(name)


@cache
def page(depth: int) -> File:
    """Return the page for an address that is so many segments below `/console`; 0 is `/console` itself."""
    base = b"console/" if depth == 0 else b"../" * (depth - 1)
    content = resources.files("touchbase.console").joinpath("static", "index.html").read_bytes()
    return _file(content.replace(BASE, base), b"text/html; charset=utf-8")


@cache
def _assets() -> Mapping[str, File]:
    folder = resources.files("touchbase.console").joinpath("static", ASSETS)
    return {entry.name: _file(entry.read_bytes(), TYPES[entry.name.rpartition(".")[2]]) for entry in folder.iterdir()}


def _file(content: bytes, content_type: bytes) -> File:
    etag = b'"%s"' % blake2b(content, digest_size=12).hexdigest().encode()
    compressed = b"" if content_type == TYPES["woff2"] else gzip.compress(content, 9, mtime=0)
    return File(content, compressed, content_type, etag)
