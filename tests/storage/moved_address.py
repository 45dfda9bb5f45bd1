"""Rows of tables that few tests fill: a conversation that somebody labelled and read, and an address that two contacts had in turn."""

from __future__ import annotations

from touchbase.conversations.plans import ConversationChange, change_conversation, mark_conversation
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store


async def move_an_address(store: Store, client: int) -> None:
    """Make two contacts that have had one address, the second with a label on its conversation."""
    for owner in ("first", "second"):
        record = Contact(client, 0, 5, 5, email="info@moved.example", email_key="info@moved.example")
        contact = (await store.write(create_contact(Creation(record)))).record.id
        address = f"{owner}@moved.example"
        change = RecordUpdate(client, contact, {"email": address, "email_key": address}, {}, 6, f"moved {owner}")
        await store.write(update_contact(change))
    await store.write(change_conversation(client, contact, ConversationChange(label="later"), 5))
    await store.write(mark_conversation(client, contact, "u1"))
