"""Plans that read the lists: suppressed addresses, one entry, and pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import Address, covering
from touchbase.do_not_contact.commands import FindEntries, FindSuppressed, GetEntry, ListClearAddresses, ListEntries
from touchbase.do_not_contact.models import CLIENT_LIST, DOMAIN, INSTALLATION, INSTALLATION_LIST, KINDS, Addresses, Entry, Suppressed
from touchbase.do_not_contact.sql import hashing
from touchbase.do_not_contact.sql.statements import (
    ENTRIES_OF,
    ENTRY,
    FIND_LISTED,
    FIND_LISTED_INSTALLATION,
    LISTED_KINDS,
    SHARED,
    EntryRow,
    installation_entry,
)
from touchbase.sql.filters import Where
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Row, Select
from touchbase.suppression import find_erasure_key

Item = tuple[int, Addresses]
"""A client's number, and addresses to look up for it."""


@dataclass(slots=True)
class Listed:
    """The kinds of entries that one client and the installation have."""

    own: frozenset[str]
    has_hashes: bool
    shared: frozenset[str]

    @property
    def any(self) -> bool:
        """Whether there are any entries."""
        return bool(self.own or self.shared)

    @property
    def has_domains(self) -> bool:
        """Whether there are entries of domains."""
        return DOMAIN in self.own or DOMAIN in self.shared


@dataclass(slots=True)
class _Found:
    """Entries by address: of the clients, and of the installation."""

    own: dict[tuple[int, Address], Row] = field(default_factory=dict)
    shared: dict[Address, Row] = field(default_factory=dict)


def listed_kinds(clients: Iterable[int]) -> Plan[dict[int, Listed]]:
    """Return by client which kinds of entries there are."""
    rows = yield Execute(LISTED_KINDS, [(client,) for client in sorted(set(clients))])
    return {row[0]: Listed(_present(row[1:4]), bool(row[4]), _present(row[5:8])) for row in rows}


def _present(flags: Row) -> frozenset[str]:
    return frozenset(kind for kind, there in zip(KINDS, flags, strict=True) if there)


def find_suppressed(query: FindSuppressed) -> Plan[list[Suppressed | None]]:
    """Run `FindSuppressed`."""
    listed = yield from listed_kinds([query.client])
    return (yield from suppressed_items([(query.client, each) for each in query.items], listed, query.now))


def suppressed_items(items: Sequence[Item], listed: Mapping[int, Listed], now: Micros) -> Plan[list[Suppressed | None]]:
    """Return for each item why it must not be contacted; only kinds that are `listed` are looked up."""
    if not any(listed[client].any for client, _ in items):
        return [None] * len(items)
    own: set[tuple[int, Address]] = set()
    shared: set[Address] = set()
    covers = [list(covering(each)) for _, each in items]
    for (client, _), addresses in zip(items, covers, strict=True):
        kinds = listed[client]
        own.update((client, each) for each in addresses if each[0] in kinds.own)
        shared.update(each for each in addresses if each[0] in kinds.shared)
    hashes = yield from _hashes(own, listed)
    found = _Found()
    keys = sorted({(client, *address) for client, address in own} | {(client, *address) for (client, _), address in hashes.items()})
    if keys:
        found.own = {(row[6], (row[0], row[1])): row for row in (yield Execute(FIND_LISTED, keys))}
    if shared:
        found.shared = {(row[0], row[1]): row for row in (yield Execute(FIND_LISTED_INSTALLATION, sorted(shared)))}
    return [_first(client, addresses, found, hashes, now) for (client, _), addresses in zip(items, covers, strict=True)]


def _hashes(own: Iterable[tuple[int, Address]], listed: Mapping[int, Listed]) -> Plan[dict[tuple[int, Address], Address]]:
    """Return the hashes under which the addresses may be listed, for clients with such entries."""
    wanted = [each for each in own if listed[each[0]].has_hashes and each[1][0] != DOMAIN]
    key = (yield from find_erasure_key()) if wanted else None
    if key is None:
        return {}
    return {(client, address): (address[0], hashing.hashed_value(key, client, address)) for client, address in wanted}


def _first(
    client: int, addresses: Sequence[Address], found: _Found, hashes: Mapping[tuple[int, Address], Address], now: Micros
) -> Suppressed | None:
    """Return the first active entry that covers an item: of the client's list, then of the installation's."""
    for address in addresses:
        for place in (address, hashes.get((client, address))):
            row = None if place is None else found.own.get((client, place))
            if row is not None and (row[4] is None or row[4] > now):
                return Suppressed(row[2], CLIENT_LIST, address[0], address[1], row[3], row[4])
    for address in addresses:
        row = found.shared.get(address)
        if row is not None and (row[4] is None or row[4] > now):
            return Suppressed(row[2], INSTALLATION_LIST, address[0], address[1], row[3], row[4])
    return None


def get_entry(query: GetEntry) -> Plan[Entry | None]:
    """Run `GetEntry`."""
    params: Row
    if query.client == INSTALLATION:
        sql, params = f"SELECT {names(SHARED)} FROM installation_suppression WHERE id = ?", (query.id,)
    else:
        sql = f"SELECT {names(ENTRY)} FROM suppression WHERE client = ? AND id = ? AND reason IS NOT NULL"
        params = (query.client, query.id)
    rows = yield Select(sql, params)
    return _entry(query.client, rows[0]) if rows else None


def _entry(client: int, row: Row) -> Entry:
    return installation_entry(row) if client == INSTALLATION else EntryRow(*row).entry()


def find_entries(query: FindEntries) -> Plan[list[Entry]]:
    """Run `FindEntries`."""
    stored = yield from hashing.stored_addresses(query.client, query.addresses)
    keys = sorted({(query.client, *place) for place, _ in stored.values()})
    if not keys:
        return []
    rows = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, keys))]
    return sorted((row.entry() for row in rows if row.reason is not None), key=lambda entry: entry.id)


def list_clear_addresses(query: ListClearAddresses) -> Plan[list[Address]]:
    """Run `ListClearAddresses`."""
    rows = yield Select(
        "SELECT kind, value FROM suppression WHERE client = ? AND (kind, value) > (?, ?) AND hashed = 0 ORDER BY kind, value LIMIT ?",
        (query.client, *query.after, query.limit),
    )
    return [(row[0], row[1]) for row in rows]


def list_entries(query: ListEntries) -> Plan[list[Entry]]:
    """Run `ListEntries`."""
    shared = query.client == INSTALLATION
    where = Where() if shared else Where("client = ? AND reason IS NOT NULL", query.client)
    if query.value is not None and query.kind is not None and not shared:
        stored = yield from hashing.stored_addresses(query.client, [(query.kind, query.value)])
        where.equal("value", stored[query.kind, query.value][0][1])
    else:
        where.equal("value", query.value)
    where.equal("kind", query.kind)
    where.equal("reason", query.reason)
    where.equal("source", query.source)
    if query.active is not None:
        where.add("(until_us IS NULL OR until_us > ?)" if query.active else "until_us <= ?", query.now)
    if query.after is not None:
        where.add("(created_us, id) > (?, ?)", *query.after)
    columns, table = (SHARED, "installation_suppression") if shared else (ENTRY, "suppression")
    rows = yield Select(f"SELECT {names(columns)} FROM {table} WHERE {where} ORDER BY created_us, id LIMIT ?", (*where.params, query.limit))
    return [_entry(query.client, row) for row in rows]
