"""What a reply does to a status that a CRM, a label or a caller of the API has set, in every order of arrival."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.projection.reference_model.world import World

from touchbase.sql.store import Store

ANN = "ann@x.test"


def crm_fact(word: str) -> dict[str, Any]:
    """A CRM's word for a person."""
    said = {"event": "contact.status_changed", "object_type": "lead", "object_id": "1"}
    return said | {"email": ANN, "status": word, "occurred": -50, "key": "s"}


def sent(event: str, occurred: int, **more: Any) -> dict[str, Any]:
    """An event of a campaign tool."""
    return {"event": event, "email": ANN, "occurred": occurred, "key": event, **more}


REPLY = ("camp", sent("email_replied", -10))
STOPPED = [("camp", sent("email_unsubscribed", -40)), ("camp", sent("email_resubscribed", -30))]


async def statuses(store: Store, steps: list[tuple[str, dict[str, Any]]]) -> set[tuple[str, str]]:
    """Status and the one before, after these calls in every order of arrival; one by one, and all in one batch."""
    result = set()
    for order, receive in itertools.product(itertools.permutations(steps), (World.call, World.keep)):
        world = await World.new(store)
        await _receive(world, receive, order)
        [ann] = await world.records()
        assert ann.sum() == ann.timeline_values()
        assert await world.differences() == []
        result.add((ann.shown["status"], ann.shown["previous"]))
    return result


async def _receive(world: World, receive: Callable[..., Awaitable[int]], order: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    for place, (tool, said) in enumerate(order):
        await receive(world, place, tool, said)
    await world.work()


@pytest.mark.parametrize("word", ["New", "Not contacted", "to contact"])
async def test_reply__replaces_a_crms_word_for_a_person_nobody_has_worked_on(store: Store, word: str) -> None:
    assert await statuses(store, [("crm", crm_fact(word)), REPLY]) == {("replied", word)}


async def test_reply__replaces_a_crms_word_after_an_opt_out_that_was_taken_back(store: Store) -> None:
    assert await statuses(store, [("crm", crm_fact("New")), *STOPPED, REPLY]) == {("replied", "New")}


async def test_reply__leaves_any_other_word_of_a_crm(store: Store) -> None:
    assert await statuses(store, [("crm", crm_fact("Open")), REPLY]) == {("Open", None)}
    assert await statuses(store, [("crm", crm_fact("Open")), *STOPPED, REPLY]) == {("Open", "do_not_contact")}


async def test_reply__leaves_a_label_whatever_its_word(store: Store) -> None:
    label = ("camp", sent("lead_status_changed", -50, status="New"))

    assert await statuses(store, [label, REPLY]) == {("New", None)}
    assert await statuses(store, [label, *STOPPED, REPLY]) == {("New", "do_not_contact")}


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_reply__leaves_the_word_of_a_patch(store: Store, when: str) -> None:
    """Also where a CRM had told the same word before it."""
    world = await World.new(store)
    number = await world.post(-100, email=ANN)
    calls = [("crm", crm_fact("New")), REPLY]
    for place, (tool, said) in enumerate(calls):
        if place == ["before", "between", "after"].index(when):
            await world.patch(-20, number, contact_status="New")
        await world.call(place, tool, said)
    if when == "after":
        await world.patch(-20, number, contact_status="New")

    [ann] = await world.records()
    assert (ann.shown["status"], ann.shown["replied"]) == ("New", -10)
    assert await world.differences() == []
