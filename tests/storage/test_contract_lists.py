"""What every engine promises about lists: filters combine, and pages neither miss nor repeat a record."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.clients.sql.clients import ensure_client
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store

CLIENTS = itertools.count(1)
EMAILS = [None, *(f"p{n}@example.com" for n in range(8))]
STATUSES = [None, "new", "won"]

contacts = st.lists(
    st.tuples(st.sampled_from(EMAILS), st.sampled_from(STATUSES), st.integers(1, 4), st.booleans()),
    max_size=14,
    unique_by=lambda first: first[0] or object(),
)
filters = st.fixed_dictionaries(
    {},
    optional={
        "email_key": st.sampled_from(EMAILS[1:4]), "linkedin_key": st.sampled_from(["in/1", "in/2"]),
        "status": st.sampled_from(STATUSES[1:]), "company_id": st.just("employer"), "updated_since_us": st.integers(0, 5),
    },
)  # fmt: skip


async def pages(store: Store, listing: Any) -> list[Any]:
    """All records, page by page, as a caller with a cursor would read them."""
    observed: list[Any] = []
    while True:
        page = await store.read(list_records(listing))
        observed += page
        if len(page) < listing.limit:
            return observed
        listing.after = (page[-1].updated_us if listing.updated_since_us is not None else page[-1].created_us, page[-1].id)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_contacts=contacts, wanted=filters, limit=st.integers(1, 5))
async def test_list_contacts__pages_have_the_matching_records_in_order(
    store: Store, given_contacts: list[Any], wanted: dict[str, Any], limit: int
) -> None:
    client = next(CLIENTS)
    employer = (await store.write(create_company(Creation(Company(client, 0, 1, 1, "acme.example"))))).record.id
    wanted = wanted | ({"company_id": employer} if "company_id" in wanted else {})
    stored = [
        Contact(client, 0, 5 - updated, updated, email=email, email_key=email, linkedin_key=f"in/{n}", status=status, company_id=company_id)
        for n, (email, status, updated, company_id) in enumerate((*first[:3], employer if first[3] else None) for first in given_contacts)
    ]
    await asyncio.gather(*(store.write(create_contact(Creation(contact, [("n", str(n))]))) for n, contact in enumerate(stored)))

    listed = await pages(store, Listing(CONTACT_TYPE, client, limit, **wanted))

    since = wanted.pop("updated_since_us", None)
    match = [contact for contact in stored if all(getattr(contact, name) == value for name, value in wanted.items())]
    if since is None:
        assert listed == sorted(match, key=lambda first_match: (first_match.created_us, first_match.id))
    else:
        assert listed == sorted(
            (item for item in match if item.updated_us >= since), key=lambda first_match: (first_match.updated_us, first_match.id)
        )


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    given_companies=st.lists(st.tuples(st.sampled_from(STATUSES), st.integers(1, 4)), max_size=9),
    status=st.sampled_from(STATUSES),
    since=st.one_of(st.none(), st.integers(0, 5)),
    limit=st.integers(1, 4),
)
async def test_list_companies__pages_have_the_matching_records_in_order(
    store: Store, given_companies: list[Any], status: str | None, since: int | None, limit: int
) -> None:
    client = next(CLIENTS)
    companies = [
        Company(client, 0, 5 - updated, updated, f"c{n}.example", status=first) for n, (first, updated) in enumerate(given_companies)
    ]
    await asyncio.gather(*(store.write(create_company(Creation(company))) for company in companies))

    listed = await pages(store, Listing(COMPANY_TYPE, client, limit, status=status, updated_since_us=since))
    by_domain = await store.read(list_records(Listing(COMPANY_TYPE, client, 10, domain="c0.example")))

    match = [company for company in companies if status in (None, company.status) and (since is None or company.updated_us >= since)]
    assert listed == sorted(
        match, key=lambda first_match: (first_match.updated_us if since is not None else first_match.created_us, first_match.id)
    )
    assert by_domain == companies[:1]


async def test_list_contacts__returns_the_record_that_get_contact_returns(store: Store) -> None:
    await store.write(
        create_contact(Creation(Contact(1, 0, 1, 1, email="a@example.com", email_key="a@example.com"), [("x", "1"), ("y", "2")]))
    )

    (listed,) = await store.read(list_records(Listing(CONTACT_TYPE, 1, 10)))

    assert listed == await store.read(find_record(1, CONTACT_TYPE, listed.id))
    assert [field.name for field in listed.custom_fields] == ["x", "y"]


async def test_list_contacts__starts_no_page_before_updated_since(store: Store) -> None:
    client = next(CLIENTS)
    records = [
        (await store.write(create_contact(Creation(Contact(client, 0, 1, at, email_key=f"{at}@example.com"))))).record for at in (1, 5, 9)
    ]

    on = [
        await store.read(list_records(Listing(CONTACT_TYPE, client, 5, updated_since_us=6, after=(at, records[0].id)))) for at in (1, 5, 9)
    ]

    assert on == [records[2:], records[2:], records[2:]]


async def test_lists__are_newest_last_whatever_the_ids(store: Store) -> None:
    """Several processes take ids from blocks of their own, so a later record may have a smaller id."""
    client = (await store.write(ensure_client("acme", 1))).number
    created = [30, 10, 20]
    contacts = [(await store.write(create_contact(Creation(Contact(client, 0, at, at, status="new"))))).record.id for at in created]
    companies = [
        (await store.write(create_company(Creation(Company(client, 0, at, at, f"c{at}.test", status="new"))))).record.id for at in created
    ]

    for status in (None, "new"):
        first = await store.read(list_records(Listing(CONTACT_TYPE, client, 2, status=status)))
        records = await store.read(list_records(Listing(CONTACT_TYPE, client, 2, (first[-1].created_us, first[-1].id), status=status)))
        assert [record.id for record in (*first, *records)] == [contacts[1], contacts[2], contacts[0]]
        assert [record.id for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 9, status=status)))] == [
            companies[1],
            companies[2],
            companies[0],
        ]


async def test_custom_fields__come_in_the_order_in_which_the_record_got_them(store: Store) -> None:
    client = (await store.write(ensure_client("acme", 1))).number
    record = (await store.write(create_contact(Creation(Contact(client, 0, 50, 50), [("b", "1"), ("a", "2")])))).record
    await store.write(update_contact(RecordUpdate(client, record.id, {}, {"c": "3"}, 60, "k1")))

    changed = await store.write(update_contact(RecordUpdate(client, record.id, {}, {"a": None, "d": "4"}, 70, "k2")))
    again = await store.write(update_contact(RecordUpdate(client, record.id, {}, {"a": "5"}, 80, "k3")))

    assert [custom_field.name for custom_field in changed.custom_fields if custom_field.value is not None] == ["b", "c", "d"]
    assert [custom_field.name for custom_field in again.custom_fields] == ["b", "a", "c", "d"]
