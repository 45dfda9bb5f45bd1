"""HubSpot: app webhooks and the objects that workflows post.

Event reference: the webhook guides on developers.hubspot.com (read 2026-11-20). One request has up to 100 thin events:
an id, and for a property change the one property. `object.*` subscriptions have the object type in `objectTypeId`;
associations have both ends instead. `attemptNumber` counts retries and is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from touchbase.adapters.crm.hubspot.fetch import FETCHER, STATUS, read_fetched
from touchbase.adapters.crm.hubspot.objects import COMPANY_ID, CONTACT_ID, is_object, member_of_list, properties_of, read_object
from touchbase.adapters.crm.hubspot.signature import HUBSPOT
from touchbase.adapters.crm.hubspot.written import is_own_write, without
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_list, email_address
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import parse_time
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

KINDS = {"contact": CONTACT, CONTACT_ID: CONTACT, "company": COMPANY, COMPANY_ID: COMPANY}
NOISE = frozenset({"lastmodifieddate", "hs_lastmodifieddate", "hs_object_id", "createdate", "hs_all_owner_ids"})
# A change of `website` alone does not change the company's identity, so only `domain` is used here.
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("email",), further_email=("hs_additional_emails",), first_name=("firstname",), last_name=("lastname",),
        linkedin=("hs_linkedin_url", "linkedin_url", "linkedinurl", "linkedin", LINKEDIN),
        employer=("associatedcompanyid", "company_id"), employer_type=COMPANY, noise=NOISE,
    ),
    COMPANY: RecordShape(COMPANY, domain=("domain",), company=("name",), noise=NOISE),
}  # fmt: skip

_OWN_KIND = re.compile(r"\d+-\d+", re.ASCII)
# The action of `contact.creation` and similar events; other actions are not about a record.
PLAIN = {"creation": CREATED, "deletion": DELETED, "privacyDeletion": DELETED, "restore": UPDATED}
_BOOKED = "engagements_last_meeting_booked"


class HubSpot(CrmAdapter):
    """Reads HubSpot's webhooks."""

    tool = "hubspot"
    signature_schemes = (HUBSPOT,)
    detection_keys = frozenset(
        {
            "subscriptionType", "eventType", "hs_object_id", "properties", "callbackId", "listId",
            "x-hubspot-signature", "x-hubspot-signature-v3", "x-hubspot-signature-version",
        }
    )  # fmt: skip
    status: ClassVar[Mapping[str, tuple[str, ...]]] = STATUS
    fetcher: ClassVar[Fetcher | None] = FETCHER

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: certain for an app event; a workflow's object is known by its form or HubSpot's headers."""
        if "subscriptionType" in body and ("objectId" in body or "portalId" in body or "eventId" in body):
            return 100
        if "eventType" in body and "portalId" in body and "objectId" in body:
            return 95
        signed = any(name.startswith("x-hubspot-") for name in webhook.headers)
        if is_object(body) or member_of_list(body) is not None:
            return 100 if signed else 90
        return 60 if signed else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one app event, or of one whole object of a workflow."""
        source = text(first(body, "subscriptionType", "eventType"))
        if source is None:
            body = member_of_list(body) or body
            # A hand-written workflow body is only known by HubSpot's signature; then an email address identifies the contact.
            is_readable = is_object(body) or email_address(body.get("email"))
            return read_object(body, partial(self._statuses_of_snapshot, webhook)) if is_readable else [other_event("unrecognised")]
        word, _, action = source.partition(".")
        if word == "object":
            word = text(first(body, "objectTypeId", "fromObjectTypeId")) or ""
        # A relay's HubSpot node writes `contactId` instead of `objectId`.
        object_id = text(first(body, "objectId", f"{word}Id"))
        if not word or not action:
            # Events of the app itself, such as `APP_LIFECYCLE_EVENT`, have no record type.
            return [other_event("ignored" if source.isupper() else "unrecognised", source, word or None, object_id)]
        kind = KINDS.get(word) or chosen_kind(webhook, word)
        if kind not in SHAPES:
            return [other_event("ignored", source, word, object_id)]
        # Custom objects have ids of their own.
        item = CrmItem(
            SHAPES[kind], UPDATED, kind if word in KINDS else word, object_id, source, parse_time(body.get("occurredAt")), _key(body)
        )
        item.status = self.statuses(webhook, kind, word)
        written = webhook.settings.written_property if KINDS.get(word) == CONTACT else None
        if written is not None and (action != "propertyChange" or text(body.get("propertyName")) != written):
            item.status = without(item.status, written)
        elif written is not None and is_own_write(body):
            return [other_event("ignored", source, word, object_id)]
        return self._property_events(item, action, body)

    def kinds(self, objects: Mapping[str, str]) -> Sequence[str]:
        """Return contacts and companies, and the custom objects that the client maps to either."""
        return (CONTACT, COMPANY, *(word for word in objects if _OWN_KIND.fullmatch(word)))

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched contact or company."""
        written = webhook.settings.written_property if word == CONTACT else None
        return read_fetched(body, kind, word, self.statuses(webhook, kind, word), written)

    def _statuses_of_snapshot(self, webhook: ParsedWebhook, kind: str, word: str | None) -> tuple[str, ...]:
        """Return the status properties to read from a whole record, which does not say who set them."""
        statuses, written = self.statuses(webhook, kind, word), webhook.settings.written_property
        return statuses if written is None or kind != CONTACT else without(statuses, written)

    def _property_events(self, item: CrmItem, action: str, body: Body) -> list[Event]:
        if action == "propertyChange":
            name = text(body.get("propertyName"))
            if name is None:
                return [other_event("unrecognised", item.source_event, item.object_type, item.object_id)]
            value = body.get("propertyValue")
            item.record, item.changed = _event_properties(body), {name: (value, NOT_SENT)}
            return item.events() + ([_meeting(item)] if name == _BOOKED and text(value) else [])
        if action == "associationChange":
            return _association(item, body)
        if action == "merge":
            return _merge(item, body)
        if action not in PLAIN:
            return [other_event("ignored", item.source_event, item.object_type, item.object_id)]
        item.what, item.restored, item.asks_erasure = PLAIN[action], action == "restore", action == "privacyDeletion"
        item.record = _event_properties(body)
        item.changed, item.thin = None if item.record else {}, item.restored
        return item.events()


def _meeting(item: CrmItem) -> Event:
    """Return the meeting that set `_BOOKED`, the only property by which HubSpot's meetings tool names the contact."""
    return Event(
        "meeting_booked", item.at, object_type=item.object_type, object_id=item.object_id, key=item.key, source_event=item.source_event
    )


