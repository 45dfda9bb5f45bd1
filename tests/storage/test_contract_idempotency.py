"""What every engine promises of commands that are carried out once for each key, and of the answers that are kept."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.conftest import ExecuteSql
from tests.projection.test_merged_records import about, client_of, merge, receive
from tests.storage.conftest import Opener
from tests.storage.test_group_commit import Put, Toys

from touchbase.common.timestamps import DAY
from touchbase.connections.models import Connection
from touchbase.connections.sql.connections import add_connection, remove_connection
from touchbase.errors import Conflict, KeyReused, TouchbaseError
from touchbase.history.events import CONTACT
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import LIFETIME, RequestKey, StoredResponse
from touchbase.idempotency.sql import delete_responses, expired_responses, find_response
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Created, Creation
from touchbase.sql.operation import Command
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOW = 1_790_000_000_000_000
Answer = Callable[[object], StoredResponse | None]


def request(client: int, key: str = "k", fingerprint: bytes = b"f", at: int = NOW) -> RequestKey:
    return RequestKey(client, key, fingerprint, at)


def encoded_response(result: object) -> StoredResponse:
    """The contact's id and name, or the error's code, as bytes."""
    if isinstance(result, TouchbaseError):
        return StoredResponse(result.code.encode())
    assert isinstance(result, Created)
    return StoredResponse(f"{result.record.id} {result.is_new}".encode(), CONTACT, result.record.id)


def only_results(result: object) -> StoredResponse | None:
    return None if isinstance(result, TouchbaseError) else encoded_response(result)


def create(
    request_key: RequestKey, name: str = "Ada", email: str | None = None, answer: Answer = encoded_response
) -> Command[Created[Contact]]:
    contact = Contact(request_key.client, 0, NOW, NOW, email=email, email_key=email, first_name=name)
    return execute_once(request_key, create_contact(Creation(contact, [("seat", "12")])), answer)


async def names(store: Store, client: int) -> list[str | None]:
    return [contact.first_name for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 500)))]


async def stored_bytes(store: Store, request_key: RequestKey) -> bytes | None:
    response = await store.read(find_response(request_key))
    return None if response is None else response.response.encoded


async def test_idempotency_key__runs_the_command_once(store: Store) -> None:
    client = await client_of(store)

    first = await store.write(create(request(client)))
    again = await store.write(create(request(client, at=NOW + 5), name="Grace"))

    assert isinstance(first, Created)
    assert [(custom_field.name, custom_field.value) for custom_field in first.record.custom_fields] == [("seat", "12")]
    assert again == StoredResponse(f"{first.record.id} True".encode(), CONTACT, first.record.id)
    assert await names(store, client) == ["Ada"]


async def test_idempotency_key__refuses_another_request(store: Store) -> None:
    client = await client_of(store)
    await store.write(create(request(client)))

    with pytest.raises(KeyReused, match="new key"):
        await store.write(create(request(client, fingerprint=b"other")))

    assert await names(store, client) == ["Ada"]


async def test_idempotency_key__is_separate_for_each_client(store: Store) -> None:
    clients = [await client_of(store), await client_of(store), 0]

    created = [await store.write(create(request(client, fingerprint=b"%d" % client))) for client in clients]

    assert [type(item) for item in created] == [Created] * 3
    assert [await names(store, client) for client in clients] == [["Ada"]] * 3


async def test_find_response__returns_the_stored_response_for_any_request_with_the_key(store: Store) -> None:
    client = await client_of(store)
    created = await store.write(create(request(client)))
    assert isinstance(created, Created)

    response = await store.read(find_response(request(client, fingerprint=b"other")))

    assert response is not None
    assert (response.fingerprint, response.response) == (b"f", encoded_response(created))
    assert await stored_bytes(store, request(client, key="K")) is None
    assert await stored_bytes(store, request(client + 1)) is None


async def test_idempotency_key__is_free_again_after_its_lifetime(store: Store) -> None:
    client = await client_of(store)
    await store.write(create(request(client)))
    last, over = (request(client, fingerprint=b"other", at=NOW + LIFETIME - early) for early in (1, 0))

    with pytest.raises(KeyReused):
        await store.write(create(last))
    dead = await stored_bytes(store, over)
    created = await store.write(create(over, name="Grace"))
    again = await store.write(create(over, name="Joan"))

    assert dead is None
    assert isinstance(created, Created)
    assert again == encoded_response(created)
    assert await stored_bytes(store, request(client, at=NOW + 2 * LIFETIME - 1)) == encoded_response(created).encoded
    assert await names(store, client) == ["Ada", "Grace"]


async def test_idempotency_key__stays_free_after_an_error_that_is_not_stored(store: Store) -> None:
    client = await client_of(store)
    await store.write(create_contact(Creation(Contact(client, 0, NOW, NOW, email="a@b.c", email_key="a@b.c", first_name="Ada"))))

    with pytest.raises(Conflict):
        await store.write(create(request(client), email="a@b.c", answer=only_results))
    created = await store.write(create(request(client), "Grace"))

    assert isinstance(created, Created)


async def test_idempotency_key__repeats_a_stored_error(store: Store) -> None:
    client = await client_of(store)
    await store.write(create_contact(Creation(Contact(client, 0, NOW, NOW, email="a@b.c", email_key="a@b.c", first_name="Ada"))))

    with pytest.raises(Conflict):
        await store.write(create(request(client), email="a@b.c"))
    again = await store.write(create(request(client), name="Grace"))

    assert again == StoredResponse(b"duplicate")
    assert await names(store, client) == ["Ada"]


async def test_idempotent__stores_a_response_without_a_command(store: Store) -> None:
    client = await client_of(store)

    first = await store.write(execute_once(request(client), None, lambda _: StoredResponse(b"one")))
    again = await store.write(execute_once(request(client), None, lambda _: StoredResponse(b"two")))

    assert (first, again) == (None, StoredResponse(b"one"))


async def test_idempotent__runs_a_command_without_a_result_once(store: Store) -> None:
    client = await client_of(store)
    await store.write(add_connection(Connection(client, "crm", "hubspot", NOW, NOW)))
    removal = execute_once(request(client), remove_connection(client, "crm", "hubspot"), lambda result: StoredResponse(b"gone"))

    first, again = await store.write(removal), await store.write(removal)

    assert (first, again) == (None, StoredResponse(b"gone"))


async def test_idempotency_key__runs_one_of_64_concurrent_requests_and_repeats_its_response(store: Store, engine_url: str) -> None:
    client = await client_of(store)
    # On PostgreSQL the other half comes by another process.
    other_store = store if engine_url.startswith("sqlite") else await open_store(engine_url)

    async with asyncio.timeout(60):
        answers = await asyncio.gather(*((store, other_store)[n % 2].write(create(request(client))) for n in range(64)))
    if other_store is not store:
        await other_store.close()

    (new_answer,) = [answer for answer in answers if isinstance(answer, Created)]
    assert [answer for answer in answers if answer is not new_answer] == [encoded_response(new_answer)] * 63
    assert await names(store, client) == ["Ada"]


async def test_concurrent_idempotency_keys__create_one_record_each(store: Store, engine_url: str) -> None:
    client = await client_of(store)
    other_store = store if engine_url.startswith("sqlite") else await open_store(engine_url)
    order = [*range(30), *reversed(range(30)), *range(0, 30, 3)]

    async with asyncio.timeout(60):
        answers = await asyncio.gather(
            *((store, other_store)[n % 2].write(create(request(client, f"k{key}"), f"n{key}")) for n, key in enumerate(order))
        )
    if other_store is not store:
        await other_store.close()

    assert sorted(await names(store, client)) == sorted(f"n{key}" for key in range(30))
    assert sum(isinstance(answer, Created) for answer in answers) == 30


async def test_idempotency_key__rolls_back_the_later_write_of_two_processes(postgres_url: str) -> None:
    store = await open_store(postgres_url)
    client = await client_of(store)
    tries: list[object] = []

    def meanwhile(result: object) -> StoredResponse:
        """Between this one's write and the end of its transaction, another process does all of it."""
        tries.append(result)
        with ThreadPoolExecutor(1) as another:
            another.submit(asyncio.run, elsewhere()).result(30)
        return encoded_response(result)

    async def elsewhere() -> None:
        store = await open_store(postgres_url)
        await store.write(create(request(client), "Grace"))
        await store.close()

    answer = await store.write(create(request(client), "Ada", answer=meanwhile))
    matching_names = await names(store, client)
    await store.close()

    assert isinstance(answer, StoredResponse)
    assert (matching_names, len(tries)) == (["Grace"], 1)


