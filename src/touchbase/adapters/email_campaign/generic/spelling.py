"""Normalization of key spelling, for the variants that tools and users of relay forms write."""

from __future__ import annotations

from functools import lru_cache

from touchbase.adapters.kit.body_paths import Path, at
from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.languages import FOREIGN, english_key
from touchbase.adapters.kit.status_labels import words

_BLANKS = str.maketrans(" -", "__")
_MAX_KNOWN_LENGTH = 100


def with_normalized_keys(item: Item) -> Item:
    """Return the item with keys such as `Lead Email`, `LEAD_EMAIL` and `LeadEmail` also as `lead_email`."""
    if _is_plain("".join(item)) and FOREIGN.isdisjoint(item):
        return item
    more: Item = {}
    for name, value in item.items():
        for spelling in spellings(name):
            more.setdefault(spelling, value)
    return {**more, **item}


def spellings(name: str) -> tuple[str, ...]:
    """Return the alternative spellings of a key that is not in the usual one."""
    return _spellings(name) if len(name) > _MAX_KNOWN_LENGTH else _cached_spellings(name)


def path_as_written(item: object, path: Path) -> str | None:
    """Return a path with its keys as an item writes them, `Data.endedAt`; None if the item has nothing there."""
    written = []
    for key in path:
        name = key
        if isinstance(item, dict) and key not in item:
            name = next((other for other in item if key in spellings(other)), key)
        item = at(item, (name,))
        if item is None:
            return None
        written.append(str(name))
    return ".".join(written)


def _spellings(name: str) -> tuple[str, ...]:
    english = english_key(name)
    plain = () if _is_plain(name) else (name.strip().lower().translate(_BLANKS), words(name).replace(" ", "_"))
    return plain if english is None else (*plain, english)


# Cached: a tool repeats the same names. Long names of unknown senders are not cached.
_cached_spellings = lru_cache(maxsize=2_000)(_spellings)


def _is_plain(name: str) -> bool:
    return name.islower() and " " not in name and "-" not in name
