"""Numbered pages: each record once, at any depth and under writes; counts that fit; nothing read again for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.house import House

from touchbase.clients.models import Client, ClientSettings
from touchbase.history.events import CONTACT
from touchbase.records.models import Contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.revyops.numbered_pages import MOST_LISTS, MOST_PLACES, REMEMBERED, NumberedPage, PagesRead, read_page
from touchbase.search.queries import RecordSearch, SearchPage
from touchbase.search.sorting import default_sort, position_of
from touchbase.search.sql.plans import count_matches, find_position, search_page
from touchbase.sql.operation import Query

LIST = "/public/v2/contacts"


async def numbers(call: ApiClient, target: str) -> tuple[list[int], int, int]:
    """The ids of a page, the number of records and that of pages."""
    reply = await call.get(target)
    assert reply.status == 200, reply
    body = reply.json()
    return [result["id"] for result in body["results"]], body["count"], body["total_pages"]


async def test_numbered_pages__have_every_record_once_in_any_order_of_reading(house: House) -> None:
    contacts = [await house.contact(email=f"{n}@example.com", first_name="Ann" if n % 2 else "Bob") for n in range(11)]
    everyone = {page: contacts[(page - 1) * 3 : page * 3] for page in range(1, 6)}
    anns = {page: contacts[1::2][(page - 1) * 2 : page * 2] for page in range(1, 4)}

    for page in (4, 1, 2, 3, 4, 5, 2):
        assert await numbers(house.call, f"{LIST}?page={page}&page_size=3") == (everyone[page], 11, 4)
    for page in (3, 2, 1):
        assert await numbers(house.call, f"{LIST}?page={page}&page_size=2&firstname=ann") == (anns[page], 5, 3)


async def test_numbered_pages__leave_out_no_record_when_others_are_deleted(house: House) -> None:
    contacts = [await house.contact(email=f"{n}@example.com") for n in range(7)]
    first, *_ = await numbers(house.call, f"{LIST}?page=1&page_size=2")
    await house.delete(contacts[0])
    await house.delete(contacts[1])

    second, count, pages = await numbers(house.call, f"{LIST}?page=2&page_size=2")
    remaining_indexes = [
        number for page in range(3, pages + 1) for number in (await numbers(house.call, f"{LIST}?page={page}&page_size=2"))[0]
    ]

    assert [*first, *second, *remaining_indexes] == contacts
    assert (count, pages) == (7, 4)
    assert await numbers(house.call, f"{LIST}?page=1&page_size=2") == (contacts[2:4], 5, 3)


async def test_numbered_pages__show_records_that_come_during_the_reading(house: House) -> None:
    contacts = [await house.contact(email=f"{n}@example.com") for n in range(4)]
    assert await numbers(house.call, f"{LIST}?page=1&page_size=2") == (contacts[:2], 4, 2)
    contacts.append(await house.contact(email="late@example.com"))

    second, count, pages = await numbers(house.call, f"{LIST}?page=2&page_size=2")

    assert (second, count, pages) == (contacts[2:4], 5, 3)
    assert await numbers(house.call, f"{LIST}?page=3&page_size=2") == (contacts[4:], 5, 3)


async def test_numbered_pages__are_right_in_another_process(house: House, make_client: MakeClient) -> None:
    """It remembers nothing of the pages before."""
    contacts = [await house.contact(email=f"{n}@example.com") for n in range(5)]
    await numbers(house.call, f"{LIST}?page=1&page_size=2")

    client = make_client(house.call.parts.store)

    assert await numbers(client, f"{LIST}?page=2&page_size=2") == (contacts[2:4], 5, 3)


async def test_numbered_pages__of_all_clients_cross_their_borders(call: ApiClient) -> None:
    created = []
    for client in ("acme", "beta", "empty", "corp"):
        await call.settings(client)
        for n in range({"acme": 3, "beta": 2, "empty": 0, "corp": 4}[client]):
            created.append((await call.post(LIST, {"email": f"{n}@example.com"}, x_client_id=client)).json()["id"])
    target = "/public/v2/contacts-master-list?page_size=2&page="

    for page in (5, 1, 2, 3, 4, 5, 3):
        assert await numbers(call, f"{target}{page}") == (created[(page - 1) * 2 : page * 2], 9, 5)
    assert await numbers(call, f"{target}6") == ([], 9, 5)


@pytest.fixture
def many(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> Statements:
    """Requests about more clients than are searched one by one, with the statements of each."""
    monkeypatch.setattr("touchbase.search.across_clients.FEW_CLIENTS", 2)
    return Statements(call, monkeypatch)


class Statements:
    """The queries that requests send to the store."""

    def __init__(self, call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
        self.call = call
        self.names: list[str] = []
        read = type(call.parts.store).read

        async def counted(store: Any, query: Any) -> Any:
            self.names.append(type(query).__name__)
            return await read(store, query)

        monkeypatch.setattr(type(call.parts.store), "read", counted)

    async def fill(self) -> dict[str, int]:
        """Make clients with a contact each, of which two have settings by which filters mean something else; return the contacts' ids."""
        ids = {}
        for client in ("acme", "beta", "corp", "dent"):
            await self.call.settings(client, **({"contact_fields": {"size": {"type": "number"}}} if client in ("beta", "corp") else {}))
            body = {"email": "ann@example.com", "contact_custom_fields_input": [{"field_name": "size", "field_value": "5.0"}]}
            ids[client] = (await self.call.post(LIST, body, x_client_id=client)).json()["id"]
        await self.call.settings("empty")
        self.names.clear()
        return ids