async def test_idempotency_key__runs_the_next_concurrent_request_when_the_first_fails(store: Store) -> None:
    client = await client_of(store)
    await store.write(create_contact(Creation(Contact(client, 0, NOW, NOW, email="a@b.c", email_key="a@b.c", first_name="Ada"))))

    refused, created, again = await asyncio.gather(
        store.write(create(request(client), email="a@b.c", answer=only_results)),
        store.write(create(request(client), "Grace")),
        store.write(create(request(client), "Joan")),
        return_exceptions=True,
    )

    assert [type(item) for item in (refused, created, again)] == [Conflict, Created, StoredResponse]
    assert await names(store, client) == ["Ada", "Grace"]


async def test_group_commit__gives_idempotent_commands_of_several_kinds_their_own_results(store: Store) -> None:
    client = await client_of(store)
    company = Company(client, 0, NOW, NOW, "example.com")

    answers = await asyncio.gather(
        store.write(create(request(client, "a"))),
        store.write(execute_once(request(client, "b"), create_company(Creation(company)), encoded_response)),
        store.write(execute_once(request(client, "c"), None, lambda _: StoredResponse(b"c"))),
        store.write(create_contact(Creation(Contact(client, 0, NOW, NOW, first_name="Grace")))),
        store.write(execute_once(request(client, "b"), create_company(Creation(company)), encoded_response)),
    )

    assert [type(answer).__name__ for answer in answers] == ["Created", "Created", "NoneType", "Created", "StoredResponse"]
    assert sorted(map(str, await names(store, client))) == ["Ada", "Grace"]
    assert len(await store.read(list_records(Listing(COMPANY_TYPE, client, 5)))) == 1


