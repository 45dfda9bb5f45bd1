"""Acuity Scheduling: webhooks, and fetching appointments.

Reference: developers.acuityscheduling.com, webhooks and appointments. A webhook is a form with ids alone and no time: the receipt
counts, and the meeting waits until the appointment is fetched, which names the person.
"""

from __future__ import annotations

from base64 import b64encode
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CONTACT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.fetch import ApiFetcher, FetchTarget, build_path
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.connections.tools import ApiRequest, Fetcher
from touchbase.history.events import CRM, EMAIL_CAMPAIGN, Event

_KEYS = frozenset({"action", "id", "calendarID", "appointmentTypeID"})
_MEETINGS = {"scheduled": "meeting_booked", "rescheduled": "meeting_rescheduled", "canceled": "meeting_canceled"}
_APPOINTMENT = "appointment"
_PERSON = RecordShape(CONTACT, email=("email",), first_name=("firstName",), last_name=("lastName",), useful=("phone",))


def _make(target: FetchTarget) -> ApiRequest | None:
    if target.word != _APPOINTMENT:
        return None
    user = f"{target.connection.settings.api_user}:{target.connection.access_token}"
    return target.get(
        build_path("api", "v1", "appointments", target.ids[0]), {"authorization": f"Basic {b64encode(user.encode()).decode()}"}
    )


class Acuity(CrmAdapter):
    """Reads Acuity's webhooks."""

    tool = "acuity"
    channels = (CRM, EMAIL_CAMPAIGN)
    words = (_APPOINTMENT,)
    detection_keys = frozenset({"appointmentTypeID", "x-acuity-signature"})
    signature_schemes = (hmac_body("x-acuity-signature", is_base64=True),)
    fetcher: ClassVar[Fetcher | None] = ApiFetcher(
        "https://acuityscheduling.com", 1, 60, _make, lambda record: [record], needs=("api_user",)
    )

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the form's four fields, or the signature."""
        return 95 if body.keys() >= _KEYS or "x-acuity-signature" in webhook.headers else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the event of one appointment; its person is not in the webhook."""
        name = (text(body.get("action")) or "").removeprefix("appointment.")
        event, appointment = _MEETINGS.get(name), text(body.get("id"))
        if event is None or appointment is None:
            return [other_event("ignored" if name else "unrecognised", name or None, _APPOINTMENT, appointment)]
        return [Event(event, object_type=_APPOINTMENT, object_id=appointment, source_event=name)]

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the person of one fetched appointment."""
        return CrmItem(_PERSON, UPDATED, word, text(body.get("id")), "fetched", record=body).events()


ADAPTER = Acuity()
