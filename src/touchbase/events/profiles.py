"""LinkedIn addresses that several records have been given: each is of one record, in every order.

It is the record's that has the write of it that counts among all: a CRM's or the API's latest, else the first of a campaign tool.
Another record has the best of the addresses that remain.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeVar

from touchbase.common.normalize import linkedin_key
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.last_writer_wins import Stamp, beats
from touchbase.records.field_projection import Written, object_of

Of = TypeVar("Of")


def profile_alone(event: StoredEvent) -> str | None:
    """The LinkedIn address of an event that names nothing else; None for any other event."""
    named = event.detail.get("named", {})
    if object_of(event) is not None or event.via == VIA_API or named.get("email") or not named.get("linkedin_url"):
        return None
    return linkedin_key(named["linkedin_url"])


def owners_of_profiles(writes: Mapping[Of, Iterable[Written]]) -> dict[str, Of]:
    """Whose each LinkedIn address is; of equal writes the first one's."""
    best: dict[str, tuple[Stamp, Of]] = {}
    for of, each in writes.items():
        for one in each:
            key = _key(one)
            if key is not None and (key not in best or beats(one.stamp, best[key][0])):
                best[key] = (one.stamp, of)
    return {key: of for key, (_, of) in best.items()}


def without_profiles(writes: Sequence[Written], others: Container[str]) -> list[Written]:
    """The writes that name none of these LinkedIn addresses."""
    return [one for one in writes if _key(one) not in others]


def _key(one: Written) -> str | None:
    return None if one.value is None else linkedin_key(one.value)
