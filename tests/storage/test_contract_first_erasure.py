"""A client's first erasure: a write that is in flight, and was made when nobody was erased yet, brings no erased person back."""

from __future__ import annotations

import asyncio

import pytest
from tests.storage.test_contract_erasure import NOON, REF, House, create

from touchbase.clients.sql.clients import ensure_client
from touchbase.erasure.sql.erasures import erase_person
from touchbase.errors import Conflict, PersonErased
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.writes import Created, Creation, RecordUpdate
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

pytestmark = pytest.mark.asyncio
MAIL = "canary.bird@example.com"


@pytest.fixture
async def house(store: Store) -> House:
    return House(store, (await store.write(ensure_client("acme", NOON))).number)


def creation(house: House, mail: str, **options: object) -> Command[Created[Contact]]:
    """A create of a request that read its client before the erasure: it is not guarded."""
    contact = Contact(house.client, 0, NOON, NOON, email=mail, email_key=mail)
    return create_contact(Creation(contact, [("plan", "gold")], **options))  # type: ignore[arg-type]


async def test_create__is_refused_when_the_first_erasure_came_before_it_was_written(house: House) -> None:
    await create(house, MAIL)
    await house.erase(refs=(REF,))

    with pytest.raises(PersonErased, match="restore_erased"):
        await house.store.write(creation(house, MAIL))

    assert await house.contacts() == {}


async def test_create__goes_on_for_others_after_the_first_erasure(house: House) -> None:
    await house.erase(refs=(REF,))

    writes = [house.store.write(creation(house, mail)) for mail in ("ann@x.test", MAIL, "bob@x.test", "ann@x.test")]
    results = await asyncio.gather(*writes, return_exceptions=True)

    assert [type(result) for result in results if isinstance(result, Exception)] == [PersonErased, Conflict]
    assert set(await house.contacts()) == {"ann@x.test", "bob@x.test"}
    assert [custom_field.name for custom_field in (await house.contacts())["ann@x.test"].custom_fields] == ["plan"]


async def test_create__answers_the_existing_contact_after_the_first_erasure(house: House) -> None:
    ann = await create(house, "ann@x.test")
    await house.erase(refs=(REF,))

    answered = await house.store.write(creation(house, "ann@x.test", on_duplicate="return"))

    assert (answered.record.id, answered.is_new) == (ann.id, False)


async def test_patch__to_an_erased_address_is_refused_though_its_client_had_erased_nobody(house: House) -> None:
    bob = await create(house, "bob@x.test")
    await house.erase(refs=(REF,))

    with pytest.raises(PersonErased):
        await house.store.write(update_contact(RecordUpdate(house.client, bob.id, {"email": MAIL, "email_key": MAIL}, {}, NOON, "k")))

    assert set(await house.contacts()) == {"bob@x.test"}


async def test_first_erasure__leaves_nothing_of_creates_in_flight(store: Store) -> None:
    for number in range(12):
        house = House(store, (await store.write(ensure_client(f"acme-{number}", NOON))).number)
        writes = [store.write(creation(house, mail)) for mail in ("a@x.test", MAIL, "b@x.test")]
        erasure = store.write(erase_person(house.client, NOON, None, [REF], search=True))
        late = [store.write(creation(house, mail)) for mail in (MAIL, "c@x.test")]

        await asyncio.gather(*writes, erasure, *late, return_exceptions=True)

        assert set(await house.contacts()) == {"a@x.test", "b@x.test", "c@x.test"}, number