async def test_count_of_many_clients__is_one_statement_for_equal_settings(many: Statements) -> None:
    ids = await many.fill()

    assert await numbers(many.call, "/public/v2/contacts-master-list?page_size=100") == ([*ids.values()], 4, 1)
    assert many.names.count("count_matches_of") == 1
    assert "count_matches" not in many.names
    many.names.clear()
    filters = "&cf.size=5"  # of a number 5.0 is the same
    assert await numbers(many.call, f"/public/v2/contacts-master-list?page_size=2{filters}") == ([ids["beta"], ids["corp"]], 2, 1)
    assert many.names.count("count_matches_of") <= 2


async def test_array_of_many_clients__reads_those_with_matches(many: Statements) -> None:
    ids = await many.fill()

    found = (await many.call.get("/public/contacts-master-list?email=ann@example.com")).json()

    assert [contact["id"] for contact in found] == [*ids.values()]
    assert (many.names.count("clients_with_matches"), many.names.count("search_page")) == (1, 4)
    many.names.clear()
    assert (await many.call.get("/public/contacts-master-list?email=bob@example.com")).json() == []
    assert "search_page" not in many.names


async def test_all_clients_list__has_every_record_once_with_its_client(call: ApiClient) -> None:
    created = []
    for client in ("acme", "beta", "empty", "corp"):
        await call.settings(client)
        for n in range({"acme": 3, "beta": 2, "empty": 0, "corp": 4}[client]):
            body = {"email": f"{n}@example.com", "first_name": "Ann" if n else "Bob"}
            created.append((client, (await call.post(LIST, body, x_client_id=client)).json()["id"]))

    async def walk(filters: str) -> list[tuple[str, int]]:
        result, cursor = [], ""
        while True:
            reply = await call.get(f"/admin/v1/contacts?limit=2{filters}&cursor={cursor}")
            assert reply.status == 200, reply
            result += [(contact["client_id"], contact["id"]) for contact in reply.json()["data"]]
            cursor = reply.json()["next_cursor"]
            if cursor is None:
                return result

    assert await walk("") == created
    assert await walk("&client=beta") == [item for item in created if item[0] == "beta"]
    assert await walk("&first_name=bob") == [created[0], created[3], created[5]]
    assert await walk("&email=nobody@example.com") == []


async def test_all_clients_list__names_what_is_wrong(call: ApiClient, subtests: pytest.Subtests) -> None:
    for query, pointer in (
        ("frst_name=x", "?frst_name"), ("limit=0", "?limit"), ("cursor=x", "?cursor"), ("client=unknown", "?client"), ("page=1", "?page"),
    ):  # fmt: skip
        with subtests.test(query):
            reply = await call.get(f"/admin/v1/contacts?{query}")
            assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)


