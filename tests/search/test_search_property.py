"""Any tree over any records finds the same as its evaluation in Python, in the same order, page by page, on both engines."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.examples import examples
from tests.search.evaluate import holds, in_order

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common.normalize import linkedin_search_key
from touchbase.errors import Fault
from touchbase.records.models import Company, Contact, Record
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.search.fields import OWN_FIELDS, FieldKind, SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import EXACT, RecordSearch
from touchbase.search.sorting import SortKey
from touchbase.search.sql import candidates
from touchbase.search.sql.index import index_records
from touchbase.search.sql.plans import search_page
from touchbase.sql.store import Store

CLIENTS = itertools.count(1)
NOW = 63_000_000
SETTINGS = ClientSettings(
    contact_fields={"Score": FieldType("number"), "Renewal": FieldType("date")}, company_fields={"Size": FieldType("number")}
)
TEXTS = [None, "Anna", "anna", "ANNA Berg", "Müller", "MÜLLER", "müller", "Ärger", "a_b%c", "Österreich", "straße", "Berg-Tal", "…"]
VALUES = ["9", "10", "-3.5", "0.5", "1e3", "007", "", "Bank", "First BANK", "bank & co", "2026-11-20", "-", "Ünal"]
STATUSES = [None, "new", "New", "NEW", "won", "Gewonnen", "Übergabe", "übergabe"]
TIMES = [None, 1_000_000, 2_000_000, 3_000_000]
CUSTOM = ["Score", "Industry", "Renewal", "Size", "x.y"]
NAMES = {
    1: [
        *OWN_FIELDS[1],
        *(f"cf.{each}" for each in CUSTOM),
        *(f"company.{each}" for each in OWN_FIELDS[2]),
        "company.cf.Industry",
        "company.cf.Size",
    ],
    2: [*OWN_FIELDS[2], *(f"cf.{each}" for each in CUSTOM)],
}
TEXT_OPS = ["eq", "ne", "in", "nin", "contains", "starts_with", "gt", "gte", "lt", "lte", "is_set"]
PARTS = [
    "a",
    "an",
    "Anna",
    "müller",
    "Müll",
    "MÜLLER",
    "berg",
    "bank",
    "Bank",
    "9",
    "10",
    "0.5",
    "-3.5",
    "_",
    "%",
    "ö",
    "Ü",
    "new",
    "NEW",
    "c1",
    "Österreich",
]
KEY_VALUES = {
    "email": ["p1@example.com", "P2@EXAMPLE.com"],
    "linkedin_url": ["https://linkedin.com/in/p1"],
    "domain": ["c1.example"],
    "external_id": ["x1", "X1"],
}

customs = some.dictionaries(some.sampled_from(CUSTOM), some.sampled_from(VALUES), max_size=3)
companies = some.lists(some.tuples(some.sampled_from(TEXTS), some.sampled_from(STATUSES), some.sampled_from(TIMES), customs), max_size=4)
contacts = some.lists(
    some.fixed_dictionaries(
        {
            **dict.fromkeys(("first_name", "last_name"), some.sampled_from(TEXTS)),
            **dict.fromkeys(("status", "previous_status"), some.sampled_from(STATUSES)),
            **dict.fromkeys(("created_us", "updated_us"), some.sampled_from(TIMES[1:])),
            **dict.fromkeys(("first_sent_us", "last_sent_us", "last_reply_us", "status_changed_us"), some.sampled_from(TIMES)),
            "company": some.integers(0, 4), "has_email": some.booleans(), "custom": customs,
        }
    ),
    max_size=12,
)  # fmt: skip


@dataclass
class World:
    client: int
    companies: list[Company]
    contacts: list[Contact]

    def records(self, kind: int) -> list[Record]:
        return [*self.contacts] if kind == 1 else [*self.companies]


async def made(store: Store, given_companies: list[Any], given_contacts: list[Any], number: int | None = None) -> World:
    """Create these records in a client of their own, or in the one with this number."""
    client = next(CLIENTS) if number is None else number

    async def company(n: int, one: tuple[Any, ...]) -> Company:
        kept = Company(client, 0, (one[2] or 5) + n % 2, one[2] or 9, f"c{n}.example", one[0], status=one[1], status_changed_us=one[2])
        return (await store.write(create_company(Creation(kept, [*one[3].items()])))).record

    found = [await company(n, one) for n, one in enumerate(given_companies)]

    async def contact(n: int, one: dict[str, Any]) -> Contact:
        fields = {name: value for name, value in one.items() if name not in ("company", "custom", "has_email")}
        address = f"p{n}@example.com" if one["has_email"] else None
        employer = found[one["company"] - 1].id if 0 < one["company"] <= len(found) else None
        kept = Contact(
            client,
            0,
            email=address,
            email_key=address,
            linkedin_key=linkedin_search_key(f"linkedin.com/in/p{n}"),
            company_id=employer,
            **fields,
        )
        return (await store.write(create_contact(Creation(kept, [*one["custom"].items()])))).record

    return World(client, found, list(await asyncio.gather(*(contact(n, one) for n, one in enumerate(given_contacts)))))


@some.composite
def members(draw: some.DrawFn, kind: int) -> dict[str, Any]:
    name = draw(some.sampled_from(NAMES[kind]))
    field = SearchFields((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], SETTINGS).find(name)
    assert field is not None
    is_ordered = field.kind in (FieldKind.NUMBER, FieldKind.TIME)
    op = draw(some.sampled_from([each for each in TEXT_OPS if not (is_ordered and each in ("contains", "starts_with"))]))
    if op == "is_set":
        return {f"{name}[is_set]": draw(some.booleans())}
    value = some.sampled_from(PARTS + [each for each in VALUES if each] + [each for each in STATUSES if each])
    if field.kind is FieldKind.TIME:
        value = some.sampled_from([f"1970-01-01T00:00:0{n}Z" for n in range(5)] + ["1m"])
    elif field.kind is FieldKind.NUMBER:
        value = some.integers(0, 8).map(str)
    elif field.kind is FieldKind.KEY and op in ("eq", "ne", "in", "nin"):
        value = some.sampled_from(KEY_VALUES[name.removeprefix("company.")])
    elif field.declared == "number" and op not in ("contains", "starts_with"):
        value = some.sampled_from(["9", "10", "0.5", "-3.5"])
    return {f"{name}[{op}]": draw(some.lists(value, min_size=1, max_size=3) if op in ("in", "nin") else value)}


def trees(kind: int) -> Any:
    return some.recursive(
        members(kind),
        lambda inner: some.one_of(
            some.lists(inner, max_size=3).map(lambda nodes: {"all": nodes}),
            some.lists(inner, max_size=3).map(lambda nodes: {"any": nodes}),
            inner.map(lambda node: {"not": node}),
        ),
        max_leaves=6,
    )


def sorts(kind: int) -> Any:
    names = some.lists(some.sampled_from([*OWN_FIELDS[kind]]), min_size=1, max_size=3, unique=True)
    return some.builds(
        lambda names, down: tuple(SortKey(OWN_FIELDS[kind][name], is_down) for name, is_down in zip(names, down, strict=False)),
        names,
        some.lists(some.booleans(), min_size=3, max_size=3),
    )


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the limit of candidates back after a test."""
    monkeypatch.setattr(candidates, "FEW", candidates.FEW)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=some.data(), given_companies=companies, given_contacts=contacts, limit=some.integers(1, 5), kind=some.sampled_from([1, 2]))
