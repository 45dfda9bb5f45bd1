"""Pairs of records that may be one: what is found, with which score, in which pages."""

from __future__ import annotations

from typing import Any

import apsw
import pytest
from tests.asgi_client import MakeClient
from tests.house import House

from touchbase.encryption.cipher import NO_CIPHER
from touchbase.history.events import COMPANY, CONTACT
from touchbase.http.dependencies import RequestLimits
from touchbase.http.query_parameters import cursor_text
from touchbase.merging.duplicates import BLOCKS, NEIGHBOURS, SCANNED, read_block
from touchbase.sql.operation import plan_of_query
from touchbase.sql.statement import Select
from touchbase.sql.store import Store
from touchbase.stores import open_store


async def pairs(house: House, kind: str = "contacts", query: str = "limit=200") -> list[dict[str, Any]]:
    """All pairs, page by page."""
    results: list[dict[str, Any]] = []
    cursor = ""
    for _ in range(1000):
        reply = await house.request("GET", f"/public/v2/{kind}/duplicates?{query}{cursor}")
        assert reply.status == 200, reply.body
        results += reply.json()["data"]
        if reply.json()["next_cursor"] is None:
            return results
        cursor = f"&cursor={reply.json()['next_cursor']}"
    raise AssertionError("the pages have no end")


def ids(result: list[dict[str, Any]], kind: str = "contacts") -> list[tuple[int, ...]]:
    return sorted(tuple(item["id"] for item in pair[kind]) for pair in result)


async def test_people_of_one_surname_and_initial__are_compared(house: House) -> None:
    jane = await house.contact(email="jane.doe@example.com", first_name="Jane", last_name="Doe")
    jayne = await house.contact(email="jdoe@example.com", first_name="jayne", last_name="DOE")
    await house.contact(email="john.doe@example.org", first_name="John", last_name="Doe")
    await house.contact(email="bob@example.com", first_name="Bob", last_name="Doe")

    (pair,) = await pairs(house)

    assert ids([pair]) == [(jane, jayne)]
    assert (0.85 < pair["score"] < 1, set(pair["reasons"]) >= {"similar_name", "same_domain"}) == (True, True)


async def test_equal_people_at_two_domains__score_less_than_at_one(house: House) -> None:
    for number, domain in enumerate(("a.example", "b.example")):
        await house.contact(email=f"kim{number}@{domain}", first_name="Kim", last_name="Lee")
    for number in range(2):
        await house.contact(email=f"sam{number}@c.example", first_name="Sam", last_name="Poe")

    apart, together = sorted(await pairs(house), key=lambda pair: pair["score"])

    assert (apart["contacts"][0]["first_name"], together["contacts"][0]["first_name"]) == ("Kim", "Sam")
    assert 0.7 <= apart["score"] < 0.8
    assert together["score"] > 0.9


async def test_two_linkedin_profiles__lower_the_score(house: House) -> None:
    for number in range(2):
        await house.contact(first_name="Kim", last_name="Lee", linkedin_url=f"linkedin.com/in/kim-{number}")

    assert await pairs(house) == []
    (pair,) = await pairs(house, query="min_score=0.3")
    assert pair["reasons"] == ["same_name", "other_linkedin"]


async def test_addresses_without_names__are_compared_within_their_domain(house: House) -> None:
    first_contact = await house.contact(email="jane.doe@example.com")
    contact = await house.contact(email="janedoe@example.com")
    await house.contact(email="janedoe@example.org")
    await house.contact(email="bob@example.com")

    assert ids(await pairs(house)) == [(first_contact, contact)]


async def test_pair_of_two_blocks__is_listed_once(house: House) -> None:
    for number in range(3):
        await house.contact(email=f"kim.lee{number}@example.com", first_name="Kim", last_name="Lee")

    assert ids(await pairs(house)) == ids(await pairs(house, query="limit=1")) == [(1, 2), (1, 3), (2, 3)]


async def test_companies__are_compared_by_name_and_by_domain(house: House) -> None:
    acme = await house.company("acme.example", name="Acme Ltd")
    company = await house.company("acme-group.test", name="ACME Limited")
    abroad = await house.company("acme.test")
    await house.company("zebra.example", name="Zebra")

    result = await pairs(house, "companies")

    assert {(acme, company), (acme, abroad)} <= {*ids(result, "companies")}
    assert all(4 not in pair for pair in ids(result, "companies"))


async def test_deleted_and_merged_records__are_in_no_pair(house: House) -> None:
    numbers = [await house.contact(email=f"kim{n}@example.com", first_name="Kim", last_name="Lee") for n in range(4)]
    await house.delete(numbers[0])
    await house.merge(numbers[1], numbers[2])

    assert ids(await pairs(house)) == [(numbers[1], numbers[3])]


