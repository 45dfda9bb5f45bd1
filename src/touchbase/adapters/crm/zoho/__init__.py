"""Zoho CRM: notification channels.

Event reference: zoho.com/crm/developer, notifications (read 2026-11-20). Leads and contacts are contacts, accounts are
companies. A notification has one or many record ids; it has values only if the channel requests them
(`return_affected_field_values`), else the names of the fields (`affected_fields`). `module` takes precedence over the
module in `resource_uri`. Functions and relays post whole records in the API's format; a workflow's webhook posts, as
form or JSON, a body that its author has composed of field names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from touchbase.adapters.crm.zoho.fetch import FETCHER, read_fetched
from touchbase.adapters.crm.zoho.modules import MODULES, STATUS, is_record, module_of, normalize_record
from touchbase.adapters.interface import ParsedWebhook
from touchbase.adapters.kit.crm import CREATED, DELETED, NOT_SENT, UPDATED, CrmItem, other_event
from touchbase.adapters.kit.crm_adapter import Body, CrmAdapter
from touchbase.adapters.kit.crm_values import as_dict, as_list
from touchbase.adapters.kit.event_name_parser import parse_event_name
from touchbase.adapters.kit.extract import dig, first, text
from touchbase.adapters.kit.signatures_body import body_field
from touchbase.adapters.kit.times import first_time, parse_time
from touchbase.connections.tools import Fetcher
from touchbase.history.events import Event

_IDS = (
    "Lead_Id", "Contact_Id", "Account_Id", "Record_Id", "Lead_ID", "Contact_ID", "Account_ID", "lead_id", "contact_id", "account_id",
    "record_id",
)  # fmt: skip
"""Names that users give the id in a workflow webhook."""
_OWN = frozenset({"Last_Name", "Lead_Status", "Contact_Status", "Account_Name"})
"""Field names of Zoho's modules that other tools do not spell like this."""
OPERATIONS = {"insert": CREATED, "create": CREATED, "update": UPDATED, "edit": UPDATED, "delete": DELETED}


