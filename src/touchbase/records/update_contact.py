"""Changing a contact: which columns a change of the interface's fields sets."""

from __future__ import annotations

from touchbase.clients.models import Client
from touchbase.common import normalize
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.history.author import NO_AUTHOR, Author
from touchbase.records import validation
from touchbase.records.commands import UpdateContact
from touchbase.records.contact import Contact
from touchbase.records.create_contact import CUSTOM
from touchbase.records.event_ids import new_write_key
from touchbase.records.merge_patch import Change, CustomChanges, custom_changes, text_or_none
from touchbase.sql.store import Store


def update_contact_command(client: Client, contact_id: int, change: Change, at: Micros) -> UpdateContact:
    """The command for a change of the named fields; raises `Invalid` with every rule that it breaks."""
    faults: list[Fault] = []
    asked = change.fields
    settings = client.settings
    changes = {name: text_or_none(asked[name]) for name in ("first_name", "last_name", "origin") if name in asked}
    columns: dict[str, str | int | None] = {**changes}
    if "email" in asked:
        columns["email"] = email = text_or_none(asked["email"])
        columns["email_key"] = validation.email(email, "/email", faults)
    if "linkedin_url" in asked:
        columns["linkedin_url"] = linkedin = text_or_none(asked["linkedin_url"])
        columns["linkedin_key"] = normalize.linkedin_key(linkedin) if linkedin else None
    if "company_id" in asked:
        columns["company_id"] = asked["company_id"]
    if "contact_status" in asked:
        status = text_or_none(asked["contact_status"])
        columns["status"] = validation.status(status, settings.contact_statuses, "/contact_status", faults)
    fields: CustomChanges = custom_changes(change.custom, settings.contact_fields, change.custom_pointer or CUSTOM, faults)
    faults += change.custom_faults
    validation.raise_if_any(faults)
    return UpdateContact(
        client.number, contact_id, columns, fields.values, at, new_write_key(), fields.clear, change.if_updated_us,
        settings.contact_statuses.transitions if settings.contact_statuses else None, client.has_erased,
    )  # fmt: skip


async def update_contact(store: Store, client: Client, contact_id: int, change: Change, at: Micros, by: Author = NO_AUTHOR) -> Contact:
    """Change a contact and answer it. Raises `Invalid`, `NotFound`, `Conflict` and `PreconditionFailed`."""
    command = update_contact_command(client, contact_id, change, at)
    command.by = by
    return await store.write(command)
