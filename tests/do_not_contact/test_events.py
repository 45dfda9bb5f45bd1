"""Webhooks put addresses on the list, in any order and however often they come."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import START, ApiClient, MakeClient
from tests.do_not_contact.conftest import JANE, LIST, DoNotContact, event, read
from tests.examples import examples

from touchbase.common.timestamps import SECOND, to_text
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

HYPOTHESIS = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
CLIENTS = itertools.count(1)


def at(second: int) -> str:
    """The time of `event(..., second=...)`, as responses show it."""
    return to_text(START + (second - 100) * SECOND)


async def test_unsubscriptions_complaints_and_hard_bounces__enter_by_themselves(dnc: DoNotContact) -> None:
    await dnc.receive(
        event("unsubscribed"), event("spam_complaint", "joe@example.com"), event("bounced", "ann@example.com", kind="hard"),
        event("bounced", "soft@example.com", kind="soft"), event("replied", "bob@example.com"), event("sent", "cy@example.com"),
    )  # fmt: skip

    assert await dnc.listed() == {JANE: "unsubscribed", "joe@example.com": "complained", "ann@example.com": "hard_bounced"}
    [jane] = await dnc.entries(f"?value={JANE}")
    assert (jane["source"], jane["since"], jane["tool"], jane["delivery_id"]) == ("event", at(1), "instantly", 1)


@pytest.mark.parametrize("reason", ["unsubscribed", "complained", "hard_bounced"])
async def test_client__decides_for_each_reason(dnc: DoNotContact, reason: str) -> None:
    await dnc.call.settings(suppress_on={reason: False})

    await dnc.receive(event("unsubscribed"), event("spam_complaint", "joe@example.com"), event("bounced", "ann@example.com", kind="hard"))

    assert reason not in (await dnc.listed()).values()
    assert len(await dnc.entries()) == 2


async def test_repeated_event_and_a_replay__change_nothing(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed"))
    before = await dnc.entries()
    dnc.call.clock.move(3600 * 3)

    await dnc.receive(event("unsubscribed"))
    await dnc.replay(1)

    assert await dnc.entries() == before


async def test_replay__does_not_bring_back_what_was_removed_and_a_later_event_does(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed"))
    await dnc.remove(JANE)
    dnc.call.clock.move(60)

    await dnc.replay(1)
    await dnc.receive(event("unsubscribed", second=50), event("unsubscribed", second=1))  # a late one, of before the removal
    assert await dnc.entries() == []

    await dnc.receive(event("unsubscribed", second=130))
    assert [entry["since"] for entry in await dnc.entries()] == [at(130)]


async def test_event_seen_again_at_a_later_receipt__is_the_same_fact(dnc: DoNotContact) -> None:
    """Without a time of its own an event counts from its first receipt: a retry after the removal does not bring it back."""
    untimed = event("unsubscribed", key="evt-1") | {"occurred_us": None}
    await dnc.receive(untimed)
    dnc.call.clock.move(60)
    await dnc.remove(JANE)
    dnc.call.clock.move(3600 * 3)

    await dnc.receive(untimed | {"first_name": "Jane"})

    assert await dnc.entries() == []


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
async def test_resubscription__ends_earlier_unsubscriptions_only(dnc: DoNotContact, order: tuple[int, ...]) -> None:
    events = [event("unsubscribed", second=1), event("resubscribed", second=2), event("spam_complaint", "joe@example.com", second=1)]
    for position in order:
        await dnc.receive(events[position])
    await dnc.receive(event("resubscribed", "joe@example.com", second=9))
    assert await dnc.listed() == {"joe@example.com": "complained"}

    await dnc.receive(event("unsubscribed", second=3))

    assert await dnc.listed() == {JANE: "unsubscribed", "joe@example.com": "complained"}


async def test_entry_by_request__stays_where_an_event_ends(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed", second=1))
    await dnc.add({"value": JANE, "reason": "requested", "note": "phone", "until": "2027-01-01T00:00:00Z"})

    [both] = await dnc.entries()
    await dnc.receive(event("resubscribed", second=2))
    [left] = await dnc.entries()

    assert (both["reason"], both["until"], both["note"]) == ("unsubscribed", None, "phone")
    assert (left["reason"], left["until"], left["note"], left["id"]) == ("requested", "2027-01-01T00:00:00Z", "phone", both["id"])


async def test_events_of_unknown_people__count_where_no_contact_may_be_created(dnc: DoNotContact) -> None:
    await dnc.call.settings(create_unknown=False)

    await dnc.receive(event("unsubscribed"))

    assert await dnc.listed() == {JANE: "unsubscribed"}
    assert (await dnc.call.get("/public/v2/contacts")).json()["data"] == []


async def test_event_with_a_linkedin_address_alone__lists_that(dnc: DoNotContact) -> None:
    await dnc.receive(event("unsubscribed", None, linkedin_url="https://www.linkedin.com/in/Jane"))

    assert await dnc.listed() == {"linkedin.com/in/jane": "unsubscribed"}


OBJECT = {"object_type": "person", "object_id": "7"}
PERSON = event("x") | {"event": "contact.updated", **OBJECT}


@pytest.mark.parametrize("order", [*itertools.permutations(range(2))])
async def test_mark_of_a_crm__lists_the_address_of_its_contact_whatever_comes_first(dnc: DoNotContact, order: tuple[int, ...]) -> None:
    events = [PERSON, event("unsubscribed", None, second=5, **OBJECT)]

    for position in order:
        await dnc.receive(events[position], channel="crm")

    assert await dnc.listed() == {JANE: "unsubscribed"}
    assert [entry["since"] for entry in await dnc.entries()] == [at(5)]


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
async def test_mark_of_a_crm__follows_the_contact_to_a_new_address(dnc: DoNotContact, order: tuple[int, ...]) -> None:
    moved = PERSON | {"email": "new@example.com", "occurred_us": START - 10 * SECOND}
    events = [PERSON, moved, event("unsubscribed", None, second=5, **OBJECT)]

    for position in order:
        await dnc.receive(events[position], channel="crm")

    assert (await dnc.listed())["new@example.com"] == "unsubscribed"


@pytest.mark.parametrize("batch", [1, 3])
async def test_bounce_without_an_address__lists_the_first_address_of_its_contact_alone(dnc: DoNotContact, batch: int) -> None:
    linkedin = PEOPLE[JANE]
    moved = event("replied", "new@example.com", second=9, linkedin_url=linkedin)
    events = [event("bounced", None, kind="hard", linkedin_url=linkedin), event("replied", linkedin_url=linkedin, second=5)]

    await receive_all(dnc.call, "default", [[item] for item in events], batch)
    await receive_all(dnc.call, "default", [[moved]], 1)

    assert await dnc.listed() == {JANE: "hard_bounced"}
    assert [entry["since"] for entry in await dnc.entries()] == [at(1)]


PEOPLE = {JANE: "https://linkedin.com/in/jane", "joe@example.com": "https://linkedin.com/in/joe"}
"""A LinkedIn address belongs to one person, as in life."""
EMAILS = st.sampled_from([*PEOPLE])
steps = st.integers(1, 8)
tool_events = st.builds(
    lambda name, person, named, second, key: event(
        name, person if named[0] else None, second, kind="hard", key=key, linkedin_url=PEOPLE[person] if named[1] else None
    ),
    st.sampled_from(["unsubscribed", "unsubscribed", "spam_complaint", "bounced", "resubscribed", "sent"]),
    EMAILS,
    st.sampled_from([(True, True), (True, False), (False, True)]),
    steps,
    st.one_of(st.none(), st.uuids().map(str)),
)
calls = st.lists(st.lists(tool_events, min_size=1, max_size=3), min_size=1, max_size=6)
REMOVAL = 100
"""The second of the removals: the clock's start. Events of the steps are before it, those of `LATER` after it."""
LATER = 200


