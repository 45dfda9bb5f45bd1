"""Block a contact: one act puts its addresses on the client's list and sets its status, and can be taken back for an hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from touchbase.audit import audited
from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import lock_client
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.company_links.domains import business_domain, no_company_domain
from touchbase.conversations.plans import (
    DONE,
    OF_NAMED,
    Conversation,
    ConversationChange,
    Named,
    Outcomes,
    change_conversation,
    get_conversation,
    note_outcomes,
)
from touchbase.do_not_contact.addresses import Address
from touchbase.do_not_contact.models import DOMAIN, MAY_NOT_UNBLOCK, STATUS, UNDO_US, Cause, live_causes
from touchbase.do_not_contact.sql.entries import add_causes, drop_causes, remove_entry
from touchbase.do_not_contact.sql.opt_outs import BLOCK, addresses_of, cause_key, further_addresses
from touchbase.do_not_contact.sql.statements import CAUSES_OF, ENTRIES_OF, EntryRow, cause_of
from touchbase.errors import Fault, Forbidden, Invalid, TouchbaseError, WrongState
from touchbase.event_log.models import by_request
from touchbase.event_log.sql.changes import BLOCK as BLOCK_CHANGE
from touchbase.event_log.sql.changes import note_change
from touchbase.history.events import CONTACT, NO_AUTHOR, Author
from touchbase.history.sql import EVENT_BY_KEY, event_of
from touchbase.history.status_words import DO_NOT_CONTACT, StatusWords
from touchbase.records.models import Contact
from touchbase.records.operations import update_contact
from touchbase.records.sql.rows import company_of, contact_of
from touchbase.records.sql.statements import COMPANIES, lock_existing
from touchbase.records.sql.update_write import after_last_write
from touchbase.records.writes import RecordUpdate
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, or_nothing, plan_of
from touchbase.sql.statement import Execute, Plan

_SUFFIX = f":{BLOCK}"
"""End of the keys of the statuses that blocks set."""


@dataclass(slots=True)
class BlockResult:
    """A contact after it was blocked, or after the block was taken back."""

    status: str | None
    status_changed: bool
    entries: list[EntryRow]
    """Its entries of the client's list; none after the block was taken back."""


class BlockTerms(NamedTuple):
    """What is blocked beside a person, and why."""

    reason: str
    note: str = ""
    with_company: bool = False


def block_status(settings: ClientSettings) -> str | None:
    """Return the status of blocked contacts: of a declared set the first that opts out, None if none does."""
    words, declared = settings.words(CONTACT), settings.declared(CONTACT)
    if declared is None:
        return words.of(DO_NOT_CONTACT)
    names = [*declared.opt_outs, *declared.statuses]
    return next((name for name in names if words.opts_out(name)), None)


def _key(contact: int, at: Micros) -> str:
    return f"{BLOCK} {contact} {at}"


def _of_status(contact: Contact) -> Plan[list[Cause]]:
    """Return the block that has set a contact's status: nothing else tells of one if the contact had no address."""
    at, key = contact.status_entry_us, contact.status_entry_key
    if at is None or key is None or not key.endswith(_SUFFIX):
        return []
    events = map(event_of, (yield Execute(EVENT_BY_KEY, [(contact.client, CONTACT, contact.id, at, key)])))
    return [
        Cause(_key(contact.id, at), STATUS, "person", at, at, None, "", made_by=event.detail.get("by", NO_AUTHOR)[0]) for event in events
    ]


def _domain_of(contact: Contact, company_domain: str | None) -> str | Invalid:
    domain = company_domain or (business_domain(contact.email_key) if contact.email_key else None)
    if domain is None or no_company_domain(domain) is not None:
        detail = "the contact has no company with a domain and no business e-mail address: send false to block the contact alone"
        return Invalid([Fault("/company", "value", detail)])
    return domain


def _set_status(
    cipher: Cipher, contact: Contact, words: StatusWords, status: str | None, at: Micros, key: str, by: Author
) -> Plan[Contact]:
    update: RecordUpdate[Contact] = RecordUpdate(contact.client, contact.id, {"status": status}, {}, at, key, by=by, words=words)
    changed: Any = (yield from plan_of([update_contact(update)], Ids(), cipher))[0]
    if isinstance(changed, TouchbaseError):
        raise changed
    return changed  # type: ignore[no-any-return]


@command(cipher=True)
def block_contact(
    cipher: Cipher,
    client: int,
    id: int,
    at: Micros,
    key: str,
    reason: str,
    note: str = "",
    with_company: bool = False,
    by: Author = NO_AUTHOR,
) -> Plan[BlockResult | TouchbaseError]:
    """Put a contact's addresses on its client's list, with a company its domain too, and set the client's status of blocked contacts.

    A status that opts out already stays; transitions that the client declared do not hold a block up. `NotFound`; `Invalid` if there is
    nothing to list, or no domain.
    """
    settings = (yield from lock_client(client)).settings
    words = settings.words(CONTACT)
    [row] = yield from lock_existing(client, CONTACT, [id])
    contact = contact_of(row)
    addresses: list[Address] = addresses_of(contact)
    if with_company:
        rows = () if contact.company_id is None else (yield Execute(COMPANIES.by_id, [(client, contact.company_id)]))
        domain = _domain_of(contact, company_of(rows[0]).domain if rows else None)
        if isinstance(domain, Invalid):
            return domain
        addresses.append((DOMAIN, domain))
    status = block_status(settings)
    if not addresses and status is None:
        detail = "the contact has no address, and no status of the client opts out: there is nothing to block"
        return Invalid([Fault("", "required", detail)])
    key += _SUFFIX
    at = after_last_write(contact, at, key)  # of the entries and the status: an end of the block knows both by it
    yield from note_change(client, BLOCK_CHANGE, by, at, 1)
    causes = [(address, Cause(_key(id, at), reason, "person", at, at, None, note, made_by=by.key_id)) for address in addresses]
    yield from add_causes(client, causes, None, at, by=by_request(by))
    if status is not None and not words.opts_out(contact.status):
        contact = yield from _set_status(cipher, contact, words, status, at, key, by)
    rows = yield Execute(ENTRIES_OF, sorted((client, *address) for address in addresses))
    entries = sorted((EntryRow(*row) for row in rows), key=lambda entry: addresses.index(entry.address))
    entries = [entry for entry in entries if entry.reason is not None]
    return BlockResult(contact.status, contact.status_changed_us == at, entries)


