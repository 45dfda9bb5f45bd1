"""Insightly: webhooks of workflow automation.

Event reference: support.insight.ly, webhooks in workflow automation (read 2026-11-20). The body is the record, with
upper-case names, without an event name: equal creation and change times mean that it is new. Contacts and leads are
contacts, organisations are companies. Records of older API versions have their addresses in a list (`CONTACTINFOS`);
relays forward the record without `entity`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, linkedin_from, option_text
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import parse_time
from touchbase.history.events import Event

_PERSON = RecordShape(
    CONTACT, email=("EMAIL_ADDRESS", "EMAIL"), first_name=("FIRST_NAME",), last_name=("LAST_NAME",),
    linkedin=("SOCIAL_LINKEDIN", LINKEDIN),
    domain=("WEBSITE",), company=("ORGANISATION_NAME", "ORGANIZATION_NAME"),
    employer=("ORGANISATION_ID", "ORGANIZATION_ID"), employer_type="organisation",
    useful=("TITLE", "PHONE", "ORGANISATION_NAME", "INDUSTRY"),
)  # fmt: skip
_ORGANISATION = RecordShape(
    COMPANY, domain=("WEBSITE", "EMAIL_DOMAIN"), company=("ORGANISATION_NAME", "ORGANIZATION_NAME"), useful=("PHONE", "INDUSTRY"),
)  # fmt: skip
# In this order: a contact also has its organisation's id, an opportunity several ids.
NOT_OURS = ("OPPORTUNITY_ID", "PROJECT_ID", "TASK_ID", "EVENT_ID", "NOTE_ID", "TICKET_ID", "PRODUCT_ID", "QUOTE_ID")
KINDS = {
    "LEAD_ID": ("lead", _PERSON), "CONTACT_ID": ("contact", _PERSON), "ORGANISATION_ID": ("organisation", _ORGANISATION),
    "ORGANIZATION_ID": ("organisation", _ORGANISATION),
}  # fmt: skip
INFOS = {"EMAIL": "EMAIL_ADDRESS", "WEBSITE": "WEBSITE", "PHONE": "PHONE", "SOCIAL": "SOCIAL_LINKEDIN"}
"""Kinds of an older record's `CONTACTINFOS`, and their current field names."""
_TIMES = frozenset({"DATE_CREATED_UTC", "DATE_UPDATED_UTC"})
_OWN = frozenset({"EMAIL_ADDRESS", "ORGANISATION_NAME", "CUSTOMFIELDS", "LEAD_STATUS_ID", "SOCIAL_LINKEDIN", "OWNER_USER_ID"})
"""Field names that distinguish a selection of fields from other tools with upper-case names."""


class Insightly(CrmAdapter):
    """Reads Insightly's webhooks."""

    tool = "insightly"
    words = ("lead", "organisation")
    detection_keys = frozenset({"entity", *_TIMES, *KINDS})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"lead": ("LEAD_STATUS", "LEAD_STATUS_ID"), "contact": (), "organisation": ()}

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the upper-case names under `entity`."""
        entity = _entity(body)
        if "entity" not in body:
            if not _TIMES.isdisjoint(entity):
                return 80 if any(name.endswith("_ID") for name in entity) else 0
            return 60 if not _OWN.isdisjoint(entity) and not KINDS.keys().isdisjoint(entity) else 0
        if "DATE_UPDATED_UTC" in entity or entity.keys() & KINDS.keys():
            return 95
        return 70 if any(name.endswith("_ID") for name in entity) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return a snapshot of one record."""
        record = _entity(body)
        if any(name in record for name in NOT_OURS) and "LEAD_ID" not in record:
            return [other_event("ignored")]
        name = next((name for name in KINDS if record.get(name) is not None), None)
        if name is None:
            return [other_event("ignored" if any(key.endswith("_ID") for key in record) else "unrecognised")]
        word, shape = KINDS[name]
        created, updated = parse_time(record.get("DATE_CREATED_UTC")), parse_time(record.get("DATE_UPDATED_UTC"))
        what = CREATED if created is not None and created == updated else UPDATED
        fields = {
            label: field.get("FIELD_VALUE", field.get("VALUE"))
            for field in map(as_dict, as_list(first(record, "CUSTOMFIELDS")))
            if (label := text(first(field, "FIELD_NAME", "CUSTOM_FIELD_ID")))
        }
        item = CrmItem(shape, what, word, text(record[name]), None, updated or created, record={**fields, **_infos(record), **record})
        if shape is _PERSON:
            item.record = with_linkedin(item.record)
        item.status = self.statuses(webhook, shape.kind, word)
        events = item.events()
        if item.object_id is not None:
            own = {key: value for key, value in fields.items() if key in item.record and key not in item.status}
            events[0].custom |= {key: shown for key, value in own.items() if (shown := option_text(value)) is not None or value is None}
        return events


def _entity(body: Body) -> Body:
    """Return the record, under `entity` unless a relay has unwrapped it."""
    return as_dict(body.get("entity")) or body


def _infos(record: Body) -> Body:
    """Return the first address of each kind in an older record's list, and an organisation's email domain."""
    values: Body = {}
    for info in map(as_dict, as_list(record.get("CONTACTINFOS"))):
        name = INFOS.get((text(info.get("TYPE")) or "").upper())
        # Of the social networks only LinkedIn is read; the value is checked to be a URL.
        if name is not None and (name != "SOCIAL_LINKEDIN" or linkedin_from(info.get("DETAIL")) is not None):
            values.setdefault(name, info.get("DETAIL"))
    domain = dig(first(record, "EMAILDOMAINS", "EMAIL_DOMAINS"), 0, "EMAIL_DOMAIN")
    return values if domain is None else {**values, "EMAIL_DOMAIN": domain}


ADAPTER = Insightly()
