"""EspoCRM: webhooks.

Event reference: docs.espocrm.com, webhooks (read 2026-11-20). A webhook is a list of up to 50 records and names neither
the event nor the record type, so the user appends the event to the webhook URL (`?event=Contact.create`), one webhook
each, or lists it in the connection by the webhook's id, which is in the signature. Without either, a record with a
recognisable type is a snapshot (new, if its two times are equal), and any other record is unrecognised.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from touchbase.adapters.crm.espocrm.signature import ESPOCRM, key_in, webhook_of
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter, chosen_kind
from touchbase.adapters.kit.crm_values import as_dict, email_address, first_of, query_parameter
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.models import MAX_SECRETS
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "accountsNames", "accountsColumns", "teamsNames", "targetListsNames", "targetListIsOptedOut", "accountIsInactive",
        "id", "deleted", "createdAt", "modifiedAt", "createdById", "createdByName", "modifiedById", "modifiedByName", "assignedUserName",
        "streamUpdatedAt", "emailAddressData", "phoneNumberData", "isFollowed", "followersIds", "followersNames", "versionNumber",
    }
)  # fmt: skip
_PERSON = RecordShape(
    CONTACT, email=("emailAddress", "emailAddressData"), first_name=("firstName",), last_name=("lastName",), full_name=("name",),
    linkedin=("linkedIn", "cLinkedIn", "linkedinUrl", "cLinkedin", LINKEDIN), domain=("website",), company=("accountName",),
    employer=("accountId", "createdAccountId", "account"), employer_type="Account",
    useful=("title", "phoneNumber", "accountName"), noise=NOISE,
)  # fmt: skip
SHAPES = {
    "Contact": _PERSON,
    "Lead": _PERSON,
    "Account": RecordShape(COMPANY, domain=("website",), company=("name",), useful=("phoneNumber", "industry", "type"), noise=NOISE),
}
ACTIONS = {"create": CREATED, "update": UPDATED, "fieldUpdate": UPDATED, "delete": DELETED}
_OWN = frozenset({"modifiedById", "emailAddressData", "emailAddressIsOptedOut", "emailAddressIsInvalid"})
"""Field names that no other CRM uses; a record that was never changed has no `modifiedById`."""
_MARKS = ("IsOptedOut", "IsInvalid")
"""Suffixes of the flags of an address or a phone number."""
_OF_LEAD = ("opportunityAmount", "convertedAt", "createdAccountId", "createdContactId")
_OF_PERSON = ("emailAddress", "firstName", "lastName", "accountId")
_OF_COMPANY = ("website", "industry")
_OF_COMPANY_ALONE = ("sicCode", "billingAddressCity", "billingAddressStreet", "shippingAddressCity")
"""Fields that no person has; an account may have an email address too."""


class EspoCrm(CrmAdapter):
    """Reads EspoCRM's webhooks."""

    tool = "espocrm"
    words = ("Contact", "Lead", "Account")
    detection_keys = frozenset({"id", "entityType", "event", "signature", "x-signature"})
    signature_schemes = (ESPOCRM,)
    most_secrets = MAX_SECRETS
    key_in = staticmethod(key_in)
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"Contact": (), "Lead": ("status",), "Account": ()}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: a list of plain records, preferably with EspoCRM's signature or the event in the URL."""
        if _named(body) is not None:
            return 70
        if "id" not in body or "subscriptionType" in body:
            return 0
        is_marked = not _OWN.isdisjoint(body) or ("modifiedAt" in body and "assignedUserId" in body)
        if not isinstance(webhook.data, list):
            # A relay has taken the record out of its list.
            return 55 if is_marked or _names_event(query_parameter(webhook.request.query, "event")) else 0
        event = query_parameter(webhook.request.query, "event") or chosen_kind(webhook, webhook_of(webhook.headers)) or ""
        if event.partition(".")[2].partition(".")[0] in ACTIONS:
            return 95
        if "signature" in webhook.headers or "x-signature" in webhook.headers:
            return 75
        return 55 if is_marked else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one record, by the event of its webhook."""
        event = query_parameter(webhook.request.query, "event") or chosen_kind(webhook, webhook_of(webhook.headers)) or _named(body) or ""
        if _named(body) is not None:
            body = {"modifiedAt": body.get("timestamp"), **as_dict(first(body, "entity", "data"))}
        word, _, action = event.partition(".")
        word = word or text(first(body, "entityType", "_scope")) or _guess(body) or ""
        action, _, field = action.partition(".")
        object_id, what = text(body.get("id")), DELETED if body.get("deleted") is True else ACTIONS.get(action or _what(body))
        if word not in SHAPES or what is None:
            return [other_event("ignored" if word else "unrecognised", event or None, word or None, object_id)]
        at = first_time(body, "modifiedAt", *(["createdAt"] if what == CREATED else []))
        item = CrmItem(SHAPES[word], what, word, object_id, event or None, at)
        item.record = with_linkedin(body) if item.shape is _PERSON else body
        item.status = self.statuses(webhook, item.shape.kind, word) or ((field,) if field.lower().endswith("status") else ())
        if what == UPDATED and action:
            # An update contains only the changed fields, a field's own webhook only that field.
            item.changed = {name: (value, NOT_SENT) for name, value in body.items() if name not in NOISE and not name.endswith(_MARKS)}
        return [*item.events(), *_marked(item, body)]


def _marked(item: CrmItem, body: Body) -> list[Event]:
    """Return the events of the flags of a person's email address; flags of phone numbers and target lists are ignored."""
    if item.shape.kind != CONTACT or item.what == DELETED or item.object_id is None:
        return []
    head = Event("email_unsubscribed", item.at, object_type=item.object_type, object_id=item.object_id, source_event=item.source_event)
    head.email = first_of(body, _PERSON.email, email_address)
    # Of a whole record it is read for all CRMs alike.
    opted_out = [head] if body.get("emailAddressIsOptedOut") is True and item.changed is not None else []
    invalid = [replace(head, event="email_bounced", kind="hard")] if body.get("emailAddressIsInvalid") is True else []
    return [*opted_out, *invalid]


def _names_event(behind: str | None) -> bool:
    """Return whether the URL's `event` parameter is an EspoCRM event that we read."""
    word, _, action = (behind or "").partition(".")
    return word in SHAPES and action.partition(".")[0] in ACTIONS


def _named(body: Body) -> str | None:
    """Return the event that a custom integration puts in the body: `Lead.create`, whole or in two keys."""
    word, action = text(body.get("entityType")), text(body.get("event")) or ""
    if word is None:
        word, _, action = action.partition(".")
    is_named = word in SHAPES and action.partition(".")[0] in ACTIONS and isinstance(first(body, "entity", "data"), dict)
    return f"{word}.{action}" if is_named else None


def _what(body: Body) -> str:
    """Return created for a whole record with equal creation and change times, else updated."""
    created = parse_time(body.get("createdAt"))
    return "create" if created is not None and created == parse_time(body.get("modifiedAt")) else "update"


def _guess(body: Body) -> str | None:
    if any(name in body for name in _OF_LEAD):
        return "Lead"
    if any(name in body for name in _OF_COMPANY_ALONE):
        return "Account"
    if any(name in body for name in _OF_PERSON):
        return "Contact"
    return "Account" if any(name in body for name in _OF_COMPANY) else None


ADAPTER = EspoCrm()
