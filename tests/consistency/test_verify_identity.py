"""Verifying identities: each fault of keys, merges and opt-outs that is planted in the tables is found and named."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.house import House, house

from touchbase.search.sql.index import index_records
from touchbase.stores.sqlite import SqliteStore

__all__ = ["house"]
ExecuteSql = Callable[..., Awaitable[list[tuple[Any, ...]]]]


async def filled(house: House) -> dict[str, int]:
    """Contacts of each kind that verification compares: merged, divided again, deleted, opted out."""
    numbers = {
        "ann": await house.contact(emails=["ann@example.com", "ann@b.example"], linkedin_url="https://www.linkedin.com/in/ann"),
        "bob": await house.contact(email="bob@example.com", external_id="bob-1"),
        "gone": await house.contact(email="gone@example.com"),
        "opted out": await house.contact(email="out@example.com", contact_status="do_not_contact"),
        "survivor": await house.contact(email="one@example.com"),
        "divided": await house.contact(email="two@example.com"),
        "company": await house.company("one.example"),
        "other company": await house.company("two.example"),
    }
    house.call.clock.move(1)
    merge = await house.merge(numbers["survivor"], numbers["divided"])
    house.call.clock.move(1)
    await house.undo(numbers["survivor"], merge["merge_id"])
    await house.delete(numbers["gone"])
    numbers |= {"whole": await house.contact(email="whole@example.com"), "part": await house.contact(first_name="Part", external_id="p")}
    numbers["merge"] = (await house.merge(numbers["whole"], numbers["part"]))["merge_id"]
    await house.hook("camp", {"event": "email_sent", "email": "bob@example.com", "at": 1})
    await house.call.parts.store.write(index_records(house.number))
    assert await house.differences() == []
    return numbers


FORMER = "INSERT INTO former_owner (client, object_type, object_id, until_us, record_kind, record_id) VALUES (1, "
OPEN = "INSERT INTO link (client, tool, object_type, object_id, id, record_kind, record_id) VALUES (1, '', "
FAULTS = [
    (OPEN + "'email', 'bob@example.com', 9999, 1, {ann})", "contact {ann}: link is email bob@example.com, and must be closed"),
    (OPEN + "'linkedin', 'linkedin.com/in/ann', 9999, 1, {bob})", "link is linkedin linkedin.com/in/ann, and must be closed"),
    (OPEN + "'contact.external_id', 'bob-1', 9999, 1, {ann})", "link is contact.external_id bob-1, and must be closed"),
    (OPEN + "'domain', 'two.example', 9999, 2, {company})", "company {company}: link is domain two.example, and must be closed"),
    (OPEN + "'email', 'free@example.com', 9999, 1, {gone})", "contact {gone}: link is present, and must be absent"),
    ("UPDATE link SET record_id = {bob} WHERE object_id = 'ann@b.example'", "contact {bob}: emails is unset, and must be 'ann@b.example'"),
    ("UPDATE contact SET further_emails = NULL", "contact {ann}: emails is unset, and must be 'ann@b.example'"),
    ("UPDATE contact SET email = NULL, email_key = NULL WHERE id = {ann}", "contact {ann}: email is unset, and must be 'ann@b.example'"),
    ("DELETE FROM suppression", "contact {opted out}: do-not-contact list is without an entry, and must be with one"),
    (OPEN + "'contact', '{divided}', 9999, 1, {survivor})", "contact {survivor}: link is of contact {divided}, and must be absent"),
    ("UPDATE event SET record_id = {survivor}, detail = '{{\"merged_from\":[{divided}]}}', key = 'x' WHERE record_id = {divided}",
     "contact {survivor}: history is with events of a merge of contact {divided}, and must be without them"),
    ("UPDATE event SET detail = '{{\"merge\":{{\"id\":1,\"records\":[{divided}],\"addresses\":[]}}}}' WHERE event = 'contact.merged'",
     "contact {survivor}: history is with events of a merge of contact {divided}, and must be without them"),
    ("UPDATE record_merge SET content = '' WHERE id = {merge}",
     "contact {whole}: merge {merge} is unreadable, and must be of the records [{part}]"),
    ("UPDATE record_merge SET content = (SELECT replace(content, '\"id\":{part},', '\"id\":{bob},')) WHERE id = {merge}",
     "contact {whole}: merge {merge} is of the records [{bob}], and must be of the records [{part}]"),
    ("DELETE FROM event WHERE event = 'contact.merged' AND record_id = {whole}",
     "contact {whole}: merge {merge} is of the records [{part}], and must be absent"),
    ("UPDATE contact SET first_sent_us = 5 WHERE id = {bob}", "contact {bob}: first_campaign_email_sent is 1970-01-01T00:00:00.000005Z"),
    ("UPDATE contact SET last_sent_us = NULL WHERE id = {bob}", "contact {bob}: last_campaign_email_sent is unset"),
    ("DELETE FROM {words} WHERE record = 2 * {bob}", "contact {bob}: full-text index is wrong in 3 words"),
    ("UPDATE contact SET first_name = 'Other', stamps = NULL WHERE id = {bob}", "contact {bob}: full-text index is wrong in 1 words"),
    (FORMER + "'email', 'x@x.example', 5, 1, 999)",
     "contact 999: former owner is present, and must be absent"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "difference"), FAULTS, ids=range(len(FAULTS)))
async def test_verify__names_a_planted_fault(house: House, execute_sql: ExecuteSql, statement: str, difference: str) -> None:
    numbers = await filled(house)

    words = "search_words" if isinstance(house.call.parts.store, SqliteStore) else "search_index"
    await execute_sql(statement.format(**numbers, words=words))

    differences = await house.differences()
    assert any(difference.format(**numbers) in item for item in differences), differences
