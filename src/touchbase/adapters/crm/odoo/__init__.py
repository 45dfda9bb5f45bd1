"""Odoo: webhook notifications of automation rules.

Event reference: recorded deliveries (read 2026-11-20). A webhook has the fields that an administrator has selected,
without an event name or time; so each is a snapshot. Empty values are `false`. `_action`, in some `_name`, is the
rule's label, not an event. Server actions and third-party modules write `model` instead, name the event by Odoo's
methods (`create`, `write`, `unlink`), often nest the record, and some list several record ids. Other models
(`account.move`) are known by the form of their names. An *On deletion* rule sends the same body, so its webhook URL has
the event (`?event=unlink`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, host, linked_id, query_parameter
from touchbase.adapters.kit.event_name_parser import parse_event_name
from touchbase.adapters.kit.extract import address, first, flag, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import first_time
from touchbase.common.timestamps import Micros
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "id", "_id", "_model", "model", "_action", "_name", "display_name", "complete_name", "contact_address",
        "contact_address_complete", "email_normalized",
        "record_id", "res_id", "ids", "event", "operation", "method", "action", "trigger", "timestamp",
        "phone_sanitized", "is_company", "company_type", "active", "write_date", "create_date", "write_uid", "create_uid", "color",
    }
)  # fmt: skip
_PARENT = "parent_partner_id"
"""The property for the id of a partner's company."""
PERSON = RecordShape(
    CONTACT, email=("email", "email_from", "x_email", "email_normalized"), full_name=("contact_name", "name"), linkedin=(LINKEDIN,),
    domain=("website",), company=("partner_name", "commercial_company_name"), employer=(_PARENT,), employer_type="res.partner",
    useful=None, noise=NOISE,
)  # fmt: skip
METHODS = {"create": CREATED, "write": UPDATED, "update": UPDATED, "unlink": DELETED, "delete": DELETED}
"""Method names in server actions, and their meaning."""
RECORDS = ("data", "record", "values", "vals", "payload", "fields")
_IDS = ("_id", "id", "record_id", "res_id")
_WITH_STATUS = 2
_MODEL = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")
# A lead's name is its title, not its person's name.
LEAD = replace(PERSON, full_name=("contact_name",), noise=NOISE | {"name", "type"})
# An opportunity's own names and values are not its partner's.
OF_PARTNER = RecordShape(CONTACT, email=("email_from",))
OF_COMPANY = RecordShape(COMPANY)
ORGANISATION = RecordShape(COMPANY, domain=("website",), company=("name",), useful=None, noise=NOISE)


