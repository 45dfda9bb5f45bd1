"""`dry_run=true`: changes of a write, field by field; nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from touchbase.clients.models import Client, ClientSettings
from touchbase.errors import TouchbaseError
from touchbase.http.dependencies import WRITE_BATCH
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.schemas import encode, example
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.models import Company, Contact
from touchbase.records.writes import Created, record_of
from touchbase.sql.operation import Command, CommandPreview

R = TypeVar("R", Contact, Company)

CUSTOM = "cf."
"""Prefix of the names of custom fields."""
_UNSET = (None, "")
_HIDDEN = ("id", "updated_time")

Shown = str | int | float | bool | list[str] | None


class FieldPreview(Struct):
    """One field that a write would change; `cf.NAME` is a custom field. Null stands for no value."""

    field: str
    value: Shown
    previous: Shown


class DryRunResponse(Struct):
    """Preview of a write. `status` is as in the real response; `id` is null for a record that would be new."""

    dry_run: bool
    status: int
    id: Annotated[int | None, Meta(description="The record that would be changed or returned.")]
    changed: list[FieldPreview]


def fields_changed(kind: ResourceType[Any, Any, R], preview: CommandPreview, settings: ClientSettings) -> list[FieldPreview]:
    """Return the fields that differ before and after a write, all for a deletion; none for an error."""
    after = record_of(preview.outcome)
    if after is None:
        return []
    old: Mapping[str, Shown] = {} if preview.before is None else _values(kind, preview.before, settings)
    new: Mapping[str, Shown] = {} if preview.deletes else _values(kind, after, settings)
    pairs = {name: (new.get(name), old.get(name)) for name in [*old, *(name for name in new if name not in old)]}
    return [FieldPreview(name, *pair) for name, pair in pairs.items() if not _equal(name, *pair)]


def _equal(name: str, value: Shown, previous: Shown) -> bool:
    """Whether two values are the same; a custom field that is blank is there, others are unset then."""
    return value == previous or (not name.startswith(CUSTOM) and value in _UNSET and previous in _UNSET)


def _values(kind: ResourceType[Any, Any, Any], record: Any, settings: ClientSettings) -> Mapping[str, Shown]:
    shown: dict[str, Any] = msgspec.to_builtins(kind.out(record, True, settings))
    custom = shown.pop(f"{kind.type.name}_custom_fields")
    return {
        **{name: value for name, value in shown.items() if name not in _HIDDEN},
        **{CUSTOM + name: value for name, value in custom.items()},
    }


def status_of(outcome: object) -> int:
    """Return the status of the real response."""
    if isinstance(outcome, TouchbaseError):
        return outcome.status
    return 201 if isinstance(outcome, Created) and outcome.is_new else 200


async def dry_run(
    call: Call, kind: ResourceType[Any, Any, Any], command: Command[Any], client: Client, headers: list[tuple[bytes, bytes]]
) -> Response:
    """Execute a command without storing anything, and respond with its changes. Raises its error."""
    if call.recorder is not None:
        call.recorder.skip()
    [preview] = await call.api.dependencies.store.write(call.api[WRITE_BATCH](client.number, [command], dry_run=True))
    assert isinstance(preview, CommandPreview)
    if isinstance(preview.outcome, TouchbaseError):
        raise preview.outcome
    record, status = record_of(preview.outcome), status_of(preview.outcome)
    number = None if record is None or status == 201 else record.id
    body = DryRunResponse(True, status, number, fields_changed(kind, preview, client.settings))
    return Response(body=encode(body), headers=headers)


example(
    DryRunResponse,
    {
        "dry_run": True,
        "status": 200,
        "id": 1042,
        "changed": [
            {"field": "contact_status", "value": "customer", "previous": "replied"},
            {"field": "cf.Seats", "value": "50", "previous": "40"},
        ],
    },
)
