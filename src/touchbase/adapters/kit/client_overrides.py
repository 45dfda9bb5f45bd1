"""A client's settings for a tool, applied to the events that its adapter has read."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.adapters.interface import ParsedWebhook
from touchbase.connections.models import IGNORE, ConnectionSettings, folded, ignoring_entries
from touchbase.history.events import MEETING_STATUSES, Event, effect_of, status_word
from touchbase.history.status import STATUS

_LABELLED = "lead_status_changed"
_STATUS_CHANGED = ".status_changed"


def apply_settings(events: Sequence[Event], settings: ConnectionSettings) -> list[Event]:
    """Apply the client's settings: status names, ignored object types, and words that make a reply."""
    for event in events:
        if settings.objects.get(event.object_type or "") == IGNORE:
            event.event = "ignored"
        if settings.status_labels and event.original_status is None:
            override_status(event, settings, event.source_event)
            _override_implied_status(event, settings)
        if event.event == "linkedin_replied":
            event.counts = settings.linkedin_reply_counts
    return list(events)


def ignoring_rule(events: Sequence[Event], webhook: ParsedWebhook) -> str | None:
    """Return the entry of the client's settings that ignores all of a webhook, such as `events.call.finished`; None: none does."""
    entries = ignoring_entries(webhook.settings)
    if not entries or not all(event.event in ("ignored", "other") for event in events):
        return None
    names = {folded(event.source_event) for event in events if event.source_event}
    objects = {*(event.object_type for event in events), *webhook.ignored}
    for entry in entries:
        setting, _, key = entry.partition(".")
        if folded(key) in names if setting == "events" else key in objects:
            return entry
    return None


def _override_implied_status(event: Event, settings: ConnectionSettings) -> None:
    """Replace the status that an email, reply, bounce or meeting sets by itself with the client's; other effects stay the same."""
    if event.event in MEETING_STATUSES:
        labels = (event.source_event, event.event, MEETING_STATUSES[event.event])
        if settings.has_status_label(*labels):
            event.word = settings.status_for_label(*labels) or ""
        return
    effect = effect_of(event)
    if effect != STATUS and (word := status_word(event, effect)) and settings.has_status_label(word):
        event.word = settings.status_for_label(word) or ""


def override_status(event: Event, settings: ConnectionSettings, *labels: str | None) -> None:
    """Replace a status with the client's name for it, looked up by the tool's labels, then by our name; or remove it.

    A removed status stays in the history as a property change, if the event has a property.
    """
    if not event.event.endswith(_STATUS_CHANGED) and event.event != _LABELLED:
        return
    own = (event.status or "").removeprefix("custom:")
    if not settings.has_status_label(*labels, own):
        return
    event.original_status, event.status = event.status, settings.status_for_label(*labels, own)
    if event.status is None:
        event.event = "other" if event.event == _LABELLED else event.event.replace(_STATUS_CHANGED, ".updated")