def _block_conversation(
    cipher: Cipher, named: Named, at: Micros, key: str, by: Author, block: BlockTerms | None, reader: str
) -> Plan[Conversation | TouchbaseError]:
    client, contact, version = named
    outcome: BlockResult | TouchbaseError
    if block is None:
        outcome = yield from unblock_contact.plan(cipher, client, contact, at, key, by, by.key_id)
    else:
        outcome = yield from block_contact.plan(cipher, client, contact, at, key, block.reason, block.note, block.with_company, by)
    if isinstance(outcome, TouchbaseError):
        return outcome
    conversation: Conversation = yield from get_conversation.plan(client, contact, reader)
    # A reply that came in meanwhile stays open.
    if block is None or conversation.state(at) == DONE or version not in (None, conversation.version):
        return conversation
    done: Conversation | TouchbaseError = yield from change_conversation.plan(
        client, contact, ConversationChange(DONE, reader=reader), at, by, version
    )
    return done


@command(cipher=True, **OF_NAMED)
def block_conversations(
    cipher: Cipher,
    conversations: Sequence[Named],
    at: Micros,
    key: str,
    by: Author = NO_AUTHOR,
    block: BlockTerms | None = None,
    reader: str = "",
) -> Plan[Outcomes | TouchbaseError]:
    """Block the contacts of conversations as `block_contact` does, and handle their replies; each is blocked or refused by itself.

    `block`: None takes the blocks back that the author made, as `unblock_contact` does. `reader`: as in `list_conversations`.
    """
    outcomes: Outcomes = {}
    for named in sorted(conversations, key=lambda named: named[:2]):
        plan = _block_conversation(cipher, named, at, f"{key}-{named[1]}", by, block, reader)
        outcomes[named[:2]] = yield from or_nothing(plan)
    if block is None:  # each block is in History by itself
        yield from note_outcomes(outcomes, at, by)
    return outcomes


@command(cipher=True, follow_up=audited("block.removed", "contact", lambda call, _: call.id))
def unblock_contact(
    cipher: Cipher, client: int, id: int, at: Micros, key: str, by: Author = NO_AUTHOR, only_of: str | None = None
) -> Plan[BlockResult | TouchbaseError]:
    """Take back the last block of a contact: its entries go, and the status before it returns unless it has changed since.

    What is listed for another reason stays. `NotFound`; `WrongState` if there is no block of the last hour.

    `only_of`: The actor, who may not unblock: `Forbidden` for a block of somebody else.
    """
    settings = (yield from lock_client(client)).settings
    words = settings.words(CONTACT)
    [row] = yield from lock_existing(client, CONTACT, [id])
    contact = contact_of(row)
    further = yield from further_addresses([(client, id)])
    rows = () if contact.company_id is None else (yield Execute(COMPANIES.by_id, [(client, contact.company_id)]))
    domains = {company_of(row).domain for row in rows} | {business_domain(contact.email_key or "")}
    addresses = [*addresses_of(contact), *further.get((client, id), ()), *((DOMAIN, domain) for domain in domains if domain)]
    places = sorted({(client, *address) for address in addresses})
    entries = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, places))] if places else []
    causes: dict[Address, list[Cause]] = {entry.address: [] for entry in entries}
    for row in (yield Execute(CAUSES_OF, places)) if places else ():
        causes[row[1], row[2]].append(cause_of(row))
    live = {entry.address: live_causes(causes[entry.address], entry.removed_us) for entry in entries}
    blocks = [cause for remaining in live.values() for cause in remaining if cause.key.startswith(f"{BLOCK} {id} ")]
    listed = {cause.key for held in causes.values() for cause in held}
    blocks += [cause for cause in (yield from _of_status(contact)) if cause.key not in listed]
    last = max((cause.at_us for cause in blocks), default=0)
    if last < at - UNDO_US:
        return WrongState("the contact was not blocked within the last hour: an entry of the do-not-contact list is removed there")
    if only_of is not None and not all(cause.is_undone_by(only_of, at) for cause in blocks if cause.at_us == last):
        return Forbidden(MAY_NOT_UNBLOCK)
    keys = {_key(id, last), cause_key(id, last)}
    for entry in entries:
        if any(cause.key in keys for cause in live[entry.address]):
            if all(cause.key in keys for cause in live[entry.address]):
                yield from remove_entry.plan(client, entry.id, at)
            else:
                yield from drop_causes(client, [entry.address], lambda cause: cause.key in keys, at)
    if contact.status_changed_us == last and words.opts_out(contact.status):
        contact = yield from _set_status(cipher, contact, words, contact.previous_status, max(at, last + 1), key, by)
    return BlockResult(contact.status, contact.status_changed_us is not None and contact.status_changed_us > last, [])
