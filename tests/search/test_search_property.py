"""Any tree over any records finds the same as its evaluation in Python, in the same order, page by page, on both engines."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.search.evaluate import holds, in_order

from touchbase.clients.models import ClientSettings, FieldType
from touchbase.common.normalize import linkedin_search_key
from touchbase.errors import Fault
from touchbase.records.models import Company, Contact, Record
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RECORD_TYPES
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.search.fields import OWN_FIELDS, FieldKind, SearchFields
from touchbase.search.parse import Parser
from touchbase.search.queries import EXACT, RecordSearch
from touchbase.search.sorting import SortKey, position_of
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
        *(f"cf.{item}" for item in CUSTOM),
        *(f"company.{item}" for item in OWN_FIELDS[2]),
        "company.cf.Industry",
        "company.cf.Size",
    ],
    2: [*OWN_FIELDS[2], *(f"cf.{item}" for item in CUSTOM)],
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
    "owner_id": ["u1"],
}

customs = st.dictionaries(st.sampled_from(CUSTOM), st.sampled_from(VALUES), max_size=3)
companies = st.lists(st.tuples(st.sampled_from(TEXTS), st.sampled_from(STATUSES), st.sampled_from(TIMES), customs), max_size=4)
contacts = st.lists(
    st.fixed_dictionaries(
        {
            **dict.fromkeys(("first_name", "last_name"), st.sampled_from(TEXTS)),
            **dict.fromkeys(("status", "previous_status"), st.sampled_from(STATUSES)),
            **dict.fromkeys(("created_us", "updated_us"), st.sampled_from(TIMES[1:])),
            **dict.fromkeys(("first_sent_us", "last_sent_us", "last_reply_us", "status_changed_us"), st.sampled_from(TIMES)),
            "company": st.integers(0, 4), "has_email": st.booleans(), "custom": customs,
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


async def create_world(store: Store, given_companies: list[Any], given_contacts: list[Any], number: int | None = None) -> World:
    """Create these records in a client of their own, or in the one with this number."""
    client = next(CLIENTS) if number is None else number

    async def company(n: int, first_item: tuple[Any, ...]) -> Company:
        stored = Company(
            client,
            0,
            (first_item[2] or 5) + n % 2,
            first_item[2] or 9,
            f"c{n}.example",
            first_item[0],
            status=first_item[1],
            status_changed_us=first_item[2],
        )
        return (await store.write(create_company(Creation(stored, [*first_item[3].items()])))).record

    results = [await company(n, first) for n, first in enumerate(given_companies)]

    async def contact(n: int, first_item: dict[str, Any]) -> Contact:
        fields = {name: value for name, value in first_item.items() if name not in ("company", "custom", "has_email")}
        address = f"p{n}@example.com" if first_item["has_email"] else None
        employer = results[first_item["company"] - 1].id if 0 < first_item["company"] <= len(results) else None
        stored = Contact(
            client,
            0,
            email=address,
            email_key=address,
            linkedin_key=linkedin_search_key(f"linkedin.com/in/p{n}"),
            company_id=employer,
            **fields,
        )
        return (await store.write(create_contact(Creation(stored, [*first_item["custom"].items()])))).record

    return World(client, results, list(await asyncio.gather(*(contact(n, first) for n, first in enumerate(given_contacts)))))


@st.composite
def members(draw: st.DrawFn, kind: int) -> dict[str, Any]:
    name = draw(st.sampled_from(NAMES[kind]))
    field = SearchFields((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], SETTINGS).find(name)
    assert field is not None
    is_ordered = field.kind in (FieldKind.NUMBER, FieldKind.TIME)
    op = draw(st.sampled_from([text_op for text_op in TEXT_OPS if not (is_ordered and text_op in ("contains", "starts_with"))]))
    if op == "is_set":
        return {f"{name}[is_set]": draw(st.booleans())}
    value = st.sampled_from(PARTS + [item for item in VALUES if item] + [item for item in STATUSES if item])
    if field.kind is FieldKind.TIME:
        value = st.sampled_from([f"1970-01-01T00:00:0{n}Z" for n in range(5)] + ["1m"])
    elif field.kind is FieldKind.NUMBER:
        value = st.integers(0, 8).map(str)
    elif field.kind is FieldKind.KEY and op in ("eq", "ne", "in", "nin"):
        value = st.sampled_from(KEY_VALUES[name.removeprefix("company.")])
    elif field.declared == "number" and op not in ("contains", "starts_with"):
        value = st.sampled_from(["9", "10", "0.5", "-3.5"])
    return {f"{name}[{op}]": draw(st.lists(value, min_size=1, max_size=3) if op in ("in", "nin") else value)}


def trees(kind: int) -> Any:
    return st.recursive(
        members(kind),
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda nodes: {"all": nodes}),
            st.lists(inner, max_size=3).map(lambda nodes: {"any": nodes}),
            inner.map(lambda node: {"not": node}),
        ),
        max_leaves=6,
    )


def sorts(kind: int) -> Any:
    names = st.lists(st.sampled_from([*OWN_FIELDS[kind]]), min_size=1, max_size=3, unique=True)
    return st.builds(
        lambda names, down: tuple(SortKey(OWN_FIELDS[kind][name], is_down) for name, is_down in zip(names, down, strict=False)),
        names,
        st.lists(st.booleans(), min_size=3, max_size=3),
    )


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the limit of candidates back after a test."""
    monkeypatch.setattr(candidates, "FEW", candidates.FEW)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), given_companies=companies, given_contacts=contacts, limit=st.integers(1, 5), kind=st.sampled_from([1, 2]))
