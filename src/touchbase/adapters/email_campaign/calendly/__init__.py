"""Calendly: webhooks of API v2, and bodies of the retired v1.

The invitee is the person; the members of the event, its guests and addresses in answers are not. A rescheduling is two webhooks
in any order: the old invitee canceled with `rescheduled`, and a new one created with `old_invitee`; only the second counts.
"""

from __future__ import annotations

from touchbase.adapters.kit import event_types as m
from touchbase.adapters.kit.body_paths import paths, pick
from touchbase.adapters.kit.declarative import DetectionRule, Item, TableAdapter, normalize_event_name
from touchbase.adapters.kit.event_types import Meaning
from touchbase.adapters.kit.extract import flag
from touchbase.adapters.kit.signatures import hmac_timed
from touchbase.history.events import CRM, EMAIL_CAMPAIGN

_OLD = paths("payload.old_invitee payload.invitee.is_reschedule payload.old_event")
_NEW = paths("payload.rescheduled payload.new_invitee payload.invitee.new_invitee")


def _has_value(value: object) -> bool | None:
    return None if flag(value) is False or value in ("", [], {}) else True


class Calendly(TableAdapter):
    """Reads Calendly's webhooks."""

    def meaning(self, name: str, item: Item) -> Meaning:
        """Return the meaning from the table; a booking in place of an old one is a rescheduling, and its cancellation says nothing."""
        event = normalize_event_name(name)
        if event == "invitee_created" and pick(item, _OLD, _has_value):
            return m.MEETING_RESCHEDULED
        if event == "invitee_canceled" and pick(item, _NEW, _has_value):
            return m.OTHER
        return super().meaning(name, item)


ADAPTER = Calendly(
    tool="calendly",
    channels=(EMAIL_CAMPAIGN, CRM),
    signature_schemes=(hmac_timed("calendly-webhook-signature", "TIME.BODY", part="v1"),),
    shapes=(
        DetectionRule("event payload.scheduled_event", 95),
        DetectionRule("event payload created_by", 90, named=True),
        DetectionRule("event payload time", 90, named=True),
        DetectionRule("event payload.uri", 80, named=True),
        DetectionRule("event payload", 95, header="calendly-webhook-signature"),
    ),
    plain_names="invitee_created invitee_canceled invitee_no_show_created routing_form_submission_created",
    names={"invitee_no_show_deleted": m.status("meeting_booked")},
    other_names=m.OTHER,
    name="event",
    email="payload.email payload.invitee.email",
    time="created_at time",
    times={"meeting_no_show": "payload.no_show.created_at", "meeting_canceled": "payload.cancellation.created_at"},
    first_name="payload.first_name payload.invitee.first_name",
    last_name="payload.last_name payload.invitee.last_name",
    full_name="payload.name payload.invitee.name",
    campaign="payload.tracking.utm_campaign",
    meeting_start="payload.scheduled_event.start_time payload.event.start_time",
    meeting_link="payload.scheduled_event.location.join_url payload.event.location payload.scheduled_event.uri",
    meeting_id="payload.scheduled_event.uri payload.event.uuid",
)
