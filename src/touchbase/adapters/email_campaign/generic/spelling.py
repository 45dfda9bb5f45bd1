"""Names in one spelling, however a tool or the people who fill in a relay's form write them."""

from __future__ import annotations

from functools import lru_cache

from touchbase.adapters.kit.declarative import Item
from touchbase.adapters.kit.status_labels import words

_BLANKS = str.maketrans(" -", "__")
_LONGEST_KNOWN = 100


def spelt_out(item: Item) -> Item:
    """The item with names such as `Lead Email`, `LEAD_EMAIL` and `LeadEmail` also as `lead_email`: people write so into relays' forms."""
    if _is_plain("".join(item)):
        return item
    more: Item = {}
    for name, value in item.items():
        for spelling in spellings(name):
            more.setdefault(spelling, value)
    return {**more, **item}


def spellings(name: str) -> tuple[str, ...]:
    """The other ways to write a name that is not written in the usual one."""
    return _spellings(name) if len(name) > _LONGEST_KNOWN else _known_spellings(name)


def _spellings(name: str) -> tuple[str, ...]:
    return () if _is_plain(name) else (name.strip().lower().translate(_BLANKS), words(name).replace(" ", "_"))


# A tool sends the same names again and again; a stranger's long ones are not kept in memory.
_known_spellings = lru_cache(maxsize=2_000)(_spellings)


def _is_plain(name: str) -> bool:
    return name.islower() and " " not in name and "-" not in name
