"""Chili Piper: custom webhooks.

The primary guest is the person; the host, the assignee, the booker and additional guests are not. Webhooks have no time. `Updated`
is also sent when another host is assigned: the meeting and its start are the event's id, so that it counts once for each start.
"""

from __future__ import annotations

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter
from touchbase.adapters.kit.extract import text
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event


class ChiliPiper(TableAdapter):
    """Reads Chili Piper's webhooks."""

    def read(self, item: Item, webhook: ParsedWebhook) -> Event:
        """Return the event of one webhook, with the meeting and its start as id."""
        event = super().read(item, webhook)
        event.key = f"{text(item.get('meetingIdChili'))} {text(item.get('meetingStartTime'))}"
        return event


ADAPTER = ChiliPiper(
    tool="chili_piper",
    channels=(EMAIL_CAMPAIGN, CRM),
    shapes=(DetectionRule("meetingIdChili", 95),),
    names={"created": m.MEETING_BOOKED, "updated": m.MEETING_RESCHEDULED, "canceled": m.MEETING_CANCELED},
    other_names=m.OTHER,
    name="type",
    email="primaryGuestEmail",
    time="",
    first_name="primaryGuestDataFields.PersonFirstName primaryGuestDataFields.firstName primaryGuestFirstName",
    last_name="primaryGuestDataFields.PersonLastName primaryGuestDataFields.lastName primaryGuestLastName",
    meeting_start="meetingStartTime",
    meeting_link="meetingUrl conferenceLink",
    meeting_id="meetingIdChili",
)
