"""Cal.com: webhooks.

The first attendee booked; the organizer, the host's team and later attendees (guests) are not the person. A webhook about missed
meetings has the attendees' marks alone: one event for each. `payload.type` is the slug of the kind of meeting, not the event.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, batch, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import address, dig, flag
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

_MARKS = "booking_no_show_updated"
_MARK = paths("payload.attendees.0.noShow")


class CalCom(TableAdapter):
    """Reads Cal.com's webhooks."""

    def items(self, data: object) -> object:
        """Return one item for each attendee of a webhook about missed meetings."""
        return [item for body in batch(data) for item in _by_attendee(body)]

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a mark of a missed meeting may be taken back, and one without a person says nothing."""
        if normalize_event_name(name) == _MARKS and pick(item, _MARK, flag) is False:
            return m.status("meeting_booked")
        meaning = super().meaning(name, item)
        return m.OTHER if meaning is m.MEETING_MISSED and self.find(item, "email", address) is None else meaning


def _by_attendee(body: object) -> list[object]:
    attendees = dig(body, "payload", "attendees")
    if not isinstance(body, dict) or str(body.get("triggerEvent")).lower() != _MARKS or not isinstance(attendees, list) or not attendees:
        return [body]
    payload = body["payload"]
    return [{**body, "payload": {**payload, "attendees": [attendee]}} for attendee in attendees]


ADAPTER = CalCom(
    tool="cal_com",
    channels=(EMAIL_CAMPAIGN, CRM),
    signature_schemes=(hmac_body("x-cal-signature-256"),),
    shapes=(
        DetectionRule("triggerEvent payload", 95, spelt=str.isupper),
        DetectionRule("triggerEvent attendees", 95, spelt=str.isupper),
        DetectionRule("triggerEvent", 95, header="x-cal-signature-256"),
    ),
    plain_names="booking_created booking_rescheduled booking_cancelled booking_rejected booking_no_show_updated form_submitted",
    names={"after_guests_cal_video_no_show": m.MEETING_MISSED, "form_submitted_no_event": m.SAVED},
    other_names=m.OTHER,
    name="triggerEvent",
    email=(
        "payload.attendees.0.email payload.responses.email.value payload.responses.email payload.booking.attendees.0.email "
        "attendees.0.email responses.email.value"
    ),
    time="createdAt",
    first_name="payload.attendees.0.firstName payload.responses.name.value.firstName",
    last_name="payload.attendees.0.lastName payload.responses.name.value.lastName",
    full_name="payload.attendees.0.name payload.responses.name.value payload.booking.attendees.0.name attendees.0.name",
    meeting_start="payload.startTime payload.booking.startTime startTime",
    meeting_link="payload.metadata.videoCallUrl payload.videoCallData.url metadata.videoCallUrl payload.location",
    meeting_id="payload.uid payload.bookingUid payload.booking.uid uid",
)
