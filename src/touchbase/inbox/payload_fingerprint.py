"""Shapes: what deliveries that changed nothing have in common, so that a million of them show as a few groups.

A shape is a short text: the event's name on the first line, the body's keys on the second. It holds no values
of the body.
"""

from __future__ import annotations

from collections.abc import Iterable

from touchbase.common.field_limits import storable

LONGEST_NAME = 80
LONGEST_KEY = 40
MOST_KEYS = 12
_MORE = "…"


def shape_of(event: str | None, keys: Iterable[str]) -> str:
    """The shape of a call with this event and these keys at the top of its body."""
    told = sorted({_clean(key, LONGEST_KEY) for key in keys})
    if len(told) > MOST_KEYS:
        told = [*told[:MOST_KEYS], _MORE]
    return f"{_clean(event or '', LONGEST_NAME)}\n{', '.join(told)}"


def parts_of(shape: str | None) -> tuple[str | None, list[str]]:
    """The event's name and the keys of a shape; nothing of one that was never kept."""
    event, _, keys = (shape or "").partition("\n")
    return event or None, keys.split(", ") if keys else []


def _clean(text: str, most: int) -> str:
    # Keys that are numbers or ids would make a group of every call.
    cleaned = " ".join((storable(text, most) or "").split())
    return "#" if cleaned and any(map(str.isdigit, cleaned)) and not any(map(str.isalpha, cleaned)) else cleaned
