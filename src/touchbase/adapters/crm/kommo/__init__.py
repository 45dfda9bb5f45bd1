"""Kommo (formerly amoCRM): webhooks.

Event reference: recorded deliveries (read 2026-11-20). Webhooks are forms with bracketed names: an entity, an action, a
list of records. Companies are under `contacts` with the type `company`. `leads` are deals and are ignored. Email
addresses are in custom fields, identified by their code. Relays and widgets forward the same as JSON, with or without
the account, or records in the API's format.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_text, option_text
from touchbase.adapters.kit.extract import address, dig, first, items, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "id", "type", "date_create", "last_modified", "created_at", "updated_at", "custom_fields", "tags", "account", "linked_leads_id",
        "old_responsible_user_id", "is_deleted", "group_id",
    }
)  # fmt: skip
SHAPES = {
    "contact": RecordShape(
        CONTACT, email=("EMAIL",), first_name=("first_name",), last_name=("last_name",), full_name=("name",),
        linkedin=("LINKEDIN", LINKEDIN),
        employer=("linked_company_id", "company_id", "company"), employer_type="company",
        domain=("WEB",), company=("company_name",), useful=None, noise=NOISE | {"first_name", "last_name"},
    ),
    "company": RecordShape(COMPANY, domain=("WEB",), company=("name",), useful=None, noise=NOISE),
}  # fmt: skip
ENTITIES = ("contacts", "contact", "companies", "company")
OTHERS = ("leads", "task", "tasks", "unsorted", "customers", "message", "talk", "note", "catalogs", "chat_message")
ACTIONS = {"add": CREATED, "update": UPDATED, "delete": DELETED, "restore": UPDATED, "responsible": UPDATED}
_NAMES = frozenset({*ENTITIES, *OTHERS})
_VERBS = frozenset({*ACTIONS, "status", "note", "mail_in", "call_in", "chat", "site_visit", "period"})
CODES = ("EMAIL", "WEB", "LINKEDIN")


class Kommo(CrmAdapter):
    """Reads Kommo's webhooks."""

    tool = "kommo"
    detection_keys = _NAMES | {"account", "subdomain", "custom_fields_values", "add"}
    status: ClassVar[tuple[str, ...]] = ()
    """Names of the custom fields that are the status."""

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the account's subdomain with an entity."""
        if _alone(body) is not None or _is_message(body):
            return 80
        entities = [as_dict(body[name]) for name in _NAMES & body.keys()]
        if "subdomain" in body and "account_id" in body and isinstance(body.get("event"), dict):
            return 80
        if not any(entities):
            is_theirs = isinstance(dig(body, "account", "subdomain"), str)
            return 80 if is_theirs and any(as_dict(value).keys() & _VERBS for value in body.values()) else 0
        if isinstance(dig(body, "account", "subdomain"), str) or dig(body, "account", "_links") is not None:
            return 100
        acted = [entity[verb] for entity in entities for verb in _VERBS & entity.keys()]
        # Without the account, a form is known by its brackets, and JSON by the list under the action.
        return 60 if acted and (webhook.form or any(isinstance(dig(items(records), 0), dict) for records in acted)) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of all records, entity by entity and action by action."""
        if isinstance(body.get("event"), dict) and "subdomain" in body:
            # A step of the digital pipeline, always about a deal.
            return [
                other_event("ignored", text(dig(body, "event", "type_code")) or "event", "leads", text(dig(body, "event", "data", "id")))
            ]
        if (word := _alone(body)) is not None:
            return self._records(word, "update", {**body, "type": word}, webhook)
        if _is_message(body):
            return [other_event("ignored", "add", "message", text(dig(body, "add", 0, "id")))]
        events: list[Event] = []
        for entity, actions in body.items():
            for action, records in as_dict(actions).items():
                if entity in ENTITIES:
                    events += self._records(entity, action, records, webhook)
                elif entity in OTHERS or action in _VERBS:
                    events.append(other_event("ignored", f"{entity}.{action}", entity))
        return events or [other_event("unrecognised")]

    def _records(self, entity: str, action: str, records: object, webhook: ParsedWebhook) -> list[Event]:
        source, what = f"{entity}.{action}", ACTIONS.get(action)
        if what is None:
            return [other_event("ignored", source, entity)]
        events: list[Event] = []
        for entry in items(records) or [records]:
            # A deleted record may have only its id.
            record = {"id": number} if what == DELETED and (number := text(entry)) is not None else entry
            if not isinstance(record, dict):
                events.append(other_event("unrecognised", source, entity))
                continue
            word = text(record.get("type")) or ("company" if entity.startswith("compan") else "contact")
            if word not in SHAPES:
                events.append(other_event("ignored", source, word, text(record.get("id"))))
                continue
            at = first_time(record, "updated_at", "last_modified") or (
                first_time(record, "created_at", "date_create") if what == CREATED else None
            )
            item = CrmItem(SHAPES[word], what, word, text(record.get("id")), source, at)
            item.record = with_linkedin(_flat(record)) if word == "contact" else _flat(record)
            item.status = self.statuses(webhook, item.shape.kind, word)
            item.restored = action == "restore"
            events += item.events()
        return events


def _alone(body: Body) -> str | None:
    """Return the type of a bare record that a relay has fetched, by fields that the other types lack."""
    if "custom_fields_values" not in body or "account_id" not in body or "id" not in body:
        return None
    if "pipeline_id" in body or "status_id" in body:
        return "lead"
    return "contact" if "first_name" in body else "company"


def _is_message(body: Body) -> bool:
    """Return whether a body is a bare chat message."""
    return dig(body, "add", 0, "talk_id") is not None and dig(body, "add", 0, "chat_id") is not None


def _flat(record: Body) -> Body:
    """Return the record with its custom fields as properties: by code if it is a known one, else by name."""
    flat, mails = dict(record), dict[str, list[object]]()
    for field in map(as_dict, items(record.get("custom_fields") or record.get("custom_fields_values"))):
        code = (text(first(field, "code", "field_code")) or "").upper()
        name = text(first(field, "name", "field_name")) or ""
        values = [
            as_dict(value).get("value", as_dict(value).get("")) if isinstance(value, dict) else value
            for value in items(field.get("values"))
        ]
        if code in CODES or name.upper() in CODES:
            flat[code if code in CODES else name.upper()] = values
        elif name and values:
            flat.setdefault(name, values[0] if len(values) == 1 else option_text([*map(as_text, values)]))
            mails |= {name: values} if address(values[0]) else {}
    if "EMAIL" not in flat and len(mails) == 1:
        # A field without a code has only its name, in the account's language.
        ((name, values),) = mails.items()
        flat = {key: value for key, value in flat.items() if key != name} | {"EMAIL": values}
    return flat


ADAPTER = Kommo()