async def test_pages_of_many_records__are_bounded_and_find_all_pairs(house: House) -> None:
    many = SCANNED + 3 * NEIGHBOURS
    numbers = [await house.contact(first_name="Al", last_name=f"Surname{number // 2:04d}") for number in range(many)]

    first = (await house.request("GET", "/public/v2/contacts/duplicates?limit=200")).json()

    assert (len(first["data"]), first["next_cursor"] is not None) == (SCANNED // 2, True)
    assert ids(await pairs(house)) == ids(await pairs(house, query="limit=7")) == [*zip(numbers[::2], numbers[1::2], strict=False)]


@pytest.mark.parametrize("score", ["2", "-1", "x", "1e3", "0.5.5", ""])
async def test_score_that_is_none__is_refused(house: House, score: str) -> None:
    reply = await house.request("GET", f"/public/v2/contacts/duplicates?min_score={score}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "?min_score")


@pytest.mark.parametrize("place", [(-3, None, 0), (0, None, -1), (0, ("a", "b"), 0), (2**63, None, 0)])
async def test_cursor_of_no_page__is_refused_or_ends(house: House, place: tuple[Any, ...]) -> None:
    await house.contact(email="ann@example.com")

    reply = await house.request("GET", f"/public/v2/contacts/duplicates?cursor={cursor_text('duplicate contacts', place)}")

    assert (reply.status, reply.body[:24]) in [(422, reply.body[:24]), (200, b'{"data":[],"next_cursor"')]


@pytest.mark.parametrize("kind", [CONTACT, COMPANY])
async def test_page__is_read_in_the_order_of_an_index(tmp_path: Any, kind: int) -> None:
    await (await open_store(f"sqlite:///{tmp_path}/store.db")).close()
    store = apsw.Connection(f"{tmp_path}/store.db").cursor()
    for block in BLOCKS[kind]:
        for after in (None, ("a", "b", 3)):
            requested = next(plan_of_query(read_block(1, block, 50, after), NO_CIPHER))
            assert isinstance(requested, Select)
            steps = [row[3] for row in store.execute(f"EXPLAIN QUERY PLAN {requested.sql}", requested.params).fetchall()]
            # Companies without a domain may share the blank one, so the index of domains does not order them by id; they are no block.
            assert steps[1:] in ([], ["USE TEMP B-TREE FOR LAST TERM OF ORDER BY"]) if block == "domain" else steps[1:] == [], steps
            assert "USING INDEX" in steps[0] or "USING PRIMARY KEY" in steps[0], steps


@pytest.mark.parametrize(("page_bytes", "most"), [(1, 1), (6_500, 2), (8_388_608, 6)])
async def test_page__ends_before_the_pair_that_would_exceed_its_bytes(
    store: Store, make_client: MakeClient, page_bytes: int, most: int
) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=page_bytes))
    fields = [{"field_name": "notes", "field_value": "x" * 1_000}]
    for number in range(4):
        person = {"email": f"kim{number}@a.example", "first_name": "Kim", "last_name": "Lee", "contact_custom_fields_input": fields}
        assert (await call.post("/public/v2/contacts", person)).status == 201

    result, place, sizes = set[tuple[int, ...]](), "", list[int]()
    while not sizes or place:
        reply = await call.get(f"/public/v2/contacts/duplicates?limit=200{place}")
        page = reply.json()
        assert len(reply.body) < page_bytes + 300 or len(page["data"]) == 1
        assert all(contact["contact_custom_fields"] for pair in page["data"] for contact in pair["contacts"])
        result |= {tuple(contact["id"] for contact in pair["contacts"]) for pair in page["data"]}
        sizes.append(len(page["data"]))
        place = f"&cursor={page['next_cursor']}" if page["next_cursor"] else ""

    assert max(sizes) == most
    assert len(result) == sum(sizes) == 6


async def test_duplicates__have_contacts_that_a_webhook_named_together(house: House) -> None:
    profiles = [f"https://www.linkedin.com/in/person-{n}" for n in range(3)]
    with_profile = [await house.contact(email=f"ann@a{n}.example", linkedin_url=profile) for n, profile in enumerate(profiles)]
    others = [await house.contact(email=f"bob@b{n}.example") for n in range(3)]
    for _ in range(2):
        events = [{"event": "email_sent", "email": f"bob@b{n}.example", "linkedin_url": profile} for n, profile in enumerate(profiles)]
        await house.hook("camp", *({**event, "at": -n} for n, event in enumerate(events)))
        await house.hook("plain", {**events[0], "at": -9})

    for query in ("limit=200", "limit=1", "limit=2"):
        result = await pairs(house, query=query)
        assert ids(result) == sorted(zip(with_profile, others, strict=True))
        assert {pair["score"] for pair in result} == {0.8}
        assert all(pair["reasons"][-1] == "named_together" for pair in result)
    assert await pairs(house, query="limit=200&min_score=0.9") == []
    await house.merge(with_profile[0], others[0])
    assert len(await pairs(house)) == 2
