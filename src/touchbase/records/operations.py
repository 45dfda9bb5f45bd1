"""Operations that write contacts and companies. Each record in a result says whether it must not be contacted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, TypeVar

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.sql.lookup import listed_kinds, mark_records
from touchbase.do_not_contact.sql.opt_outs import list_opt_outs
from touchbase.errors import TouchbaseError
from touchbase.records.further_emails import further_emails
from touchbase.records.models import Company, Contact
from touchbase.records.sql.create import create_companies, create_contacts
from touchbase.records.sql.opt_outs import opt_outs_of
from touchbase.records.sql.update import update_companies, update_contacts, update_needs
from touchbase.records.sql.upsert import upsert_companies, upsert_contacts, upsert_needs
from touchbase.records.writes import Created, Creation, RecordUpdate, RecordUpsert, record_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Weight, command
from touchbase.sql.statement import Plan

R = TypeVar("R", Contact, Company)


def _batch(
    run: Callable[[Any, Ids], Plan[list[object]]], name: str, time: str, *, lists_opt_outs: bool = False
) -> Callable[[Sequence[Any], Ids], Plan[list[object]]]:
    """Return the plan of a batch: it executes the writes of the calls, which have this attribute, and marks the records of the results.

    `time`: the attribute of a write that has its time.
    `lists_opt_outs`: Whether contacts whose status opts out are put on the list of their client.
    """
    write_of: Callable[[Any], Any] = attrgetter(name)
    time_of: Callable[[Any], Micros] = attrgetter(time)

    def execute(calls: Sequence[Any], ids: Ids) -> Plan[list[object]]:
        writes = [*map(write_of, calls)]
        results = yield from run(writes, ids)
        records = [record for record in map(record_of, results) if record is not None]
        if records:
            now, listed = max(map(time_of, writes)), (yield from listed_kinds({record.client for record in records}))
            if lists_opt_outs and (opt_outs := opt_outs_of(writes, results, listed)):
                yield from list_opt_outs(opt_outs, now)
                listed = yield from listed_kinds({record.client for record in records})
            yield from mark_records(records, now, listed)
        return results

    return execute


def _creation_needs(kind: str) -> Callable[[Any], Mapping[str, int]]:
    return lambda calls: {kind: len(calls), "custom_field": sum(len(call.creation.custom) for call in calls)}


def _contact_needs(calls: Any) -> Mapping[str, int]:
    """Return the needs of contacts, with an id for each further address."""
    needs = _creation_needs("contact")(calls)
    several = [call.creation.record for call in calls if call.creation.record.further_emails is not None]
    return {**needs, "link": sum(len(further_emails(record)) for record in several)} if several else needs


def _weight_of_creation(call: Any) -> Weight:
    return (0, 1, len(call.creation.custom))


def _weight_of_update(call: Any) -> Weight:
    return (0, 1, len(call.update.custom))


def _weight_of_upsert(call: Any) -> Weight:
    return (0, 1, len(call.upsert.update.custom))


@command(
    batch=_batch(create_contacts, "creation", "record.created_us", lists_opt_outs=True),
    ids=_contact_needs,
    # Else erasures are read before the write, and lifted after it; or it makes an entry of the do-not-contact list; or rows of further
    # addresses follow.
    solo=lambda call: not (call.creation.guarded or call.creation.opts_out) and call.creation.record.further_emails is None,
    client="creation.record.client",
    quick=True,
    weight=_weight_of_creation,
)
def create_contact(creation: Creation[Contact]) -> Plan[Created[Contact] | TouchbaseError]:
    """Store a new contact.

    `Conflict` when its e-mail, LinkedIn key or external id belongs to another contact, unless `on_duplicate` is "return": then the result
    is the other contact. (Merging into it is an update, which `create_record` sends.) `Invalid` when `company_id` is not a company of this
    client, `PersonErased` if it is `guarded`.
    """
    raise NotImplementedError


@command(
    batch=_batch(create_companies, "creation", "record.created_us"),
    ids=_creation_needs("company"),
    solo=True,
    client="creation.record.client",
    quick=True,
    weight=_weight_of_creation,
)
def create_company(creation: Creation[Company]) -> Plan[Created[Company] | TouchbaseError]:
    """Store a new company, as `create_contact`."""
    raise NotImplementedError


@command(
    batch=_batch(update_contacts, "update", "at", lists_opt_outs=True),
    ids=update_needs,
    client="update.client",
    quick=True,
    weight=_weight_of_update,
)
def update_contact(update: RecordUpdate[Contact]) -> Plan[Contact | TouchbaseError]:
    """Change fields of one contact.

    `NotFound`, `Conflict`, `Invalid` (company_id, a transition that is not allowed), `PreconditionFailed` (`if_updated_us` is not the
    contact's `updated_us`), `PersonErased`. It is an entry of the history at `at` (after the contact's last write when the clock was put
    back), even if it changes nothing; a value of a later entry stays.
    """
    raise NotImplementedError


@command(batch=_batch(update_companies, "update", "at"), ids=update_needs, client="update.client", quick=True, weight=_weight_of_update)
def update_company(update: RecordUpdate[Company]) -> Plan[Company | TouchbaseError]:
    """Change fields of one company, as `update_contact`."""
    raise NotImplementedError


@command(
    batch=_batch(upsert_contacts, "upsert", "create.record.created_us", lists_opt_outs=True),
    ids=upsert_needs("contact"),
    client="upsert.client",
    quick=True,
    weight=_weight_of_upsert,
)
def upsert_contact(upsert: RecordUpsert[Contact]) -> Plan[Created[Contact] | TouchbaseError]:
    """Change the contact that has a key of the new one, or create it, as one step.

    Errors are those of the creation and of the change; `Conflict` if another key belongs to another contact.
    """
    raise NotImplementedError


@command(
    batch=_batch(upsert_companies, "upsert", "create.record.created_us"),
    ids=upsert_needs("company"),
    client="upsert.client",
    quick=True,
    weight=_weight_of_upsert,
)
def upsert_company(upsert: RecordUpsert[Company]) -> Plan[Created[Company] | TouchbaseError]:
    """Change or create a company, as `upsert_contact`."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class RecordWrites(Generic[R]):
    """The operations that write records of one type."""

    create: Callable[[Creation[R]], Command[Created[R]]]
    update: Callable[[RecordUpdate[R]], Command[R]]
    upsert: Callable[[RecordUpsert[R]], Command[Created[R]]]

    def command(self, write: Creation[R] | RecordUpdate[R] | RecordUpsert[R]) -> Command[Any]:
        """Return the command that executes a write."""
        if isinstance(write, RecordUpsert):
            return self.upsert(write)
        return self.create(write) if isinstance(write, Creation) else self.update(write)


WRITES: Mapping[Any, RecordWrites[Any]] = {
    Contact: RecordWrites(create_contact, update_contact, upsert_contact),
    Company: RecordWrites(create_company, update_company, upsert_company),
}
"""By type of record."""
