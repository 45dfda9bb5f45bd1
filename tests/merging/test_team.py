"""What people decided, wrote and read about a contact goes with its merge, and comes back with the undo."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import House, house

from touchbase.conversations.drafts import store_draft
from touchbase.conversations.merged import TeamState, team_state
from touchbase.conversations.notifications import NewNotification, list_notifications, store_notifications
from touchbase.conversations.plans import ConversationChange, change_conversation, mark_conversation
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan

__all__ = ["house"]
PROFILE = "https://www.linkedin.com/in/ann-lee"


@query
def _team_state(client: int, contact: int) -> Plan[TeamState]:
    return (yield from team_state(client, contact))


async def state(house: House, contact: int) -> TeamState:
    return await house.call.parts.store.read(_team_state(house.number, contact))


async def write(house: House, contact: int, name: str, *, label: str | None = None, assignee: str | None = None) -> None:
    """A person drafts an answer and reads the contact's messages; another one is told of a reply."""
    store, at = house.call.parts.store, house.call.clock()
    await store.write(change_conversation(house.number, contact, ConversationChange(label=label, assignee_id=assignee), at))
    await store.write(store_draft(house.number, contact, "u1", f"Hello {name}", at))
    await store.write(mark_conversation(house.number, contact, "u1"))
    await store.write(store_notifications(house.number, [NewNotification("u2", "reply", f"evt_{name}", contact)], at))


async def told(house: House) -> list[int | None]:
    """The contacts of the notifications, the last one first."""
    return [each.contact_id for each in await house.call.parts.store.read(list_notifications([house.number], "u2", 9))]


@pytest.fixture
async def two(house: House) -> dict[str, Any]:
    """Two contacts of a client with what people did about them."""
    numbers = {"ann": await house.contact(email="ann@example.com"), "lee": await house.contact(linkedin_url=PROFILE)}
    await write(house, numbers["ann"], "Ann", label="later")
    house.call.clock.move(1)
    await write(house, numbers["lee"], "Lee", label="interested", assignee="u2")
    return numbers


@pytest.mark.parametrize("by_webhook", [True, False])
async def test_merge__gives_the_survivor_what_people_did_about_both(house: House, two: dict[str, int], by_webhook: bool) -> None:
    if by_webhook:
        await house.hook("camp", {"event": "email_opened", "email": "ann@example.com", "linkedin_url": PROFILE, "at": 1})
    else:
        await house.merge(two["ann"], two["lee"])

    merged = await state(house, two["ann"])
    assert merged.decision is not None
    assert (merged.decision.label, merged.decision.assignee_id) == ("later", "u2")
    assert merged.drafts["u1"][0] == "Hello Ann\n\nHello Lee"
    assert await told(house) == [two["ann"]] * 2
    assert await state(house, two["lee"]) == TeamState()


async def test_undo__gives_each_its_own_back(house: House, two: dict[str, int]) -> None:
    before = [await state(house, number) for number in two.values()]
    merge = await house.merge(two["ann"], two["lee"])

    await house.undo(two["ann"], merge["merge_id"])

    assert [await state(house, number) for number in two.values()] == before
    assert await told(house) == [two["lee"], two["ann"]]


async def test_undo__leaves_what_was_changed_since_with_the_survivor(house: House, two: dict[str, int]) -> None:
    lee = await state(house, two["lee"])
    merge = await house.merge(two["ann"], two["lee"])
    house.call.clock.move(1)
    await write(house, two["ann"], "both", label="not_interested")

    await house.undo(two["ann"], merge["merge_id"])

    ann = await state(house, two["ann"])
    assert ann.decision is not None
    assert (ann.decision.label, ann.drafts["u1"][0]) == ("not_interested", "Hello both")
    assert await state(house, two["lee"]) == lee
    assert await told(house) == [two["ann"], two["lee"], two["ann"]]


async def test_erasure_of_a_survivor__leaves_no_draft_of_either(house: House, two: dict[str, int]) -> None:
    await house.merge(two["ann"], two["lee"])

    reply = await house.request("DELETE", f"/public/v2/contacts/{two['ann']}?erase=true")

    assert reply.status == 200, reply.body
    assert [await state(house, number) for number in two.values()] == [TeamState()] * 2
    assert await told(house) == []
