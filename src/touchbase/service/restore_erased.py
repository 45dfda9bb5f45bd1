"""Letting an erased person be created again: what `restore_erased` asks for, once the request is known to be a good one."""

from __future__ import annotations

from touchbase.domain.client import Client
from touchbase.domain.erased_keys import EMAIL, LINKEDIN
from touchbase.domain.erasure import LiftErasure
from touchbase.domain.ports import Store
from touchbase.domain.times import Micros
from touchbase.service.create_contact import NewContact, contact_command


async def restore_erased(store: Store, asked: NewContact, client: Client, at: Micros) -> None:
    """Lift the erasure of whom this contact names; raises `Invalid` as creating it would."""
    contact = contact_command(asked, client, at).contact
    keys = ((EMAIL, contact.email_key), (LINKEDIN, contact.linkedin_key))
    refs = [("", word, key) for word, key in keys if key is not None]
    if client.has_erased and refs:
        await store.write(LiftErasure(client.number, refs))
