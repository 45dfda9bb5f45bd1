"""SavvyCal: webhooks.

The person is the first attendee who is not an organizer, else the scheduler. `id` is the event's own and is the same on retries.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import at
from touchbase.adapters.kit.declarative import DetectionRule, TableAdapter, batch
from touchbase.adapters.kit.extract import flag
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.history.events import CRM, EMAIL_CAMPAIGN


class SavvyCal(TableAdapter):
    """Reads SavvyCal's webhooks."""

    def items(self, data: object) -> object:
        """Return the items with the attendee who is no organizer as `guest`."""
        return [{**item, "guest": _guest(item)} if isinstance(item, dict) else item for item in batch(data)]


def _guest(item: object) -> object:
    attendees = [attendee for attendee in batch(at(item, ("payload", "attendees"))) if isinstance(attendee, dict)]
    return next((attendee for attendee in attendees if not flag(attendee.get("is_organizer"))), None)


ADAPTER = SavvyCal(
    tool="savvycal",
    channels=(EMAIL_CAMPAIGN, CRM),
    signature_schemes=(hmac_body("x-savvycal-signature", prefix="sha256="),),
    shapes=(
        DetectionRule("type payload occurred_at", 90, starts="event."),
        DetectionRule("type payload occurred_at", 90, starts="poll."),
        DetectionRule("type payload occurred_at", 90, starts="workflow."),
        DetectionRule("type payload", 95, header="x-savvycal-signature"),
    ),
    names={
        "event_created": m.MEETING_BOOKED,
        "event_approved": m.MEETING_BOOKED,
        "event_attendee_added": m.MEETING_BOOKED,
        "event_rescheduled": m.MEETING_RESCHEDULED,
        "event_attendee_rescheduled": m.MEETING_RESCHEDULED,
        "event_canceled": m.MEETING_CANCELED,
        "event_attendee_canceled": m.MEETING_CANCELED,
        "event_declined": m.MEETING_CANCELED,
    },
    other_names=m.OTHER,
    name="type",
    email="guest.email payload.scheduler.email",
    time="occurred_at",
    first_name="guest.first_name payload.scheduler.first_name",
    last_name="guest.last_name payload.scheduler.last_name",
    full_name="guest.display_name payload.scheduler.display_name",
    key="id",
    meeting_start="payload.start_at",
    meeting_link="payload.conferencing.join_url payload.url",
    meeting_id="payload.id",
)
