"""Full text: what is found by `q`, and that the index follows every write, on both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.storage.database_search import find_in_database

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import ensure_client
from touchbase.erasure.sql.erasures import erase_person
from touchbase.history.events import COMPANY, CONTACT
from touchbase.maintenance import Maintenance
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.operations import create_company, create_contact, update_company, update_contact
from touchbase.records.record_type import CONTACT_TYPE, RECORD_TYPES
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.search.fields import SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import ESTIMATED, Count, RecordSearch
from touchbase.search.service import index_waiting, search_records, search_words
from touchbase.search.sorting import default_sort
from touchbase.search.sql import candidates, plans
from touchbase.search.sql.index import index_records, next_to_index
from touchbase.search.sql.plans import search_page
from touchbase.search.words import LONGEST, MOST, MOST_CHARACTERS, indexed_words, prefix, words_of
from touchbase.sql.store import Store


def test_indexed_words__end_at_a_number_of_folded_characters() -> None:
    long = "\ufdfa" * 10_000  # 18 letters each
    values = [CustomField(number, f"f{number}", long, 1) for number in range(40)]
    record = Contact(1, 1, 1, 1, None, None, custom_fields=[*values, CustomField(99, "last", "omega", 1)])

    words = indexed_words(record).split(" ")

    assert prefix(1, CONTACT) in words, "it is compared by its values"
    assert "1pomega" not in words
    assert len(indexed_words(replace(record, custom_fields=values[:1]))) < MOST_CHARACTERS


def test_words_of__folds_alike_however_long_the_text_is() -> None:
    assert [*words_of("Stra\u00dfe " * 2_000)] == ["strasse"] * 2_000
    assert [*words_of("e\u0301" * 30_000)] == ["e" * LONGEST]


def search(client: int, q: str, kind: int = CONTACT, **more: Any) -> Any:
    """A full-text search."""
    return RecordSearch(RECORD_TYPES[kind], client, default_sort(kind), 50, words=search_words(q, []), **more)


async def searched_ids(store: Store, client: int, q: str, kind: int = CONTACT) -> list[int]:
    """The ids that a search finds."""
    return [record.id for record in (await store.read(search_page(search(client, q, kind)))).records]


async def index(store: Store) -> None:
    """Index all that waits."""
    await index_waiting(store, lambda: False)
    assert await store.read(next_to_index()) is None


async def anna(store: Store, client: int = 1) -> int:
    contact = Contact(client, 0, 1, 1, "Anna.Berg@Acme.example", "anna.berg@acme.example", first_name="Änna", last_name="O'Neil-Berg")
    return (await store.write(create_contact(Creation(contact, [("Industry", "First Bank & Söhne")])))).record.id


@pytest.mark.parametrize("indexed", [True, False], ids=["indexed", "just written"])
async def test_q__finds_the_beginnings_of_words(store: Store, indexed: bool) -> None:
    number = await anna(store)
    company = (await store.write(create_company(Creation(Company(1, 0, 1, 1, "acme-bank.example", "Acme Bank"))))).record.id
    if indexed:
        await index(store)

    for q in ("anna", "ÄNNA", "änn", "berg", "o'neil", "ANNA.BERG@acme.example", "acme ann", "bank sohne", "söhne"):
        assert await searched_ids(store, 1, q) == [number], q
    for q in ("erg", "anna schmidt", "annab"):
        assert await searched_ids(store, 1, q) == [], q
    assert await searched_ids(store, 1, "acme", kind=2) == [company]
    assert await searched_ids(store, 1, "bank example", kind=2) == [company]


@pytest.mark.parametrize("few", [candidates.FEW, 0], ids=["candidates", "in order"])
async def test_q__follows_every_write(store: Store, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    number = await anna(store)
    company = (await store.write(create_company(Creation(Company(1, 0, 1, 1, "acme.example", "Acme"))))).record.id
    await index(store)
    monkeypatch.setattr(candidates, "FEW", few)
    observed = []
    for indexed in (False, True):
        at, key = 10 + indexed, f"k{indexed}"
        await store.write(update_contact(RecordUpdate(1, number, {"first_name": f"Zoe{indexed}"}, {}, at, key)))
        await store.write(update_contact(RecordUpdate(1, number, {}, {"Industry": f"Mill{indexed}"}, at, f"{key}b")))
        await store.write(update_company(RecordUpdate(1, company, {"name": f"Globex{indexed}"}, {}, at, key)))
        if indexed:
            await index(store)
        observed += [await searched_ids(store, 1, q) for q in (f"zoe{indexed}", f"mill{indexed}", "anna bank")]
        observed += [await searched_ids(store, 1, q, kind=2) for q in (f"globex{indexed}", "acme globex")]

    assert observed == [[number], [number], [], [company], [company]] * 2


async def test_q__is_within_one_client(store: Store) -> None:
    ours, theirs = await anna(store, 1), await anna(store, 12)
    await index(store)

    assert await searched_ids(store, 1, "anna") == [ours]
    assert await searched_ids(store, 12, "anna") == [theirs]
    assert await searched_ids(store, 2, "anna") == []
    assert await searched_ids(store, 1, "2panna") == []


async def test_q__says_when_many_records_wait_for_the_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [await anna_number(store, n) for n in range(4)]
    monkeypatch.setattr(candidates, "MOST_PENDING", 3)

    behind = await store.read(search_page(search(1, "anna")))
    caught_up = await search_records(store, search(1, "anna"))

    assert (behind.records, behind.is_complete) == ([], False)
    assert [record.id for record in caught_up.records] == numbers
    assert caught_up.is_complete


async def anna_number(store: Store, n: int) -> int:
    return (await store.write(create_contact(Creation(Contact(1, 0, n + 1, n + 1, first_name="Anna"))))).record.id


async def test_index__is_rebuilt_for_a_store_with_rows(store: Store, engine_url: str, execute_sql: Any) -> None:
    number = await anna(store)
    await index(store)
    await execute_sql(f"DELETE FROM {'search_words' if engine_url.startswith('sqlite') else 'search_index'}")
    assert await searched_ids(store, 1, "anna") == []

    await execute_sql("INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 1, id FROM contact")
    await index(store)

    assert await searched_ids(store, 1, "anna") == [number]


async def test_index__writes_no_words_that_are_the_same_as_before(store: Store, engine_url: str, execute_sql: Any) -> None:
    number = await anna(store)
    await index(store)
    stored = "SELECT id, block FROM search_index_data" if engine_url.startswith("sqlite") else "SELECT record, xmin FROM search_index"
    before = await execute_sql(f"{stored} ORDER BY 1")

    await execute_sql(f"INSERT INTO search_pending (client, record_kind, record_id) SELECT client, 1, id FROM contact WHERE id = {number}")
    await index(store)

    assert await execute_sql(f"{stored} ORDER BY 1") == before
    assert await execute_sql("SELECT count(*) FROM search_pending") == [(0,)]


async def test_index__is_brought_up_to_date_step_by_step(store: Store) -> None:
    client = (await store.write(ensure_client("acme", 1))).number
    for n in range(5):
        await store.write(create_contact(Creation(Contact(client, 0, n + 1, n + 1, first_name="Anna"))))

    steps = [await store.write(index_records(client, 2)) for _ in range(4)]

    assert steps == [2, 2, 1, 0]
    assert len(await searched_ids(store, client, "anna")) == 5


async def test_index__takes_records_with_long_custom_fields_in_several_steps(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.sql.index.INDEXED_BYTES", 1_000)
    monkeypatch.setattr("touchbase.records.sql.statements.FIRST_CUSTOM_FIELDS", 2)
    client = (await store.write(ensure_client("acme", 1))).number
    fields = [(f"note{n}", "x" * 900) for n in range(6)]
    for n in range(3):
        await store.write(create_contact(Creation(Contact(client, 0, n + 1, n + 1, first_name="Anna"), fields)))
        await store.write(create_company(Creation(Company(client, 0, n + 1, n + 1, f"anna{n}.example.com"), fields)))

    steps = [await store.write(index_records(client, 9)) for _ in range(6)]

    # The third one has the last contact and a company.
    assert steps == [9, 9, 9, 9, 1, 0]
    assert len(await searched_ids(store, client, "anna")) == 3
    assert len(await searched_ids(store, client, "anna2", COMPANY)) == 1


def test_words__are_runs_of_letters_and_digits_without_accents() -> None:
    assert [*words_of("Änne-Marie GROẞ & 3rd_Party x.io")] == ["anne", "marie", "gross", "3rd", "party", "x", "io"]


def test_indexed_words__mark_a_record_with_too_many() -> None:
    few, many = (Contact(1, 1, 1, 1, first_name=" ".join(str(n) for n in range(count))) for count in (MOST, MOST + 1))

    assert indexed_words(few).startswith("1p0 ")
    assert indexed_words(many).startswith("1p 1p0 ")


async def test_index__keeps_nothing_of_an_erased_person(store: Store, engine_url: str) -> None:
    person = Contact(1, 0, 1, 1, first_name="Xanthippe", last_name="Quetzal")
    gone = (await store.write(create_contact(Creation(person, [("Note", "Zugzwang")])))).record.id
    others = [await anna_number(store, n) for n in range(50)]
    await index(store)

    await store.write(erase_person(1, 10, gone))
    await store.vacuum(full=True)

    assert await find_in_database(engine_url, "xanthippe", "quetzal", "zugzwang") == []
    assert await searched_ids(store, 1, "anna") == others


async def test_index__is_brought_up_to_date_by_maintenance(store: Store) -> None:
    number = await anna(store)

    await Maintenance(store, lambda: 1).round()

    assert await store.read(next_to_index()) is None
    assert await searched_ids(store, 1, "anna") == [number]


async def test_count__is_estimated_from_a_sample(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(10):
        await store.write(create_contact(Creation(Contact(1, 0, n + 1, n + 1, origin="fair" if n % 2 else "web"))))
    where = Parser(SearchFields(CONTACT_TYPE, ClientSettings()), 1, []).json({"origin": "Fair"})
    query = search_page(RecordSearch(CONTACT_TYPE, 1, default_sort(CONTACT), 3, where, count=ESTIMATED))

    small = await store.read(query)
    monkeypatch.setattr(plans, "SAMPLE", 4)
    large = await store.read(query)

    assert (small.count, large.count) == (Count(5, is_exact=True), Count(5, is_exact=False))
    assert (len(small.records), small.records[0].origin) == (3, "fair")
