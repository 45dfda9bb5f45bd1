"""Misspelt names: which known name a given one stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from heapq import nlargest
from itertools import islice

LONGEST_COMPARED = 60
"""Characters of a name that are compared with the known ones."""
MOST_NAMES = 1_000
"""Known names among which the nearest is looked for."""
MOST_COMPARED = 20
"""Known names that are compared thoroughly: the ones with the most letters and pairs of letters in common."""

SHORTEST = 4
"""Characters, without separators, of a known name that may differ by a letter."""
_SEPARATORS = str.maketrans("", "", "_- .")


def squashed(name: str) -> str:
    """Return a name without case and separators."""
    return name.casefold().translate(_SEPARATORS)


def suggest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most like this one; None if none is. It costs milliseconds: call it for faults that are listed."""
    cut = name[:LONGEST_COMPARED]
    parts = _parts(cut)
    by_cut = {name[:LONGEST_COMPARED]: name for name in islice(names, MOST_NAMES)}
    alike = nlargest(MOST_COMPARED, by_cut, lambda name: len(parts & _parts(name)))
    near = get_close_matches(cut, alike, 1, cutoff)
    return by_cut[near[0]] if near else None


@lru_cache(2 * MOST_NAMES)
def _parts(name: str) -> frozenset[str]:
    """Return the letters and pairs of neighbouring letters of a name."""
    return frozenset(name).union(map(str.__add__, name, name[1:]))


def find_near(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that differs from this one in case, separators or one letter."""
    return nearest(squashed(name), {squashed(name): name for name in sorted(names)})


def nearest(word: str, forms: Mapping[str, str]) -> str | None:
    """Return the name of the squashed form that equals `given`, or else differs by one letter."""
    if (equal := forms.get(word)) is not None:
        return equal
    return next((name for form, name in forms.items() if len(form) >= SHORTEST and _one_letter_apart(word, form)), None)


def _one_letter_apart(word: str, name: str) -> bool:
    """Return whether one letter is missing, added, replaced or swapped with its neighbour. Digits are no typing errors: `email2`."""
    if abs(len(word) - len(name)) > 1 or any(map(str.isdigit, word)):
        return False
    start = next(
        (at for at, (letter, name_letter) in enumerate(zip(word, name, strict=False)) if letter != name_letter), min(len(word), len(name))
    )
    mine, theirs = word[start:], name[start:]
    return mine[1:] == theirs or mine == theirs[1:] or mine[1:] == theirs[1:] or (mine[:2] == theirs[1::-1] and mine[2:] == theirs[2:])
