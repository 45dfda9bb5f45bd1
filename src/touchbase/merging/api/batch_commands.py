"""Commands of a batch: each is decoded and checked by itself, so that a wrong one does not affect the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from touchbase.clients.models import Client
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, NotFound, TouchbaseError
from touchbase.history.events import Author
from touchbase.http.request_body import read_struct
from touchbase.http.schemas import RecordId
from touchbase.merging.sql.write_batch import MOST_FIELDS
from touchbase.projection.delete import delete_record
from touchbase.records.api.bodies import Read, RecordBodies, find_references, names_reference
from touchbase.records.api.resource_type import ResourceType, states_named
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.api.upsert import Upserts, match_fields
from touchbase.records.create import creation_of, in_one_step
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES
from touchbase.records.update import update_of
from touchbase.records.writes import Creation, RecordUpdate, RecordUpsert, new_write_key
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


class BatchItem(Struct, forbid_unknown_fields=True):
    """One command of a batch, its body not decoded yet."""

    op: Literal["create", "upsert", "update", "delete"]
    body: Raw | UnsetType = UNSET
    id: RecordId | UnsetType = UNSET
    match: str | UnsetType = UNSET
    on_duplicate: Literal["error", "return", "update"] | UnsetType = UNSET
    if_match: str | UnsetType = UNSET

    @property
    def states(self) -> list[Micros] | None:
        """The states that `if_match` names; None for any."""
        return None if self.if_match is UNSET else states_named(str(self.if_match))

    @property
    def if_updated_us(self) -> Micros | None:
        """The state that the record must have; None for any."""
        return None if self.states is None else self.states[0]


REFUSED_BYTES = 65_536
"""Bytes of invalid commands in which all faults are looked for; of further ones the first fault is listed."""
TOO_MANY_FIELDS = f"must have at most {MOST_FIELDS:,} custom fields in all; send fewer commands at a time, or import a file"
_item = msgspec.json.Decoder(BatchItem)


@dataclass(slots=True)
class PreparedCommand:
    """One command of a batch, or its error."""

    command: Command[Any] | None = None
    error: TouchbaseError | None = None
    write: Creation[Any] | RecordUpdate[Any] | RecordUpsert[Any] | None = None
    """The write of the command; None for a deletion."""
    read: Read[Any] | None = None
    """The body."""

    @property
    def fields(self) -> int:
        """Number of custom fields that the command names."""
        write = self.write.update if isinstance(self.write, RecordUpsert) else self.write
        return 0 if write is None else len(write.custom)


@dataclass(frozen=True, slots=True)
class BatchSender:
    """The client, time and author of a request, and how its bodies are read: whether unknown members are faults."""

    client: Client
    at: Micros
    by: Author
    strict: bool
    thorough: bool = True
    """Whether all faults of a body are looked for; enough of the batch was refused if not."""


class BatchCommands(Generic[A, C, R]):
    """Makes the commands of batches of one type of record."""

    def __init__(self, kind: ResourceType[A, C, R]) -> None:
        self._kind: ResourceType[A, C, R] = kind
        self._bodies: RecordBodies[A, C, R] = RecordBodies(kind)
        self._upserts: Upserts[A, C, R] = Upserts(kind, self._bodies)
        self._matches = list(match_fields(kind))
        self._ops: dict[str, Callable[[BatchItem, bytes, BatchSender], PreparedCommand]] = {
            "create": self._create, "upsert": self._upsert, "update": self._update, "delete": self._delete,
        }  # fmt: skip

    async def prepare(self, store: Store, items: Sequence[Raw], sender: BatchSender) -> list[PreparedCommand]:
        """Return the command or the error of each item. Raises `Invalid` if they have more than `MOST_FIELDS` custom fields in all."""
        prepared: list[PreparedCommand] = []
        refused = fields = 0
        async for raw in in_slices(items):
            command = bytes(raw)
            prepared.append(self._prepare(command, replace(sender, thorough=False) if refused > REFUSED_BYTES else sender))
            if prepared[-1].error is None:
                fields += prepared[-1].fields
            else:
                refused += len(command)
                fields += command.count(b'"field_name"')
            if fields > MOST_FIELDS:
                raise Invalid([Fault("/commands", "too_many", TOO_MANY_FIELDS)])
        naming = [(item, item.read.request) for item in prepared if item.read is not None and names_reference(item.read.request)]
        references = await find_references(store, sender.client.number, [request for _, request in naming]) if naming else None
        for item, request in naming:
            assert references is not None
            assert item.write is not None
            try:
                references.set_in(item.write, request)
            except NotFound as error:
                item.command, item.error = None, error
            except Invalid as invalid:
                faults = [Fault(f"/body{fault.pointer}", fault.code, fault.detail) for fault in invalid.faults]
                item.command, item.error = None, Invalid(faults)
        return prepared

    def _prepare(self, raw: bytes, sender: BatchSender) -> PreparedCommand:
        try:
            item = read_struct(raw, _item, BatchItem, lambda partly: None, thorough=sender.thorough)
            faults = _misplaced(item)
            if faults:
                raise Invalid(faults)
            body = bytes(item.body) if isinstance(item.body, Raw) else b""
            try:
                return self._ops[item.op](item, body, sender)
            except Invalid as invalid:
                listed = invalid.faults if sender.thorough else invalid.faults[:1]
                more = invalid.more + len(invalid.faults) - len(listed)
                raise Invalid([Fault(f"/body{fault.pointer}", fault.code, fault.detail) for fault in listed], more) from None
        except TouchbaseError as error:
            return PreparedCommand(error=error)

    def _create(self, item: BatchItem, body: bytes, sender: BatchSender) -> PreparedCommand:
        read = self._bodies.creation(body, sender.client, sender.at, strict=sender.strict, thorough=sender.thorough)
        creation = creation_of(self._kind.type, read.request, sender.client, sender.at, item.on_duplicate or None)
        creation.by = sender.by
        return self._prepared(in_one_step(creation, sender.client), read)

    def _upsert(self, item: BatchItem, body: bytes, sender: BatchSender) -> PreparedCommand:
        match = self._matches[0] if item.match is UNSET else str(item.match)
        if match not in self._matches:
            raise Invalid([Fault("", "choice", f"cannot be matched by {match[:60]!r}; match is one of {', '.join(self._matches)}")])

        def of(partly: C) -> RecordUpsert[R]:
            return self._upserts.upsert(partly, match, sender.client, sender.at, sender.by)

        read = self._bodies.change(body, sender.client, sender.at, strict=sender.strict, rules=of, thorough=sender.thorough)
        return self._prepared(of(read.request), read)

    def _update(self, item: BatchItem, body: bytes, sender: BatchSender) -> PreparedCommand:
        read = self._bodies.change(body, sender.client, sender.at, strict=sender.strict, thorough=sender.thorough)
        assert isinstance(item.id, int)
        change = self._bodies.change_of(read.request, item.if_updated_us)
        update = update_of(self._kind.type, sender.client, item.id, change, sender.at)
        update.by = sender.by
        return self._prepared(update, read)

    def _delete(self, item: BatchItem, body: bytes, sender: BatchSender) -> PreparedCommand:
        assert isinstance(item.id, int)
        return PreparedCommand(
            delete_record(sender.client.number, self._kind.type.kind, item.id, sender.at, new_write_key(), sender.by, item.if_updated_us)
        )

    def _prepared(self, write: Creation[R] | RecordUpdate[R] | RecordUpsert[R], read: Read[Any]) -> PreparedCommand:
        return PreparedCommand(WRITES[self._kind.type.model].command(write), write=write, read=read)


def _misplaced(item: BatchItem) -> list[Fault]:
    """Return the faults of members that the operation needs, or does not take."""
    faults: list[Fault] = []
    by_id = item.op in ("update", "delete")
    if by_id and item.id is UNSET:
        faults.append(Fault("/id", "required", f"is required for {item.op}"))
    has_body = item.op != "delete"
    if has_body and item.body is UNSET:
        faults.append(Fault("/body", "required", f"is required for {item.op}"))
    takes = {"id": by_id, "if_match": by_id, "body": has_body, "match": item.op == "upsert", "on_duplicate": item.op == "create"}
    for name, fits in takes.items():
        value = getattr(item, name)
        if value is not UNSET and not fits:
            faults.append(Fault(f"/{name}", "unexpected", f"is no member of a command with op={item.op}; leave it out"))
    if item.states is not None and len(item.states) != 1:
        faults.append(Fault("/if_match", "etag", 'must be the ETag of the record, with its quotes and without W/, or "*" for any state'))
    return faults
