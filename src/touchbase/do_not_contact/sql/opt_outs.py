"""Opt-outs by status: a contact with a status that opts out is put on its client's list, and another status does not take it off."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import KIND_OF_REF, Address
from touchbase.do_not_contact.models import API, EMAIL, LINKEDIN_URL, STATUS, Cause
from touchbase.do_not_contact.sql.entries import BY_REQUEST, add_causes
from touchbase.do_not_contact.sql.statements import ENTRIES_OF, FURTHER_KEYS, EntryRow
from touchbase.history.status import path_of
from touchbase.sql.statement import Execute, Plan

BLOCK = "block"
MADE_BY_ACTS = (f"{STATUS} ", f"{BLOCK} ")
"""Beginnings of the keys of causes by statuses and blocks, which name the contact and the time."""


class PersonWithStatus(Protocol):
    """A contact."""

    client: int
    id: int
    created_us: Micros
    email_key: str | None
    linkedin_key: str | None
    status: str | None
    previous_status: str | None
    status_changed_us: Micros | None
    status_path: str | None


@dataclass(frozen=True, slots=True)
class StatusOptOut:
    """A contact that must not be contacted because of a status that it has, or had until a write."""

    client: int
    contact: int
    addresses: Sequence[Address]
    """Its addresses; the first one is listed."""
    at_us: Micros
    note: str = ""
    source: str = API
    by: Mapping[str, object] = field(default_factory=lambda: BY_REQUEST)
    """Author of the entry, for the event log."""
    if_unlisted: bool = False
    """Whether an entry of one of its addresses is enough, also an entry that was removed since: the write that set the status made it."""


def addresses_of(contact: PersonWithStatus) -> list[Address]:
    """Return the addresses that a contact shows, the one under which it is listed first; without any its status alone counts."""
    shown = ((EMAIL, contact.email_key), (LINKEDIN_URL, contact.linkedin_key))
    return [(kind, value) for kind, value in shown if value is not None]


def opted_out_at(contact: PersonWithStatus, opts_out: Callable[[str | None], bool]) -> tuple[Micros, str] | None:
    """Return since when a contact had its last status that opts out, and the status; None if it never had one."""
    changes = [(at, status) for at, status in path_of(contact.status_path).items() if status is not None and opts_out(status)]
    if changes:
        return changes[-1]
    # Two statuses of one time: the path has the last one only.
    last = next((status for status in (contact.status, contact.previous_status) if status is not None and opts_out(status)), None)
    return None if last is None else (contact.status_changed_us or contact.created_us, last)


def cause_key(contact: int, at: Micros) -> str:
    """Return the key of the cause that a status is; it names the contact, so that an undone merge finds it."""
    return f"{STATUS} {contact} {at}"


def is_of_contact(cause: Cause, contact: int) -> bool:
    """Return whether a cause is a status of this contact."""
    return cause.key.startswith(f"{STATUS} {contact} ")


def further_addresses(contacts: Iterable[tuple[int, int]]) -> Plan[dict[tuple[int, int], list[Address]]]:
    """Return the addresses that lead to contacts (client and id) and that they do not show."""
    rows = sorted(set(contacts))
    by_contact: dict[tuple[int, int], list[Address]] = {}
    for client, number, kind, value in (yield Execute(FURTHER_KEYS, rows)) if rows else ():
        by_contact.setdefault((client, number), []).append((KIND_OF_REF[kind], value))
    return by_contact


def list_opt_outs(opt_outs: Sequence[StatusOptOut], now: Micros) -> Plan[None]:
    """Put contacts on the lists of their clients; a repetition, and a status from before the entry was removed, change nothing."""
    listed = yield from _listed([opt_out for opt_out in opt_outs if opt_out.if_unlisted])
    groups: dict[tuple[int, frozenset[tuple[str, object]]], list[StatusOptOut]] = {}
    for opt_out in sorted(opt_outs, key=lambda opt_out: opt_out.client):
        if opt_out.addresses and opt_out.contact not in listed:
            groups.setdefault((opt_out.client, frozenset(opt_out.by.items())), []).append(opt_out)
    for (client, _), group in groups.items():
        causes = [
            (
                opt_out.addresses[0],
                Cause(cause_key(opt_out.contact, opt_out.at_us), STATUS, opt_out.source, opt_out.at_us, opt_out.at_us, None, opt_out.note),
            )
            for opt_out in group
        ]
        yield from add_causes(client, causes, None, now, by=group[0].by)


def _listed(opt_outs: Sequence[StatusOptOut]) -> Plan[set[int]]:
    """Return the contacts one of whose addresses is on the list, or was removed from it since the contact opted out."""
    further = yield from further_addresses((opt_out.client, opt_out.contact) for opt_out in opt_outs)
    places = {
        (opt_out.client, *address): opt_out
        for opt_out in opt_outs
        for address in (*opt_out.addresses, *further.get((opt_out.client, opt_out.contact), ()))
    }
    rows = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, sorted(places)))] if places else []
    entries = [(row, places[row.client, row.kind, row.value]) for row in rows]
    return {opt_out.contact for row, opt_out in entries if row.reason is not None or row.removed_us >= opt_out.at_us}
