"""Pipedrive: webhooks of versions 1 and 2.

Event reference: the webhook guides on pipedrive.readme.io (read 2026-11-20). A person is a contact, an organization a
company; leads, activities and other objects are ignored, and deals are used only if the client has mapped them. Version
2 has the changed fields in `previous`; version 1 has the whole old record there, so both are compared.
`meta.company_id` and a record's `company_id` are the Pipedrive account, not a company.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, Changes, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, differences, status_text
from touchbase.adapters.kit.deals import Deal
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin_of_fields
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.common.timestamps import Micros
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "update_time", "add_time", "delete_time", "first_char", "cc_email", "company_id", "owner_name", "org_name", "active_flag",
        "picture_id",
        "picture_128_url", "next_activity_date", "next_activity_time", "next_activity_id", "last_activity_id", "last_activity_date",
        "last_incoming_mail_time", "last_outgoing_mail_time", "activities_count", "done_activities_count", "undone_activities_count",
        "open_deals_count", "closed_deals_count", "won_deals_count", "lost_deals_count", "related_open_deals_count",
        "related_closed_deals_count",
        "related_won_deals_count", "related_lost_deals_count", "participant_open_deals_count", "participant_closed_deals_count",
        "email_messages_count", "files_count", "notes_count", "followers_count", "reference_activities_count", "people_count",
    }
)  # fmt: skip
SHAPES = {
    CONTACT: RecordShape(
        CONTACT, email=("emails", "email"), first_name=("first_name",), last_name=("last_name",), full_name=("name",),
        linkedin=("linkedin", LINKEDIN), employer=("org_id",), employer_type="organization",
        useful=("job_title",), noise=NOISE,
    ),
    COMPANY: RecordShape(COMPANY, domain=("website", "domain"), company=("name",), useful=("industry", "country_code"), noise=NOISE),
}  # fmt: skip
KINDS = {"person": CONTACT, "organization": COMPANY}
ACTIONS = {
    "create": CREATED, "added": CREATED, "change": UPDATED, "updated": UPDATED, "delete": DELETED, "deleted": DELETED, "merged": UPDATED,
}  # fmt: skip

_OF_RECORD = frozenset({"visible_to", "add_time", "update_time"})
_OF_PERSON = frozenset({"emails", "email", "phones", "phone", "first_name"})
_OF_OTHERS = frozenset({"stage_id", "pipeline_id", "due_date", "title", "unit"})
_HASH = 40
_OWN_FIELD = re.compile(r"[0-9a-f]+", re.ASCII)
_STAGES = frozenset({"status", "stage_id"})


class Pipedrive(CrmAdapter):
    """Reads Pipedrive's webhooks."""

    tool = "pipedrive"
    words = ("person", "organization")
    detection_keys = frozenset({"meta", "visible_to", "current", "previous"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = dict.fromkeys(KINDS, ("label", "label_ids"))

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: version 2 has an entity, version 1 an object; both have an action and the account."""
        meta = as_dict(body.get("meta"))
        if not ({"entity", "object"} & meta.keys()):
            # A record in the API's format, or a version 1 event without its envelope.
            return 75 if body.keys() >= _OF_RECORD else 85 if _is_named(body) else 0
        if meta.get("version") == "2.0" and "entity" in meta:
            return 100
        if "object" in meta and ("current" in body or "previous" in body):
            return 100 if meta.get("v") == 1 or body.get("v") == 1 else 90
        return 90 if "action" in meta and ("data" in body or "company_id" in meta) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one change of one record."""
        meta = as_dict(body.get("meta"))
        if "meta" not in body and body.keys() >= _OF_RECORD:
            return self._alone(body, webhook)
        if "entity" in meta:
            return self._version_2(meta, as_dict(body.get("data")), as_dict(body.get("previous")), webhook)
        return self._version_1(body, meta, as_dict(body.get("current")), as_dict(body.get("previous")), webhook)

    def _alone(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of a record that a relay has fetched; its type is known by fields that the others lack."""
        object_id = text(body.get("id"))
        if object_id is None or not _OF_OTHERS.isdisjoint(body):
            return [other_event("ignored", None, None, object_id)]
        word = "organization" if _OF_PERSON.isdisjoint(body) else "person"
        what = DELETED if body.get("is_deleted") is True or body.get("active_flag") is False else UPDATED
        item = CrmItem(
            SHAPES[KINDS[word]], what, word, object_id, None, parse_time(body.get("update_time")), record=_with_linkedin(_flat(body))
        )
        item.status = self.statuses(webhook, KINDS[word], word)
        return item.events()

    def _version_2(self, meta: Body, data: Body, previous: Body, webhook: ParsedWebhook) -> list[Event]:
        object_id = text(first(meta, "entity_id") or first(data, "id") or first(previous, "id"))
        source = f"{text(meta.get('action')) or ''}.{text(meta.get('entity')) or ''}"
        at = first_time(meta, "timestamp") or first_time(data, "update_time")
        if meta.get("entity") == "deal":
            staged = text(meta.get("action")) == "create" or not _STAGES.isdisjoint(previous)
            return _deal(source, object_id, data if staged else {}, at, text(meta.get("id"))).events(webhook)
        item = self._item(source, object_id, at, text(meta.get("id")), webhook)
        if not isinstance(item, CrmItem):
            return [item]
        item.record = _with_linkedin(_flat(data or previous))
        if item.what == DELETED:
            item.merged_into = text(meta.get("merged_to_id"))
        elif item.what == UPDATED:
            item.changed = _listed(data, previous)
        return item.merged(text(meta.get("merged_from_id")))

    def _version_1(self, body: Body, meta: Body, current: Body, previous: Body, webhook: ParsedWebhook) -> list[Event]:
        named, meant = text(body.get("event")) or "", f"{text(meta.get('action')) or ''}.{text(meta.get('object')) or ''}"
        # A name that a relay has written over the event's name is not used.
        source = named if "." in named or meant == "." else meant
        object_id = text(first(current, "id") or first(previous, "id") or first(meta, "id"))
        at = first_time(meta, "timestamp_micro", "timestamp_milli", "timestamp") or first_time(current, "update_time")
        if source.endswith(".deal"):
            staged = not previous or not _STAGES.isdisjoint(differences(current, previous, NOISE))
            return _deal(source, object_id, current if staged else {}, at, None).events(webhook)
        item = self._item(source, object_id, at, None, webhook)
        if not isinstance(item, CrmItem):
            return [item]
        item.record = _with_linkedin(current or previous)
        if source.startswith("merged."):
            # `previous` is the other record of the merge, so a comparison would be meaningless.
            item.object_id, item.changed = text(first(current, "id")) or object_id, {}
            return item.merged(text(first(current, "merge_what_id") or first(previous, "id")))
        if item.what == UPDATED and current and previous:
            item.changed = differences(current, previous, NOISE)
        return item.events()

    def _item(self, source: str, object_id: str | None, at: Micros | None, key: str | None, webhook: ParsedWebhook) -> CrmItem | Event:
        action, _, word = source.partition(".")
        kind, what = KINDS.get(word), ACTIONS.get(action)
        if kind is None or what is None:
            return other_event("ignored" if word and action else "unrecognised", source, word or None, object_id)
        return CrmItem(SHAPES[kind], what, word, object_id, source, at, key, status=self.statuses(webhook, kind, word))


def _is_named(body: Body) -> bool:
    """Return whether a body has a version 1 event name, `updated.person`, with the current or previous record."""
    action, _, word = (text(body.get("event")) or "").partition(".")
    return action in ACTIONS and word != "" and (isinstance(body.get("current"), dict) or isinstance(body.get("previous"), dict))


def _deal(source: str, object_id: str | None, data: Body, at: Micros | None, key: str | None) -> Deal:
    """Return a deal with its current stage; won and lost take precedence over the stage."""
    stages = (text(data.get("status")), text(data.get("stage_id")))
    person, organization = text(_id(data.get("person_id"))), text(_id(data.get("org_id")))
    return Deal(source, object_id, stages, at, key, ("person", person), ("organization", organization))


def _id(link: object) -> object:
    """Return the id of a link, which is an id or an object."""
    return link.get("value", link.get("id")) if isinstance(link, dict) else link


def _flat(data: Body) -> Body:
    """Return the record with its custom fields as properties."""
    return {**data, **{name: _value(value) for name, value in as_dict(data.get("custom_fields")).items()}}


def _with_linkedin(record: Body) -> Body:
    """Return the record with the LinkedIn URL of a custom field, whose name is a hash."""
    return with_linkedin_of_fields(record, lambda name: len(name) == _HASH and _OWN_FIELD.fullmatch(name) is not None)


def _listed(data: Body, previous: Body) -> Changes:
    """Return the changes that version 2 lists: the keys of `previous`, custom fields by their hash."""
    names = {name: before for name, before in previous.items() if name != "custom_fields"}
    before = as_dict(previous.get("custom_fields"))
    now = as_dict(data.get("custom_fields"))
    return {name: (data.get(name), old) for name, old in names.items()} | {
        name: (_value(now.get(name)), _value(old)) for name, old in before.items()
    }


def _value(field: object) -> object:
    """Return the value of a typed custom field: of `{"type": "double", "value": 978}` the 978, of options their ids."""
    if not isinstance(field, dict):
        return field
    return status_text(field["values"]) if "values" in field else field.get("value", field.get("id", field))


ADAPTER = Pipedrive()