async def test_search__finds_what_the_tree_says(
    store: Store, data: Any, given_companies: list[Any], given_contacts: list[Any], limit: int, kind: int
) -> None:
    world = await made(store, given_companies, given_contacts)
    by_id = {one.id: one for one in world.companies}
    if data.draw(some.booleans(), "indexed"):
        assert await store.write(index_records(world.client, 99)) == len(world.companies) + len(world.contacts)
    candidates.FEW = data.draw(some.sampled_from([2_000, 1]), "few")
    for tree in data.draw(some.lists(trees(kind), min_size=1, max_size=6)):
        sort = data.draw(sorts(kind))
        faults: list[Fault] = []
        where = Parser(SearchFields((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], SETTINGS), NOW, faults).json(tree)
        assert faults == []
        expected = in_order([one for one in world.records(kind) if holds(where, one, by_id)], sort)

        assert await pages(store, kind, world.client, where, sort, limit) == expected


async def pages(store: Store, kind: int, client: int, where: Any, sort: tuple[SortKey, ...], limit: int) -> list[Record]:
    """All records of a search, page by page."""
    query: RecordSearch[Any] = RecordSearch((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], client, sort, limit, where, count=EXACT)
    seen: list[Record] = []
    while True:
        found: Any = await store.read(search_page(query))
        seen += found.records
        assert len(found.records) <= limit
        if found.next is None:
            assert found.count.value == len(seen)
            return seen
        query.after = found.next


