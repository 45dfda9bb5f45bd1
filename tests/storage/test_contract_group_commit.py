"""What every engine promises about commands that come at once and so share a transaction: each is answered as if it had come alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.storage.test_contract import FRIDAY, OURS, THEIRS, change, company, contact, create_record

from touchbase.errors import Conflict, Invalid, NotFound
from touchbase.event_log.models import EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.event_log.sql.queries import list_latest_events
from touchbase.imports.sql import SAVE_MAPPING, list_mappings
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Created, Creation, RecordUpdate
from touchbase.search.sql.index import index_records
from touchbase.sql.operation import command, or_nothing
from touchbase.sql.statement import Execute, Plan
from touchbase.sql.store import Store
from touchbase.storage.postgres import read_batching as together

CY = {"email": "Cy@example.com", "email_key": "cy@example.com"}
PROFILE = {"linkedin_url": "LinkedIn.com/in/cy", "linkedin_key": "linkedin.com/in/cy"}


@command
def save_or_fail(client: int, name: str, how: str = "") -> Plan[Conflict | None]:
    """Save a mapping, with an entry in the log; then fail, by returning or raising an error, within a savepoint or not."""
    save = _save(client, name, how)
    return (yield from or_nothing(save) if "savepoint" in how else save)


def _save(client: int, name: str, how: str) -> Plan[Conflict | None]:
    yield Execute(SAVE_MAPPING, [(client, "contact", name, "{}", FRIDAY)])
    yield from log_events([LoggedEvent(client, EventType.STATUS_RENAMED, FRIDAY)])
    if "raises" in how:
        raise Conflict(name)
    return Conflict(name) if "returns" in how else None


WISHES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "a name": {"first_name": "Cy"},
    "a status": {"status": "won"},
    "an e-mail": CY,
    "the spelling of an e-mail": {"email": "P3@example.com", "email_key": "p3@example.com"},
    "a profile": PROFILE,
    "everything": {"first_name": None, "last_name": "Lee", "origin": "import", "status": None, **CY, **PROFILE},
}


async def at_once(store: Store, *commands: Any) -> list[Any]:
    return await asyncio.gather(*map(store.write, commands), return_exceptions=True)


async def read(store: Store, record: Contact) -> Contact:
    result = await store.read(find_record(OURS, CONTACT_TYPE, record.id))
    assert result is not None
    return result


@pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)
async def test_group_commit__returns_each_update_as_it_is_stored(store: Store, wish: dict[str, Any]) -> None:
    employer = await create_record(store, company("acme.example"))
    people = [await create_record(store, contact(f"p{n}@example.com", first_name="P", status="new"), ("seats", "1")) for n in range(4)]
    wishes = [{"first_name": "Q"}, {"status": "lost"}, {"company_id": employer.id}, wish]

    answers = await at_once(store, *(change(person, dict(item), {"seats": "2"}) for person, item in zip(people, wishes, strict=True)))

    assert [await read(store, person) for person in people] == answers
    for answer, entry in zip(answers, wishes, strict=True):
        assert {name: getattr(answer, name) for name in entry} == entry
    for status in {answer.status for answer in answers} - {None}:  # each index tells of it too
        assert await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10, status=status))) == [
            first_answer for first_answer in answers if first_answer.status == status
        ]
    assert await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10, company_id=employer.id))) == [answers[2]]


async def test_group_commit__returns_each_state_of_a_contact_changed_several_times(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com"), ("seats", "0"))
    changes = [
        update_contact(RecordUpdate(OURS, ann.id, {"first_name": f"Ann {n}"}, {"seats": str(n)}, FRIDAY + n, f"key{n}"))
        for n in range(1, 5)
    ]

    answers = await at_once(store, *changes)

    assert [(answer.first_name, answer.custom_fields[0].value) for answer in answers] == [(f"Ann {n}", str(n)) for n in range(1, 5)]
    assert await read(store, ann) == answers[-1]


async def test_group_commit__limits_a_refusal_to_its_own_command(store: Store) -> None:
    people = [await create_record(store, contact(f"p{n}@example.com")) for n in range(40)]
    wishes: list[dict[str, Any]] = [{"first_name": f"N{n}"} for n in range(40)]
    wishes[7], wishes[8] = {"company_id": 99}, {"email": "P1@example.com", "email_key": "p1@example.com"}
    changes = [change(person, wish) for person, wish in zip(people, wishes, strict=True)]
    changes[20].update.id = 2**52

    answers = await at_once(store, *changes)

    assert {n: type(answer) for n, answer in enumerate(answers) if not isinstance(answer, Contact)} == {
        7: Invalid,
        8: Conflict,
        20: NotFound,
    }
    assert [(await read(store, person)).first_name for person in people] == [None if n in (7, 8, 20) else f"N{n}" for n in range(40)]


@pytest.mark.parametrize("how", ["returns", "raises", "returns, with a savepoint", "raises, with a savepoint"])
async def test_group_commit__leaves_nothing_of_a_command_that_fails_after_a_write(store: Store, how: str) -> None:
    answers = await at_once(store, *(save_or_fail(OURS, f"m{n}", how if n in (3, 4) else "") for n in range(8)))

    assert [(type(answer), answer.detail) for answer in answers if answer is not None] == [(Conflict, "m3"), (Conflict, "m4")]
    assert [mapping.name for mapping in await store.read(list_mappings(OURS, "contact"))] == ["m0", "m1", "m2", "m5", "m6", "m7"]
    assert len(await store.read(list_latest_events(OURS, 100))) == 6


async def test_group_commit__gives_one_address_to_either_an_update_or_a_creation(store: Store) -> None:
    bob = await create_record(store, contact("bob@example.com"))

    changed, created = await at_once(store, change(bob, dict(CY)), create_contact(Creation(contact("cy@example.com"))))

    [owner] = await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10, email_key="cy@example.com")))
    refused, done = (created, changed) if isinstance(created, Conflict) else (changed, created)
    assert isinstance(refused, Conflict)
    assert refused.data == {"existing_id": owner.id}
    assert owner == (done.record if isinstance(done, Created) else done)


async def test_group_commit__leaves_an_address_with_its_owner_when_another_contact_asks_for_it(store: Store) -> None:
    ann, bob = await create_record(store, contact("ann@example.com")), await create_record(store, contact("bob@example.com"))
    wish = {"email": "ANN@example.com", "email_key": "ann@example.com"}

    for first, second in ((ann, bob), (bob, ann)):
        answers = await at_once(store, change(first, dict(wish)), change(second, dict(wish)))

        assert {type(answer) for answer in answers} == {Contact, Conflict}
        assert [record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10, email_key="ann@example.com")))] == [
            ann.id
        ]


async def test_group_commit__lets_a_contact_take_back_its_former_address(store: Store) -> None:
    ann = await create_record(store, contact("ann@example.com"))

    answers = await at_once(store, change(ann, dict(CY)), change(ann, {"email": "ann@example.com", "email_key": "ann@example.com"}))

    assert [answer.email_key for answer in answers] == ["cy@example.com", "ann@example.com"]
    assert await read(store, ann) == answers[-1]


@pytest.mark.parametrize("choice", ["error", "return", "update"])
async def test_group_commit__creates_one_contact_of_equal_creations_and_reports_it_to_the_others(store: Store, choice: str) -> None:
    there = await create_record(store, contact("ann@example.com", **PROFILE), ("seats", "12"))
    requested = [
        contact("new@example.com"),
        contact("ann@example.com"),
        contact("new@example.com"),
        contact(**PROFILE),
        contact("last@example.com"),
    ]

    answers = await at_once(store, *(create_contact(Creation(item, on_duplicate=choice)) for item in requested))

    new = answers[0].record
    if choice == "return":
        assert [answer.is_new for answer in answers] == [True, False, False, False, True]
        assert [answers[n].record for n in (1, 2, 3)] == [there, new, there]
    else:
        assert [type(answer) for answer in answers] == [Created, Conflict, Conflict, Conflict, Created]
        assert [answers[n].data["existing_id"] for n in (1, 2, 3)] == [there.id, new.id, there.id]
    assert len(await store.read(list_records(Listing(CONTACT_TYPE, OURS, 10)))) == 3


async def test_commands_taken__counts_callers_and_not_the_server_itself(store: Store) -> None:
    await store.write(create_contact(Creation(contact("ann@example.com"))))
    before = store.commands_taken

    await store.write(index_records(OURS))
    assert store.commands_taken == before

    await store.write(create_contact(Creation(contact("bob@example.com"))))
    assert store.commands_taken == before + 1


async def test_concurrent_lists__return_each_query_its_own_page(store: Store) -> None:
    for n in range(24):
        client = (OURS, THEIRS)[n % 3 == 0]
        await create_record(store, contact(f"p{n}@example.com", client, status=f"s{n % 2}"), ("seats", f"{n}"), ("plan", f"{client}"))
        await create_record(store, company(f"c{n}.example", client, status=f"s{n % 2}"), ("seats", f"{n}"))
    filters: list[dict[str, Any]] = [{}, {"status": "s1"}, {"status": "s0", "after": (0, 5)}, {"updated_since_us": 0}, {"status": "none"}]
    records = [
        list_records(Listing(kind, client, 5, **item))
        for kind in (CONTACT_TYPE, COMPANY_TYPE)
        for client in (OURS, THEIRS)
        for item in filters
    ]
    alone = [await store.read(query) for query in records]

    together = await asyncio.gather(*(store.read(query) for query in records * 3))

    assert together == alone * 3
    assert [len(page) for page in alone[:5]] == [5, 5, 5, 5, 0]
    assert {item.client for page in alone[:5] for item in page} == {OURS}
    assert all(item.custom_fields for page in together for item in page)
    assert max(len(item.custom_fields) for page in together for item in page) == 2


@pytest.mark.parametrize("callers", [1, 2, 5])
async def test_concurrent_reads__complete_when_each_reader_reads_again_at_once(
    store: Store, callers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(together, "READERS", 1)  # so that the one that looks at the queue for the last time is the only one
    ann = await create_record(store, contact("ann@example.com"))

    async def ask() -> list[Contact]:
        return [await read(store, ann) for _ in range(20)]

    async with asyncio.timeout(30):
        answers = await asyncio.gather(*(ask() for _ in range(callers)))

    assert answers == [[ann] * 20] * callers
