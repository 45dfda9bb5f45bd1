"""Stamps: which write a field's value comes from, so that order of arrival does not matter.

A write has a *place* in time: an event that its tool says lies ahead of its receipt stands at the receipt,
so that a later write through the API beats it.

Two kinds of writer. A *deliberate* write (API, CRM) beats what campaign tools carry along; among
deliberate writes the latest place wins. A *carried* value (the name inside a campaign event) only
fills: among those the earliest place wins, so a field once filled stays put and the usual
in-order event writes nothing. Both rules are a maximum over (priority, place), hence any order of
arrival gives the same value. Equal times are decided by the key. A value that was taken away has a stamp too.
"""

from __future__ import annotations

from touchbase.common.timestamps import Micros

CARRIED = 0
DELIBERATE = 1

Place = tuple[Micros, str]
"""Where an entry stands among all of its record: time, then key."""
Stamp = tuple[int, Micros, str]
Stamps = dict[str, Stamp]
API_KEY = "api:"
"""How the keys of writes through the API begin."""
NEVER: Stamp = (-1, 0, "")
LAST_WRITE = "api"
"""Under this name stands the last write through the API of all: the next one takes its place after it."""
CLEARED = "custom_fields"
"""Under this name stands the write that took all custom fields away, those too that only come to be known later."""
SINCE = "since"
"""Under this name stands from when on a record has had its e-mail address or domain, where another object had it before.

It may stand there in vain too, as the next."""
SEVERAL = "objects"
"""Under this name a record says that two objects of one kind have been it: each event of theirs is held against the others.

It may stand there in vain, as it stays when the two turn out to be one by a merge."""
_AHEAD = len("+") + 15 + len(":")


def key_in(place: Place) -> str:
    """The event's own key in a place."""
    return place[1][_AHEAD:] if place[1].startswith("+") else place[1]


def place_of(occurred_us: Micros, received_us: Micros, key: str) -> Place:
    """The place of an event; those ahead of one receipt stay in the order of their own times."""
    if occurred_us <= received_us:
        return occurred_us, key
    return received_us, f"+{occurred_us - received_us:015d}:{key}"


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