ANNA = {"first_name": "Anna", "custom": {"Industry": "Bank"}, "company": 0, "has_email": True, "created_us": 1, "updated_us": 1}


async def test_search__is_stable_under_writes(store: Store) -> None:
    world = await made(
        store,
        [],
        [{**ANNA, "created_us": n} for n in range(1, 7)],
    )
    sort = (SortKey(OWN_FIELDS[1]["created_time"]),)
    first = await store.read(search_page(RecordSearch(CONTACT_TYPE, world.client, sort, 3)))

    await store.write(update_contact(RecordUpdate(world.client, world.contacts[0].id, {"first_name": "B"}, {}, 99, "k")))
    await store.write(create_contact(Creation(Contact(world.client, 0, 1, 1))))
    page = await store.read(search_page(RecordSearch(CONTACT_TYPE, world.client, sort, 9, after=first.next)))

    assert [one.id for one in (*first.records, *page.records)] == [one.id for one in world.contacts]


async def test_search__never_shows_records_of_another_client(store: Store) -> None:
    ours = await made(
        store,
        [],
        [ANNA],
    )
    theirs = await made(
        store,
        [],
        [ANNA],
    )
    where = Parser(SearchFields(CONTACT_TYPE, SETTINGS), 1, []).json(
        {"any": [{"first_name": "anna"}, {"cf.Industry": "bank"}, {"not": {"id": 1}}]}
    )
    sort = (SortKey(OWN_FIELDS[1]["created_time"]),)

    assert await pages(store, 1, ours.client, where, sort, 9) == ours.contacts
    assert await pages(store, 1, theirs.client, where, sort, 9) == theirs.contacts


status_trees = some.recursive(
    some.one_of(
        some.sampled_from(["new", "won"]).map(lambda status: {"contact_status": status}),
        some.sampled_from(["Anna", "Müller"]).map(lambda name: {"first_name": name}),
    ),
    lambda inner: some.one_of(
        *(some.lists(inner, min_size=1, max_size=3).map(lambda nodes, op=op: {op: nodes}) for op in ("all", "any")),
        inner.map(lambda node: {"not": node}),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=status_trees)
async def test_search__in_the_order_of_creation_finds_any_tree_of_statuses(store: Store, tree: Any) -> None:
    named = [("new", "Anna"), ("new", None), ("won", "Anna"), (None, "Anna"), (None, None), ("won", "Müller")]
    world = await made(
        store, [], [{**ANNA, "status": status, "first_name": name, "created_us": n} for n, (status, name) in enumerate(named)]
    )
    candidates.FEW = 1
    where = Parser(SearchFields(CONTACT_TYPE, SETTINGS), NOW, []).json(tree)

    found = await pages(store, 1, world.client, where, (SortKey(OWN_FIELDS[1]["created_time"]),), 2)

    assert found == [contact for contact in world.contacts if holds(where, contact, {})]
