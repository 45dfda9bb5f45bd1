"""Creating contacts and companies: the rules for requests, the commands, and merging into a record that exists."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar, cast

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, NotFound, Overloaded
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.history.status_words import is_opt_out_word
from touchbase.records import validation
from touchbase.records.further_emails import by_key, further_emails, set_further_emails
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES, RecordWrites
from touchbase.records.record_type import RecordType, type_of
from touchbase.records.validation import NamedValue
from touchbase.records.writes import Created, Creation, RecordUpdate, RecordUpsert
from touchbase.sql.operation import Command
from touchbase.sql.store import Writes

R = TypeVar("R", Contact, Company)
T = TypeVar("T")

TRIES = 3


class NewRecord(Protocol):
    """A request for a record: the members of its type, unset where blank, and its custom fields."""

    @property
    def custom_fields(self) -> Sequence[NamedValue]:
        """Custom fields, each name once."""
        ...

    @property
    def custom_pointer(self) -> str:
        """JSON pointer to the custom fields in the body."""
        ...

    @property
    def body_faults(self) -> Sequence[Fault]:
        """Faults that the body alone shows: two names of one member, a company's domain."""
        ...


def creation_of(
    kind: RecordType[R], request: NewRecord, client: Client, at: Micros, on_duplicate: str | None = None, *, by_name: bool = False
) -> Creation[R]:
    """Return the creation of this record at this time; raise `Invalid` with every fault.

    Without `on_duplicate` the client's setting decides about a record that exists. The caller replaces a company's domain by its id.
    With `by_name` a company may have a name and no domain.
    """
    faults: list[Fault] = []
    settings = client.settings
    custom: list[tuple[str, str]] = []
    if fields := request.custom_fields:
        custom = validation.custom_fields(fields, kind.field_types(settings), request.custom_pointer, faults, kind.field_names(settings))
    faults += request.body_faults
    values = {field.name: getattr(request, field.name) for field in kind.fields}
    without_domain = by_name and "domain" in values and not values["domain"] and bool(values["name"])
    if without_domain:
        del values["domain"]
    columns = kind.columns(values, faults)
    if without_domain:
        columns["domain"] = ""
    if status := validation.text_or_none(getattr(request, kind.status)):
        columns["status"] = validation.status(status, settings, kind.kind, f"/{kind.status}", faults)
    further: dict[str, str] = {}
    if texts := getattr(request, "emails", None):
        text, key, further = validation.emails(texts, cast("str | None", columns["email_key"]), faults)
        columns |= {"email": text, "email_key": key}
    validation.raise_if_any(faults)
    record = kind.model(client.number, 0, at, at, **columns)
    if further and isinstance(record, Contact):
        set_further_emails(record, further)
    return Creation(
        record,
        custom,
        on_duplicate or settings.on_duplicate,
        guarded=client.has_erased,
        opts_out=isinstance(record, Contact) and (is_opt_out_word(record.status) or record.status in settings.contact_opt_outs),
    )


def create_record(
    store: Writes, creation: Creation[R], client: Client, by: Author = NO_AUTHOR, *, restore: bool = False
) -> Coroutine[Any, Any, Created[R]]:
    """Store a record, or merge it into the record that exists when `on_duplicate` is "update".

    Raises `Conflict` with the id of the existing record, and `PersonErased`, unless `restore` is set.
    """
    prepare_creation(creation, by, restore=restore)
    operations: RecordWrites[R] = WRITES[type(creation.record)]
    if creation.on_duplicate != "update":
        return store.write(operations.create(creation))
    return create_or_merge(store, operations.create(creation), lambda existing: operations.update(merge_of(creation, existing, client)))


def prepare_creation(creation: Creation[R], by: Author, *, restore: bool = False) -> None:
    """Set who creates the record, and whether an erased person is created again."""
    creation.by = by
    if restore:
        creation.guarded = creation.restore = True


async def create_or_merge(store: Writes, create: Command[Created[T]], merge: Callable[[int], Command[T]]) -> Created[T]:
    """Create the record; if another record has its identity, send `merge(existing id)` instead.

    Raises `Conflict` when the merge would take the identity of a third record.
    """
    for _ in range(TRIES):
        try:
            return await store.write(create)
        except Conflict as conflict:
            existing = conflict.data.get("existing_id")
            if not isinstance(existing, int):
                raise
        try:
            return Created(await store.write(merge(existing)), is_new=False)
        except NotFound:
            # The existing record was merged into another in the meantime: find the identity's owner again.
            continue
    raise Overloaded("the record changes faster than this request can be merged into it; send it again")


def in_one_step(creation: Creation[R], client: Client) -> Creation[R] | RecordUpsert[R]:
    """Return the write that creates the record or merges it into the existing record, by `on_duplicate`, in one transaction."""
    if creation.on_duplicate != "update":
        return creation
    return RecordUpsert(replace(creation, on_duplicate="error"), merge_of(creation, 0, client), None)


def merge_of(creation: Creation[R], existing: int, client: Client) -> RecordUpdate[R]:
    """Return the update that gives an existing record the values of the request; fields that it leaves out stay."""
    new, kind = creation.record, type_of(creation.record)
    columns: dict[str, str | int | None] = {}
    for field in kind.fields:
        if (value := getattr(new, field.name)) is not None:
            columns[field.name] = value
            if field.key:
                columns[field.key] = getattr(new, field.key)  # None for a LinkedIn text that identifies no person
    if new.status is not None:
        columns["status"] = new.status
    return RecordUpdate(
        new.client, existing, columns, dict(creation.custom), new.created_us, "",
        transitions=kind.transitions(client.settings), creates=True, by=creation.by, words=client.settings.words(kind.kind),
        guarded=creation.guarded, restore=creation.restore, by_key=True, further=by_key(further_emails(new)) or None, adds=True,
    )  # fmt: skip
