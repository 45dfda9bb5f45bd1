"""Entries of erased persons: the address is stored as a keyed hash, so that the list still covers it and does not show it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from touchbase.do_not_contact.addresses import Address, ref_of
from touchbase.do_not_contact.models import Cause
from touchbase.do_not_contact.sql.statements import (
    CAUSES_OF,
    DELETE_CAUSES,
    DELETE_ENTRY,
    ENTRIES_OF,
    EntryRow,
    cause_of,
)
from touchbase.erasure_marks import digest, find_erasure_key, find_marks
from touchbase.sql.statement import Execute, Plan

PREFIX = "hmac-sha256:"


def hashed_value(key: bytes, client: int, address: Address) -> str:
    """Return the text that is stored in place of an erased person's address."""
    ref = ref_of(address)
    assert ref is not None
    return PREFIX + digest(key, client, ref).hex()


def stored_addresses(
    client: int, addresses: Iterable[Address], hidden: Collection[Address] = ()
) -> Plan[dict[Address, tuple[Address, bool]]]:
    """Return by address how it is stored, and whether it is hashed: addresses of erased persons, and addresses listed as a hash."""
    distinct = list(dict.fromkeys(addresses))
    stored: dict[Address, tuple[Address, bool]] = {address: (address, False) for address in distinct}
    key = yield from find_erasure_key()
    refs = {ref: address for address in distinct if (ref := ref_of(address)) is not None}
    if key is None or not refs:
        return stored
    hashes = {ref: (ref[0], hashed_value(key, client, ref)) for ref in refs.values()}
    marks = yield from find_marks(key, client, refs)
    rows = yield Execute(ENTRIES_OF, sorted((client, *place) for place in hashes.values()))
    listed = {(row[1], row[2]) for row in rows}
    for ref, address in refs.items():
        if ref in marks or address in hidden or hashes[address] in listed:
            stored[address] = (hashes[address], True)
    return stored


def hidden_cause(key: bytes, client: int, cause: Cause) -> Cause:
    """Return a cause without its note, and with a hash of its key, which may name the person."""
    hidden = cause.key and PREFIX + digest(key, client, ("", "cause", cause.key)).hex()
    return Cause(hidden, cause.reason, cause.source, cause.at_us, cause.since_us, cause.until_us, "", cause.tool, cause.delivery_id)


def take_clear_entries(client: int, addresses: Sequence[Address]) -> Plan[list[tuple[EntryRow, list[Cause]]]]:
    """Delete the entries of these addresses that are in clear; return them with their causes."""
    rows = [(client, *address) for address in sorted(set(addresses))]
    if not rows:
        return []
    entries = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, rows))]
    taken: list[tuple[EntryRow, list[Cause]]] = [(entry, []) for entry in entries if not entry.hashed]
    if not taken:
        return []
    by_address = {entry.address: causes for entry, causes in taken}
    keys = [(client, *address) for address in sorted(by_address)]
    for row in (yield Execute(CAUSES_OF, keys)):
        by_address[row[1], row[2]].append(cause_of(row))
    yield Execute(DELETE_CAUSES, keys)
    yield Execute(DELETE_ENTRY, keys)
    return taken
