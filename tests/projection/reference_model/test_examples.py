"""Named examples of the rules for API writes and calls that mix; `test_programs.py` holds them for any program.

Each test is one sentence of the promise "any order and any repetition of the same calls and API writes, each write at its own
time, gives the same records". Times are seconds from noon: `occurred` is the tool's, `received` is ours.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.projection.reference_model.world import World

from touchbase.errors import Conflict, PersonErased
from touchbase.sql.store import Store

ANN, BOB = "ann@x.test", "bob@x.test"
H = 3_600


@pytest.fixture
async def world(store: Store) -> World:
    return await World.new(store)


def crm(number: str, occurred: int | None, event: str = "contact.updated", **more: Any) -> dict[str, Any]:
    """An event of a CRM that names its object."""
    return {"event": event, "object_type": "contact", "object_id": number, "occurred": occurred, **more}


def sent(occurred: int | None, email: str = ANN, event: str = "email_sent", **more: Any) -> dict[str, Any]:
    """An event of a campaign tool."""
    return {"event": event, "email": email, "occurred": occurred, **more}


async def shown(world: World, *names: str) -> list[tuple[Any, ...]]:
    """Values of all contacts, sorted."""
    return sorted((tuple(record.shown[name] for name in names) for record in await world.records() if record.kind == "contact"), key=repr)


async def sound(world: World) -> None:
    """`verify` is clean, and each timeline adds up to its record."""
    assert await world.differences() == []
    for record in await world.records():
        assert record.sum() == record.timeline_values()


async def test_replay__unites_no_two_people_whose_address_has_changed_hands(world: World) -> None:
    await world.call(0, "crm", crm("1", -5, key="a", email="info@x.test", fields={"first_name": "Ann"}))
    ann = await world.record_with(email="info@x.test")
    await world.patch(10, ann.id, email=ANN)
    await world.post(20, email="info@x.test", first_name="Bob")

    await world.replay()
    await world.call(30, "crm", crm("1", -5, key="a", email="info@x.test", fields={"first_name": "Ann"}), attempt=2)

    assert await shown(world, "email", "first_name") == [(ANN, "Ann"), ("info@x.test", "Bob")]
    await sound(world)


async def test_replay__unites_no_two_companies_whose_domain_has_changed_hands(world: World) -> None:
    said = {"event": "company.updated", "object_type": "account", "object_id": "1", "occurred": -5, "domain": "old.test", "name": "One"}
    await world.call(0, "crm", said)
    [first] = await world.records()
    await world.patch(10, first.id, company=True, domain="one.test")
    await world.post(20, domain="old.test", name="Two")

    await world.replay()

    names = sorted((record.shown["domain"], record.shown["name"]) for record in await world.records())
    assert names == [("old.test", "Two"), ("one.test", "One")]
    await sound(world)


async def test_replay__unites_no_two_people_whose_linkedin_address_has_changed_hands(world: World) -> None:
    first, second = "https://linkedin.com/in/ann", "https://linkedin.com/in/ann-2"
    await world.call(0, "crm", crm("1", -5, key="a", linkedin_url=first, fields={"first_name": "Ann"}))
    ann = await world.record_with(linkedin_url=first)
    await world.patch(10, ann.id, linkedin_url=second)
    await world.post(20, linkedin_url=first, first_name="Bob")

    await world.replay()

    assert await shown(world, "linkedin_url", "first_name") == [(first, "Bob"), (second, "Ann")]
    await sound(world)


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1), (2, 0, 1), (2, 1, 0), (1, 2, 0)])
async def test_objects_that_have_had_one_address__are_two_records_in_every_order(world: World, order: tuple[int, ...]) -> None:
    calls = [
        crm("1", -50, key="a", email="info@x.test", fields={"first_name": "Ann"}),
        crm("1", -40, key="b", email=ANN),
        crm("2", -30, key="c", email="info@x.test", fields={"first_name": "Bob"}),
    ]
    for place in order:
        await world.call(place, "crm", calls[place])
    await world.replay()

    assert await shown(world, "email", "first_name") == [(ANN, "Ann"), ("info@x.test", "Bob")]
    await sound(world)


@pytest.mark.parametrize("again", ["replay", "retry"])
async def test_known_fact__counts_for_the_person_it_was_first_about(world: World, again: str) -> None:
    reply = sent(-5, "info@x.test", "email_replied", key="r1")
    number = await world.call(0, "camp", reply)
    ann = await world.record_with(email="info@x.test")
    await world.patch(10, ann.id, email=ANN)
    await world.post(20, email="info@x.test", first_name="Bob")

    if again == "replay":
        await world.replay(number)
    else:
        await world.call(30, "camp", reply, attempt=2)

    assert await shown(world, "email", "replied") == [(ANN, -5), ("info@x.test", None)]
    await sound(world)


@pytest.mark.parametrize("field", ["email", "linkedin_url"])
async def test_address_removed_by_patch__does_not_come_back(world: World, field: str) -> None:
    value = {"email": ANN, "linkedin_url": "https://linkedin.com/in/ann"}
    number = await world.post(-100, **value)
    late = crm("1", -50, key="late", **value)
    await world.call(-40, "crm", crm("1", -60, key="a", **value))
    await world.patch(0, number, **{field: None})

    await world.replay()
    await world.call(10, "crm", late)

    [first] = await world.records()
    assert first.shown[field] is None
    await sound(world)


async def test_patch_of_the_status_to_itself__holds_against_older_events_and_replies(world: World) -> None:
    number = await world.post(-100, email=ANN, contact_status="Prospect")
    await world.patch(0, number, contact_status="Prospect")

    await world.call(10, "crm", crm("1", -50, "contact.status_changed", key="a", email=ANN, status="Old"))
    await world.call(20, "camp", sent(15, event="email_replied", key="r"))

    assert await shown(world, "status") == [("Prospect",)]
    await sound(world)


async def test_clearing_a_custom_field_that_is_not_there__holds_against_older_calls(world: World) -> None:
    number = await world.post(-100, email=ANN)
    await world.patch(0, number, custom={"plan": None})

    await world.call(10, "crm", crm("1", -50, key="a", email=ANN, custom={"plan": "old"}))

    assert [record.custom for record in await world.records()] == [{}]
    await sound(world)


async def test_same_value_again__holds_against_older_calls(world: World) -> None:
    number = await world.post(-100, custom={"plan": "pro"}, email=ANN, last_name="Lee")
    await world.patch(0, number, custom={"plan": "pro"}, last_name="Lee")

    await world.call(10, "crm", crm("1", -50, key="a", email=ANN, custom={"plan": "old"}, fields={"last_name": "Old"}))

    [first] = await world.records()
    assert (first.custom, first.shown["last_name"]) == ({"plan": "pro"}, "Lee")
    await sound(world)


@pytest.mark.parametrize("late", [False, True])
async def test_company_of_two_records_that_are_one__is_the_one_set_last(world: World, late: bool) -> None:
    acme, beta = await world.post(-200, domain="acme.test"), await world.post(-199, domain="beta.test")
    ann = await world.post(-100, email=ANN, company_id=acme)
    await world.call(-90, "crm", crm("1", -95, key="a", email="ann@home.test"))
    other_world = await world.record_with(email="ann@home.test")
    if late:
        await world.patch(-20, ann, company_id=acme)
        await world.patch(-10, other_world.id, company_id=beta)
    else:
        await world.patch(-20, other_world.id, company_id=beta)
        await world.patch(-10, ann, company_id=acme)

    await world.call(0, "crm", crm("1", -5, key="b", email=ANN))

    assert await shown(world, "company") == [("beta.test" if late else "acme.test",)]
    await sound(world)


async def test_company_removed_by_patch__stays_removed_when_records_become_one(world: World) -> None:
    acme = await world.post(-200, domain="acme.test")
    ann = await world.post(-100, email=ANN)
    await world.call(-90, "crm", crm("1", -95, key="a", email="ann@home.test"))
    other_world = await world.record_with(email="ann@home.test")
    await world.patch(-20, other_world.id, company_id=acme)
    await world.patch(-10, ann, company_id=None)

    await world.call(0, "crm", crm("1", -5, key="b", email=ANN))

    assert await shown(world, "company") == [(None,)]
    await sound(world)


@pytest.mark.parametrize("second", [None, 3 * 86_400, -7], ids=["no time", "three days ahead", "another time"])
@pytest.mark.parametrize("first", [None, -5])
async def test_fact_with_its_own_id__counts_once_at_the_time_received_first(world: World, first: int | None, second: int | None) -> None:
    first_sent, other_sent = sent(first, key="m1"), sent(second, key="m1")
    late = await world.keep(20, "camp", other_sent, attempt=2)
    await world.work()
    await world.call(0, "camp", first_sent)
    await world.replay(late)

    [ann] = await world.records()
    at = 0 if first is None else first
    assert (ann.entries, ann.shown["first_sent"], ann.shown["last_sent"]) == ([("camp", "email_sent", at)], at, at)
    await sound(world)


async def test_timeline__adds_up_to_the_record_with_previous_values_of_time_order(world: World) -> None:
    acme = await world.post(-200, domain="acme.test", name="Acme", company_status="lead")
    created = {
        "first_name": "Ann",
        "last_name": "Lee",
        "origin": "list",
        "contact_status": "New",
        "linkedin_url": "https://linkedin.com/in/ann",
    }
    number = await world.post(-100, custom={"plan": "pro", "seats": "3"}, email=ANN, company_id=acme, **created)
    await world.patch(0, number, first_name="Anna", contact_status="Warm", custom={"plan": "max", "seats": None}, company_id=None)
    await world.call(10, "crm", crm("1", -50, key="a", email=ANN, custom={"plan": "mid"}, fields={"first_name": "An"}))
    await world.call(11, "crm", crm("1", -40, "contact.status_changed", key="b", status="Cold"))
    await world.call(12, "camp", sent(-60, key="m", first_name="Annie"))

    await sound(world)
    person = await world.record_with(email=ANN)
    assert person.shown["status"] == "Warm"
    assert person.shown["previous"] == "Cold"


@pytest.mark.parametrize("first", ["post", "call"])
@pytest.mark.parametrize("fields", [{}, {"contact_status": "Prospect"}, {"origin": "list", "contact_status": "customer"}])
@pytest.mark.parametrize("event", ["email_sent", "email_replied"])
async def test_post_on_duplicate_update__is_as_if_it_had_come_first(world: World, first: str, fields: dict[str, str], event: str) -> None:
    said = sent(-50, event=event, key="m", first_name="Annie")
    number = await world.keep(-40, "camp", said)
    if first == "call":
        await world.work()
    await world.post(0, "update", email=ANN, **fields)
    await world.work()
    await world.replay(number)

    [first_item] = await world.records()
    status = {"email_sent": "contacted", "email_replied": "replied"}[event]
    wanted = (fields["contact_status"], status, 0) if "contact_status" in fields else (status, None, -50)
    assert (first_item.shown["status"], first_item.shown["previous"], first_item.shown["changed"]) == wanted
    assert first_item.shown["origin"] == fields.get("origin", "camp")  # of the earliest fact, unless a request names it
    await sound(world)


async def test_patch_of_the_status__beats_an_event_whose_time_lies_ahead(world: World) -> None:
    number = await world.post(-100, email=ANN)
    await world.call(0, "crm", crm("1", 5 * H, "contact.status_changed", key="a", email=ANN, status="Ahead"))
    await world.patch(10, number, contact_status="Mine")

    assert await shown(world, "status", "previous") == [("Mine", "Ahead")]
    await world.replay()
    assert await shown(world, "status", "previous") == [("Mine", "Ahead")]
    await sound(world)


async def test_late_delivery__does_not_beat_the_patch_after_its_receipt(world: World) -> None:
    number = await world.post(-100, email=ANN)
    await world.keep(0, "crm", crm("1", 5 * H, "contact.status_changed", key="a", email=ANN, status="Ahead", fields={"last_name": "Ahead"}))
    await world.patch(10, number, contact_status="Mine", last_name="Mine")
    await world.work()

    assert await shown(world, "status", "last_name") == [("Mine", "Mine")]
    await sound(world)


async def test_two_clicks_steps_or_campaigns_in_one_second__are_two_events(world: World) -> None:
    click = sent(-5, event="email_clicked", campaign="Spring")
    calls = [click | {"link": "https://x.test/a"}, click | {"link": "https://x.test/b"}, click | {"step": "1"}, click | {"step": "2"},
             click | {"campaign_id": "7"}, click | {"campaign_id": "8"}]  # fmt: skip
    for place, item in enumerate(calls):
        await world.call(place, "plain", item)
    await world.replay()

    [first] = await world.records()
    assert len(first.timeline) == len(calls)
    await sound(world)


async def test_empty_value_of_one_object__clears_nothing_that_another_has_set(world: World) -> None:
    await world.call(0, "crm", crm("1", -50, key="a", email=ANN, fields={"last_name": "Lee"}, custom={"phone": "1"}))
    await world.call(1, "crm", crm("2", -40, key="b", email=ANN, fields={"last_name": None}, custom={"phone": None}))
    [first] = await world.records()
    assert (first.shown["last_name"], first.custom) == ("Lee", {"phone": "1"})

    await world.call(2, "crm", crm("1", -30, key="c", fields={"last_name": None}, custom={"phone": None}))
    [first] = await world.records()
    assert (first.shown["last_name"], first.custom) == (None, {})
    await sound(world)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_company_object_of_a_contact__is_its_company_in_any_order(world: World, order: tuple[int, int]) -> None:
    calls = [
        crm("1", -50, key="a", email=ANN, company_object=["account", "7"]),
        {"event": "company.updated", "object_type": "account", "object_id": "7", "occurred": -60, "domain": "acme.test", "key": "c"},
    ]
    for place in order:
        await world.call(place, "crm", calls[place])
    await world.replay()

    assert await shown(world, "email", "company") == [(ANN, "acme.test")]
    await sound(world)


async def test_erased_person__does_not_come_back_by_replays_retries_or_posts(world: World) -> None:
    reply = sent(-5, event="email_replied", key="r1")
    await world.post(-100, email=ANN)
    await world.call(0, "camp", reply, sent(-4, BOB, key="b1"))
    await world.erase(10, ANN)

    await world.replay()
    await world.call(20, "camp", reply, attempt=2)
    with pytest.raises(PersonErased):
        await world.post(30, email=ANN)

    assert await shown(world, "email") == [(BOB,)]
    await sound(world)


@pytest.mark.parametrize("on_duplicate", ["error", "return"])
async def test_post_that_is_refused_or_returns__changes_nothing(world: World, on_duplicate: str) -> None:
    await world.call(0, "camp", sent(-5, key="a"))
    before = await world.records()
    try:
        number = await world.post(10, on_duplicate, email=ANN, first_name="Eve", contact_status="customer")
    except Conflict as conflict:
        number = conflict.data["existing_id"]

    assert number == before[0].id
    assert await world.records() == before
    await sound(world)


async def test_custom_fields_that_were_all_taken_away__stay_so_where_several_objects_write(world: World) -> None:
    number = await world.post(-100, email=ANN)
    await world.patch(0, number, None)
    await world.call(10, "crm", crm("2", 5, key="a", email=ANN, custom={"seats": "3"}))

    await world.call(20, "crm", crm("1", -50, key="b", email=ANN, custom={"plan": "old"}))
    await world.call(30, "crm", crm("1", 25, key="c", fields={"last_name": "Lee"}))

    assert [record.custom for record in await world.records()] == [{"seats": "3"}]
    await sound(world)


async def test_timeline__adds_up_where_objects_give_way_to_one_another(world: World) -> None:
    await world.call(0, "crm", crm("1", -50, key="a", email=ANN, fields={"last_name": "Lee"}, custom={"phone": "1"}))
    await world.call(1, "crm", crm("2", -40, key="b", email=ANN, fields={"last_name": "Li"}, custom={"phone": None}))
    await world.call(2, "crm", crm("1", -30, "contact.deleted", key="c"))

    [first] = await world.records()
    assert (first.shown["last_name"], first.custom) == ("Li", {"phone": "1"})
    await sound(world)


@pytest.mark.parametrize("first", ["early", "late"])
async def test_fact_without_an_id_that_lies_ahead__stands_at_its_first_receipt(world: World, first: str) -> None:
    number = await world.post(-100, email=ANN)
    said = crm("1", 5 * H, "contact.status_changed", email=ANN, status="Ahead")
    received = {"early": 0, "late": 20}
    await world.patch(10, number, contact_status="Mine")
    await world.call(received.pop(first), "crm", said)
    await world.call(*received.values(), "crm", said, attempt=2)

    assert await shown(world, "status", "previous") == [("Mine", "Ahead")]
    await sound(world)


async def test_resubscription__gives_back_a_status_that_replies_leave_alone(world: World) -> None:
    number = await world.post(-100, email=ANN)
    await world.patch(0, number, contact_status="Warm")
    for place, event in enumerate(["email_unsubscribed", "email_resubscribed", "email_replied"]):
        await world.call(20 + place, "camp", sent(10 + place, event=event, key=event))

    assert await shown(world, "status", "previous") == [("Warm", "do_not_contact")]
    await sound(world)


async def test_contact_of_two_crms__takes_the_later_value_and_no_empty_one(world: World) -> None:
    await world.call(0, "crm", crm("1", -50, key="a", email=ANN, fields={"last_name": "Lee"}))
    await world.call(1, "other", crm("1", -40, key="b", email=ANN, fields={"last_name": "Li"}))
    assert await shown(world, "last_name") == [("Li",)]

    await world.call(2, "other", crm("1", -30, key="c", fields={"last_name": None}))

    assert await shown(world, "last_name") == [("Lee",)]
    await sound(world)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_object_that_has_had_two_addresses__is_the_contact_made_of_one_of_them_in_any_order(
    world: World, order: tuple[int, int]
) -> None:
    await world.post(-10, email=ANN)
    calls = [crm("1", -50, key="a", email=ANN), crm("1", 5, key="b", email="ann@home.test")]
    for place in order:
        await world.call(20 + place, "crm", calls[place])
    await world.replay()

    assert await shown(world, "email") == [("ann@home.test",)]
    await sound(world)
