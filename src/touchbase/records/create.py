"""Creating contacts and companies: the rules for requests, the commands, and merging into a record that exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from touchbase.clients import Client
from touchbase.common import normalize
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, NotFound, Overloaded
from touchbase.history import NO_AUTHOR, Author
from touchbase.records import validation
from touchbase.records.commands import CreateCompany, CreateContact, Created, CreateRecord, UpdateContact, UpdateRecord
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, type_of
from touchbase.records.validation import NamedValue
from touchbase.sql.command import Command
from touchbase.sql.store import Writes

R = TypeVar("R", Contact, Company)
T = TypeVar("T")

TRIES = 3


class NewContact(Protocol):
    """A request for a contact: the fields of the interface's section 2.1, unset where blank."""

    @property
    def email(self) -> str | None:
        """E-mail address."""
        ...

    @property
    def linkedin_url(self) -> str | None:
        """Any text; LinkedIn addresses match in their normal form."""
        ...

    @property
    def first_name(self) -> str:
        """First name."""
        ...

    @property
    def last_name(self) -> str:
        """Last name."""
        ...

    @property
    def company_id(self) -> int | None:
        """A company of the same client."""
        ...

    @property
    def custom_fields(self) -> Sequence[NamedValue]:
        """Custom fields, each name once."""
        ...

    @property
    def custom_pointer(self) -> str:
        """JSON pointer to the custom fields in the body."""
        ...

    @property
    def custom_faults(self) -> Sequence[Fault]:
        """Faults of the custom fields as a whole."""
        ...

    @property
    def origin(self) -> str:
        """Source of the contact."""
        ...

    @property
    def contact_status(self) -> str:
        """Status, from the client's set where there is one."""
        ...


class NewCompany(Protocol):
    """A request for a company: the fields of the interface's section 2.3, unset where blank."""

    @property
    def domain(self) -> str:
        """A domain, or an address that contains one; required."""
        ...

    @property
    def name(self) -> str:
        """The company's name."""
        ...

    @property
    def company_status(self) -> str:
        """Status, from the client's set where there is one."""
        ...

    @property
    def company_custom_fields(self) -> Sequence[NamedValue]:
        """Custom fields, each name once."""
        ...


def contact_command(request: NewContact, client: Client, at: Micros, on_duplicate: str | None = None) -> CreateContact:
    """Return the command that stores this contact at this time; raise `Invalid` with every fault.

    Without `on_duplicate` the client's setting decides about a contact that exists.
    """
    faults: list[Fault] = []
    settings = client.settings
    email = request.email.strip() or None if request.email else None
    linkedin = request.linkedin_url.strip() or None if request.linkedin_url else None
    custom: list[tuple[str, str]] = []
    if request.custom_fields:
        custom = validation.custom_fields(request.custom_fields, settings.contact_fields, request.custom_pointer, faults)
    faults += request.custom_faults
    contact = Contact(
        client=client.number,
        id=0,
        created_us=at,
        updated_us=at,
        email=email,
        email_key=validation.email(email, "/email", faults),
        linkedin_url=linkedin,
        linkedin_key=normalize.linkedin_key(linkedin) if linkedin else None,
        first_name=request.first_name.strip() or None,
        last_name=request.last_name.strip() or None,
        company_id=request.company_id,
        origin=request.origin.strip() or None,
        status=validation.status(request.contact_status.strip() or None, settings.contact_statuses, "/contact_status", faults),
    )
    validation.raise_if_any(faults)
    return CreateContact(contact, custom, on_duplicate or settings.on_duplicate, guarded=client.has_erased)


def company_command(request: NewCompany, client: Client, at: Micros, on_duplicate: str | None = None) -> CreateCompany:
    """Return the command that stores this company, as `contact_command`."""
    faults: list[Fault] = []
    settings = client.settings
    custom: list[tuple[str, str]] = []
    if request.company_custom_fields:
        pointer = f"/{COMPANY_TYPE.custom_fields}"
        custom = validation.custom_fields(request.company_custom_fields, settings.company_fields, pointer, faults)
    company = Company(
        client=client.number,
        id=0,
        created_us=at,
        updated_us=at,
        domain=validation.domain(request.domain, "/domain", faults),
        name=request.name.strip() or None,
        status=validation.status(request.company_status.strip() or None, settings.company_statuses, "/company_status", faults),
    )
    validation.raise_if_any(faults)
    return CreateCompany(company, custom, on_duplicate or settings.on_duplicate)


async def create_record(
    store: Writes, command: CreateRecord[R], client: Client, by: Author = NO_AUTHOR, *, restore: bool = False
) -> Created[R]:
    """Store a record, or merge it into the record that exists when `on_duplicate` is "update".

    Raises `Conflict` with the id of the existing record, and `PersonErased`, unless `restore` is set.
    """
    command.by = by
    if restore and isinstance(command, CreateContact):
        command.guarded = command.restore = True
    if command.on_duplicate != "update":
        return await store.write(command)
    return await create_or_merge(store, command, lambda existing: _merge_command(command, existing, client))


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


def _merge_command(command: CreateRecord[R], existing: int, client: Client) -> UpdateRecord[R]:
    """Return the update that gives an existing record the values of the request; fields that it leaves out stay."""
    new, kind = command.record, type_of(command.record)
    columns: dict[str, str | int | None] = {}
    for each in kind.fields:
        if (value := getattr(new, each.name)) is not None:
            columns[each.name] = value
            if each.key:
                columns[each.key] = getattr(new, each.key)  # None for a LinkedIn text that identifies no person
    if new.status is not None:
        columns["status"] = new.status
    update = kind.update(
        new.client, existing, columns, dict(command.custom), new.created_us, "",
        transitions=kind.transitions(client.settings), creates=True, by=command.by,
    )  # fmt: skip
    if isinstance(update, UpdateContact) and isinstance(command, CreateContact):
        update.guarded, update.restore = command.guarded, command.restore
    return update
