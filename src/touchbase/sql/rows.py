"""Columns of tables, as statements list them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

Columns = tuple[tuple[str, str], ...]


def names(columns: Sequence[tuple[str, str]], prefix: str = "") -> str:
    """The columns' names as SQL lists them: `a, b, c`, or `t.a, t.b, t.c`."""
    return ", ".join(prefix + name for name, _ in columns)


def encode(value: object) -> str:
    """A value as JSON text."""
    return msgspec.json.encode(value).decode()


def settings_text(settings: object) -> str:
    """The settings as they are kept: JSON."""
    return encode(settings)
