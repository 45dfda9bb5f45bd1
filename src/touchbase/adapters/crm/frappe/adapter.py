"""Frappe: the webhooks of Frappe CRM and ERPNext, in our words.

Event reference: the framework's own source, `frappe/integrations/doctype/webhook`, and recorded deliveries (read 2026-11-25).
A call holds the fields of one document that an administrator has chosen and says neither what happened nor, unless
`doctype` is among them, to what; the event may stand behind the address (`?event=CRM Lead.on_trash`). Times are those of
the site's zone and name none. What is empty comes as null.

A number such as `CRM-LEAD-2026-00001` is given again after the last document of a series was deleted. So a person's
document is known by its name together with its time of creation, where the call has that; a company's is known by its
name alone, because that is how the others refer to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from touchbase.adapters.crm.frappe.proof import FRAPPE
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, in_query
from touchbase.adapters.kit.event_name_parser import said
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.times import moment, when
from touchbase.common.timestamps import to_text
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "name", "doctype", "modified", "creation", "owner", "modified_by", "docstatus", "idx", "naming_series", "parent", "parentfield",
        "parenttype", "image", "customer_type", "links",
    }
)  # fmt: skip
_EMPLOYER = "link to the company's id"
"""The property under which the name of the company's document stands."""
_PERSON = Shape(
    CONTACT, email=("email_id", "email", "email_ids"), first_name=("first_name",), last_name=("last_name",),
    full_name=("full_name", "lead_name", "customer_name"), linkedin=(LINKEDIN,), domain=("website",),
    company=("organization_name", "organization", "company_name"), employer=(_EMPLOYER,), employer_type="CRM Organization",
    useful=None, noise=NOISE,
)  # fmt: skip
# What a contact of Frappe's is called by `status` is how its mails stand: Passive, Open, Replied.
_CONTACT = replace(_PERSON, noise=NOISE | {"status"})
_OF_CUSTOMER = replace(_CONTACT, employer_type="Customer")
_LEAD_OF_CUSTOMER = replace(_PERSON, employer_type="Customer")
_COMPANY = Shape(
    COMPANY, domain=("website", "domain"), company=("organization_name", "customer_name", "company_name"), useful=None, noise=NOISE
)
SHAPES = {
    "Contact": _CONTACT, "CRM Lead": _PERSON, "Lead": _PERSON,
    "CRM Organization": _COMPANY, "Customer": _COMPANY, "Prospect": _COMPANY,
}  # fmt: skip
EVENTS = {"after_insert": CREATED, "on_update": UPDATED, "on_change": UPDATED, "on_trash": DELETED}
_OF_DOCUMENT = frozenset({"modified", "creation", "docstatus", "modified_by"})
_AROUND = ("doc", "data", "document")
"""Under which names people put the document into a body that they have written themselves."""
_TIMES = {CREATED: ("modified", "creation"), UPDATED: ("modified",), DELETED: ()}
"""A document that is deleted shows when it was last changed, which is not when it was deleted."""


class Frappe(CrmAdapter):
    """Reads Frappe's webhook calls."""

    tool = "frappe"
    words = ("CRM Lead", "Lead", "Contact", "CRM Organization", "Customer", "Prospect")
    signs = frozenset({"doctype", "x-frappe-webhook-signature", *_AROUND})
    proofs = (FRAPPE,)
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "CRM Lead": ("status",), "Lead": ("status",), "Contact": (), "CRM Organization": (), "Customer": (), "Prospect": (),
    }  # fmt: skip

    def sure(self, body: Body, call: Call) -> int:
        """Known by the name of the document's type, else by Frappe's signature."""
        document = _document(body)
        named = text(document.get("doctype"))
        if named in SHAPES:
            return 85
        if named is not None and not _OF_DOCUMENT.isdisjoint(document):
            return 80
        return 75 if "x-frappe-webhook-signature" in call.headers else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One document."""
        document, event = _document(body), in_query(call.request.query, "event") or text(body.get("event")) or ""
        of_event, _, action = event.rpartition(".")
        word, name = text(document.get("doctype")) or of_event or None, text(document.get("name"))
        if word not in SHAPES:
            return [note("ignored" if word else "unrecognised", event or None, word, name)]
        shape = _shape(word, document)
        what = EVENTS.get(action) or said({"event": action}) or _what(document)
        item = Item(shape, what, word, _id(shape, name, document), event or None, moment(document, *_TIMES[what]))
        item.record = _person(shape, document) if shape.kind == CONTACT else document
        item.status = self.statuses(call, shape.kind, word)
        item.nulls_clear = True
        return item.events()


def _document(body: Body) -> Body:
    """The document, which may stand one level lower."""
    return next((inner for name in _AROUND if "doctype" in (inner := as_dict(body.get(name)))), body) if "doctype" not in body else body


def _shape(word: str, document: Body) -> Shape:
    """How to read a document: a customer may be a person, and people may belong to a customer."""
    if word == "Customer" and document.get("customer_type") == "Individual":
        return _CONTACT
    if word in ("Contact", "Lead") and _customer(document) is not None:
        return _OF_CUSTOMER if word == "Contact" else _LEAD_OF_CUSTOMER
    return SHAPES[word]


def _customer(document: Body) -> str | None:
    """The customer that a person belongs to: a lead's own, or the one among a contact's links."""
    linked = [one.get("link_name") for one in map(as_dict, as_list(document.get("links"))) if one.get("link_doctype") == "Customer"]
    return text(first(document, "customer")) or (text(linked[0]) if len(linked) == 1 else None)


def _person(shape: Shape, document: Body) -> Body:
    """A person's document with the link to its company, and its addresses as other CRMs list them."""
    rows = map(as_dict, as_list(document.get("email_ids")))
    mails = [{"email": row.get("email_id"), "is_primary": row.get("is_primary")} for row in rows]
    return {**with_linkedin(document), "email_ids": mails, _EMPLOYER: _employer(shape, document)}


def _employer(shape: Shape, document: Body) -> str | None:
    """The name of the company's document, which is that of the company."""
    if shape.employer_type == "Customer":
        return _customer(document)
    return text(first(document, "organization", "organization_name", "company_name"))


def _id(shape: Shape, name: str | None, document: Body) -> str | None:
    created = when(document.get("creation")) if shape.kind == CONTACT else None
    return name if name is None or created is None else f"{name} of {to_text(created)}"


def _what(document: Body) -> str:
    """A document that has not been changed since it was created is new."""
    created = when(document.get("creation"))
    return CREATED if created is not None and created == when(document.get("modified")) else UPDATED


ADAPTER = Frappe()