async def test_response_error__rolls_back_only_its_own_command(store: Store) -> None:
    client = await client_of(store)

    def breaks(result: object) -> StoredResponse:
        raise ZeroDivisionError

    answers = await asyncio.gather(
        *(store.write(create(request(client, f"k{n}"), f"n{n}", answer=breaks if n == 3 else encoded_response)) for n in range(8)),
        return_exceptions=True,
    )

    assert [type(answer) for answer in answers] == [ZeroDivisionError if n == 3 else Created for n in range(8)]
    assert sorted(map(str, await names(store, client))) == [f"n{n}" for n in range(8) if n != 3]
    assert await stored_bytes(store, request(client, "k3")) is None


async def test_failing_command__stores_no_response(engine_url: str, open_with: Opener) -> None:
    toys = Toys()
    store = await open_with(engine_url, toys.handlers)
    await store.write(Put("taken"))

    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(execute_once(request(1), Put("taken"), lambda _: StoredResponse(b"done")))

    assert await stored_bytes(store, request(1)) is None


async def test_stored_response__is_repeated_by_another_process(store: Store, engine_url: str) -> None:
    client = await client_of(store)
    created = await store.write(create(request(client)))
    assert isinstance(created, Created)
    await store.close()

    later = await open_store(engine_url)
    again = await later.write(create(request(client)))
    result = await names(later, client)
    await later.close()

    assert again == encoded_response(created)
    assert result == ["Ada"]


async def test_delete_responses__removes_only_expired_responses(store: Store) -> None:
    client = await client_of(store)
    for hours in range(4):
        await store.write(create(request(client, f"k{hours}", at=NOW + hours)))

    then = NOW + LIFETIME + 1
    due = await store.read(expired_responses(then, 10))
    first = await store.read(expired_responses(then, 1))
    await store.write(create(request(client, "k1", at=then)))
    gone = await store.write(delete_responses(client, [f"k{n}" for n in range(4)], then))

    assert due == [(client, "k0"), (client, "k1")]
    assert first == [(client, "k0")]
    assert gone == 1
    assert [await stored_bytes(store, request(client, f"k{n}", at=NOW)) is not None for n in range(4)] == [False, True, True, True]
    assert await store.read(expired_responses(then, 10)) == []


async def test_delete_responses__removes_only_those_of_one_client(store: Store) -> None:
    first, second = await client_of(store), await client_of(store)
    for client in (first, second):
        await store.write(create(request(client)))

    await store.write(delete_responses(first, ["k"], NOW + 2 * DAY))

    assert await store.read(expired_responses(NOW + 2 * DAY, 10)) == [(second, "k")]


async def test_stored_response__follows_its_record_through_a_merge(store: Store, execute_sql: ExecuteSql) -> None:
    client = await client_of(store)
    await receive(store, client, about("contact", "1", email="a@example.com"), about("contact", "2", email="b@example.com"))
    ids = [contact.id for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))]
    for number in ids:
        await store.write(execute_once(request(client, f"k{number}"), None, lambda _, about=number: StoredResponse(b"x", CONTACT, about)))
    await store.write(execute_once(request(client, "none"), None, lambda _: StoredResponse(b"x")))

    await receive(store, client, merge("contact", "1", "2"))

    (survivor,) = [contact.id for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))]
    rows = await execute_sql("SELECT key, record_kind, record_id FROM idempotency_key ORDER BY key")
    assert rows == [*((f"k{number}", CONTACT, survivor) for number in sorted(ids)), ("none", None, None)]


@pytest.mark.parametrize("order", list(itertools.permutations(["first", "again", "other"])))
async def test_group_commit__treats_requests_with_one_idempotency_key_as_sequential(store: Store, order: tuple[str, ...]) -> None:
    client = await client_of(store)
    requested = {
        "first": create(request(client)),
        "again": create(request(client)),
        "other": create(request(client, fingerprint=b"other")),
    }

    answers = await asyncio.gather(*(store.write(requested[name]) for name in order), return_exceptions=True)

    by_name = dict(zip(order, answers, strict=True))
    kinds = sorted(type(answer).__name__ for answer in answers)
    refused = ["KeyReused"] * (2 if isinstance(by_name["other"], Created) else 1)
    assert kinds == ["Created", *refused, *["StoredResponse"] * (2 - len(refused))]
    assert len(await names(store, client)) == 1
