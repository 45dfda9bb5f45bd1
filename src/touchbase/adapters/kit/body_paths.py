"""Paths of values in a body, written `data.lead.email`, several of them separated by blanks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
Path = tuple[str | int, ...]


def paths(written: str) -> tuple[Path, ...]:
    """Parse paths written as `a.b c.0.d`: a number is a list index."""
    return tuple(tuple(int(key) if key.isdecimal() else key for key in path.split(".")) for path in written.split())


def at(item: object, path: Path) -> object:
    """Return the value at a path, or None."""
    for key in path:
        if isinstance(item, dict):
            item = item.get(key)
        elif isinstance(item, list) and isinstance(key, int) and key < len(item):
            item = item[key]
        else:
            return None
    return item


def pick(item: object, places: tuple[Path, ...], read: Callable[[object], T | None], used: list[Path] | None = None) -> T | None:
    """Return the first non-None result of `read` at these paths of an object, and append its path to `used`."""
    if not isinstance(item, dict):
        values = (at(item, path) for path in places)
        return next((result for value in values if value is not None and (result := read(value)) is not None), None)
    for path in places:
        # Hot path: most paths are absent, and most others are one key of an object, so this saves a function call.
        value = item.get(path[0])
        if value is not None and len(path) > 1:
            value = at(value, path[1:])
        if value is not None:
            result = read(value)
            if result is not None:
                if used is not None:
                    used.append(path)
                return result
    return None
