"""Zoho CRM: its notification channels in our words.

Event reference: zoho.com/crm/developer, notifications (read 2026-11-20). Leads and contacts are contacts,
accounts are companies. A notification names up to many records by id; it holds values only where the
channel asks for them (`return_affected_field_values`), else the names of the fields (`affected_fields`). `module`
counts, not the module in `resource_uri`. Functions and relays post whole records as the API tells them; the webhook of a
workflow posts, as a form or JSON, what somebody has made up of the fields' names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.crm.zoho.fetch import FETCHER, read_fetched
from touchbase.adapters.crm.zoho.modules import MODULES, STATUS, as_told, is_record, module_of
from touchbase.adapters.interface import Call
from touchbase.adapters.kit.crm import CREATED, DELETED, UNTOLD, UPDATED, Item, note
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.event_name_parser import said
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures_body import field_of
from touchbase.adapters.kit.times import moment, when
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

_IDS = (
    "Lead_Id", "Contact_Id", "Account_Id", "Record_Id", "Lead_ID", "Contact_ID", "Account_ID", "lead_id", "contact_id", "account_id",
    "record_id",
)  # fmt: skip
"""What people call the id in a webhook's body."""
_OWN = frozenset({"Last_Name", "Lead_Status", "Contact_Status", "Account_Name"})
"""Field names that Zoho's modules have, and that others do not write like that."""
OPERATIONS = {"insert": CREATED, "create": CREATED, "update": UPDATED, "edit": UPDATED, "delete": DELETED}


class Zoho(CrmAdapter):
    """Reads Zoho CRM's notifications."""

    tool = "zoho"
    words = ("Leads", "Contacts", "Accounts")
    proofs = (field_of("token"),)
    signs = frozenset({"channel_id", "resource_uri", "operation", "Modified_Time", "Created_Time", "module", "Module", *_OWN})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = STATUS
    fetcher: ClassVar[Fetcher | None] = FETCHER

    def sure(self, body: Body, call: Call) -> int:
        """Known by the channel and the ids, or a record by its fields."""
        if "module" in body and "operation" in body and "ids" in body:
            known = "channel_id" in body or "resource_uri" in body
            return 100 if known else 75 if isinstance(body["ids"], list) else 0
        if is_record(body):
            return 85
        if _shaped(body) is not None:
            return 60
        return 70 if _names_module(body) and isinstance(body.get("data"), list) else 0

    def read(self, body: Body, call: Call) -> list[Event]:
        """One operation on one or many records, or one record."""
        if "operation" not in body and is_record(body):
            return self._record(body, call)
        if (shaped := _shaped(body)) is not None:
            return self._shaped(*shaped, body, call)
        operation = text(body.get("operation")) or ""
        word = text(first(body, "module")) or text(dig(body, "module", "api_name")) or operation.partition(".")[0]
        shape, what = MODULES.get(word), OPERATIONS.get(operation.rpartition(".")[2])
        records = _records(body)
        ids = _ids(body) or list(records)
        source = f"{word}.{operation.rpartition('.')[2]}"
        if shape is None or what is None:
            return [note("ignored" if word and operation else "unrecognised", source, word or None, one) for one in ids or [None]]
        if body.get("ids") == [] and not records:
            return [note("ignored", source, word)]
        at = moment(body, "server_time", "timestamp")
        values = {text(one.get("record_id")): as_dict(one.get("values")) for one in map(as_dict, as_list(body.get("affected_values")))}
        events: list[Event] = []
        for one in ids or [None]:
            told = values.get(one, {})
            item = Item(shape, what, word, one, source, at, record=as_told(records.get(one) or told))
            item.at = at or moment(item.record, *_TIMES[what])
            item.status = self.statuses(call, shape.kind, word)
            item.thin = not item.record
            if what == UPDATED and one not in records:
                item.changed = {name: (None if value == "-None-" else value, UNTOLD) for name, value in told.items()}
                events += item.events() if told else _named(item, body)
            else:
                events += item.events()
        return events

    def _record(self, body: Body, call: Call) -> list[Event]:
        word, object_id = module_of(body), text(body.get("id"))
        if word is None:
            return [note("ignored", None, None, object_id)]
        statuses = self.statuses(call, MODULES[word].kind, word)
        return Item(
            MODULES[word], UPDATED, word, object_id, None, when(body.get("Modified_Time")), record=as_told(body), status=statuses
        ).events()

    def _shaped(self, word: str, record: Body, body: Body, call: Call) -> list[Event]:
        what = said(body) or UPDATED
        at = moment(record, *_TIMES[what]) or moment(body, "server_time", "timestamp")
        item = Item(MODULES[word], what, word, text(first(record, "id", *_IDS)), None, at, record=as_told(record))
        item.status = self.statuses(call, item.shape.kind, word)
        return item.events()

    def fetched(self, body: Body, kind: str, word: str, call: Call) -> list[Event]:
        """One lead, contact or account that we have asked for."""
        return read_fetched(body, word, self.statuses(call, kind, word))


_TIMES = {CREATED: ("Modified_Time", "Created_Time"), UPDATED: ("Modified_Time",), DELETED: ()}


def _shaped(body: Body) -> tuple[str, Body] | None:
    """The module and the record in a workflow's webhook, whose body somebody has made up of the fields' names; None for other bodies."""
    if "ids" in body:
        return None
    named = text(first(body, "module", "Module"))
    record = next((inner for name in ("record", "data", "fields") if (inner := as_dict(body.get(name)))), body)
    # The fields by their API names, or by those that people see.
    record = {**{name.replace(" ", "_"): value for name, value in record.items()}, **record}
    if _OWN.isdisjoint(record) or (named is None and "Email" not in record):
        return None
    word = named if named in MODULES else module_of(record) if named is None else None
    return None if word is None else (word, record)


def _names_module(body: Body) -> bool:
    """Whether an operation names a module of Zoho's, `Deals.create`, or stands beside one that we read."""
    word, _, operation = (text(body.get("operation")) or "").rpartition(".")
    return operation in OPERATIONS and (word[:1].isupper() or text(body.get("module")) in MODULES)


def _records(body: Body) -> dict[str | None, Body]:
    """The records in a call by their ids: a list of them, or one alone."""
    told = body.get("data")
    listed = [told] if isinstance(told, dict) else as_list(told)
    return {text(record.get("id")): record for record in map(as_dict, listed) if record}


def _ids(body: Body) -> list[str | None]:
    ids = body.get("ids")
    return [text(one) for one in (ids if isinstance(ids, list) else [ids]) if one is not None]


def _named(item: Item, body: Body) -> list[Event]:
    """A change of which only the names of the fields are told: nothing is cleared by it, and it is worth asking for the record."""
    names = [name for one in as_list(body.get("affected_fields")) for name in as_list(dig(one, item.object_id or ""))]
    item.changed = {name: (None, UNTOLD) for name in names if isinstance(name, str)}
    events = item.events()
    for event in events:
        event.fields, event.custom, event.thin = {}, {}, True
    return events


ADAPTER = Zoho()
