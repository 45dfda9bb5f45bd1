"""Stamps: which write a field's value comes from, so that order of arrival does not matter.

Two kinds of writer. A *deliberate* write (API, CRM) beats what campaign tools carry along; among
deliberate writes the latest event time wins. A *carried* value (the name inside a campaign event) only
fills: among those the earliest event time wins, so a field once filled stays put and the usual
in-order event writes nothing. Both rules are a maximum over (priority, time, key), hence any order of
arrival gives the same value. Equal times are decided by the key.
"""

from __future__ import annotations

from touchbase.domain.times import Micros

CARRIED = 0
DELIBERATE = 1

Stamp = tuple[int, Micros, str]
Stamps = dict[str, Stamp]
API_KEY = "api:"
"""How the keys of writes through the API begin."""
NEVER: Stamp = (-1, 0, "")


def beats(new: Stamp, old: Stamp) -> bool:
    """Whether the write stamped `new` replaces the value stamped `old`."""
    if new[0] != old[0]:
        return new[0] > old[0]
    if new[0] == CARRIED:
        return new[1:] < old[1:]
    return new[1:] > old[1:]


def stamp_of(stamps: Stamps, field: str, value: object, created_us: Micros) -> Stamp:
    """The stamp of a field's value.

    A record made through the API keeps no stamps until something needs one: its values are stamped
    with their creation.
    """
    known = stamps.get(field)
    if known is not None:
        return known
    return NEVER if value is None else (DELIBERATE, created_us, "")
