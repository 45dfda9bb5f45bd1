"""Plans of messages: store, list, change and prune them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, NotFound
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, NO_AUTHOR, VIA_API, Author, StoredEvent
from touchbase.history.sql import event_row
from touchbase.messages.models import MADE_EVENTS, MOST_CUSTOM_FIELDS, RECEIVED, EventKey, Message, united
from touchbase.messages.sql.statements import (
    COPIES_BY_ID,
    COPIES_BY_NUMBER,
    COPIES_OF,
    COPIES_OF_EVENTS,
    INSERT_MESSAGE,
    IS_FIRST,
    LIST_FROM,
    LIST_IN_ORDER,
    LOCK_CUSTOM,
    LONG_COLUMNS,
    MARK_DELETED,
    NEW_MESSAGES,
    PLACES_OF_RECORD,
    PRUNE_MESSAGE,
    SET_INTERESTED,
    STORE_CUSTOM,
    decode_custom,
    message_of,
    message_row,
)
from touchbase.records.sql import statements as records_sql
from touchbase.sql.filters import Where
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import encode
from touchbase.sql.statement import Execute, Plan, Row, Select

ID = "message"
Group = tuple[str, str, int]
"""Copy key, direction and contact."""


def insert_copies(client: int, copies: Sequence[Message], ids: Ids) -> Plan[list[Message]]:
    """Store copies whose events are stored; return those of messages that are new, with their contacts."""
    for copy in copies:
        copy.id = ids.take(ID)
    rows = [message_row(client, copy) for copy in sorted(copies, key=lambda copy: (copy.event_key, copy.occurred_us))]
    made = {row[0] for row in (yield Execute(INSERT_MESSAGE, rows))} & {copy.id for copy in copies}
    if not made:
        return []
    by_id = {copy.id: copy for copy in copies}
    found = yield Execute(NEW_MESSAGES, [(client, number) for number in sorted(made)])
    return [replace(by_id[number], contact_id=contact) for number, contact in sorted(found)]


def first_copies(client: int, events: Sequence[EventKey]) -> Plan[list[Message]]:
    """Return the messages of which these events brought the first copy."""
    rows = (yield Execute(COPIES_OF_EVENTS, [(client, *event) for event in events])) if events else []
    found = yield from _by_ids(client, sorted(row[2] for row in rows))
    return [message for number, message in found.items() if message.id == number]


def log_messages(client: int, messages: Iterable[Message], at: int, cause: Mapping[str, Any] | None = None) -> Plan[None]:
    """Log new messages."""
    events = []
    for message in messages:
        kind = EventType.MESSAGE_RECEIVED if message.direction == RECEIVED else EventType.MESSAGE_SENT
        data = {"message_id": message.id, "direction": message.direction, "channel": message.channel, "tool": message.tool}
        why = cause or {"origin": "delivery", "tool": message.tool, "channel": message.channel, "deliveries": [message.delivery_id]}
        events.append(LoggedEvent(client, kind, at, CONTACT, message.contact_id, cause=why, data=data))
    yield from log_events(events)


@command(ids="message")
def create_message(ids: Ids, client: int, message: Message, by: Author = NO_AUTHOR) -> Plan[Message | NotFound]:
    """Store a message of a contact, whose `contact_id` it names; `NotFound` without that contact.

    If the contact has a message of the same message id and direction, the result is that message, with what it left out.

    `message`: Its `id` is set when it is stored.
    """
    one = message
    # The lock blocks merges, deletions and erasures of the contact until the message is stored: they move or remove all its messages.
    if not (yield Execute(records_sql.CONTACT_BY_ID, [(client, one.contact_id)])):
        return NotFound(f"there is no contact with id {one.contact_id}")
    copies = (yield Execute(COPIES_OF, [(client, *_group(one))])) if one.copy_key is not None else []
    if any(row[-1] for row in copies):
        return _deleted(one)
    event = StoredEvent(
        record_kind=CONTACT, record_id=one.contact_id, occurred_us=one.occurred_us, key=one.event_key, event=MADE_EVENTS[one.direction],
        effect="", status=None, tool=one.tool, channel="api", campaign=one.campaign_name or one.campaign_id, delivery_id=None,
        received_us=one.received_us, via=VIA_API, detail={"by": by} if any(by) else {}, campaign_id=one.campaign_id,
    )  # fmt: skip
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, event)])
    new = yield from insert_copies(client, [one], ids)
    yield from log_messages(client, new, one.received_us, by_request(by))
    return (yield from _by_ids(client, [one.id])).get(one.id) or _deleted(one)


def _deleted(message: Message) -> NotFound:
    return NotFound(f"the message {message.message_id!r} of this contact was deleted; send another message_id, or none")


@command
def delete_message(client: int, id: int) -> Plan[Message | NotFound]:
    """Remove a message, also for later repeats of it; the result is the message as it was. `NotFound`."""
    found = (yield from _by_ids(client, [id])).get(id)
    if found is None:
        return _missing(id)
    yield Execute(MARK_DELETED, [(client, number) for number in (yield from _copies(client, id, found))])
    return found


@command
def set_interested(
    client: int, id: int, interested: bool | None, at_us: Micros, custom: Mapping[str, str] | None = None
) -> Plan[Message | NotFound]:
    """Store whether the sender of a message is interested. `NotFound`.

    `custom`: Custom fields that are set too.
    """
    found = (yield from _by_ids(client, [id])).get(id)
    if found is None:
        return _missing(id)
    value = None if interested is None else int(interested)
    numbers = yield from _copies(client, id, found)
    if custom:
        present = yield from _custom_of(client, numbers)
        yield from _store_custom(client, found, present, custom, at_us)
    yield Execute(SET_INTERESTED, [(client, number, value, at_us) for number in numbers])
    return replace(found, interested=interested, custom={**found.custom, **(custom or {})}, updated_us=at_us)


@command
def add_custom_field(client: int, id: int, name: str, value: str, at_us: Micros) -> Plan[Message | NotFound | Conflict | Invalid]:
    """Add a custom field to a message. `NotFound`; `Conflict` if it has a field of this name; `Invalid` if it has too many."""
    found = (yield from _by_ids(client, [id])).get(id)
    if found is None:
        return _missing(id)
    present = yield from _custom_of(client, (yield from _copies(client, id, found)))
    names = {current_name for custom in present.values() for current_name in custom}
    if name in names:
        return Conflict(f"this message has the custom field {name!r} already; remove it first")
    if len(names) >= MOST_CUSTOM_FIELDS:
        fault = Fault("/field_name", "too_many", f"a message has at most {MOST_CUSTOM_FIELDS} custom fields: remove one first")
        return Invalid([fault])
    yield from _store_custom(client, found, present, {name: value}, at_us)
    return replace(found, custom=found.custom | {name: value}, updated_us=at_us)


@command
def remove_custom_field(client: int, id: int, name: str, at_us: Micros) -> Plan[Message | NotFound]:
    """Remove a custom field from a message. `NotFound`, also without a field of this name."""
    found = (yield from _by_ids(client, [id])).get(id)
    if found is None:
        return _missing(id)
    present = yield from _custom_of(client, (yield from _copies(client, id, found)))
    if not any(name in custom for custom in present.values()):
        return NotFound(f"message {id} has no custom field {name!r}")
    yield from _store_custom(client, found, present, {name: None}, at_us)
    left = {current_name: value for current_name, value in found.custom.items() if current_name != name}
    return replace(found, custom=left, updated_us=at_us)


def _custom_of(client: int, numbers: Sequence[int]) -> Plan[dict[int, dict[str, str]]]:
    """Lock copies; return their custom fields, which two requests at once must not overwrite."""
    rows = yield Execute(LOCK_CUSTOM, [(client, number) for number in numbers])
    return {row[0]: decode_custom(row[1]) for row in rows}


def _store_custom(
    client: int, found: Message, present: Mapping[int, dict[str, str]], change: Mapping[str, str | None], at: Micros
) -> Plan[None]:
    """Change custom fields of a message: its earliest copy gets the values, and no other one has these names."""
    rows = []
    for number, custom in present.items():
        left = {name: value for name, value in custom.items() if name not in change}
        if number == found.place:
            left |= {name: value for name, value in change.items() if value is not None}
        rows.append((client, number, encode(left), at))
    yield Execute(STORE_CUSTOM, rows)


def _missing(number: int) -> NotFound:
    return NotFound(f"there is no message with id {number}: it was deleted, or its contact was")


def _copies(client: int, number: int, found: Message) -> Plan[list[int]]:
    if found.copy_key is None:
        return [number]
    rows = yield Execute(COPIES_OF, [(client, *_group(found))])
    return sorted({number, *(row[0] for row in rows)})


@command(background=True)
def prune_messages(client: int, before_us: Micros, limit: int) -> Plan[int]:
    """Remove subject, text and HTML of messages that were received before a time; return how many, up to `limit`."""
    sql = "SELECT id FROM message WHERE client = ? AND has_body = 1 AND received_us < ? ORDER BY received_us LIMIT ?"
    rows = yield Select(sql, (client, before_us, limit))
    if rows:
        yield Execute(PRUNE_MESSAGE, [(client, row[0]) for row in sorted(rows)])
    return len(rows)


@query
def get_messages(client: int, ids: list[int]) -> Plan[dict[int, Message]]:
    """Messages by the id of one of their copies, of contacts that exist."""
    return (yield from _by_ids(client, ids))


@query
def list_messages(
    client: int,
    limit: int,
    after: tuple[Micros, int] | None = None,
    contact_id: int | None = None,
    contact_key: str | None = None,
    direction: str | None = None,
    channel: str | None = None,
    campaign_id: str | None = None,
    subject: str | None = None,
    tool: str | None = None,
    interested: bool | None = None,
    mailbox: str | None = None,
    since_us: Micros | None = None,
    until_us: Micros | None = None,
    skip: int = 0,
    page_bytes: int = 0,
) -> Plan[list[Message]]:
    """Messages of contacts that exist, newest first. Members that are None filter nothing.

    `after`: Time and id of the earliest copy of the last message of the previous page.
    `contact_key`: The contact's e-mail address in normal form.
    `skip`: Messages that are left out before the first one; each is read, so use `after` for long lists.
    `page_bytes`: Bytes after which the list ends, as a `Cut`; 0: no limit.
    """
    where = Where("m.client = ?", client)
    where.equal("e.record_id", contact_id)
    where.equal("c.email_key", contact_key)
    where.equal("m.direction", direction)
    where.equal("m.channel", channel)
    where.equal("m.campaign_id", campaign_id)
    where.equal("m.tool", tool)
    where.equal("m.mailbox", mailbox)
    where.equal("m.subject", subject)
    where.equal("m.interested", None if interested is None else int(interested))
    where.at_least("m.occurred_us", since_us)
    where.less("m.occurred_us", until_us)
    if after is not None:
        where.add("(m.occurred_us, m.id) < (?, ?)", *after)
    page = "ORDER BY m.occurred_us DESC, m.id DESC LIMIT ? OFFSET ?"
    sql = f"{LIST_FROM} WHERE {where} AND {IS_FIRST} {page}"
    by_contact = contact_id is not None or contact_key is not None
    postgres = "" if by_contact else f"{LIST_IN_ORDER} WHERE {where} AND m.deleted = 0 {page}"
    budget = ByteBudget(page_bytes, LONG_COLUMNS) if page_bytes else None
    copies = [message_of(row) for row in (yield Select(sql, (*where.params, limit, skip), postgres, budget))]
    messages = list((yield from _complete(client, copies)).values())
    return Cut(messages) if budget is not None and budget.is_spent else messages


@query
def messages_of_contact(client: int, contact_id: int, after: tuple[Micros, int] | None = None, page_bytes: int = 0) -> Plan[list[Message]]:
    """The messages of one contact, also of one in the bin, oldest first, behind the time and id `after`; for a person's export.

    With `page_bytes` as many as have so many bytes, at least one, as a `Cut` if there are more.
    """
    copies: dict[object, list[Row]] = {}
    for row in (yield Execute(PLACES_OF_RECORD, [(client, CONTACT, contact_id)])):
        number, _, copy_key, direction, _ = row
        copies.setdefault(number if copy_key is None else (copy_key, direction), []).append(row)
    places: list[tuple[tuple[Micros, int], list[int]]] = []
    for rows in copies.values():
        # As `united` has them.
        place = min(row[1] for row in rows), min(row[0] for row in rows)
        if not any(row[4] for row in rows) and (after is None or place > after):
            places.append((place, sorted(row[0] for row in rows)))
    places.sort()
    found: list[Message] = []
    budget = ByteBudget(page_bytes or sys.maxsize, LONG_COLUMNS)
    while len(found) < len(places):
        if budget.is_spent:
            return Cut(found)
        portion = [numbers for _, numbers in places[len(found) : len(found) + budget.rows]]
        rows = yield Execute(COPIES_BY_NUMBER, [(client, number) for numbers in portion for number in numbers])
        by_number = {row[0]: message_of((*row, contact_id, None)) for row in rows}
        found += [united([by_number[number] for number in numbers]) for numbers in portion]
        budget.spend(rows)
    return found


@query
def messages_of_events(client: int, events: list[EventKey]) -> Plan[dict[EventKey, int]]:
    """The ids of the messages that events of histories brought, by the event's key and time; events without one are left out."""
    rows = yield Execute(COPIES_OF_EVENTS, [(client, *event) for event in events])
    found = yield from _by_ids(client, [row[2] for row in rows])
    return {(row[0], row[1]): found[row[2]].id for row in rows if row[2] in found}


def _by_ids(client: int, numbers: Sequence[int]) -> Plan[dict[int, Message]]:
    rows = (yield Execute(COPIES_BY_ID, [(client, number) for number in numbers])) if numbers else []
    return (yield from _complete(client, [message_of(row) for row in rows]))


def _complete(client: int, copies: Sequence[Message]) -> Plan[dict[int, Message]]:
    """Return the message of each copy by the copy's id, with what its other copies say; deleted ones are left out."""
    groups = {_group(copy) for copy in copies if copy.copy_key is not None}
    others: dict[Group, list[Message]] = {}
    gone: set[Group] = set()
    for row in (yield Execute(COPIES_OF, [(client, *group) for group in sorted(groups)])) if groups else []:
        other = message_of(row)
        others.setdefault(_group(other), []).append(other)
        if row[-1]:
            gone.add(_group(other))
    found: dict[int, Message] = {}
    for copy in copies:
        if copy.copy_key is None or _group(copy) not in gone:
            whole = united([copy]) if copy.copy_key is None else united(others[_group(copy)])
            found[copy.id] = replace(whole, contact_email=copy.contact_email)
    return found


def _group(copy: Message) -> Group:
    assert copy.copy_key is not None
    return copy.copy_key, copy.direction, copy.contact_id
