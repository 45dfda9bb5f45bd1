"""Messages of a batch: mails and LinkedIn messages of its events, in the transaction that applies them.

Every receipt of an event counts, also a repeated one: the earliest receipt wins, as it does for the event itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchbase.clients.models import ClientSettings
from touchbase.common.field_limits import MESSAGE_TEXT, NAME, storable
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import CONTACT, Event, StoredEvent
from touchbase.identity.event_subject import EventSubject
from touchbase.messages.models import MOST_SUBJECT, Message, channel_of, direction_of
from touchbase.messages.sql.plans import ID, first_copies, insert_copies, log_messages
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan

Named = list[tuple[EventSubject, Delivery]]
MOST_ID = 1_000
"""Characters of a message id or thread id: those of mails may be long."""


def message_needs(events: Iterable[Event]) -> dict[str, int]:
    """Return the ids that applying these events may use."""
    return {ID: sum(event.message is not None for event in events)}


def named_messages(outcomes: Sequence[DeliveryOutcome]) -> Named:
    """Return the subjects with a message; call it after those about erased persons are removed, and before the repeats are."""
    return [
        (subject, outcome.delivery)
        for outcome in outcomes
        for subject in outcome.subjects
        if subject.event.message is not None and subject.kind == CONTACT
    ]


def store_messages(batch: ApplyBatch, named: Named, new: Sequence[StoredEvent], ids: Ids) -> Plan[None]:
    """Store the messages of events that are in a history, or wait for their contact; log the ones with a contact from now on.

    `new` are the events that are new to their record, also events that waited for it.
    """
    if batch.unparked:
        moved = [(event.key, event.occurred_us) for event in new if event.record_kind == CONTACT and event.delivery_id in batch.unparked]
        yield from log_messages(batch.client, (yield from first_copies(batch.client, moved)), batch.now_us, batch.cause)
    if not named:
        return
    first: dict[tuple[str, int], Message] = {}
    for subject, delivery in sorted(named, key=lambda pair: (pair[1].received_us, pair[1].id)):
        first.setdefault((subject.key, subject.at), _message(subject, delivery, batch.settings))
    copies = yield from insert_copies(batch.client, list(first.values()), ids)
    yield from log_messages(batch.client, copies, batch.now_us, batch.cause)


def _message(subject: EventSubject, delivery: Delivery, settings: ClientSettings) -> Message:
    event = subject.event
    content = event.message
    assert content is not None
    title = text = html = None
    if settings.store_message_bodies:
        title, html = _text(content.subject, MOST_SUBJECT), _text(content.html, MESSAGE_TEXT)
        text = _text(content.text, MESSAGE_TEXT)
    campaign_id, campaign = _text(event.campaign_id, NAME), _text(event.campaign, NAME)
    return Message(
        id=0, direction=direction_of(event), channel=channel_of(event), occurred_us=subject.at, event_key=subject.key,
        delivery_id=delivery.id, received_us=delivery.received_us, tool=subject.tool, mailbox=_text(content.mailbox, NAME),
        subject=title, text=text, html=html, campaign_id=campaign_id, campaign_name=None if campaign == campaign_id else campaign,
        step=_text(event.step, NAME), message_id=_id(content.message_id), thread_id=_text(content.thread_id, MOST_ID),
        category=_text(content.category, NAME),
    )  # fmt: skip


def _id(text: str | None) -> str | None:
    """Return an id; a too long one is left out, since cut ids may be equal."""
    return None if text is None or len(text) > MOST_ID else _text(text, MOST_ID)


def _text(text: str | None, most: int) -> str | None:
    storable_text = storable(text, most)
    return storable_text.strip() or None if storable_text is not None else None
