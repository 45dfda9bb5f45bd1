"""Rows of tables that few tests fill: a conversation that somebody labelled and read, and an address that two contacts had in turn."""

from __future__ import annotations

from touchbase.conversations.answers import queue_answer
from touchbase.conversations.drafts import store_draft
from touchbase.conversations.notifications import NewNotification, store_notifications
from touchbase.conversations.plans import ConversationChange, change_conversation, mark_conversation
from touchbase.history.events import CONTACT, NO_AUTHOR
from touchbase.messages.models import Message
from touchbase.messages.sql.plans import create_message
from touchbase.notes.plans import create_note
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store
from touchbase.tasks.plans import create_task


async def move_an_address(store: Store, client: int) -> None:
    """Make two contacts that have had one address, the second with a label on its conversation and an answer to a message."""
    for owner in ("first", "second"):
        record = Contact(client, 0, 5, 5, email="info@moved.example", email_key="info@moved.example")
        contact = (await store.write(create_contact(Creation(record)))).record.id
        address = f"{owner}@moved.example"
        change = RecordUpdate(client, contact, {"email": address, "email_key": address}, {}, 6, f"moved {owner}")
        await store.write(update_contact(change))
    await store.write(change_conversation(client, contact, ConversationChange(label="later"), 5))
    await store.write(mark_conversation(client, contact, "u1"))
    await store.write(store_notifications(client, [NewNotification("u1", "reply", "evt_1", contact)], 5, 1))
    await store.write(store_draft(client, contact, "u1", "Hello aga", 5))
    await store.write(create_note(client, CONTACT, contact, "Moved", ["u1"], 5, "api:moved", NO_AUTHOR))
    await store.write(create_task(client, CONTACT, contact, "Move", 9, "u1", 5, "api:move", NO_AUTHOR))
    reply = Message(0, "received", "email", 5, "moved", None, 5, "smartlead", text="Hi", contact_id=contact)
    message = await store.write(create_message(client, reply))
    await store.write(queue_answer(client, contact, message.id, "Hello", 5))
