"""Webhooks bring messages, in any order and however often they come."""

from __future__ import annotations

from tests.messages.conftest import JANE, Messages, mail


async def test_reply__is_stored_with_its_text_and_campaign(messages: Messages) -> None:
    content = {
        "subject": "Re: Hello",
        "html": "<p>Yes,</p><script>no()</script><p>please</p>",
        "mailbox": "me@our.example",
        "thread_id": "t1",
    }

    await messages.receive(mail(content=content, campaign="Autumn", campaign_id="7", step="2", message_id="m1"))

    [one] = await messages.stored()
    assert (one.direction, one.channel, one.contact_email, one.tool) == ("received", "email", JANE, "instantly")
    assert (one.subject, one.text, one.html, one.mailbox) == ("Re: Hello", "Yes,\n\nplease", content["html"], "me@our.example")
    assert (one.campaign_id, one.campaign_name, one.step, one.message_id, one.thread_id) == ("7", "Autumn", "2", "m1", "t1")
    assert one.delivery_id == 1


async def test_event_without_a_message__stores_none(messages: Messages) -> None:
    await messages.receive({**mail(), "message": None})

    assert await messages.stored() == []
