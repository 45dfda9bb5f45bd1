"""Insightly: the webhooks of its workflow automation, in our words.

Event reference: support.insight.ly, webhooks in workflow automation (read 2026-11-20). The body is the record
in capitals and does not say what happened: equal times of creation and change mean that it is new. Contacts
and leads are contacts, organisations are companies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.reading import first, text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

_PERSON = Shape(
    CONTACT, email=("EMAIL_ADDRESS", "EMAIL"), first_name=("FIRST_NAME",), last_name=("LAST_NAME",), linkedin=("SOCIAL_LINKEDIN",),
    domain=("WEBSITE",), company=("ORGANISATION_NAME", "ORGANIZATION_NAME"), useful=("TITLE", "PHONE", "ORGANISATION_NAME", "INDUSTRY"),
)  # fmt: skip
_ORGANISATION = Shape(COMPANY, domain=("WEBSITE",), company=("ORGANISATION_NAME", "ORGANIZATION_NAME"), useful=("PHONE", "INDUSTRY"))
# In this order: a contact also holds its organisation's id, an opportunity several ids.
NOT_OURS = ("OPPORTUNITY_ID", "PROJECT_ID", "TASK_ID", "EVENT_ID", "NOTE_ID", "TICKET_ID", "PRODUCT_ID", "QUOTE_ID")
KINDS = {"LEAD_ID": ("lead", _PERSON), "CONTACT_ID": ("contact", _PERSON), "ORGANISATION_ID": ("organisation", _ORGANISATION)}


class Insightly(CrmAdapter):
    """Reads Insightly's webhook calls."""

    tool = "insightly"
    signs = frozenset({"entity"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {"lead": ("LEAD_STATUS",), "contact": (), "organisation": ()}

    def sure(self, body: Body, call: Call) -> int:
        """Known by the names in capitals below `entity`."""
        entity = as_dict(body.get("entity"))
        if "DATE_UPDATED_UTC" in entity or entity.keys() & KINDS.keys():
            return 95
        return 70 if any(name.endswith("_ID") for name in entity) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One record as it is now."""
        record = as_dict(body.get("entity"))
        if any(name in record for name in NOT_OURS) and "LEAD_ID" not in record:
            return [note("ignored")]
        name = next((name for name in KINDS if record.get(name) is not None), None)
        if name is None:
            return [note("ignored" if any(key.endswith("_ID") for key in record) else "unrecognised")]
        word, shape = KINDS[name]
        created, updated = when(record.get("DATE_CREATED_UTC")), when(record.get("DATE_UPDATED_UTC"))
        what = CREATED if created is not None and created == updated else UPDATED
        fields = {
            label: one.get("FIELD_VALUE")
            for one in map(as_dict, as_list(first(record, "CUSTOMFIELDS")))
            if (label := text(one.get("FIELD_NAME")))
        }
        item = Item(shape, what, word, text(record[name]), None, updated or created, record={**fields, **record})
        item.status = self.statuses(call, shape.kind, word)
        events = item.events()
        if item.object_id is not None:
            events[0].custom |= {key: text(value) for key, value in fields.items() if key not in item.status and text(value) is not None}
        return events


ADAPTER = Insightly()
