"""Joins of sent messages that requests stored with webhooks about them: what one transaction reads has a bound."""

from __future__ import annotations

import pytest

from touchbase.history.events import CONTACT
from touchbase.messages.models import EMAIL, MOST_COMPARED, SENT, Message
from touchbase.messages.sql import plans

MANY = 2 * MOST_COMPARED


def message(number: int, *, delivery_id: int | None = None, text: str | None = None, html: str | None = None) -> Message:
    return Message(number, SENT, EMAIL, number, f"e{number}", delivery_id, number, "smartlead", text=text, html=html, contact_id=CONTACT)


def shown(copy: Message) -> tuple[object, ...]:
    row = plans.message_row(1, copy)
    return (*row[1:22], *row[-2:], row[22], copy.contact_id, None)


def test_webhooks_with_html_alone__are_read_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(plans, "compared_text", lambda html: read.append(html) or "other words")
    stored = [message(number, text="Thursday suits me") for number in range(MANY)]
    messages = [message(MANY + number, delivery_id=number, html=f"<p>{number}</p>") for number in range(MANY)]

    plan = plans._without_joined(1, messages)
    next(plan)
    with pytest.raises(StopIteration) as ended:
        plan.send([shown(copy) for copy in stored])

    assert ended.value.value == messages
    assert read == [f"<p>{number}</p>" for number in range(MOST_COMPARED)]
