"""Last writer wins: the stamp of a field's value orders its writes, whatever the order of arrival.

A stamp is a priority and the effective time of the write. An event whose time is after its receipt takes effect at the
receipt, so that a later API write wins. Events with equal times count in the order of their receipt: CRMs often write twice in a second.

There are two priorities. A *deliberate* write (API, CRM) beats the values that campaign tools carry along; among
deliberate writes the latest wins. A *carried* value (the name inside a campaign event) only
fills: among those the earliest wins, so a filled field does not change and the usual
in-order event writes nothing. Both rules are a maximum over stamps, hence any order of
processing gives the same value. A removed value has a stamp too.
"""

from __future__ import annotations

from touchbase.common.timestamps import Micros

CARRIED = 0
DELIBERATE = 1

EffectiveTime = tuple[Micros, str]
"""Effective time of an entry: time, then place among the entries with equal times (`effective_time`)."""
Stamp = tuple[int, Micros, str]
Stamps = dict[str, Stamp]
API_KEY = "api:"
"""Prefix of the keys of API writes."""
NEVER: Stamp = (-1, 0, "")
DERIVED: Stamp = (NEVER[0], 0, "domain")
"""The stamp of a company that follows from the domain of the contact's e-mail address: any event or request replaces it."""
LAST_WRITE = "api"
"""Name of the stamp of a record's last API write: the next one takes effect after it."""
CLEARED = "custom_fields"
"""Name of the stamp of the write that removed all custom fields, also fields of older events that arrive later."""
SINCE = "since"
"""Name of the stamp since which a record has its e-mail address or domain, if another object had it before.

It may stay without need, as `SEVERAL`."""
SEVERAL = "objects"
"""Name of the stamp of a record of two objects of one kind: each event is compared with the events of the other object.

It may stay without need, because a merge of the two objects does not remove it."""
FIRST = "first_email"
"""Name of the stamp of a contact whose e-mail address is the first of the further ones, because the last write removed it or none set it.

It is the stamp of that write: a later write of an address makes it void."""
LEFT_OUT = "custom_fields_left_out"
"""Name of the stamp of a record that lacks custom fields of its history, because all of them would be too long."""


def effective_time(occurred_us: Micros, received_us: Micros, key: str, position: int | None = None) -> EffectiveTime:
    """Return the effective time of an event: of events with equal times the last received is later.

    `position`: of a webhook's event, its place among the events of its delivery with equal times; None for an API write, which is later
    than events of webhooks with its time. Events whose times are after one receipt stay in the order of their own times.
    """
    if occurred_us > received_us:
        occurred_us, key = received_us, f"+{occurred_us - received_us:015d}:{key}"
    return occurred_us, key if position is None else f"{received_us:013x}.{position:04x}:{key}"


def beats(new: Stamp, old: Stamp) -> bool:
    """Return whether the write stamped `new` replaces the value stamped `old`."""
    if new[0] != old[0]:
        return new[0] > old[0]
    if new[0] == CARRIED:
        return new[1:] < old[1:]
    return new[1:] > old[1:]


def stamp_of(stamps: Stamps, field: str, value: object, created_us: Micros) -> Stamp:
    """Return the stamp of a field's value.

    A record created through the API stores no stamps until one is needed: the stamp of its values
    is its creation.
    """
    stamp = stamps.get(field)
    if stamp is not None:
        return stamp
    return NEVER if value is None else (DELIBERATE, created_us, "")
