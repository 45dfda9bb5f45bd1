"""One turn of the inbox: what the engines share around `claim` and `apply_batch`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.domain.delivery import Delivery
from touchbase.domain.errors import TouchbaseError
from touchbase.domain.events import Translation
from touchbase.domain.mentions import mentions
from touchbase.domain.ports import Translate, WorkReport
from touchbase.domain.text import keepable
from touchbase.storage.sql.sightings import Sighted, sight

LONGEST_REASON = 500


@dataclass(slots=True)
class Turn:
    """Claimed deliveries with what their calls name, and those whose translation broke, with the reason."""

    claimed: list[Sighted]
    broken: list[tuple[Delivery, str]]


def translated(deliveries: Sequence[Delivery], translate: Translate) -> Turn:
    """Translate each delivery; one that breaks its adapter never harms its neighbours.

    It is looked through here too where that is needed: it takes longest, and nobody waits for a transaction meanwhile.
    """
    turn = Turn([], [])
    for delivery in deliveries:
        if delivery.guarded:
            delivery.told = mentions(delivery.headers, delivery.query, delivery.body)
        try:
            turn.claimed.append(_sighted(delivery, translate))
        except Exception as error:
            turn.broken.append((delivery, reason(error)))
    return turn


def _sighted(delivery: Delivery, translate: Translate) -> Sighted:
    try:
        translation: Translation | TouchbaseError = translate(delivery)
    except TouchbaseError as error:
        translation = error
    return sight(delivery, translation)


def reason(error: Exception) -> str:
    """An unforeseen failure in one sentence, for the delivery's `error`."""
    return keepable(f"{type(error).__name__}: {error}", LONGEST_REASON) or ""


def merged(one: WorkReport, other: WorkReport) -> WorkReport:
    """Both reports as one."""
    ended, problems = Counter(one.ended), Counter(one.problems)
    ended.update(other.ended)
    problems.update(other.problems)
    oldest = min((at for at in (one.oldest_us, other.oldest_us) if at is not None), default=None)
    return WorkReport(one.taken + other.taken, dict(ended), one.created + other.created, oldest, problems=dict(problems))
