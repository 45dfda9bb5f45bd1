"""Creating a company: the rules that a request must meet, and the command that stores it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.records import validation
from touchbase.records.commands import CreateCompany, Created, UpdateCompany
from touchbase.records.company import Company
from touchbase.records.upsert import create_or_merge
from touchbase.records.validation import NamedValue
from touchbase.sql.store import Writes

CUSTOM = "/company_custom_fields"


class NewCompany(Protocol):
    """A company as asked for: the fields of the interface's section 2.3, unset where blank."""

    @property
    def domain(self) -> str:
        """A domain, or an address that holds one; required."""
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


def company_command(asked: NewCompany, client: Client, at: Micros, on_duplicate: str | None = None) -> CreateCompany:
    """The command that stores this company at this time; raises `Invalid` with every rule that it breaks."""
    faults: list[Fault] = []
    settings = client.settings
    custom: list[tuple[str, str]] = []
    if asked.company_custom_fields:
        custom = validation.custom_fields(asked.company_custom_fields, settings.company_fields, CUSTOM, faults)
    company = Company(
        client=client.number,
        id=0,
        created_us=at,
        updated_us=at,
        domain=validation.domain(asked.domain, "/domain", faults),
        name=asked.name.strip() or None,
        status=validation.status(asked.company_status.strip() or None, settings.company_statuses, "/company_status", faults),
    )
    validation.raise_if_any(faults)
    return CreateCompany(company, custom, on_duplicate or settings.on_duplicate)


async def create_company(
    store: Writes, asked: NewCompany, client: Client, at: Micros, on_duplicate: str | None = None, by: Author = NO_AUTHOR
) -> Created[Company]:
    """Store a company; without `on_duplicate` the client's setting decides about one that exists.

    Raises `Invalid`, and `Conflict` with the existing company's id.
    """
    command = company_command(asked, client, at, on_duplicate)
    command.by = by
    if command.on_duplicate != "update":
        return await store.write(command)
    return await create_or_merge(store, command, lambda existing: _merging(command, existing, client))


def _merging(command: CreateCompany, existing: int, client: Client) -> UpdateCompany:
    """The update that gives an existing company what was asked for; what was left out stays."""
    new, statuses = command.company, client.settings.company_statuses
    columns = {name: getattr(new, name) for name in ("domain", "name", "status") if getattr(new, name) is not None}
    custom: dict[str, str | None] = dict(command.custom)
    transitions = statuses.transitions if statuses else None
    return UpdateCompany(
        client.number, existing, columns, custom, new.created_us, "", transitions=transitions, creates=True, by=command.by
    )  # fmt: skip
