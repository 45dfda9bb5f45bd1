"""Writes that set a status that opts out, or end one: the contact is on its client's list from then on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from touchbase.do_not_contact.models import API
from touchbase.do_not_contact.sql.lookup import Listed
from touchbase.do_not_contact.sql.opt_outs import StatusOptOut, addresses_of, opted_out_at
from touchbase.event_log.models import by_request
from touchbase.history.events import Author
from touchbase.history.status_words import is_opt_out_word
from touchbase.records.models import Contact
from touchbase.records.writes import Created, Creation, RecordUpdate, RecordUpsert, record_of


def may_opt_out(command: Creation[Contact] | RecordUpdate[Contact] | RecordUpsert[Contact]) -> bool:
    """Return whether a write may put its contact on the list: it changes the status, or the address that is listed."""
    if isinstance(command, Creation):
        return command.record.status is not None
    changes = command.changes if isinstance(command, RecordUpdate) else command.update.changes
    return "status" in changes or "email_key" in changes or "linkedin_key" in changes


def opt_outs_of(writes: Sequence[Any], results: Sequence[object], listed: Mapping[int, Listed]) -> list[StatusOptOut]:
    """Return the contacts that writes of requests put on their client's list."""
    opt_outs: list[StatusOptOut] = []
    for write, result in zip(writes, results, strict=True):
        contact = record_of(result)
        if not isinstance(contact, Contact):
            continue
        # Without a call of Python for the usual contact: every write comes here.
        present, previous, names = contact.status, contact.previous_status, listed[contact.client].opt_outs
        if is_opt_out_word(present) or is_opt_out_word(previous) or (names and (present in names or previous in names)):
            opted_out = opt_out_of(write, result, contact, listed[contact.client].opts_out)
            if opted_out is not None:
                opt_outs.append(opted_out)
    return opt_outs


def opt_out_of(
    command: Creation[Contact] | RecordUpdate[Contact] | RecordUpsert[Contact],
    result: object,
    contact: Contact,
    opts_out: Callable[[str | None], bool],
    source: str = API,
) -> StatusOptOut | None:
    """Return the entry that a write makes; None if neither the contact's status nor the one before opts out, or nothing of it changed."""
    is_opted_out = opts_out(contact.status)
    if not (is_opted_out or opts_out(contact.previous_status)) or not may_opt_out(command):
        return None
    if isinstance(command, Creation) and isinstance(result, Created) and not result.is_new:
        return None  # it exists, and is returned as it is
    sets, at, by = _status_of(command)
    since = (at, contact.status or "") if sets and is_opted_out else opted_out_at(contact, opts_out)
    if since is None:
        return None
    who = "" if by.key_id is None else f", set with the key {by.key_id}"
    return StatusOptOut(
        contact.client, contact.id, addresses_of(contact), since[0], f"status {since[1]!r}{who}", source, by_request(by),
        if_unlisted=not (sets and is_opted_out),
    )  # fmt: skip


def _status_of(command: Creation[Contact] | RecordUpdate[Contact] | RecordUpsert[Contact]) -> tuple[bool, int, Author]:
    """Return whether a write sets the status, its time and its author."""
    if isinstance(command, Creation):
        return True, command.record.created_us, command.by
    update = command if isinstance(command, RecordUpdate) else command.update
    return "status" in update.changes, update.at, update.by
