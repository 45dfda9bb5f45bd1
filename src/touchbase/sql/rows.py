"""Column lists of tables, and JSON values of columns."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec

Columns = tuple[tuple[str, str], ...]


def names(columns: Sequence[tuple[str, str]], prefix: str = "") -> str:
    """Return the column names as SQL: `a, b, c`, or with a prefix `t.a, t.b, t.c`."""
    return ", ".join(prefix + name for name, _ in columns)


_encode = msgspec.json.Encoder().encode


def digest(*values: object) -> str:
    """Return the version of something that these values make up."""
    return blake2b(encode(values).encode(), digest_size=8).hexdigest()


def encode(value: object) -> str:
    """Return a value as JSON text."""
    return _encode(value).decode()


def settings_text(settings: object) -> str:
    """Return settings as they are stored: JSON text."""
    return encode(settings)
