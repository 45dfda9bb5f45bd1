"""Payload fingerprint: groups deliveries that changed nothing, so that a million of them show as a few groups.

A fingerprint is a short text: the event's name on the first line, the body's top-level keys on the second. It contains no
values of the body.
"""

from __future__ import annotations

from collections.abc import Iterable

from touchbase.common.field_limits import storable

LONGEST_NAME = 80
LONGEST_KEY = 40
MAX_KEYS = 12
_MORE = "…"


def fingerprint_of(event: str | None, keys: Iterable[str]) -> str:
    """Return the fingerprint of a webhook with this event and these top-level keys."""
    shown = sorted({_clean(key, LONGEST_KEY) for key in keys})
    if len(shown) > MAX_KEYS:
        shown = [*shown[:MAX_KEYS], _MORE]
    return f"{_clean(event or '', LONGEST_NAME)}\n{', '.join(shown)}"


def fingerprint_parts(fingerprint: str | None) -> tuple[str | None, list[str]]:
    """Split a fingerprint into the event's name and the keys; both empty when none is stored."""
    event, _, keys = (fingerprint or "").partition("\n")
    return event or None, keys.split(", ") if keys else []


def _clean(text: str, longest: int) -> str:
    # Keys that are numbers or ids would make a group of each delivery.
    cleaned = " ".join((storable(text, longest) or "").split())
    return "#" if cleaned and any(map(str.isdigit, cleaned)) and not any(map(str.isalpha, cleaned)) else cleaned