async def test_search__finds_what_the_tree_says(
    store: Store, data: Any, given_companies: list[Any], given_contacts: list[Any], limit: int, kind: int
) -> None:
    world = await create_world(store, given_companies, given_contacts)
    by_id = {first_company.id: first_company for first_company in world.companies}
    if data.draw(st.booleans(), "indexed"):
        assert await store.write(index_records(world.client, 99)) == len(world.companies) + len(world.contacts)
    candidates.FEW = data.draw(st.sampled_from([2_000, 1]), "few")
    for tree in data.draw(st.lists(trees(kind), min_size=1, max_size=6)):
        sort = data.draw(sorts(kind))
        faults: list[Fault] = []
        where = Parser(SearchFields((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], SETTINGS), NOW, faults).json(tree)
        assert faults == []
        expected = in_order([record for record in world.records(kind) if holds(where, record, by_id)], sort)

        assert await pages(store, kind, world.client, where, sort, limit) == expected
        share = data.draw(st.floats(0, 1), "share")
        assert await pages_from_share(store, RecordSearch(RECORD_TYPES[kind], world.client, sort, limit, where, share=share)) == expected


async def pages_from_share(store: Store, query: RecordSearch[Any]) -> list[Record]:
    """All records of a search: the page at its share, those before it and those after it; all pages have their ranks."""
    page: Any = await store.read(search_page(query))
    observed, rank, total = page.records, page.rank, sum(page.counts)
    most = total - (query.limit if query.share == 1 else 1)
    assert rank == max(0, min(round((query.share or 0) * total), most))
    before = position_of(observed[0], query.sort) if rank else None
    while before is not None:
        earlier: Any = await store.read(search_page(replace(query, share=None, after=before, rank=rank, backward=True)))
        observed, rank, before = earlier.records + observed, earlier.rank, earlier.next
        assert rank is not None
        assert (before is None) == (rank == 0)
    while page.next is not None:
        rank = page.rank + len(page.records)
        page = await store.read(search_page(replace(query, share=None, after=page.next, rank=rank - 1)))
        assert page.rank == rank
        observed = observed + page.records
    return list(observed)


async def pages(store: Store, kind: int, client: int, where: Any, sort: tuple[SortKey, ...], limit: int) -> list[Record]:
    """All records of a search, page by page."""
    query: RecordSearch[Any] = RecordSearch((CONTACT_TYPE, COMPANY_TYPE)[kind - 1], client, sort, limit, where, count=EXACT)
    observed: list[Record] = []
    while True:
        page: Any = await store.read(search_page(query))
        observed += page.records
        assert len(page.records) <= limit
        if page.next is None:
            assert page.count.value == len(observed)
            return observed
        query.after = page.next


ANNA = {"first_name": "Anna", "custom": {"Industry": "Bank"}, "company": 0, "has_email": True, "created_us": 1, "updated_us": 1}


async def test_search__is_stable_under_writes(store: Store) -> None:
    world = await create_world(
        store,
        [],
        [{**ANNA, "created_us": n} for n in range(1, 7)],
    )
    sort = (SortKey(OWN_FIELDS[1]["created_time"]),)
    first = await store.read(search_page(RecordSearch(CONTACT_TYPE, world.client, sort, 3)))

    await store.write(update_contact(RecordUpdate(world.client, world.contacts[0].id, {"first_name": "B"}, {}, 99, "k")))
    await store.write(create_contact(Creation(Contact(world.client, 0, 1, 1))))
    page = await store.read(search_page(RecordSearch(CONTACT_TYPE, world.client, sort, 9, after=first.next)))

    assert [record.id for record in (*first.records, *page.records)] == [first_contact.id for first_contact in world.contacts]


async def test_search__never_shows_records_of_another_client(store: Store) -> None:
    ours = await create_world(
        store,
        [],
        [ANNA],
    )
    theirs = await create_world(
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


status_trees = st.recursive(
    st.one_of(
        st.sampled_from(["new", "won"]).map(lambda status: {"contact_status": status}),
        st.sampled_from(["Anna", "Müller"]).map(lambda name: {"first_name": name}),
    ),
    lambda inner: st.one_of(
        *(st.lists(inner, min_size=1, max_size=3).map(lambda nodes, op=op: {op: nodes}) for op in ("all", "any")),
        inner.map(lambda node: {"not": node}),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tree=status_trees)
async def test_search__in_the_order_of_creation_finds_any_tree_of_statuses(store: Store, tree: Any) -> None:
    named = [("new", "Anna"), ("new", None), ("won", "Anna"), (None, "Anna"), (None, None), ("won", "Müller")]
    world = await create_world(
        store, [], [{**ANNA, "status": status, "first_name": name, "created_us": n} for n, (status, name) in enumerate(named)]
    )
    candidates.FEW = 1
    where = Parser(SearchFields(CONTACT_TYPE, SETTINGS), NOW, []).json(tree)

    result = await pages(store, 1, world.client, where, (SortKey(OWN_FIELDS[1]["created_time"]),), 2)

    assert result == [contact for contact in world.contacts if holds(where, contact, {})]
