"""Erasing a person harms nobody beside them: not who has their former address now, not who was erased in another store."""

from __future__ import annotations

import pytest
from tests.conftest import ExecuteSql
from tests.storage.test_contract_erasure import EMAIL, NOON, PROFILE, REF, House, create, crm, house, sent

from touchbase.common.normalize import linkedin_key
from touchbase.common.timestamps import DAY
from touchbase.deliveries.delivery import Delivery
from touchbase.erasure.models import ErasedKey
from touchbase.erasure.sql.erasures import add_erasures, lift_erasure
from touchbase.erasure.sql.persons import find_erased, find_person, list_erasures, open_erasures
from touchbase.erasure_marks import digest
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Translation
from touchbase.history.identity_links import Ref
from touchbase.records.operations import update_contact
from touchbase.records.writes import RecordUpdate

__all__ = ["house"]
ANN, BOB, CY = (("", "email", f"{name}@example.com") for name in ("ann", "bob", "cy"))
SECRET = b"s" * 32


async def test_erase__leaves_the_current_owner_of_a_former_address(house: House) -> None:
    first = await create(house, "info@example.com", linkedin_url=PROFILE, linkedin_key=linkedin_key(PROFILE))
    moved = {"email": EMAIL, "email_key": REF[2], "linkedin_url": None, "linkedin_key": None}
    await house.store.write(update_contact(RecordUpdate(house.client, first.id, moved, {}, NOON - DAY, "k")))
    second = await create(house, "info@example.com", linkedin_url=PROFILE, linkedin_key=linkedin_key(PROFILE))
    theirs = await house.tell(sent("info@example.com"))

    would = await house.store.read(find_person(house.client, first.id))
    await house.erase(first.id)
    late = await house.tell(sent("info@example.com", 5, linkedin_url=PROFILE))

    assert would.refs == {REF}
    (left,) = (await house.contacts()).values()
    assert (left.id, left.last_sent_us) == (second.id, NOON - DAY + 5_000_000)
    assert [(await house.state(number))[:2] for number in (theirs, late)] == [("applied", None)] * 2
    assert await house.differences() == []


async def test_erase__suppresses_an_unowned_former_address(house: House) -> None:
    first = await create(house, "info@example.com")
    await house.store.write(
        update_contact(RecordUpdate(house.client, first.id, {"email": EMAIL, "email_key": REF[2]}, {}, NOON - DAY, "k"))
    )

    await house.erase(first.id)
    await house.tell(sent("info@example.com", 5))

    assert await house.contacts() == {}


async def carried(house: House, erasures: dict[int, list[Ref]]) -> int:
    """These erasures of another store, told to this one with that store's numbers."""
    keys = [ErasedKey(digest(SECRET, house.client, ref), number, False, NOON) for number, refs in erasures.items() for ref in refs]
    return await house.store.write(add_erasures(house.client, SECRET, keys, NOON))


async def erased(house: House) -> set[Ref]:
    return await house.store.read(find_erased(house.client, [ANN, BOB, CY]))


@pytest.mark.parametrize("lifted", [ANN, BOB, CY])
async def test_lift_erasure__lifts_only_that_person_in_a_restored_store(house: House, lifted: Ref) -> None:
    await carried(house, {1: [ANN], 2: [BOB]})
    own = await house.erase(refs=(CY,))
    await carried(house, {own.id: [ANN], own.id + 1: [BOB]})

    gone = await house.store.write(lift_erasure(house.client, [lifted]))

    assert gone == 1
    assert await erased(house) == {ANN, BOB, CY} - {lifted}


async def test_lift_erasure__lifts_identities_erased_together_in_another_store(house: House) -> None:
    await carried(house, {7: [ANN]})
    added = await carried(house, {7: [ANN, BOB], 8: [CY]})

    gone = await house.store.write(lift_erasure(house.client, [BOB]))

    assert (added, gone) == (2, 2)
    assert await erased(house) == {CY}


async def test_add_erasures__repeated_changes_nothing(house: House) -> None:
    await carried(house, {7: [ANN, BOB]})
    before = (await house.store.read(list_erasures(house.client, 10))).keys

    again = await carried(house, {9: [ANN, BOB]})

    assert again == 0
    assert (await house.store.read(list_erasures(house.client, 10))).keys == before


async def test_lift_erasure__includes_objects_derived_before_a_repeated_transfer(house: House) -> None:
    await carried(house, {7: [ANN]})
    await house.tell(crm(object_id="7", email=ANN[2]))
    page = await house.store.read(list_erasures(house.client, 10))
    more = [ErasedKey(each.digest, 5, each.derived, NOON) for each in page.keys]
    await house.store.write(add_erasures(house.client, SECRET, [*more, ErasedKey(digest(SECRET, house.client, BOB), 5, False, NOON)], NOON))

    assert await house.store.write(lift_erasure(house.client, [BOB])) == 3


async def test_add_erasures__removes_parked_deliveries_of_an_erased_object(house: House) -> None:
    parked = await house.tell(crm(object_id="7", fields={"first_name": "Annabel"}))
    others = await house.tell(crm(object_id="8", fields={"first_name": "Bob"}))
    keys = [ErasedKey(digest(SECRET, house.client, ref), 1, ref != ANN, NOON) for ref in (ANN, ("test", "person", "7"))]
    await house.store.write(add_erasures(house.client, SECRET, keys, NOON))

    for erasure in await house.store.read(open_erasures()):
        await house.eraser.search(erasure)
    await house.tell(crm(step=5, object_id="7", email="cy@example.com"), crm(step=5, object_id="8", email="bob@example.com"))

    assert [(await house.state(number))[:2] for number in (parked, others)] == [("ignored", "erased"), ("applied", None)]
    assert {each.email: each.first_name for each in (await house.contacts()).values()} == {"cy@example.com": None, "bob@example.com": "Bob"}
    assert await house.differences() == []


async def test_erase__removes_the_persons_objects_from_the_fetch_queue(house: House, execute_sql: ExecuteSql) -> None:
    await house.tell(crm(object_id="7", fields={"first_name": "Annabel"}), crm(object_id="8", fields={"first_name": "Bob"}))
    for number in ("7", "8"):
        columns = "client, tool, object_type, object_id, rank, thin, requested_us, next_us, attempts"
        await execute_sql(f"INSERT INTO fetch_queue ({columns}) VALUES (?, 'test', 'person', ?, 0, 0, 5, 5, 0)", house.client, number)
    await house.erase(refs=(ANN,))

    await house.tell(crm(step=5, object_id="7", email=ANN[2]))

    assert await execute_sql("SELECT object_id FROM fetch_queue") == [("8",)]


async def test_erased_identities__are_searched_in_a_webhook_before_its_transaction(house: House) -> None:
    await house.erase(refs=(ANN,))
    number = await house.keep(b'{"odd": "ann@example.com"}')
    seen: list[Delivery] = []

    def odd(delivery: Delivery) -> Translation:
        seen.append(delivery)
        raise UnrecognisedPayload("not ours")

    await house.store.work(house.client, 10, odd, NOON)

    assert [each.addresses for each in seen] == [{ANN}]
    assert (await house.state(number))[:2] == ("ignored", "erased")