class Odoo(CrmAdapter):
    """Reads Odoo's webhook notifications."""

    tool = "odoo"
    words = ("res.partner", "crm.lead")
    detection_keys = frozenset({"_model", "_id", "model"})
    status: ClassVar[tuple[str, ...]] = ()

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the model and id of every notification."""
        if "_model" in body and "_id" in body:
            return 100
        # A custom server action writes `model`, which is weak evidence alone.
        model = text(body.get("model")) or ""
        return 60 if "_model" in body or model == "res.partner" or (_MODEL.fullmatch(model) and _method(body)) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return a snapshot of one record, or the events of several ids."""
        numbers = [number for own_id in as_list(body.get("ids")) if (number := text(own_id)) is not None]
        if numbers and first(body, *_IDS) is None:
            # Values written to several records at once identify none of them: a shared address would merge them all.
            shared = body if len(numbers) == 1 else {name: value for name, value in body.items() if name not in RECORDS}
            return [event for number in numbers for event in self._events_of({**shared, "id": number}, webhook)]
        return self._events_of(body, webhook)

    def _events_of(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        model = text(first(body, "_model", "model"))
        record = _record(body)
        object_id = text(first(body, *_IDS) or first(record, "id"))
        is_lead = model == "crm.lead"
        if is_lead and record.get("type") != "lead" and (partner := linked_id(_number(_fields(body).get("partner_id")))) is not None:
            return self._opportunity(body, record, partner, webhook)
        # A lead without any field does not show whether it is a person's.
        if model != "res.partner" and not (is_lead and ("type" in record or any(name in record for name in LEAD.email))):
            return [other_event("ignored" if model else "unrecognised", None, model, object_id)]
        is_company = flag(record.get("is_company")) is True or record.get("company_type") == "company"
        shape = LEAD if is_lead else ORGANISATION if is_company else PERSON
        if shape is not ORGANISATION and not any(address(record.get(name)) for name in shape.email):
            _find_mail(record)
        if shape is not ORGANISATION:
            record = with_linkedin(record)
            record[_PARENT] = None if is_lead else _parent(body, object_id)
        if is_company and record.get("website") is None and (domain := host(record.get("email_domain"))) is not None:
            record["website"] = domain
        what, source, at = self._what(body, record, webhook)
        if _is_archived(body) and (not is_lead or record.get("type") == "lead"):
            what = DELETED
        item = CrmItem(shape, what, model, object_id, source, at, record=record, status=self.statuses(webhook, shape.kind, model))
        item.nulls_clear = True
        return item.events()

    def _what(self, body: Body, record: Body, webhook: ParsedWebhook) -> tuple[str, str | None, Micros | None]:
        """Return the kind of change, by the URL or the body, the event's name, and the time."""
        named: Body = {"event": query_parameter(webhook.request.query, "event")}
        method, event_name = (_method(named), parse_event_name(named)) if "_model" in body else (_method(body), parse_event_name(body))
        what = METHODS.get(_method(named) or "") or parse_event_name(named) or METHODS.get(method or "") or event_name or UPDATED
        # A deleted record has the time of its last change, which is not the time of its deletion.
        at = None if what == DELETED else first_time(record, "write_date")
        return what, text(body.get("_action")) or method, at or first_time(body, "timestamp")

    def _opportunity(self, body: Body, record: Body, partner: str, webhook: ParsedWebhook) -> list[Event]:
        """Return an opportunity's partner as events; the opportunity's end is not the partner's."""
        what, source, at = self._what(body, record, webhook)
        # A company's opportunity has a company name and no person.
        is_company = "contact_name" in record and record["contact_name"] is None and record.get("partner_name") is not None
        shape = OF_COMPANY if is_company else OF_PARTNER
        item = CrmItem(shape, UPDATED, "res.partner", partner, source, at, record=record)
        item.status = self.statuses(webhook, shape.kind, "crm.lead")
        events = [] if what == DELETED else item.events()
        is_empty = len(events) < _WITH_STATUS and not any(event.email for event in events)
        return [other_event("ignored", source, "crm.lead", text(first(body, *_IDS)))] if is_empty else events


def _parent(body: Body, own: str | None) -> str | None:
    """Return the id of a partner's company, or None; a partner without one is its own commercial partner."""
    fields = _fields(body)
    parents = (linked_id(_number(fields.get(name))) for name in ("parent_id", "commercial_partner_id"))
    return next((number for number in parents if number is not None and number != own), None)


def _number(link: object) -> object:
    """Return the id of a link, which comes alone or with the linked record's name."""
    return link[0] if isinstance(link, list) and link and isinstance(link[0], int) else link


def _is_archived(body: Body) -> bool:
    """Return whether a record, which may be nested, is inactive."""
    return any(flag(record.get("active")) is False for record in (body, *map(as_dict, map(body.get, RECORDS))))


def _method(body: Body) -> str | None:
    """Return a server action's event name: `create`, `record.write`."""
    named = text(first(body, "event", "operation", "method", "action", "event_type", "trigger")) or ""
    method = named.lower().rpartition(".")[2]
    return method if method in METHODS else None


def _record(body: Body) -> Body:
    """Return the fields without empty values, which come as `false`. A boolean false looks the same and is left out too."""
    return {name: None if value is False else _bare(value) for name, value in _fields(body).items()}


def _fields(body: Body) -> Body:
    return next((inner for name in RECORDS if (inner := as_dict(body.get(name)))), body) if "_model" not in body else body


def _bare(value: object) -> object:
    """Return a link as its name; it comes as an id, or as a pair of id and name."""
    is_pair = isinstance(value, list) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], str)
    return value[1] if is_pair and isinstance(value, list) else value


def _find_mail(record: Body) -> None:
    """Use the email address of a custom field (`x_studio_mail_...`), if there is exactly one."""
    names = [name for name, value in record.items() if name.startswith("x_") and "mail" in name.lower() and address(value)]
    if len(names) == 1:
        record["email"] = record.pop(names[0])


ADAPTER = Odoo()
