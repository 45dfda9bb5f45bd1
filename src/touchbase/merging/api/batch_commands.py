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
from touchbase.merging.sql.delete import delete_record
from touchbase.records.api.bodies import COMPANY, RecordBodies, company_of, find_companies, names_company
from touchbase.records.api.resource_type import ResourceType
from touchbase.records.api.schemas import CompanyRequest, ContactRequest
from touchbase.records.api.upsert import Upserts, match_fields, set_company
from touchbase.records.commands import CreateContact, CreateRecord, UpdateRecord, UpsertRecord, new_write_key
from touchbase.records.create import create_command, in_one_step
from touchbase.records.models import Company, Contact
from touchbase.records.update import update_command
from touchbase.records.write_batch import MOST_FIELDS
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

A = TypeVar("A", ContactRequest, CompanyRequest)
C = TypeVar("C", bound=msgspec.Struct)
R = TypeVar("R", Contact, Company)


class Item(Struct, forbid_unknown_fields=True):
    """One command of a batch, its body not decoded yet."""

    op: Literal["create", "upsert", "update", "delete"]
    body: Raw | UnsetType = UNSET
    id: RecordId | UnsetType = UNSET
    match: str | UnsetType = UNSET
    on_duplicate: Literal["error", "return", "update"] | UnsetType = UNSET


REFUSED_BYTES = 65_536
"""Bytes of invalid commands in which all faults are looked for; of further ones the first fault is listed."""
TOO_MANY_FIELDS = f"must have at most {MOST_FIELDS:,} custom fields in all; send fewer commands at a time, or import a file"
_item = msgspec.json.Decoder(Item)


@dataclass(slots=True)
class Prepared:
    """One command of a batch, or its error."""

    command: Command[Any] | None = None
    error: TouchbaseError | None = None
    asked: Any = None
    ignored: tuple[str, ...] = ()

    @property
    def fields(self) -> int:
        """Number of custom fields that the command names."""
        command = self.command
        if isinstance(command, UpsertRecord):
            return len(command.update.custom)
        return len(command.custom) if isinstance(command, CreateRecord | UpdateRecord) else 0


@dataclass(frozen=True, slots=True)
class Sender:
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
        self._ops: dict[str, Callable[[Item, bytes, Sender], Prepared]] = {
            "create": self._create, "upsert": self._upsert, "update": self._update, "delete": self._delete,
        }  # fmt: skip

    async def prepare(self, store: Store, items: Sequence[Raw], sender: Sender) -> list[Prepared]:
        """Return the command or the error of each item. Raises `Invalid` if they have more than `MOST_FIELDS` custom fields in all."""
        made: list[Prepared] = []
        refused = fields = 0
        async for raw in in_slices(items):
            command = bytes(raw)
            made.append(self._prepare(command, replace(sender, thorough=False) if refused > REFUSED_BYTES else sender))
            if made[-1].error is None:
                fields += made[-1].fields
            else:
                refused += len(command)
                fields += command.count(b'"field_name"')
            if fields > MOST_FIELDS:
                raise Invalid([Fault("/commands", "too_many", TOO_MANY_FIELDS)])
        named = [each for each in made if each.command is not None and names_company(each.asked)]
        if named:
            found = await find_companies(store, sender.client.number, [each.asked for each in named])
            for each in named:
                try:
                    _link(each.command, company_of(each.asked, found))
                except NotFound as error:
                    each.command, each.error = None, error
        return made

    def _prepare(self, raw: bytes, sender: Sender) -> Prepared:
        try:
            item = read_struct(raw, _item, Item, lambda partly: None, thorough=sender.thorough)
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
            return Prepared(error=error)

    def _create(self, item: Item, body: bytes, sender: Sender) -> Prepared:
        read = self._bodies.creation(body, sender.client, sender.at, strict=sender.strict, thorough=sender.thorough)
        command = create_command(self._kind.type, read.asked, sender.client, sender.at, item.on_duplicate or None)
        command.by = sender.by
        return Prepared(in_one_step(command, sender.client), asked=read.asked, ignored=read.ignored)

    def _upsert(self, item: Item, body: bytes, sender: Sender) -> Prepared:
        match = self._matches[0] if item.match is UNSET else str(item.match)
        if match not in self._matches:
            raise Invalid([Fault("", "choice", f"cannot be matched by {match[:60]!r}; match is one of {', '.join(self._matches)}")])

        def of(partly: C) -> UpsertRecord[R]:
            return self._upserts.command(partly, match, sender.client, sender.at, sender.by)

        read = self._bodies.change(body, sender.client, sender.at, strict=sender.strict, rules=of, thorough=sender.thorough)
        return Prepared(of(read.asked), asked=read.asked, ignored=read.ignored)

    def _update(self, item: Item, body: bytes, sender: Sender) -> Prepared:
        read = self._bodies.change(body, sender.client, sender.at, strict=sender.strict, thorough=sender.thorough)
        assert isinstance(item.id, int)
        command = update_command(self._kind.type, sender.client, item.id, self._bodies.change_of(read.asked), sender.at)
        command.by = sender.by
        return Prepared(command, asked=read.asked, ignored=read.ignored)

    def _delete(self, item: Item, body: bytes, sender: Sender) -> Prepared:
        assert isinstance(item.id, int)
        return Prepared(delete_record(sender.client.number, self._kind.type.kind, item.id, sender.at, new_write_key(), sender.by))


def _misplaced(item: Item) -> list[Fault]:
    """Return the faults of members that the operation needs, or does not take."""
    faults: list[Fault] = []
    by_id = item.op in ("update", "delete")
    if by_id and item.id is UNSET:
        faults.append(Fault("/id", "required", f"is required for {item.op}"))
    has_body = item.op != "delete"
    if has_body and item.body is UNSET:
        faults.append(Fault("/body", "required", f"is required for {item.op}"))
    takes = {"id": by_id, "body": has_body, "match": item.op == "upsert", "on_duplicate": item.op == "create"}
    for name, fits in takes.items():
        value = getattr(item, name)
        if value is not UNSET and not fits:
            faults.append(Fault(f"/{name}", "unexpected", f"is no member of a command with op={item.op}; leave it out"))
    return faults


def _link(command: Command[Any] | None, number: int | None) -> None:
    """Set the company that a body names by its domain."""
    if isinstance(command, UpsertRecord):
        set_company(command, number)
    elif isinstance(command, UpdateRecord):
        command.changes[COMPANY] = number
    elif isinstance(command, CreateContact):
        command.record.company_id = number
