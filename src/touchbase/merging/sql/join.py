"""Join contacts that one request or row names together: the rule of webhooks, for every other way in.

A person may be two contacts because one source knew the e-mail address and another the LinkedIn profile. A write with both keys says that
they are one (`records/sql/same_person.py`). It is a merge like any other, which can be undone. Others are never joined: the write is
refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from touchbase.clients.sql.clients import CLIENT_BY_NUMBER
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, TouchbaseError
from touchbase.history.events import CONTACT, Author
from touchbase.merging.models import NEWEST, Policy
from touchbase.merging.sql.merge import LINKS, merge_records
from touchbase.records.models import Contact
from touchbase.records.operations import upsert_contact
from touchbase.records.sql.address_book import BOOK, OWNER_OF, keys_of
from touchbase.records.sql.rows import contact_of
from touchbase.records.sql.same_person import may_be_one
from touchbase.records.sql.statements import CONTACT_TO_SHOW
from touchbase.records.writes import Created, RecordUpsert, new_write_key
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, or_nothing, outcome_of
from touchbase.sql.statement import Execute, Plan

NEWEST_VALUES = Policy(NEWEST)


def join_ids(joins: int) -> Mapping[str, int]:
    """Return the ids that joins may take: each of as many contacts as there are keys."""
    records = joins * len(BOOK[CONTACT])
    return {"custom_field": MAX_CUSTOM_FIELDS * records, "link": LINKS * records, "record_merge": joins}


def can_join(named: Contact) -> bool:
    """Return whether a write names several keys."""
    return sum(1 for column in BOOK[CONTACT] if keys_of(named, column)) > 1


def join_owners(ids: Ids, client: int, named: Contact, at: Micros, by: Author, match: str | None = None) -> Plan[bool]:
    """Merge the contacts that have the keys of `named`; return whether the keys are one contact's now.

    With `match`, the key column that decides, a single owner counts if it has no key there: the write gives it one.
    """
    contacts = yield from named_contacts(client, named)
    if len(contacts) < 2:
        return bool(contacts) and match is not None and getattr(contacts[0], match) is None
    if not may_be_one(contacts):
        return False
    absorbed = [contact.id for contact in contacts[1:]]
    plan = merge_records.plan(ids, client, CONTACT, contacts[0].id, absorbed, NEWEST_VALUES, at, new_write_key(), by)
    return not isinstance((yield from outcome_of(plan)), TouchbaseError)


def named_contacts(client: int, named: Contact) -> Plan[list[Contact]]:
    """Return the contacts that have the keys of `named`, the one into which the others would be merged first."""
    owners: list[int] = []
    for column, statement in OWNER_OF[CONTACT].items():
        if keys := keys_of(named, column):
            owners += [row[2] for row in (yield Execute(statement, [(client, key) for key in keys]))]
    rows = yield Execute(CONTACT_TO_SHOW, [(client, number) for number in sorted(set(owners))])
    return sorted(map(contact_of, rows), key=lambda contact: (contact.email_key is None, owners.index(contact.id)))


def joined(upsert: RecordUpsert[Contact]) -> RecordUpsert[Contact]:
    """Return the upsert after a join: any key finds the contact."""
    return replace(upsert, match=None)


def join_of(ids: Ids, upsert: RecordUpsert[Contact]) -> Plan[bool]:
    """Merge the contacts that have the keys of an upsert, as `join_owners`."""
    create = upsert.create
    return join_owners(ids, upsert.client, create.record, create.record.created_us, create.by, upsert.match)


def _needs(calls: Any) -> Mapping[str, int]:
    needs = dict(join_ids(len(calls)))
    for name, count in upsert_contact.operation.needs([upsert_contact(call.upsert) for call in calls]).items():
        needs[name] = needs.get(name, 0) + count
    return needs


@command(ids=_needs, client="upsert.client", large=True)
def join_and_upsert(ids: Ids, upsert: RecordUpsert[Contact]) -> Plan[Created[Contact] | TouchbaseError]:
    """Merge the contacts that have the keys of an upsert, then change the survivor; for an upsert that was refused for these keys."""
    yield Execute(CLIENT_BY_NUMBER, [(upsert.client,)])  # before any record is locked, as inbox batches do
    outcome = yield from or_nothing(_join_and_upsert(ids, upsert))
    return Conflict(outcome.detail, data=outcome.data) if isinstance(outcome, Conflict) else outcome


def _join_and_upsert(ids: Ids, upsert: RecordUpsert[Contact]) -> Plan[Created[Contact] | TouchbaseError]:
    if (yield from join_of(ids, upsert)):
        upsert = joined(upsert)
    [outcome] = yield from upsert_contact.operation.run([upsert_contact(upsert)], ids, None)
    return outcome  # type: ignore[no-any-return]