async def snapshot(call: ApiClient, client: str) -> list[tuple[Any, ...]]:
    """The client's list without what depends on the moment of arrival: ids, deliveries and times of writing."""
    result = (await call.get(f"{LIST}?limit=200", x_client_id=client)).json()["data"]
    return sorted((item["kind"], item["value"], item["reason"], item["source"], item["since"], item["until"]) for item in result)


async def receive_all(call: ApiClient, client: str, bodies: list[list[dict[str, Any]]], batch: int) -> None:
    for first in range(0, len(bodies), batch):
        for body in bodies[first : first + batch]:
            await call("POST", f"/public/emailcampaign-webhook/{client}", raw=msgspec.json.encode(body))
        await InboxWorker(call.parts.store, read, call.clock, batch_size=batch).drain()


@pytest.mark.slow_on_postgresql
@HYPOTHESIS
@given(bodies=calls, later=calls, data=st.data())
async def test_any_order_and_repetition_of_events__gives_the_same_list(
    store: Store, make_client: MakeClient, bodies: list[list[dict[str, Any]]], later: list[list[dict[str, Any]]], data: st.DataObject
) -> None:
    """Also around a removal: events of before it count before it, however late they come again."""
    call = make_client(store, read=read)
    call.clock.now = START
    later = [[item | {"occurred_us": item["occurred_us"] + LATER * SECOND, "key": None} for item in body] for body in later]
    first_item, second_item = f"one-{next(CLIENTS)}", f"other-{next(CLIENTS)}"
    removed = data.draw(EMAILS)

    for client in (first_item, second_item):
        first = bodies if client == first_item else data.draw(st.permutations(bodies))
        await receive_all(call, client, first, data.draw(st.integers(1, 6)))
    before = await snapshot(call, first_item)
    assert await snapshot(call, second_item) == before
    for client in (first_item, second_item):
        for entry in (await call.get(f"{LIST}?value={removed}", x_client_id=client)).json()["data"]:
            assert (await call("DELETE", f"{LIST}/{entry['id']}", x_client_id=client)).status == 204
    call.clock.move(2 * LATER)
    await receive_all(call, first_item, later, 3)
    await receive_all(call, second_item, data.draw(st.permutations([*later, *bodies, *later])), data.draw(st.integers(1, 6)))

    assert await snapshot(call, second_item) == await snapshot(call, first_item)
