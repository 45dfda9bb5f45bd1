"""Misspelt names: which known name a given one stands for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SHORTEST = 4
"""Characters, without separators, of a known name that may differ by a letter."""
_SEPARATORS = str.maketrans("", "", "_- .")


def squashed(name: str) -> str:
    """Return a name without case and separators."""
    return name.casefold().translate(_SEPARATORS)


def find_near(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs from this one in case, separators or one letter."""
    return nearest(squashed(name), {squashed(each): each for each in sorted(known)})


def nearest(given: str, forms: Mapping[str, str]) -> str | None:
    """Return the name of the squashed form that equals `given`, or else differs by one letter."""
    if (equal := forms.get(given)) is not None:
        return equal
    return next((name for form, name in forms.items() if len(form) >= SHORTEST and _one_letter_apart(given, form)), None)


def _one_letter_apart(given: str, known: str) -> bool:
    """Return whether one letter is missing, added, replaced or swapped with its neighbour. Digits are no typing errors: `email2`."""
    if abs(len(given) - len(known)) > 1 or any(map(str.isdigit, given)):
        return False
    start = next((at for at, (one, other) in enumerate(zip(given, known, strict=False)) if one != other), min(len(given), len(known)))
    mine, theirs = given[start:], known[start:]
    return mine[1:] == theirs or mine == theirs[1:] or mine[1:] == theirs[1:] or (mine[:2] == theirs[1::-1] and mine[2:] == theirs[2:])
