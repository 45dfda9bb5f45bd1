"""One custom field of one record: add, change, remove. Each is a change of the record, as by `PATCH`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from touchbase.clients.models import Client
from touchbase.errors import Conflict, Fault, Invalid, NotFound, Overloaded, PreconditionFailed
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import record_id
from touchbase.http.request_body import read_struct
from touchbase.http.responses import Response
from touchbase.http.schemas import encode
from touchbase.records.api.resource_type import ResourceType, custom_fields_out
from touchbase.records.api.schemas import CustomFieldChange, CustomFieldInput
from touchbase.records.models import CustomField, Record
from touchbase.records.operations import WRITES
from touchbase.records.read_records import get_record
from touchbase.records.update import RecordChange, update_of
from touchbase.revyops.api.schemas import CustomFieldValue
from touchbase.sql.operation import Command
from touchbase.sql.store import Writes

TRIES = 10
"""Attempts of one request, while other requests change the record."""
_added, _changed = msgspec.json.Decoder(CustomFieldInput), msgspec.json.Decoder(CustomFieldValue)


@dataclass(frozen=True, slots=True)
class _Step:
    """Change of a record by a request, in the record's present state."""

    change: CustomFieldChange
    shown: CustomField | None = None
    """The field of the response; None: the field that the change has written."""


class CustomFieldResource:
    """The handlers of the custom fields of one type of record; `created` is the status of a new field."""

    def __init__(self, kind: ResourceType[Any, Any, Any], created: int) -> None:
        self._kind = kind
        self.created = created

    async def add(self, call: Call) -> Response:
        """`POST` of a custom field that the record does not have."""
        client, raw = await call.client(), await call.json()
        field_input = read_struct(raw, _added, CustomFieldInput, lambda partly: None)

        def step(record: Record) -> _Step:
            name = field_input.field_name.strip()
            there = next((field for field in _present(record) if field.name == name), None)
            if there is not None:
                raise Conflict(
                    f"this {self._kind.type.name} has the custom field {name!r} already, with id {there.id}; change it with PATCH"
                )
            return _Step(CustomFieldChange(field_input.field_name, field_input.field_value))

        return await self._carry_out(call, client, step, self.created)

    async def change(self, call: Call) -> Response:
        """`PATCH` of the value of one custom field."""
        client, raw = await call.client(), await call.json()
        field_value = read_struct(raw, _changed, CustomFieldValue, lambda partly: None)

        def step(record: Record) -> _Step:
            there = self._field(call, record)
            if field_value.field_name is not UNSET and field_value.field_name.strip() != there.name:
                raise Invalid(
                    [Fault("/field_name", "fixed", f"is {there.name!r}; to rename it, add a field with the new name and delete this")]
                )
            return _Step(CustomFieldChange(there.name, field_value.field_value))

        return await self._carry_out(call, client, step, 200)

    async def remove(self, call: Call) -> Response:
        """`DELETE` of one custom field; the response has it as it was."""

        def step(record: Record) -> _Step:
            there = self._field(call, record)
            return _Step(CustomFieldChange(there.name, None), there)

        return await self._carry_out(call, await call.client(), step, 200)

    def _field(self, call: Call, record: Record) -> CustomField:
        text = call.path("field_id")
        number = record_id(text)
        for field in _present(record):
            if field.id == number:
                return field
        raise NotFound(f"{self._kind.type.name} {record.id} has no custom field with id {text[:40]!r}")

    async def _carry_out(self, call: Call, client: Client, step: Callable[[Record], _Step], status: int) -> Response:
        """Change the record as it is now; if another request changes it first, look at it again."""
        call.parameters().done()
        kind, parts, number = self._kind, call.api.dependencies, call.id(self._kind.type.name)
        call.api.storing(client, 1, parts.clock())
        shown: list[CustomField | None] = [None]
        name = ""

        async def write(writes: Writes) -> Record:
            nonlocal name
            for _ in range(TRIES):
                record = await get_record(parts.store, kind.type, client.number, number)
                result = step(record)
                name, shown[0] = result.change.field_name.strip(), result.shown
                try:
                    changed: Record = await writes.write(self._command(call, client, record, result.change))
                except PreconditionFailed:
                    continue
                return changed
            raise Overloaded("the record changes faster than this request can read it; send it again")

        def response(record: Record) -> Response:
            field = shown[0] or next(custom_field for custom_field in record.custom_fields if custom_field.name == name)
            (body,) = custom_fields_out([field], False, {})
            return Response(status, encode(body), record=(kind.type.kind, number))

        return await call.write_and_respond(write, response)

    def _command(self, call: Call, client: Client, record: Record, change: CustomFieldChange) -> Command[Any]:
        at = call.api.dependencies.clock()
        try:
            update = update_of(self._kind.type, client, record.id, RecordChange({}, [change], record.updated_us), at)
        except Invalid as invalid:
            raise Invalid(
                [Fault(f"/{fault.pointer.rpartition('/')[2]}", fault.code, fault.detail) for fault in invalid.faults], invalid.more
            ) from None
        update.by = author_of(call.scope)
        return WRITES[self._kind.type.model].update(update)


def _present(record: Record) -> list[CustomField]:
    """Return the custom fields that have a value; removed ones stay as marks."""
    return [custom_field for custom_field in record.custom_fields if custom_field.value is not None]