def _event_properties(body: Body) -> dict[str, object]:
    """Return the properties in an event: the changed one, and those added by a relay."""
    name = text(body.get("propertyName"))
    return with_linkedin(properties_of(body) | ({} if name is None else {name: body.get("propertyValue")}))


def _key(body: Body) -> str | None:
    """Return portal and event id as the dedupe key; test sends all have the event id 1 and get none."""
    event = text(body.get("eventId"))
    if event is None or event == "1":
        return None
    portal = text(body.get("portalId"))
    return event if portal is None else f"{portal}:{event}"


def _association(item: CrmItem, body: Body) -> list[Event]:
    """Return the link between a contact and a company, which is sent from both sides; other links are ignored."""
    source, _, target = (text(body.get("associationType")) or "").partition("_TO_")
    linked_kind = KINDS.get(text(body.get("toObjectTypeId")) or "") or KINDS.get(target.lower().removesuffix("_unlabeled"))
    if linked_kind is None or linked_kind == item.shape.kind or (source and source.lower() != item.shape.kind):
        return [other_event("ignored", item.source_event, item.object_type, item.object_id)]
    linked = body.get("toObjectId")
    removed = body.get("associationRemoved") in (True, "true")
    item.changed = {f"{linked_kind}_id": (None, linked) if removed else (linked, NOT_SENT)}
    item.record = {} if removed else {f"{linked_kind}_id": linked}
    item.object_id = item.object_id or text(body.get("fromObjectId"))
    return item.events()


def _merge(item: CrmItem, body: Body) -> list[Event]:
    """Return the surviving record, and every record merged into it: a new one that survives is the primary one with another id."""
    primary = text(body.get("primaryObjectId"))
    item.object_id, item.changed, item.thin = text(body.get("newObjectId")) or primary or item.object_id, {}, True
    events = item.merged(*map(text, as_list(body.get("mergedObjectIds"))), primary)
    for event in events:
        event.absorbed &= event.object_id != primary
    return events


ADAPTER = HubSpot()
