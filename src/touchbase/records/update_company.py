"""Changing a company: which columns a change of the interface's fields sets."""

from __future__ import annotations

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.records import validation
from touchbase.records.commands import UpdateCompany
from touchbase.records.company import Company
from touchbase.records.create_company import CUSTOM
from touchbase.records.event_ids import new_write_key
from touchbase.records.merge_patch import Change, custom_changes, text_or_none
from touchbase.sql.store import Store


def update_company_command(client: Client, company_id: int, change: Change, at: Micros) -> UpdateCompany:
    """The command for a change of the named fields; raises `Invalid` with every rule that it breaks.

    A company cannot lose its domain.
    """
    faults: list[Fault] = []
    asked = change.fields
    settings = client.settings
    columns: dict[str, str | int | None] = {}
    if "domain" in asked:
        columns["domain"] = validation.domain(text_or_none(asked["domain"]) or "", "/domain", faults)
    if "name" in asked:
        columns["name"] = text_or_none(asked["name"])
    if "company_status" in asked:
        status = text_or_none(asked["company_status"])
        columns["status"] = validation.status(status, settings.company_statuses, "/company_status", faults)
    fields = custom_changes(change.custom, settings.company_fields, CUSTOM, faults)
    validation.raise_if_any(faults)
    return UpdateCompany(
        client.number, company_id, columns, fields.values, at, new_write_key(), fields.clear, change.if_updated_us,
        settings.company_statuses.transitions if settings.company_statuses else None,
    )  # fmt: skip


async def update_company(store: Store, client: Client, company_id: int, change: Change, at: Micros, by: Author = NO_AUTHOR) -> Company:
    """Change a company and answer it. Raises `Invalid`, `NotFound`, `Conflict` and `PreconditionFailed`."""
    command = update_company_command(client, company_id, change, at)
    command.by = by
    return await store.write(command)
