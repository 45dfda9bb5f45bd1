"""Odoo: the webhook notifications of its automation rules, in our words.

Event reference: recorded deliveries (read 2026-11-20). A call holds the fields that an administrator has
ticked and says neither what happened nor when; so each is "here is the record". Empty values arrive as
`false`. `_action`, in some `_name`, is the rule's label, not an event. Server actions and modules of others write
`model` instead, name what happened by Odoo's own methods (`create`, `write`, `unlink`), often keep the record one
level lower, and some tell several records by their numbers. Those about other models (`account.move`) are known by
the form of their names. An *On deletion* rule sends what any other does, so its address says it (`?event=unlink`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import ClassVar

from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, host, in_query, linked_id
from touchbase.adapters.kit.event_name_parser import said
from touchbase.adapters.kit.extract import address, first, flag, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import moment
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
"""The property under which the number of the company stands that a partner belongs to."""
PERSON = Shape(
    CONTACT, email=("email", "email_from", "x_email", "email_normalized"), full_name=("contact_name", "name"), linkedin=(LINKEDIN,),
    domain=("website",), company=("partner_name", "commercial_company_name"), employer=(_PARENT,), employer_type="res.partner",
    useful=None, noise=NOISE,
)  # fmt: skip
METHODS = {"create": CREATED, "write": UPDATED, "update": UPDATED, "unlink": DELETED, "delete": DELETED}
"""What a server action says has happened."""
RECORDS = ("data", "record", "values", "vals", "payload", "fields")
_IDS = ("_id", "id", "record_id", "res_id")
_WITH_STATUS = 2
_MODEL = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+")
# What a lead is called is its title, and not its person's name.
LEAD = replace(PERSON, full_name=("contact_name",), noise=NOISE | {"name", "type"})
# An opportunity's own names and values are not those of the partner that it is for.
OF_PARTNER = Shape(CONTACT, email=("email_from",))
OF_COMPANY = Shape(COMPANY)
ORGANISATION = Shape(COMPANY, domain=("website",), company=("name",), useful=None, noise=NOISE)


class Odoo(CrmAdapter):
    """Reads Odoo's webhook notifications."""

    tool = "odoo"
    words = ("res.partner", "crm.lead")
    signs = frozenset({"_model", "_id", "model"})
    status: ClassVar[tuple[str, ...]] = ()

    def sure(self, body: Body, call: Call) -> int:
        """Known by the model and id that every notification has."""
        if "_model" in body and "_id" in body:
            return 100
        # A server action of the user's own writes `model`, which alone says little.
        model = text(body.get("model")) or ""
        return 60 if "_model" in body or model == "res.partner" or (_MODEL.fullmatch(model) and _method(body)) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One record as it is now, or the numbers of several."""
        numbers = [number for one in as_list(body.get("ids")) if (number := text(one)) is not None]
        if numbers and first(body, *_IDS) is None:
            # Values that are written into several at once are nobody's own: an address among them would make one of all.
            told = body if len(numbers) == 1 else {name: value for name, value in body.items() if name not in RECORDS}
            return [event for number in numbers for event in self._one({**told, "id": number}, call)]
        return self._one(body, call)

    def _one(self, body: Body, call: Call) -> list[Event]:
        model = text(first(body, "_model", "model"))
        record = _record(body)
        object_id = text(first(body, *_IDS) or first(record, "id"))
        is_lead = model == "crm.lead"
        if is_lead and record.get("type") != "lead" and (partner := linked_id(_number(_fields(body).get("partner_id")))) is not None:
            return self._opportunity(body, record, partner, call)
        # A lead without any field does not say whether it is of a person.
        if model != "res.partner" and not (is_lead and ("type" in record or any(name in record for name in LEAD.email))):
            return [note("ignored" if model else "unrecognised", None, model, object_id)]
        is_company = flag(record.get("is_company")) is True or record.get("company_type") == "company"
        shape = LEAD if is_lead else ORGANISATION if is_company else PERSON
        if shape is not ORGANISATION and not any(address(record.get(name)) for name in shape.email):
            _find_mail(record)
        if shape is not ORGANISATION:
            record = with_linkedin(record)
            record[_PARENT] = None if is_lead else _parent(body, object_id)
        if is_company and record.get("website") is None and (found := host(record.get("email_domain"))) is not None:
            record["website"] = found
        what, source, at = self._what(body, record, call)
        if _is_archived(body) and (not is_lead or record.get("type") == "lead"):
            what = DELETED
        item = Item(shape, what, model, object_id, source, at, record=record, status=self.statuses(call, shape.kind, model))
        item.nulls_clear = True
        return item.events()

    def _what(self, body: Body, record: Body, call: Call) -> tuple[str, str | None, Micros | None]:
        """What happened, as the address or the body says, under which name, and when."""
        named: Body = {"event": in_query(call.request.query, "event")}
        method, told = (_method(named), said(named)) if "_model" in body else (_method(body), said(body))
        what = METHODS.get(_method(named) or "") or said(named) or METHODS.get(method or "") or told or UPDATED
        # A record that is gone shows when it was last changed, which is not when it went.
        at = None if what == DELETED else moment(record, "write_date")
        return what, text(body.get("_action")) or method, at or moment(body, "timestamp")

    def _opportunity(self, body: Body, record: Body, partner: str, call: Call) -> list[Event]:
        """What an opportunity says of the partner that it is for; its own end is not the partner's."""
        what, source, at = self._what(body, record, call)
        # The opportunity of a company has a company name and no person.
        is_company = "contact_name" in record and record["contact_name"] is None and record.get("partner_name") is not None
        shape = OF_COMPANY if is_company else OF_PARTNER
        item = Item(shape, UPDATED, "res.partner", partner, source, at, record=record)
        item.status = self.statuses(call, shape.kind, "crm.lead")
        events = [] if what == DELETED else item.events()
        is_empty = len(events) < _WITH_STATUS and not any(event.email for event in events)
        return [note("ignored", source, "crm.lead", text(first(body, *_IDS)))] if is_empty else events