class Zoho(CrmAdapter):
    """Reads Zoho CRM's notifications."""

    tool = "zoho"
    words = ("Leads", "Contacts", "Accounts")
    signature_schemes = (body_field("token"),)
    detection_keys = frozenset({"channel_id", "resource_uri", "operation", "Modified_Time", "Created_Time", "module", "Module", *_OWN})
    status: ClassVar[Mapping[str, tuple[str, ...]]] = STATUS
    fetcher: ClassVar[Fetcher | None] = FETCHER

    def confidence(self, body: Body, webhook: ParsedWebhook) -> int:
        """Return the confidence: by the channel and the ids, or for a record by its fields."""
        if "module" in body and "operation" in body and "ids" in body:
            has_channel = "channel_id" in body or "resource_uri" in body
            return 100 if has_channel else 75 if isinstance(body["ids"], list) else 0
        if is_record(body):
            return 85
        if _shaped(body) is not None:
            return 60
        return 70 if _names_module(body) and isinstance(body.get("data"), list) else 0

    def read(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one operation on one or many records, or of one record."""
        if "operation" not in body and is_record(body):
            return self._record(body, webhook)
        if (shaped := _shaped(body)) is not None:
            return self._shaped(*shaped, body, webhook)
        operation = text(body.get("operation")) or ""
        word = text(first(body, "module")) or text(dig(body, "module", "api_name")) or operation.partition(".")[0]
        shape, what = MODULES.get(word), OPERATIONS.get(operation.rpartition(".")[2])
        records = _records(body)
        ids = _ids(body) or list(records)
        source = f"{word}.{operation.rpartition('.')[2]}"
        if shape is None or what is None:
            return [
                other_event("ignored" if word and operation else "unrecognised", source, word or None, record_id)
                for record_id in ids or [None]
            ]
        if body.get("ids") == [] and not records:
            return [other_event("ignored", source, word)]
        at = first_time(body, "server_time", "timestamp")
        values = {
            text(values.get("record_id")): as_dict(values.get("values")) for values in map(as_dict, as_list(body.get("affected_values")))
        }
        events: list[Event] = []
        for record_id in ids or [None]:
            data = values.get(record_id, {})
            item = CrmItem(shape, what, word, record_id, source, at, record=normalize_record(records.get(record_id) or data))
            item.at = at or first_time(item.record, *_TIMES[what])
            item.status = self.statuses(webhook, shape.kind, word)
            item.thin = not item.record
            if what == UPDATED and record_id not in records:
                item.changed = {name: (None if value == "-None-" else value, NOT_SENT) for name, value in data.items()}
                events += item.events() if data else _named(item, body)
            else:
                events += item.events()
        return events

    def _record(self, body: Body, webhook: ParsedWebhook) -> list[Event]:
        word, object_id = module_of(body), text(body.get("id"))
        if word is None:
            return [other_event("ignored", None, None, object_id)]
        statuses = self.statuses(webhook, MODULES[word].kind, word)
        return CrmItem(
            MODULES[word],
            UPDATED,
            word,
            object_id,
            None,
            parse_time(body.get("Modified_Time")),
            record=normalize_record(body),
            status=statuses,
        ).events()

    def _shaped(self, word: str, record: Body, body: Body, webhook: ParsedWebhook) -> list[Event]:
        what = parse_event_name(body) or UPDATED
        at = first_time(record, *_TIMES[what]) or first_time(body, "server_time", "timestamp")
        item = CrmItem(MODULES[word], what, word, text(first(record, "id", *_IDS)), None, at, record=normalize_record(record))
        item.status = self.statuses(webhook, item.shape.kind, word)
        return item.events()

    def fetched(self, body: Body, kind: str, word: str, webhook: ParsedWebhook) -> list[Event]:
        """Return the events of one fetched lead, contact or account."""
        return read_fetched(body, word, self.statuses(webhook, kind, word))


_TIMES = {CREATED: ("Modified_Time", "Created_Time"), UPDATED: ("Modified_Time",), DELETED: ()}


def _shaped(body: Body) -> tuple[str, Body] | None:
    """Return the module and record of a workflow's webhook, composed of field names; None for other bodies."""
    if "ids" in body:
        return None
    named = text(first(body, "module", "Module"))
    record = next((inner for name in ("record", "data", "fields") if (inner := as_dict(body.get(name)))), body)
    # By the fields' API names, or by their labels.
    record = {**{name.replace(" ", "_"): value for name, value in record.items()}, **record}
    if _OWN.isdisjoint(record) or (named is None and "Email" not in record):
        return None
    word = named if named in MODULES else module_of(record) if named is None else None
    return None if word is None else (word, record)


def _names_module(body: Body) -> bool:
    """Return whether an operation names a Zoho module, `Deals.create`, or comes with a module that is read."""
    word, _, operation = (text(body.get("operation")) or "").rpartition(".")
    return operation in OPERATIONS and (word[:1].isupper() or text(body.get("module")) in MODULES)


def _records(body: Body) -> dict[str | None, Body]:
    """Return the records of a webhook by id: a list, or a single one."""
    data = body.get("data")
    listed = [data] if isinstance(data, dict) else as_list(data)
    return {text(record.get("id")): record for record in map(as_dict, listed) if record}


def _ids(body: Body) -> list[str | None]:
    ids = body.get("ids")
    return [text(record_id) for record_id in (ids if isinstance(ids, list) else [ids]) if record_id is not None]


def _named(item: CrmItem, body: Body) -> list[Event]:
    """Return a change with field names but without values: nothing is cleared, and the record should be fetched."""
    names = [name for field in as_list(body.get("affected_fields")) for name in as_list(dig(field, item.object_id or ""))]
    item.changed = {name: (None, NOT_SENT) for name in names if isinstance(name, str)}
    events = item.events()
    for event in events:
        event.fields, event.custom, event.thin = {}, {}, True
    return events


ADAPTER = Zoho()
