"""What every engine promises about records: creating, repeating, changing and keeping clients apart."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.errors import Conflict, Invalid, NotFound, PreconditionFailed
from touchbase.history.events import COMPANY, CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import store_delivery
from touchbase.records.models import Company, Contact
from touchbase.records.operations import WRITES, create_company, create_contact, update_company, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, type_of
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Created, Creation, RecordUpdate
from touchbase.sql.store import Store

MONDAY = 1_790_000_000 * SECOND
FRIDAY = MONDAY + 4 * 86_400 * SECOND
OURS, THEIRS = 1, 2


def contact(email: str | None = None, client: int = OURS, **values: Any) -> Contact:
    return Contact(client, 0, MONDAY, MONDAY, email=email, email_key=email.lower() if email else None, **values)


def company(domain: str, client: int = OURS, **values: Any) -> Company:
    return Company(client, 0, MONDAY, MONDAY, domain, **values)


async def create_record(store: Store, record: Contact | Company, *custom: tuple[str, str]) -> Any:
    if isinstance(record, Contact):
        return (await store.write(create_contact(Creation(record, list(custom))))).record
    return (await store.write(create_company(Creation(record, list(custom))))).record


def change(
    record: Contact | Company,
    changes: dict[str, str | int | None],
    custom: dict[str, str | None] | None = None,
    at: int = FRIDAY,
    key: str = "key",
    **more: Any,
) -> Any:
    return WRITES[type(record)].update(RecordUpdate(record.client, record.id, changes, custom or {}, at, key, **more))


async def test_create_contact__stores_the_record_that_it_returns(store: Store) -> None:
    employer = await create_record(store, company("acme.example"))
    given_contact = contact(
        "Ann@Example.com", first_name="Ann", last_name="Lee ✓", linkedin_url="LinkedIn.com/in/ann", linkedin_key="linkedin.com/in/ann",
        company_id=employer.id, origin="import", status="new",
    )  # fmt: skip

    answer = await store.write(create_contact(Creation(given_contact, [("seats", "12"), ("plan", "gold")])))

    read = await store.read(find_record(OURS, CONTACT_TYPE, answer.record.id))
    assert answer.is_new
    assert 0 < answer.record.id < 2**53
    assert read == answer.record
    assert read is not None
    assert [(field.name, field.value, field.updated_us) for field in read.custom_fields] == [
        ("seats", "12", MONDAY),
        ("plan", "gold", MONDAY),
    ]
    assert len({field.id for field in read.custom_fields}) == 2
    assert (read.status, read.previous_status, read.status_changed_us) == ("new", None, None)


async def test_create_company__stores_the_record_that_it_returns(store: Store) -> None:
    answer = await store.write(create_company(Creation(company("acme.example", name="Acme", status="lead"), [("size", "9")])))

    assert answer.is_new
    assert await store.read(find_record(OURS, COMPANY_TYPE, answer.record.id)) == answer.record


async def test_create_contact__accepts_any_number_of_empty_contacts(store: Store) -> None:
    answers = await asyncio.gather(*(store.write(create_contact(Creation(contact()))) for _ in range(5)))

    assert len({answer.record.id for answer in answers}) == 5


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize(
    "again",
    [
        contact("ann@example.com"),
        contact("ANN@example.com", linkedin_key="linkedin.com/in/other"),
        contact(linkedin_key="linkedin.com/in/ann"),
    ],
    ids=["by e-mail", "by e-mail before LinkedIn", "by LinkedIn"],
)
async def test_create_contact__reports_a_conflict_with_the_existing_contact(store: Store, again: Contact, together: bool) -> None:
    first = create_contact(Creation(contact("ann@example.com", linkedin_key="linkedin.com/in/ann")))
    second = create_contact(Creation(again))

    answers = await _both(store, first, second, together)

    assert isinstance(answers[0], Created)
    assert isinstance(answers[1], Conflict)
    assert answers[1].data == {"existing_id": answers[0].record.id}
    assert len(await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10)))) == 1


@pytest.mark.parametrize("together", [True, False])
async def test_create_contact__returns_the_existing_contact_on_request(store: Store, together: bool) -> None:
    first = create_contact(Creation(contact("ann@example.com", first_name="Ann"), [("seats", "12")]))
    second = create_contact(Creation(contact("ann@example.com", first_name="Anna"), [("plan", "gold")], on_duplicate="return"))

    answers = await _both(store, first, second, together)

    assert [answer.is_new for answer in answers] == [True, False]
    assert answers[1].record == await store.read(find_record(OURS, CONTACT_TYPE, answers[0].record.id))
    assert answers[1].record.first_name == "Ann"


@pytest.mark.parametrize("together", [True, False])
async def test_create_company__reports_or_returns_the_existing_company(store: Store, together: bool) -> None:
    first, second = create_company(Creation(company("acme.example", name="Acme"))), create_company(Creation(company("acme.example")))
    third = create_company(Creation(company("acme.example"), on_duplicate="return"))

    answers = [*await _both(store, first, second, together), await store.write(third)]

    assert isinstance(answers[1], Conflict)
    assert answers[1].data == {"existing_id": answers[0].record.id}
    assert (answers[2].is_new, answers[2].record) == (False, answers[0].record)


async def _both(store: Store, first: Any, second: Any, together: bool) -> list[Any]:
    if together:
        return await asyncio.gather(store.write(first), store.write(second), return_exceptions=True)
    return [await store.write(first), *await asyncio.gather(store.write(second), return_exceptions=True)]


async def test_client__reads_and_changes_only_its_own_records(store: Store) -> None:
    ours, theirs = await create_record(store, contact("ann@example.com")), await create_record(store, contact("ann@example.com", THEIRS))
    employer = await create_record(store, company("acme.example", THEIRS))

    with pytest.raises(NotFound):
        await store.write(update_contact(RecordUpdate(OURS, theirs.id, {"first_name": "Eve"}, {}, FRIDAY, "key")))

    assert ours.id != theirs.id
    assert await store.read(find_record(OURS, CONTACT_TYPE, theirs.id)) is None
    assert await store.read(find_record(OURS, COMPANY_TYPE, employer.id)) is None
    assert [record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10)))] == [ours.id]
    assert await store.read(list_records(Listing(COMPANY_TYPE, OURS, 10))) == []
    assert await store.read(get_history(OURS, CONTACT, theirs.id)) == []


async def test_concurrent_reads__return_each_record_only_to_its_client(store: Store) -> None:
    people = [
        await create_record(store, contact(f"{n}@example.com", client), ("n", str(n))) for n in range(40) for client in (OURS, THEIRS)
    ]
    firms = [await create_record(store, company(f"{n}.example", client), ("n", str(n))) for n in range(3) for client in (OURS, THEIRS)]
    nobody = max(person.id for person in people) + 1

    wanted = [*people, *firms, *people[::2]]
    results = await asyncio.gather(
        *(store.read(find_record(first.client, type_of(first), first.id)) for first in wanted),
        *(store.read(find_record(THEIRS if person.client == OURS else OURS, CONTACT_TYPE, person.id)) for person in people),
        store.read(find_record(OURS, CONTACT_TYPE, nobody)),
    )

    assert list(results[: len(wanted)]) == wanted
    assert set(results[len(wanted) :]) == {None}


async def test_company_id__is_refused_for_an_unknown_company_or_one_of_another_client(store: Store) -> None:
    employer = await create_record(store, company("acme.example", THEIRS))
    ann = await create_record(store, contact("ann@example.com"))

    for number in (employer.id, 12345678):
        with pytest.raises(Invalid, match="/company_id"):
            await store.write(create_contact(Creation(contact("bob@example.com", company_id=number))))
        with pytest.raises(Invalid, match="/company_id"):
            await store.write(change(ann, {"company_id": number}))

    assert [record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10)))] == [ann.id]


async def test_update_contact__stores_fields_custom_fields_status_and_history(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com", first_name="Ann", status="new"), ("seats", "12"), ("plan", "gold"))

    changed = await store.write(
        change(ann, {"first_name": None, "last_name": "Lee", "status": "won"}, {"seats": "13", "plan": None, "tier": "a"})
    )

    read = await store.read(find_record(OURS, CONTACT_TYPE, ann.id))
    history = await store.read(get_history(OURS, CONTACT, ann.id))
    assert read == changed
    assert (read.first_name, read.last_name, read.email) == (None, "Lee", "ann@example.com")
    assert (read.status, read.previous_status, read.status_changed_us) == ("won", "new", FRIDAY)
    assert {field.name: field.value for field in read.custom_fields} == {"seats": "13", "plan": None, "tier": "a"}
    assert read.updated_us >= FRIDAY
    assert [(event.event, event.occurred_us, event.status) for event in history] == [
        ("contact.created", MONDAY, "new"), ("contact.updated", FRIDAY, "won"),
    ]  # fmt: skip


async def test_update_contact__orders_history_by_arrival_when_the_clock_goes_back(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com"), ("seats", "1"))
    await store.write(change(ann, {"status": "open"}, {"seats": "2"}))

    changed = await store.write(change(ann, {"status": "won"}, {"seats": "3"}, MONDAY + 1, "another"))

    history = await store.read(get_history(OURS, CONTACT, ann.id))
    assert (changed.status, changed.previous_status) == ("won", "open")
    assert [event.status for event in sorted(history, key=lambda first_history: first_history.occurred_us)] == [None, "open", "won"]
    assert [item async for item in verify(store, OURS, Verified())] == []


async def test_update_company__replaces_all_custom_fields_on_request(store: Store) -> None:
    acme = await create_record(store, company("acme.example"), ("size", "9"), ("plan", "gold"))

    await store.write(change(acme, {"name": "Acme"}, {"tier": "a"}, clear_custom=True))

    read = await store.read(find_record(OURS, COMPANY_TYPE, acme.id))
    assert read is not None
    assert {field.name: field.value for field in read.custom_fields} == {"size": None, "plan": None, "tier": "a"}
    assert len(await store.read(get_history(OURS, COMPANY, acme.id))) == 2


async def test_update_contact__with_equal_values_adds_an_event_and_leaves_the_record(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com", first_name="Ann", status="new"), ("plan", "pro"))

    await store.write(change(ann, {"first_name": "Ann", "status": "new"}, {"plan": "pro", "seats": None}))
    await store.write(change(ann, {}, at=FRIDAY + 1))

    read = await store.read(find_record(OURS, CONTACT_TYPE, ann.id))
    assert read is not None
    assert read.updated_us == ann.updated_us
    [_, entry] = await store.read(get_history(OURS, CONTACT, ann.id))
    assert (entry.event, entry.occurred_us, entry.effect, entry.status) == ("contact.updated", FRIDAY, "status", "new")
    assert entry.detail == {"fields": {"first_name": "Ann"}, "custom": {"plan": "pro", "seats": None}, "restates": True}


async def test_update__refuses_the_primary_key_of_another_record(store: Store) -> None:
    ann, bob = await create_record(store, contact("ann@example.com")), await create_record(store, contact("bob@example.com"))
    acme, second = await create_record(store, company("acme.example")), await create_record(store, company("other.example"))

    with pytest.raises(Conflict) as refused:
        await store.write(change(bob, {"email": "Ann@example.com", "email_key": "ann@example.com"}))
    with pytest.raises(Conflict):
        await store.write(change(second, {"domain": "acme.example"}))
    await store.write(change(ann, {"email": "ANN@example.com", "email_key": "ann@example.com"}))

    assert refused.value.data == {"existing_id": ann.id}
    assert [record.email for record in await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10)))] == [
        "ANN@example.com",
        "bob@example.com",
    ]
    assert [record.id for record in await store.read(list_records(Listing(COMPANY_TYPE, OURS, 10, domain="acme.example")))] == [acme.id]


async def test_concurrent_updates__give_one_primary_key_to_one_contact(engine_url: str, open_with) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    people = [await create_record(stores[0], contact(f"p{n}@example.com")) for n in range(30)]
    wish = {"email": "ann@example.com", "email_key": "ann@example.com"}

    answers = await asyncio.gather(
        *(stores[n % 3].write(change(person, dict(wish))) for n, person in enumerate(people)), return_exceptions=True
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict"] * 29 + ["Contact"]
    assert len(await stores[0].read(list_records(Listing(CONTACT_TYPE, OURS, 10, email_key="ann@example.com")))) == 1


async def test_concurrent_updates__of_one_record_are_all_stored(engine_url: str, open_with) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    ann = await create_record(stores[0], contact("ann@example.com"))

    await asyncio.gather(
        *(
            stores[n % 3].write(update_contact(RecordUpdate(OURS, ann.id, {}, {f"field{n}": str(n)}, FRIDAY + n, f"key{n}")))
            for n in range(30)
        )
    )

    read = await stores[0].read(find_record(OURS, CONTACT_TYPE, ann.id))
    assert {field.name: field.value for field in read.custom_fields} == {f"field{n}": str(n) for n in range(30)}
    assert len(await stores[0].read(get_history(OURS, CONTACT, ann.id))) == 31


async def test_update_contact__refuses_a_record_that_changed_since_it_was_read(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com"))
    updated_us = ann.updated_us

    await store.write(change(ann, {"first_name": "Ann"}, if_updated_us=updated_us))
    with pytest.raises(PreconditionFailed):
        await store.write(change(ann, {"first_name": "Anna"}, if_updated_us=updated_us))

    read = await store.read(find_record(OURS, CONTACT_TYPE, ann.id))
    assert read is not None
    assert read.first_name == "Ann"


async def test_update_company__allows_only_declared_status_transitions(store: Store) -> None:
    acme = await create_record(store, company("acme.example", status="lead"))
    declared = {"lead": ["customer"], "customer": []}

    with pytest.raises(Invalid, match="customer"):
        await store.write(change(acme, {"status": "lost"}, transitions=declared))
    await store.write(change(acme, {"status": "customer"}, transitions=declared))

    read = await store.read(find_record(OURS, COMPANY_TYPE, acme.id))
    assert read is not None
    assert (read.status, read.previous_status) == ("customer", "lead")


async def test_update_contact__sets_the_last_written_status_when_the_clock_goes_back(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com", status="new"))

    await store.write(update_contact(RecordUpdate(OURS, ann.id, {"status": "won"}, {}, FRIDAY, "b")))
    await store.write(update_contact(RecordUpdate(OURS, ann.id, {"status": "interested"}, {}, FRIDAY - SECOND, "a")))

    read = await store.read(find_record(OURS, CONTACT_TYPE, ann.id))
    assert read is not None
    assert (read.status, read.previous_status, read.status_changed_us) == ("interested", "won", FRIDAY + 1)


async def test_update__raises_not_found_for_an_unknown_record(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.write(update_contact(RecordUpdate(OURS, 1, {"first_name": "Ann"}, {}, FRIDAY, "key")))
    with pytest.raises(NotFound):
        await store.write(update_company(RecordUpdate(OURS, 1, {"name": "Acme"}, {}, FRIDAY, "key")))


@pytest.mark.parametrize("make", [lambda: contact("ann@example.com"), lambda: company("example.com")], ids=["contact", "company"])
async def test_update__refuses_more_than_500_custom_fields(store: Store, make: Any) -> None:
    first = await create_record(store, make(), *((f"f{n}", "x") for n in range(499)))

    await store.write(change(first, {}, {"one": "x"}))
    with pytest.raises(Invalid, match="501 custom fields, and at most 500"):
        await store.write(change(first, {}, {"another": "x"}))
    await store.write(change(first, {}, {"one": None, "another": "x"}))

    query = find_record(OURS, CONTACT_TYPE, first.id) if isinstance(first, Contact) else find_record(OURS, COMPANY_TYPE, first.id)
    result = await store.read(query)
    assert result is not None
    assert sorted(custom_field.name for custom_field in result.custom_fields if custom_field.value is not None)[:2] == ["another", "f0"]


async def test_update_contact__leaves_the_primary_key_free_when_it_is_refused(store: Store) -> None:
    ann, bob = await create_record(store, contact("ann@example.com")), await create_record(store, contact("bob@example.com"))
    cy = {"email": "cy@example.com", "email_key": "cy@example.com"}

    answers = await asyncio.gather(store.write(change(ann, cy | {"company_id": 99})), store.write(change(bob, cy)), return_exceptions=True)

    assert isinstance(answers[0], Invalid)
    assert isinstance(answers[1], Contact)
    assert answers[1].email == "cy@example.com"


async def test_update_contact__lets_a_record_over_500_custom_fields_change_but_not_grow(store: Store) -> None:
    client = (await store.write(ensure_client("acme", MONDAY))).number
    for n in (1, 2):
        body = f"{n}".encode()
        await store.write(store_delivery(client, "crm", body.ljust(16), b"{}", "", body, MONDAY))
    await store.work(client, 10, lambda reported: Translation("test", [_four_hundred(reported.body.decode())]), MONDAY)
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))

    with pytest.raises(Invalid, match="801 custom fields, and at most 500"):
        await store.write(change(ann, {}, {"another": "x"}))
    await store.write(change(ann, {"first_name": "Ann"}, {"1-7": None}))
    await store.write(change(ann, {}, {"2-7": None}))

    read = await store.read(find_record(client, CONTACT_TYPE, ann.id))
    assert read is not None
    assert (read.first_name, sum(custom_field.value is not None for custom_field in read.custom_fields)) == ("Ann", 798)


def _four_hundred(word: str) -> Event:
    custom: dict[str, str | None] = {f"{word}-{n}": "x" for n in range(400)}
    return Event("contact.updated", MONDAY, "ann@example.com", custom=custom)


@pytest.mark.parametrize("make", [lambda: contact("ann@example.com"), lambda: company("example.com")], ids=["contact", "company"])
async def test_group_commit__applies_statuses_of_one_record_in_order_of_arrival(store: Store, make: Any) -> None:
    first = await create_record(store, make())
    update = WRITES[type(first)].update
    times = {"first": 9, "second": 5, "third": 8, "last": 4}  # as processes with different clocks give them

    await asyncio.gather(
        *(store.write(update(RecordUpdate(OURS, first.id, {"status": key}, {}, FRIDAY + at, key))) for key, at in times.items())
    )

    query = find_record(OURS, CONTACT_TYPE, first.id) if isinstance(first, Contact) else find_record(OURS, COMPANY_TYPE, first.id)
    read = await store.read(query)
    assert read is not None
    assert (read.status, read.previous_status, read.status_changed_us) == ("last", "third", FRIDAY + 12)


async def test_former_address__leads_to_its_record_after_a_change_of_several_fields(store: Store) -> None:
    client = (await store.write(ensure_client("acme", MONDAY))).number
    ann = await create_record(store, contact("ann@example.com", client))
    await store.write(change(ann, {"email": "lee@example.com", "email_key": "lee@example.com", "first_name": "ann@example.com"}))

    await store.write(store_delivery(client, "crm", b"k" * 16, b"{}", "", b"x", MONDAY))
    await store.work(client, 10, lambda _: Translation("test", [Event("email_sent", MONDAY, "ann@example.com")]), MONDAY)

    assert [(record.id, record.last_sent_us) for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))] == [
        (ann.id, MONDAY)
    ]
