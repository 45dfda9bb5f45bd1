"""Zoho CRM: its notification channels in our words.

Event reference: zoho.com/crm/developer, notifications (read 2026-11-20). Leads and contacts are contacts,
accounts are companies. A notification names up to many records by id; it holds values only where the
channel asks for them (`return_affected_field_values`). `module` counts, not the module in `resource_uri`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.kit.crm import COMPANY, CONTACT, CREATED, DELETED, UNTOLD, UPDATED, Item, Shape, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.proof_body import field_of
from touchbase.adapters.kit.reading import dig, first, text
from touchbase.adapters.kit.times import when
from touchbase.domain.events import Event
from touchbase.domain.ports import Call

NOISE = frozenset({"id", "Modified_Time", "Modified_By", "Created_Time", "Created_By", "Last_Activity_Time", "Owner", "Tag"})
_PERSON = Shape(
    CONTACT, email=("Email",), first_name=("First_Name",), last_name=("Last_Name",), full_name=("Full_Name",),
    linkedin=("LinkedIn", "LinkedIn_URL", "LinkedIn_Profile", "Linkedin"), domain=("Website",), company=("Company",),
    useful=("Company", "Designation", "Title", "Phone", "Mobile", "Lead_Source", "Industry"), noise=NOISE,
)  # fmt: skip
_ACCOUNT = Shape(COMPANY, domain=("Website",), company=("Account_Name",), useful=("Phone", "Industry", "Account_Type"), noise=NOISE)
MODULES = {"Leads": _PERSON, "Contacts": _PERSON, "Accounts": _ACCOUNT}
OPERATIONS = {"insert": CREATED, "create": CREATED, "update": UPDATED, "edit": UPDATED, "delete": DELETED}


class Zoho(CrmAdapter):
    """Reads Zoho CRM's notifications."""

    tool = "zoho"
    proofs = (field_of("token"),)
    signs = frozenset({"channel_id", "resource_uri", "operation"})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Leads": ("Lead_Status",),
        "Contacts": ("Contact_Status",),
        "Accounts": ("Account_Status",),
    }

    def sure(self, body: Body, call: Call) -> int:
        """Known by the channel and the list of ids."""
        if "module" in body and "operation" in body and isinstance(body.get("ids"), list):
            return 100 if "channel_id" in body or "resource_uri" in body else 75
        return 70 if (text(body.get("operation")) or "").partition(".")[0] in MODULES and isinstance(body.get("data"), list) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One operation on one or many records."""
        operation = text(body.get("operation")) or ""
        word = text(first(body, "module")) or text(dig(body, "module", "api_name")) or operation.partition(".")[0]
        shape, what = MODULES.get(word), OPERATIONS.get(operation.rpartition(".")[2])
        records = {text(record.get("id")): record for record in map(as_dict, as_list(body.get("data"))) if record}
        ids = [text(one) for one in as_list(body.get("ids"))] or list(records)
        source = f"{word}.{operation.rpartition('.')[2]}"
        if shape is None or what is None:
            return [note("ignored" if word and operation else "unrecognised", source, word or None, one) for one in ids or [None]]
        at = when(first(body, "server_time", "timestamp"))
        values = {text(one.get("record_id")): as_dict(one.get("values")) for one in map(as_dict, as_list(body.get("affected_values")))}
        events: list[Event] = []
        for one in ids or [None]:
            told = values.get(one, {})
            item = Item(shape, what, word, one, source, at, record=records.get(one) or told)
            item.status = self.statuses(call, shape.kind, word)
            if what == UPDATED and one not in records:
                item.changed = {name: (value, UNTOLD) for name, value in told.items()}
            events += item.events()
        return events


ADAPTER = Zoho()
