"""Frappe: webhooks of Frappe CRM and ERPNext.

Event reference: the framework's source, `frappe/integrations/doctype/webhook`, and recorded deliveries (read
2026-11-25). A webhook has the fields of one document that an administrator has selected. It names neither the event
nor, unless `doctype` is selected, the type; the event may be in the webhook URL (`?event=CRM Lead.on_trash`). Times are
in the site's zone, without a zone. Empty values are null.

A number such as `CRM-LEAD-2026-00001` is reused after the last document of a series was deleted. So a person's document
is identified by its name and creation time, if present; a company's by its name alone, because other documents link to
it by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UPDATED, CrmItem, RecordShape, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list, query_parameter
from touchbase.adapters.kit.event_name_parser import parse_event_name
from touchbase.adapters.kit.extract import first, text
from touchbase.adapters.kit.linkedin import LINKEDIN, with_linkedin
from touchbase.adapters.kit.signatures import hmac_body
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.common.timestamps import to_text
from touchbase.history.events import Event

NOISE = frozenset(
    {
        "name", "doctype", "modified", "creation", "owner", "modified_by", "docstatus", "idx", "naming_series", "parent", "parentfield",
        "parenttype", "image", "customer_type", "links",
    }
)  # fmt: skip
_EMPLOYER = "link to the company's id"
"""The property for the name of the company's document."""
_PERSON = RecordShape(
    CONTACT, email=("email_id", "email", "email_ids"), first_name=("first_name",), last_name=("last_name",),
    full_name=("full_name", "lead_name", "customer_name"), linkedin=(LINKEDIN,), domain=("website",),
    company=("organization_name", "organization", "company_name"), employer=(_EMPLOYER,), employer_type="CRM Organization",
    useful=None, noise=NOISE,
)  # fmt: skip
# A Frappe contact's `status` describes its emails: Passive, Open, Replied.
_CONTACT = replace(_PERSON, noise=NOISE | {"status"})
_OF_CUSTOMER = replace(_CONTACT, employer_type="Customer")
_LEAD_OF_CUSTOMER = replace(_PERSON, employer_type="Customer")
_COMPANY = RecordShape(
    COMPANY, domain=("website", "domain"), company=("organization_name", "customer_name", "company_name"), useful=None, noise=NOISE
)
SHAPES = {
    "Contact": _CONTACT, "CRM Lead": _PERSON, "Lead": _PERSON,
    "CRM Organization": _COMPANY, "Customer": _COMPANY, "Prospect": _COMPANY,
}  # fmt: skip
EVENTS = {"after_insert": CREATED, "on_update": UPDATED, "on_change": UPDATED, "on_trash": DELETED}
_OF_DOCUMENT = frozenset({"modified", "creation", "docstatus", "modified_by"})
_AROUND = ("doc", "data", "document")
"""Keys under which users nest the document in hand-written bodies."""
_TIMES = {CREATED: ("modified", "creation"), UPDATED: ("modified",), DELETED: ()}
"""A deleted document has the time of its last change, which is not the time of its deletion."""


class Frappe(CrmAdapter):
    """Reads Frappe's webhooks."""

    tool = "frappe"
    words = ("CRM Lead", "Lead", "Contact", "CRM Organization", "Customer", "Prospect")
    detection_keys = frozenset({"doctype", "x-frappe-webhook-signature", *_AROUND})
    signature_schemes = (hmac_body("x-frappe-webhook-signature", is_base64=True),)
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "CRM Lead": ("status",), "Lead": ("status",), "Contact": (), "CRM Organization": (), "Customer": (), "Prospect": (),
    }  # fmt: skip

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the document type, else by Frappe's signature."""
        document = _document(body)
        named = text(document.get("doctype"))
        if named in SHAPES:
            return 85
        if named is not None and not _OF_DOCUMENT.isdisjoint(document):
            return 80
        return 75 if "x-frappe-webhook-signature" in webhook.headers else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one document."""
        document, event = _document(body), query_parameter(webhook.request.query, "event") or text(body.get("event")) or ""
        of_event, _, action = event.rpartition(".")
        word, name = text(document.get("doctype")) or of_event or None, text(document.get("name"))
        if word not in SHAPES:
            return [other_event("ignored" if word else "unrecognised", event or None, word, name)]
        shape = _shape(word, document)
        what = EVENTS.get(action) or parse_event_name({"event": action}) or _what(document)
        item = CrmItem(shape, what, word, _id(shape, name, document), event or None, first_time(document, *_TIMES[what]))
        item.record = _person(shape, document) if shape.kind == CONTACT else document
        item.status = self.statuses(webhook, shape.kind, word)
        item.nulls_clear = True
        return item.events()


def _document(body: Body) -> Body:
    """Return the document, which may be nested one level."""
    return next((inner for name in _AROUND if "doctype" in (inner := as_dict(body.get(name)))), body) if "doctype" not in body else body


def _shape(word: str, document: Body) -> RecordShape:
    """Return the shape of a document: a customer may be a person, and people may belong to a customer."""
    if word == "Customer" and document.get("customer_type") == "Individual":
        return _CONTACT
    if word in ("Contact", "Lead") and _customer(document) is not None:
        return _OF_CUSTOMER if word == "Contact" else _LEAD_OF_CUSTOMER
    return SHAPES[word]


def _customer(document: Body) -> str | None:
    """Return the customer of a person: a lead's own, or the one among a contact's links."""
    linked = [link.get("link_name") for link in map(as_dict, as_list(document.get("links"))) if link.get("link_doctype") == "Customer"]
    return text(first(document, "customer")) or (text(linked[0]) if len(linked) == 1 else None)


def _person(shape: RecordShape, document: Body) -> Body:
    """Return a person's document with the link to its company, and its addresses in the form of other CRMs."""
    rows = map(as_dict, as_list(document.get("email_ids")))
    mails = [{"email": row.get("email_id"), "is_primary": row.get("is_primary")} for row in rows]
    return {**with_linkedin(document), "email_ids": mails, _EMPLOYER: _employer(shape, document)}


def _employer(shape: RecordShape, document: Body) -> str | None:
    """Return the name of the company's document, which is the company's name."""
    if shape.employer_type == "Customer":
        return _customer(document)
    return text(first(document, "organization", "organization_name", "company_name"))


def _id(shape: RecordShape, name: str | None, document: Body) -> str | None:
    created = parse_time(document.get("creation")) if shape.kind == CONTACT else None
    return name if name is None or created is None else f"{name} of {to_text(created)}"


def _what(document: Body) -> str:
    """Return created for a document with equal creation and change times, else updated."""
    created = parse_time(document.get("creation"))
    return CREATED if created is not None and created == parse_time(document.get("modified")) else UPDATED


ADAPTER = Frappe()
