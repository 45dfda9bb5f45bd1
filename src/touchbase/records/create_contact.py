"""Creating a contact: the rules that a request must meet, and the command that stores it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from touchbase.clients.models import Client
from touchbase.common import normalize
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.records import validation
from touchbase.records.commands import CreateContact, Created, UpdateContact
from touchbase.records.contact import Contact
from touchbase.records.upsert import create_or_merge
from touchbase.records.validation import NamedValue
from touchbase.sql.store import Writes

CUSTOM = "/contact_custom_fields_input"
MERGED = ("email", "email_key", "linkedin_url", "first_name", "last_name", "company_id", "origin", "status")


class NewContact(Protocol):
    """A contact as asked for: the fields of the interface's section 2.1, unset where blank."""

    @property
    def email(self) -> str | None:
        """E-mail address."""
        ...

    @property
    def linkedin_url(self) -> str | None:
        """Any text; LinkedIn addresses are matched in their normal form."""
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
        """Where they stand in the body."""
        ...

    @property
    def custom_faults(self) -> Sequence[Fault]:
        """What is wrong with them as a whole."""
        ...

    @property
    def origin(self) -> str:
        """Where the contact came from."""
        ...

    @property
    def contact_status(self) -> str:
        """Status, from the client's set where there is one."""
        ...


def contact_command(asked: NewContact, client: Client, at: Micros, on_duplicate: str | None = None) -> CreateContact:
    """The command that stores this contact at this time; raises `Invalid` with every rule that it breaks."""
    faults: list[Fault] = []
    settings = client.settings
    email = asked.email.strip() or None if asked.email else None
    linkedin = asked.linkedin_url.strip() or None if asked.linkedin_url else None
    custom: list[tuple[str, str]] = []
    if asked.custom_fields:
        custom = validation.custom_fields(asked.custom_fields, settings.contact_fields, asked.custom_pointer, faults)
    faults += asked.custom_faults
    contact = Contact(
        client=client.number,
        id=0,
        created_us=at,
        updated_us=at,
        email=email,
        email_key=validation.email(email, "/email", faults),
        linkedin_url=linkedin,
        linkedin_key=normalize.linkedin_key(linkedin) if linkedin else None,
        first_name=asked.first_name.strip() or None,
        last_name=asked.last_name.strip() or None,
        company_id=asked.company_id,
        origin=asked.origin.strip() or None,
        status=validation.status(asked.contact_status.strip() or None, settings.contact_statuses, "/contact_status", faults),
    )
    validation.raise_if_any(faults)
    return CreateContact(contact, custom, on_duplicate or settings.on_duplicate, client.has_erased)


async def create_contact(
    store: Writes,
    asked: NewContact,
    client: Client,
    at: Micros,
    on_duplicate: str | None = None,
    by: Author = NO_AUTHOR,
    *,
    restore: bool = False,
) -> Created[Contact]:
    """Store a contact; without `on_duplicate` the client's setting decides about one that exists.

    Raises `Invalid`, `Conflict` with the existing contact's id, and, unless `restore` is set, `PersonErased`.
    """
    command = contact_command(asked, client, at, on_duplicate)
    command.by = by
    if restore:
        command.guarded = command.restore = True
    if command.on_duplicate != "update":
        return await store.write(command)
    return await create_or_merge(store, command, lambda existing: _merging(command, existing, client))


def _merging(command: CreateContact, existing: int, client: Client) -> UpdateContact:
    """The update that gives an existing contact what was asked for; what was left out stays."""
    new, statuses = command.contact, client.settings.contact_statuses
    columns = {name: getattr(new, name) for name in MERGED if getattr(new, name) is not None}
    if "linkedin_url" in columns:
        columns["linkedin_key"] = new.linkedin_key  # also where the text stands for nobody
    custom: dict[str, str | None] = dict(command.custom)
    transitions = statuses.transitions if statuses else None
    return UpdateContact(
        client.number, existing, columns, custom, new.created_us, "", transitions=transitions, guarded=command.guarded,
        restore=command.restore, creates=True, by=command.by,
    )  # fmt: skip
