"""GoHighLevel: app webhooks and workflow posts.

Event reference: the webhook pages of the vendor's API documentation (read 2026-11-20). The record's fields are at the
top level with the type; nothing says what changed. A delete has the whole record too. `Record…` events are about
companies and custom objects alike; only those naming the company object are used. Custom posts modelled on these
pages nest the record (`contact`, `data`), use `location_id`, or name the event under `event` or with dots; relays post
the bare contact, or a form submission.
"""

from __future__ import annotations

import re
from typing import ClassVar

from touchbase.adapters.crm.gohighlevel.signature import SIGNED
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, linkedin_from
from touchbase.adapters.kit.deals import Deal
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.history.events import Event

PERSON = RecordShape(
    CONTACT, email=("email",), first_name=("firstName", "first_name"), last_name=("lastName", "last_name"),
    full_name=("name", "full_name", "fullName"), linkedin=(LINKEDIN,), domain=("website",), company=("companyName", "company_name"),
    employer=("businessId",), employer_type="business",
    useful=("phone", "companyName", "company_name", "city", "state", "country", "source", "website"),
)  # fmt: skip
BUSINESS = RecordShape(COMPANY, domain=("website", "domain"), company=("name",), useful=("phone", "city", "state", "country", "industry"))
TYPES = {
    "ContactCreate": CREATED, "ContactUpdate": UPDATED, "ContactDelete": DELETED, "ContactTagUpdate": UPDATED, "ContactDndUpdate": UPDATED,
}  # fmt: skip
MADE_UP = {
    "contact.created": CREATED, "contact.updated": UPDATED, "contact.deleted": DELETED,
    "ContactCreated": CREATED, "ContactUpdated": UPDATED, "ContactDeleted": DELETED,
}  # fmt: skip
"""Event names in custom posts that do not use the vendor's names."""
RECORDS = {"RecordCreate": CREATED, "RecordUpdate": UPDATED, "RecordDelete": DELETED}
DEALS = ("OpportunityCreate", "OpportunityStatusUpdate", "OpportunityStageUpdate")
OF_ACCOUNT = frozenset({"LocationCreate", "LocationUpdate", "UserCreate", "UserUpdate", "UserDelete", "INSTALL", "UNINSTALL"})
"""Events about an agency's locations, users and apps: some have an email address, but none is a contact's."""
NAMES = frozenset({*TYPES, *RECORDS, *DEALS})
WRAPPERS = ("contact", "data", "body", "opportunity")
COMPANY_OBJECTS = ("business", "businesses", "company", "companies")
_VENDORS = re.compile("(?:[A-Z][a-z]+){2,}")
"""Spelling of the vendor's event names."""
_FIELDS = ("id", "key", "fieldKey", "fieldId")
_VALUES = ("value", "field_value", "fieldValue", "fieldValueString", "fieldValueArray", "fieldValueNumber", "fieldValueDate")
_HEADERS = ("x-ghl-signature", "x-wh-signature")
_OF_AGENCY = frozenset({"companyId", "locations", "appId"})
_OF_CONTACT = frozenset({"contactName", "dndSettings", "firstName", "lastName", "email"})
_KINDS = frozenset({None, "lead", "customer"})
_NAMED = frozenset({"event", "event_type", "eventType", "action", "topic"})
_OF_OTHERS = frozenset({"firstObjectKey", "primaryDisplayProperty", "productType", "productId", "pipelineStageId"})
"""Fields of associations, object schemas, products, prices and opportunities, whose webhooks often name no event."""
_OF_WORKFLOW = frozenset({"workflow", "customData", "triggerData", "contact_type"})