async def test_all_clients_list__searches_some_clients_at_a_time(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.api.all_clients.MOST_CLIENTS", 2)
    for client in ("a", "b", "c"):
        await call.settings(client)
    company_id = (await call.post("/public/v2/companies", {"domain": "example.com"}, x_client_id="c")).json()["id"]

    first = (await call.get("/admin/v1/companies?domain=example.com")).json()
    second = (await call.get(f"/admin/v1/companies?domain=example.com&cursor={first['next_cursor']}")).json()

    assert first["data"] == []
    assert [(company["id"], company["client_id"]) for company in second["data"]] == [(company_id, "c")]
    assert second["next_cursor"] is None


class Records:
    """A store that has contacts of some clients, and lists what it was asked."""

    def __init__(self, owners: Sequence[int]) -> None:
        self.records = [Contact(owner, number, 1_000 + number, 0) for number, owner in enumerate(owners, 1)]
        self.queries: list[Query[Any]] = []

    async def read(self, query: Any) -> Any:
        """Answer the three queries of numbered pages."""
        self.queries.append(query)
        search = query.search
        result = self._after(search)
        if query.operation is search_page.operation:
            page = result[: search.limit]
            return SearchPage(page, position_of(page[-1], search.sort) if len(result) > search.limit else None)
        if query.operation is count_matches.operation:
            return len(result)
        assert isinstance(query, find_position)
        return position_of(result[query.skip - 1], query.search.sort) if query.skip <= len(result) else None

    def _after(self, search: RecordSearch[Any]) -> list[Contact]:
        own = [record for record in self.records if record.client == search.client]
        return [record for record in own if search.after is None or position_of(record, search.sort) > search.after]


class Pages:
    """Numbered pages of such a store."""

    def __init__(self, owners: Sequence[int], size: int) -> None:
        self.store, self.size, self.now = Records(owners), size, 0
        self.pages = PagesRead(lambda: self.now)
        self.clients = [Client(number, f"c{number}", 0, ClientSettings()) for number in range(1, 4)]

    def read(self, page: int, key: str = "") -> NumberedPage:
        """Read a page."""
        store: Any = self.store
        search_for = lambda client: RecordSearch(CONTACT_TYPE, client.number, default_sort(CONTACT), 1)  # noqa: E731
        try:
            read_page(store, self.pages, key, self.clients, search_for, page, self.size).send(None)
        except StopIteration as done:  # the store answers at once
            numbered_page: NumberedPage = done.value
            return numbered_page
        raise AssertionError

    @contextmanager
    def counted(self) -> Iterator[list[Query[Any]]]:
        """List the queries of a block."""
        self.store.queries = []
        yield self.store.queries


OWNERS = st.lists(st.integers(1, 3), max_size=12).map(sorted)


@given(OWNERS, st.integers(1, 4), st.lists(st.integers(1, 14), max_size=8))
def test_read_page__returns_the_records_of_that_number_in_any_order_of_reading(owners: list[int], size: int, order: list[int]) -> None:
    pages = Pages(owners, size)

    for page in order:
        result = pages.read(page)
        assert [record.id for _, record in result.records] == [*range(1, len(owners) + 1)][(page - 1) * size : page * size]
        assert all(client.number == record.client for client, record in result.records)
        assert result.count == len(owners)


@given(OWNERS, st.integers(1, 4), st.data())
def test_read_page__a_reader_sees_every_record_that_stays_once_under_any_deletions(
    owners: list[int], size: int, data: st.DataObject
) -> None:
    pages, page, observed = Pages(owners, size), 0, []
    while True:
        page += 1
        result = pages.read(page)
        observed += [record.id for _, record in result.records]
        if page >= -(-result.count // size):
            break
        gone = data.draw(st.sets(st.sampled_from([record.id for record in pages.store.records])) if pages.store.records else st.just(set()))
        pages.store.records = [record for record in pages.store.records if record.id not in gone]

    assert len(observed) == len(set(observed))
    assert {record.id for record in pages.store.records} <= set(observed)


def test_read_page__asks_for_one_page_when_the_one_before_was_read() -> None:
    pages = Pages([1] * 10, 2)
    pages.read(1)

    with pages.counted() as requested:
        pages.read(2)
    assert [item.operation for item in requested] == [search_page.operation]


def test_read_page__skips_from_the_nearest_page_that_is_known() -> None:
    pages = Pages([1] * 100, 2)
    pages.read(1)
    pages.read(40)

    with pages.counted() as requested:
        pages.read(43)
    assert [item.skip for item in requested if isinstance(item, find_position)] == [4]


def test_pages_read__forgets_lists_after_a_while_and_when_there_are_many() -> None:
    pages = Pages([1] * 10, 2)
    pages.read(1, "old")
    for number in range(MOST_LISTS):
        pages.read(1, str(number))

    with pages.counted() as requested:
        pages.read(2, "old")
        pages.read(2, "9")
    assert sum(item.operation is count_matches.operation for item in requested) == len(pages.clients)
    pages.now += REMEMBERED
    with pages.counted() as requested:
        pages.read(2, "9")
    assert sum(item.operation is count_matches.operation for item in requested) == len(pages.clients)


def test_pages_read__remembers_the_latest_places_of_a_list() -> None:
    pages = Pages([1] * 400, 2)
    for page in range(1, MOST_PLACES + 10):
        pages.read(page)

    expected = pages.pages.find("")

    assert expected is not None
    assert len(expected.places) == MOST_PLACES
    assert max(expected.places) == MOST_PLACES + 10
