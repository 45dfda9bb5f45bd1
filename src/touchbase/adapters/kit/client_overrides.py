"""What a client has decided about a tool, applied to the events that its adapter has read."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.connections.models import IGNORE, ConnectionSettings
from touchbase.history.events import Event, effect_of, status_word
from touchbase.history.status import STATUS

_LABELLED = "lead_status_changed"
_STATUS_CHANGED = ".status_changed"


def as_decided(events: Sequence[Event], settings: ConnectionSettings) -> list[Event]:
    """The events with the client's own words for statuses, without the objects it ignores, and with what counts as a reply."""
    for event in events:
        if settings.objects.get(event.object_type or "") == IGNORE:
            event.event = "ignored"
        if settings.status_labels and event.original_status is None:
            reworded(event, settings, event.source_event)
            _renamed(event, settings)
        if event.event == "linkedin_replied":
            event.counts = settings.linkedin_reply_counts
    return list(events)


def _renamed(event: Event, settings: ConnectionSettings) -> None:
    """Give what a mail, a reply or a bounce sets by itself the client's own word; what it does stays the same."""
    effect = effect_of(event)
    if effect != STATUS and (word := status_word(event, effect)) and settings.has_word_for(word):
        event.word = settings.word_for(word) or ""


def reworded(event: Event, settings: ConnectionSettings, *told: str | None) -> None:
    """Give a status the client's word for it, found by what the tool `told`, else by our word; or let it move none.

    A status that moves none stays in the history as a change of a property, where it has one.
    """
    if not event.event.endswith(_STATUS_CHANGED) and event.event != _LABELLED:
        return
    own = (event.status or "").removeprefix("custom:")
    if not settings.has_word_for(*told, own):
        return
    event.original_status, event.status = event.status, settings.word_for(*told, own)
    if event.status is None:
        event.event = "other" if event.event == _LABELLED else event.event.replace(_STATUS_CHANGED, ".updated")