class GoHighLevel(CrmAdapter):
    """Reads GoHighLevel's webhooks."""

    tool = "gohighlevel"
    words = ("business",)
    signature_schemes = SIGNED
    detection_keys = frozenset({"locationId", "location_id", "contact_id", "contactId", "webhookId", "type", "altType", "extras"}) | {
        *_OF_WORKFLOW, *_HEADERS,
    }  # fmt: skip
    status: ClassVar[tuple[str, ...]] = ()

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the headers, else by the location with a CamelCase type."""
        source = _name(body)
        if "locationId" in body and (source or "a")[0].isupper():
            return 95
        if any(name in webhook.headers for name in _HEADERS):
            # Lower for a body without a record: a relay may have wrapped it and forwarded the headers.
            return 90 if "id" in body or "type" in body else 45
        if "location" in body and ("contact_id" in body or "full_name" in body) and not _OF_WORKFLOW.isdisjoint(body):
            return 85
        if source in NAMES or _is_below(body, source):
            return 90
        if ("workflow" in body and ("customData" in body or "triggerData" in body)) or _is_of_an_app(body) or _is_form(body):
            return 80
        is_of_location = "locationId" in body and (isinstance(body.get("properties"), list) or _is_bare(body))
        return 60 if is_of_location or _is_others(body) or _is_made_up(body, source) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one record."""
        source = _name(body)
        at, key = parse_time(body.get("timestamp")), text(first(body, "webhookId", "eventId"))
        status = self.statuses(webhook, CONTACT, "contact")
        if "locationId" not in body and not _OF_WORKFLOW.isdisjoint(body) and not _is_of_an_app(body):
            mapped = as_dict(body.get("customData"))
            number = text(first(body, "contact_id", "contactId") or first(mapped, "contact_id", "contactId", "contactID"))
            return CrmItem(PERSON, UPDATED, "contact", number, "workflow", at, key, _flat({**mapped, **body}), status=status).events()
        record = next((inner for name in WRAPPERS if _is_record(inner := as_dict(body.get(name)))), body)
        object_id = text(first(record, "id", "contactId", "contact_id") or first(body, "contactId", "contact_id", "id"))
        if source in RECORDS:
            return self._record(source, body, at, key, webhook)
        if source in DEALS:
            stages = (text(record.get("status")), text(first(record, "pipelineStageName", "pipelineStageId")))
            return Deal(source, text(record.get("id")), stages, at, key, ("contact", text(record.get("contactId")))).events(webhook)
        if _is_form(body) or _is_bare(body):
            # A contact in the API's format, posted by a relay, or a form submission.
            at = at or first_time(body, "dateUpdated", "createdAt")
            number = text(body.get("contactId")) if _is_form(body) else object_id
            return CrmItem(PERSON, UPDATED, "contact", number, None, at, key, _flat(_filled_in(body)), status=status).events()
        what = TYPES.get(source or "") or MADE_UP.get(source or "")
        if what is None:
            return [other_event("ignored", source, None, text(first(body, "id", "_id")))]
        if what != DELETED:
            # Older deliveries have no event time, but the contact has creation and change times.
            at = at or parse_time(record.get("dateAdded" if what == CREATED else "dateUpdated"))
        item = CrmItem(PERSON, what, "contact", object_id, source, at, key, _flat(record), status=status)
        if source == "ContactTagUpdate":
            tags = first(record, "tags") or body.get("tags")
            item.changed = {"tags": (tags.split(",") if isinstance(tags, str) else tags, NOT_SENT)}
        elif source == "ContactDndUpdate":
            item.changed = {"dnd": (record.get("dnd"), NOT_SENT)}
        return item.events()

    def _record(self, source: str, body: Body, at: int | None, key: str | None, webhook: ParsedWebhook) -> list[Event]:
        named = (text(first(body, "objectKey", "schemaKey", "object") or dig(body, "objectKey", "key")) or "").rpartition(".")[2].lower()
        object_id = text(first(body, "id", "recordId"))
        if named not in COMPANY_OBJECTS:
            return [other_event("ignored", source, named or None, object_id)]
        record = _properties(body.get("properties"))
        status = self.statuses(webhook, COMPANY, "business")
        return CrmItem(BUSINESS, RECORDS[source], "business", object_id, source, at, key, record, status=status).events()


def _name(body: Body) -> str | None:
    """Return the event name: under `type`, in custom posts also under `event`, in the vendor's spelling."""
    named, event_name = text(body.get("type")), text(body.get("event")) or ""
    if named is not None:
        return named
    return event_name if event_name in NAMES or ("locationId" in body and _VENDORS.fullmatch(event_name)) else None


def _is_below(body: Body, source: str | None) -> bool:
    """Return whether a body has the vendor's event name and account ids, possibly under `data`."""
    keys = body.keys() | as_dict(body.get("data")).keys()
    return (source in OF_ACCOUNT and not _OF_AGENCY.isdisjoint(keys)) or ("locationId" in keys and bool(_VENDORS.fullmatch(source or "")))


def _is_bare(body: Body) -> bool:
    """Return whether a body is a bare contact in the API's format: its `type` is not an event type."""
    return text(body.get("type")) in _KINDS and _NAMED.isdisjoint(body) and not _OF_CONTACT.isdisjoint(body)


def _is_form(body: Body) -> bool:
    """Return whether a body is a form submission in the API's format: the fields next to the location."""
    return "formId" in body and "contactId" in body and "location_id" in as_dict(body.get("others"))


def _filled_in(body: Body) -> Body:
    return {**as_dict(body.get("others")), **body} if _is_form(body) else body


def _is_others(body: Body) -> bool:
    """Return whether a body without an event type is about no contact: an association, schema, product, invoice or user."""
    if "locationId" not in body:
        return body.get("altType") == "location" and "altId" in body
    return not _OF_OTHERS.isdisjoint(body) or ("role" in body and body.get("type") in ("account", "agency"))


def _is_made_up(body: Body, source: str | None) -> bool:
    """Return whether a body is a custom post with a location, about a contact or a deal."""
    return "locationId" in body and (source in MADE_UP or (source or "").startswith("opportunity."))


def _is_of_an_app(body: Body) -> bool:
    """Return whether a body configures an app's workflow trigger or action: it is about the app, not a contact."""
    return "meta" in body and as_dict(body.get("extras")).keys() >= {"locationId", "workflowId"}


def _is_record(inner: Body) -> bool:
    """Return whether this object is the record, and not a workflow post's attribution data."""
    return "id" in inner or "email" in inner


def _flat(body: Body) -> Body:
    """Return the contact with its custom fields, a list of ids and values, as properties."""
    values = {
        name: first(field, *_VALUES)
        for field in map(as_dict, as_list(first(body, "customFields", "customField")))
        if (name := text(first(field, *_FIELDS)))
    }
    # A field's id does not say LinkedIn, but its value may.
    profile = next(filter(None, (linkedin_from(value) for value in values.values() if isinstance(value, str))), None)
    return with_linkedin({**values, **body}, {LINKEDIN: profile})


def _properties(value: object) -> Body:
    """Return the properties as an object: they come as one, or as a list with values under `valueString` etc."""
    if isinstance(value, dict):
        return value
    record: Body = {}
    for field in map(as_dict, as_list(value)):
        if (name := text(field.get("key"))) is not None:
            record[name.rpartition(".")[2]] = next((inner for key, inner in field.items() if key.startswith("value")), None)
    return record


ADAPTER = GoHighLevel()
