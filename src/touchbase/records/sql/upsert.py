"""Plans that change a record with a known key, or create it, in one transaction.

Of several upserts with one key the first creates the record and the others change it. A concurrent transaction may create
it first: then the insert finds the key taken, and the upsert becomes a change too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from touchbase.errors import Conflict
from touchbase.records.further_emails import further_emails
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType
from touchbase.records.sql.address_book import LOCKED_OWNER_OF
from touchbase.records.sql.create import create_companies, create_contacts_of_locked, lock_clients
from touchbase.records.sql.update import update_companies, update_contacts_of_locked
from touchbase.records.writes import Created, RecordUpdate, RecordUpsert
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Needs
from touchbase.sql.statement import Execute, Plan, Statement

R = TypeVar("R", Contact, Company)
Run = Callable[[Any, Ids], Plan[list[object]]]
Key = tuple[int, str, str]
"""Client, key column and key."""


@dataclass(frozen=True, slots=True)
class _Owner:
    """The record that has a key."""

    id: int
    from_api: bool


@dataclass(frozen=True, slots=True)
class _UpsertTable(Generic[R]):
    """How records of one type are created and changed."""

    kind: RecordType[R]
    create: Run
    update: Run

    @property
    def keys(self) -> Mapping[str, Statement]:
        """The statements that find and lock the owner of a key, by its column; the first key decides."""
        return LOCKED_OWNER_OF[self.kind.kind]


_CONTACTS = _UpsertTable(CONTACT_TYPE, create_contacts_of_locked, update_contacts_of_locked)
_COMPANIES = _UpsertTable(COMPANY_TYPE, create_companies, update_companies)


def upsert_contacts(upserts: Sequence[RecordUpsert[Contact]], ids: Ids) -> Plan[list[object]]:
    """Change or create contacts."""
    yield from lock_clients([*(upsert.update for upsert in upserts), *(upsert.create for upsert in upserts)])
    return (yield from _upsert(_CONTACTS, upserts, ids))


def upsert_companies(upserts: Sequence[RecordUpsert[Company]], ids: Ids) -> Plan[list[object]]:
    """Change or create companies."""
    return _upsert(_COMPANIES, upserts, ids)


def upsert_needs(kind: str) -> Needs:
    """Return the needs of upserts of this type of record. A creation may be tried twice."""

    def needs(calls: Any) -> Mapping[str, int]:
        custom = sum(2 * len(call.upsert.create.custom) + len(call.upsert.update.custom) for call in calls)
        links = sum(3 + 3 * len(further_emails(call.upsert.create.record)) for call in calls)
        return {kind: 2 * len(calls), "custom_field": custom, "link": links}

    return needs


def _upsert(table: _UpsertTable[R], upserts: Sequence[RecordUpsert[R]], ids: Ids) -> Plan[list[object]]:
    results: list[object] = [None] * len(upserts)
    conflicts: dict[int, Conflict] = {}
    waiting = list(range(len(upserts)))
    while waiting:
        owners = yield from _owners(table, [upserts[index] for index in waiting])
        owned = {index: owner for index in waiting if (owner := _owner(table, upserts[index], owners)) is not None}
        for index in conflicts.keys() - owned.keys():
            results[index] = _taken(table, conflicts[index])
        new: dict[object, int] = {}
        for index in waiting:
            if index not in owned and index not in conflicts:
                new.setdefault(_identity(table, upserts[index]) or index, index)
        conflicts.clear()
        if owned:
            changed = yield from table.update([_change(upserts[index], owner) for index, owner in owned.items()], ids)
            for index, outcome in zip(owned, changed, strict=True):
                results[index] = Created(outcome, is_new=False) if isinstance(outcome, Contact | Company) else outcome
        if new:
            created = yield from table.create([upserts[index].create for index in new.values()], ids)
            for index, outcome in zip(new.values(), created, strict=True):
                if isinstance(outcome, Conflict):
                    conflicts[index] = outcome  # the owner of the key is searched again
                else:
                    results[index] = outcome
        waiting = [index for index in waiting if results[index] is None]
    return results


def _owners(table: _UpsertTable[R], upserts: Sequence[RecordUpsert[R]]) -> Plan[dict[Key, _Owner]]:
    owners: dict[Key, _Owner] = {}
    for column, statement in table.keys.items():
        keys = {(upsert.client, key) for upsert in upserts if (key := _key(upsert, column)) is not None}
        if keys:
            rows = yield Execute(statement, sorted(keys))
            owners.update({(row[0], column, row[1]): _Owner(row[2], bool(row[3])) for row in rows})
    return owners


def _key(upsert: RecordUpsert[R], column: str) -> str | None:
    """Return the upsert's key in this column, if it decides."""
    key: str | None = getattr(upsert.create.record, column) if upsert.match in (None, column) else None
    return key


def _owner(table: _UpsertTable[R], upsert: RecordUpsert[R], owners: Mapping[Key, _Owner]) -> _Owner | None:
    keys = ((column, _key(upsert, column)) for column in table.keys)
    return next((owner for column, key in keys if key is not None and (owner := owners.get((upsert.client, column, key)))), None)


def _identity(table: _UpsertTable[R], upsert: RecordUpsert[R]) -> object:
    """Return the key that upserts for one record share; None for a upsert without a key."""
    keys = tuple(_key(upsert, column) for column in table.keys)
    return (upsert.client, keys) if any(keys) else None


def _change(upsert: RecordUpsert[R], owner: _Owner) -> RecordUpdate[R]:
    """Return the change of the record that exists.

    A record that webhooks made looks as if this write had created it, so that the order of the two does not matter;
    unless the write unsets values, which a creation cannot.
    """
    update = replace(upsert.update, id=owner.id, by_key=True)
    unsets = update.clear_custom or None in update.changes.values() or None in update.custom.values()
    if not owner.from_api and not unsets:
        update.creates, update.key = True, ""
    return update


def _taken(table: _UpsertTable[R], conflict: Conflict) -> Conflict:
    owner = conflict.data.get("existing_id")
    detail = f"another {table.kind.name} has one of these addresses: id {owner}; change that one, or leave the address out"
    taken = Conflict(detail, data=conflict.data)
    taken.names_several = table.kind is CONTACT_TYPE
    return taken