def _parent(body: Body, own: str | None) -> str | None:
    """The number of the partner that a partner belongs to: by Odoo's own reckoning each belongs to itself at least."""
    fields = _fields(body)
    found = (linked_id(_number(fields.get(name))) for name in ("parent_id", "commercial_partner_id"))
    return next((number for number in found if number is not None and number != own), None)


def _number(link: object) -> object:
    """The number in a link, which comes alone, or with the name of what it leads to."""
    return link[0] if isinstance(link, list) and link and isinstance(link[0], int) else link


def _is_archived(body: Body) -> bool:
    """Whether a record, which may stand one level lower, is said to be no longer active."""
    return any(flag(one.get("active")) is False for one in (body, *map(as_dict, map(body.get, RECORDS))))


def _method(body: Body) -> str | None:
    """What a server action calls what has happened: `create`, `record.write`."""
    named = text(first(body, "event", "operation", "method", "action", "event_type", "trigger")) or ""
    method = named.lower().rpartition(".")[2]
    return method if method in METHODS else None


def _record(body: Body) -> Body:
    """The fields; what is empty, which comes as `false`, is nothing. So is a plain no: the two look alike."""
    return {name: None if value is False else _bare(value) for name, value in _fields(body).items()}


def _fields(body: Body) -> Body:
    return next((inner for name in RECORDS if (inner := as_dict(body.get(name)))), body) if "_model" not in body else body


def _bare(value: object) -> object:
    """A link to another record comes as its id, or as a pair of id and name; the name is what people want."""
    is_pair = isinstance(value, list) and len(value) == 2 and isinstance(value[0], int) and isinstance(value[1], str)
    return value[1] if is_pair and isinstance(value, list) else value


def _find_mail(record: Body) -> None:
    """The e-mail in a field that the client has made (`x_studio_mail_...`), if there is just one such."""
    names = [name for name, value in record.items() if name.startswith("x_") and "mail" in name.lower() and address(value)]
    if len(names) == 1:
        record["email"] = record.pop(names[0])


ADAPTER = Odoo()
