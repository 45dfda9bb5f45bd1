"""Kommo (once amoCRM): its webhooks in our words.

Event reference: recorded deliveries (read 2026-11-20). Calls are forms with bracketed names: an entity, an
action, a list of records. Companies come under `contacts` with the type `company`. `leads` are deals and
are not used, whatever their status. E-mail and the like sit in custom fields, known by their code. Relays and
widgets pass the same on as JSON, with or without the account, or records as the API tells them.
"""

from __future__ import annotations

from typing import ClassVar

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, choices, plain
from touchbase.adapters.kit.extract import address, dig, first, items, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import moment
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "id", "type", "date_create", "last_modified", "created_at", "updated_at", "custom_fields", "tags", "account", "linked_leads_id",
        "old_responsible_user_id", "is_deleted", "group_id",
    }
)  # fmt: skip
SHAPES = {
    "contact": Shape(
        CONTACT, email=("EMAIL",), first_name=("first_name",), last_name=("last_name",), full_name=("name",),
        linkedin=("LINKEDIN", LINKEDIN),
        employer=("linked_company_id", "company_id", "company"), employer_type="company",
        domain=("WEB",), company=("company_name",), useful=None, noise=NOISE | {"first_name", "last_name"},
    ),
    "company": Shape(COMPANY, domain=("WEB",), company=("name",), useful=None, noise=NOISE),
}  # fmt: skip
ENTITIES = ("contacts", "contact", "companies", "company")
OTHERS = ("leads", "task", "tasks", "unsorted", "customers", "message", "talk", "note", "catalogs", "chat_message")
ACTIONS = {"add": CREATED, "update": UPDATED, "delete": DELETED, "restore": UPDATED, "responsible": UPDATED}
_NAMES = frozenset({*ENTITIES, *OTHERS})
_VERBS = frozenset({*ACTIONS, "status", "note", "mail_in", "call_in", "chat", "site_visit", "period"})
CODES = ("EMAIL", "WEB", "LINKEDIN")


class Kommo(CrmAdapter):
    """Reads Kommo's webhook calls."""

    tool = "kommo"
    signs = _NAMES | {"account", "subdomain", "custom_fields_values", "add"}
    status: ClassVar[tuple[str, ...]] = ()
    """Names of the custom fields that are the status."""

    def sure(self, body: Body, call: Call) -> int:
        """Known by the account's subdomain beside an entity."""
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
        # Without the account, a form says it by its brackets and JSON by the list below the action.
        return 60 if acted and (call.form or any(isinstance(dig(items(records), 0), dict) for records in acted)) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """All records of a call, entity by entity and action by action."""
        if isinstance(body.get("event"), dict) and "subdomain" in body:
            # A step of the digital pipeline: always about a deal.
            return [note("ignored", text(dig(body, "event", "type_code")) or "event", "leads", text(dig(body, "event", "data", "id")))]
        if (word := _alone(body)) is not None:
            return self._records(word, "update", {**body, "type": word}, call)
        if _is_message(body):
            return [note("ignored", "add", "message", text(dig(body, "add", 0, "id")))]
        events: list[Event] = []
        for entity, actions in body.items():
            for action, records in as_dict(actions).items():
                if entity in ENTITIES:
                    events += self._records(entity, action, records, call)
                elif entity in OTHERS or action in _VERBS:
                    events.append(note("ignored", f"{entity}.{action}", entity))
        return events or [note("unrecognised")]

    def _records(self, entity: str, action: str, records: object, call: Call) -> list[Event]:
        source, what = f"{entity}.{action}", ACTIONS.get(action)
        if what is None:
            return [note("ignored", source, entity)]
        events: list[Event] = []
        for told in items(records) or [records]:
            # Of what is deleted the id alone may be left.
            record = {"id": number} if what == DELETED and (number := text(told)) is not None else told
            if not isinstance(record, dict):
                events.append(note("unrecognised", source, entity))
                continue
            word = text(record.get("type")) or ("company" if entity.startswith("compan") else "contact")
            if word not in SHAPES:
                events.append(note("ignored", source, word, text(record.get("id"))))
                continue
            at = moment(record, "updated_at", "last_modified") or (moment(record, "created_at", "date_create") if what == CREATED else None)
            item = Item(SHAPES[word], what, word, text(record.get("id")), source, at)
            item.record = with_linkedin(_flat(record)) if word == "contact" else _flat(record)
            item.status = self.statuses(call, item.shape.kind, word)
            item.restored = action == "restore"
            events += item.events()
        return events


def _alone(body: Body) -> str | None:
    """What a body is the record of, if it is one that a relay has asked for; each kind has fields that the others lack."""
    if "custom_fields_values" not in body or "account_id" not in body or "id" not in body:
        return None
    if "pipeline_id" in body or "status_id" in body:
        return "lead"
    return "contact" if "first_name" in body else "company"


def _is_message(body: Body) -> bool:
    """Whether a body is a chat's message without the name around it."""
    return dig(body, "add", 0, "talk_id") is not None and dig(body, "add", 0, "chat_id") is not None


def _flat(record: Body) -> Body:
    """The record with its custom fields beside the others: those with a known code under it, the rest by name."""
    flat, mails = dict(record), dict[str, list[object]]()
    for one in map(as_dict, items(record.get("custom_fields") or record.get("custom_fields_values"))):
        code = (text(first(one, "code", "field_code")) or "").upper()
        name = text(first(one, "name", "field_name")) or ""
        values = [
            as_dict(value).get("value", as_dict(value).get("")) if isinstance(value, dict) else value for value in items(one.get("values"))
        ]
        if code in CODES or name.upper() in CODES:
            flat[code if code in CODES else name.upper()] = values
        elif name and values:
            flat.setdefault(name, values[0] if len(values) == 1 else choices([*map(plain, values)]))
            mails |= {name: values} if address(values[0]) else {}
    if "EMAIL" not in flat and len(mails) == 1:
        # Without a code the field has the name that it has in the account's language.
        ((name, values),) = mails.items()
        flat = {other: value for other, value in flat.items() if other != name} | {"EMAIL": values}
    return flat


ADAPTER = Kommo()
