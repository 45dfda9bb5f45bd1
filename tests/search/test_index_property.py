"""The full-text index follows every webhook and every request: it is what a rebuild would give, whatever came before."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.projection.test_merged_records import NOON, about, client_of, merge, receive

from touchbase.errors import TouchbaseError
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.models import Contact, Record
from touchbase.records.operations import WRITES
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import RecordUpdate, new_write_key
from touchbase.search.sql.index import index_records
from touchbase.search.words import indexed_words, rowid
from touchbase.sql.store import Store

objects, times = st.sampled_from("123"), st.integers(1, 9).map(lambda step: NOON - step)
emails, domains = (st.sampled_from([f"{name}{end}" for name in "abc"]) for end in ("@example.com", ".example"))
names = st.sampled_from(["Ann", "Bob", None])
customs = st.dictionaries(st.sampled_from(["plan", "size"]), st.sampled_from(["pro", "Big Bank", None]), max_size=2)
calls = st.one_of(
    st.builds(lambda email, name: [{"event": "email_sent", "email": email, "first_name": name, "occurred_us": NOON - 3}], emails, names),
    st.builds(
        lambda n, email, name, custom, at: about("contact", n, email=email, fields={"last_name": name}, custom=custom, occurred_us=at),
        objects, emails, names, customs, times,
    ),
    st.builds(
        lambda n, domain, name, custom, at: about("company", n, domain=domain, fields={"name": name}, custom=custom, occurred_us=at),
        objects, domains, names, customs, times,
    ),
    st.builds(merge, st.sampled_from(["contact", "company"]), objects, objects),
)  # fmt: skip
set_customs = customs.filter(lambda first_item: None not in first_item.values())
requests = st.builds(lambda first, name, custom: ("request", first, name, custom), st.booleans(), names, set_customs)


async def records(store: Store, client: int) -> list[Record]:
    return [
        *await store.read(list_records(Listing(CONTACT_TYPE, client, 50))),
        *await store.read(list_records(Listing(COMPANY_TYPE, client, 50))),
    ]


async def change(store: Store, client: int, first: bool, name: str | None, custom: dict[str, Any]) -> None:
    """Change the first or the last record through the API."""
    result = await records(store, client)
    if result:
        record = result[0 if first else -1]
        column = "first_name" if isinstance(record, Contact) else "name"
        await store.write(WRITES[type(record)].update(RecordUpdate(client, record.id, {column: name}, {**custom}, NOON, new_write_key())))


TWO = [about("contact", n, email=f"{n}@example.com", fields={"last_name": n}, custom={"plan": n}, occurred_us=NOON - 9) for n in "12"]
ONE_CHANGED = about("contact", "1", custom={"plan": "Changed"}, occurred_us=NOON - 1)


@example(steps=[*TWO, "index", ONE_CHANGED])
@example(steps=[*TWO, "index", merge("contact", "1", "2")])
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(steps=st.lists(st.one_of(calls, requests, st.just("index")), min_size=1, max_size=8))
async def test_index__is_what_a_rebuild_would_give(store: Store, execute_sql: Any, steps: list[Any]) -> None:
    client = await client_of(store)
    for step in [*steps, "index"]:
        if step == "index":
            await store.write(index_records(client, 99))
        elif isinstance(step, tuple):
            try:
                await change(store, client, *step[1:])
            except TouchbaseError:
                continue
        else:
            await receive(store, client, step)

    column = "rowid, words" if "Sqlite" in type(store).__name__ else "record, array_to_string(tsvector_to_array(words), ' ')"
    stored = {number: {*words.split()} for number, words in await execute_sql(f"SELECT {column} FROM search_index")}

    ours = {number: words for number, words in stored.items() if any(word.startswith((f"{client}p", f"{client}c")) for word in words)}
    expected = {rowid(kind_of(record), record.id): {*indexed_words(record).split()} for record in await records(store, client)}
    assert ours == {number: words for number, words in expected.items() if words}


def kind_of(record: Record) -> int:
    return CONTACT if isinstance(record, Contact) else COMPANY
