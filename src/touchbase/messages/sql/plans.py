"""Plans of messages: store, list, change and prune them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.errors import NotFound
from touchbase.event_log import EventType, LoggedEvent, by_request, log_events
from touchbase.history import CONTACT, VIA_API, StoredEvent
from touchbase.history import sql as history_sql
from touchbase.history.sql import event_row
from touchbase.messages.commands import (
    CreateMessage,
    DeleteMessage,
    EventKey,
    GetMessages,
    ListMessages,
    MessagesOfContact,
    MessagesOfEvents,
    PruneMessages,
    SetInterested,
)
from touchbase.messages.models import MADE_EVENTS, RECEIVED, Message, united
from touchbase.messages.sql.statements import (
    COPIES_BY_ID,
    COPIES_OF,
    COPIES_OF_EVENTS,
    COPIES_OF_RECORD,
    INSERT_MESSAGE,
    IS_FIRST,
    LIST_FROM,
    MARK_DELETED,
    NEW_MESSAGES,
    PRUNE_MESSAGE,
    SET_INTERESTED,
    message_of,
    message_row,
)
from touchbase.sql.filters import Where
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Select

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
    rows = (yield Execute(COPIES_OF_EVENTS, [(client, *each) for each in events])) if events else []
    found = yield from _by_ids(client, sorted(row[2] for row in rows))
    return [message for number, message in found.items() if message.id == number]


def log_messages(client: int, messages: Iterable[Message], at: int, cause: Mapping[str, Any] | None = None) -> Plan[None]:
    """Log new messages."""
    events = []
    for one in messages:
        kind = EventType.MESSAGE_RECEIVED if one.direction == RECEIVED else EventType.MESSAGE_SENT
        data = {"message_id": one.id, "direction": one.direction, "channel": one.channel, "tool": one.tool}
        why = cause or {"origin": "delivery", "tool": one.tool, "channel": one.channel, "deliveries": [one.delivery_id]}
        events.append(LoggedEvent(client, kind, at, CONTACT, one.contact_id, cause=why, data=data))
    yield from log_events(events)


def create_message(command: CreateMessage, ids: Ids) -> Plan[Message | NotFound]:
    """Run `CreateMessage`."""
    client, one = command.client, command.message
    if not (yield Select("SELECT 1 FROM contact WHERE client = ? AND id = ?", (client, one.contact_id))):
        return NotFound(f"there is no contact with id {one.contact_id}")
    event = StoredEvent(
        record_kind=CONTACT, record_id=one.contact_id, occurred_us=one.occurred_us, key=one.event_key, event=MADE_EVENTS[one.direction],
        effect="", status=None, tool=one.tool, channel="api", campaign=one.campaign_name or one.campaign_id, delivery_id=None,
        received_us=one.received_us, via=VIA_API, detail={"by": command.by} if any(command.by) else {}, campaign_id=one.campaign_id,
    )  # fmt: skip
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, event)])
    new = yield from insert_copies(client, [one], ids)
    yield from log_messages(client, new, one.received_us, by_request(command.by))
    found = yield from _by_ids(client, [one.id])
    # None: an equal message was deleted, and stays so.
    return found.get(one.id) or NotFound(f"the message {one.message_id!r} of this contact was deleted; send another message_id, or none")


def delete_message(command: DeleteMessage) -> Plan[Message | NotFound]:
    """Run `DeleteMessage`."""
    found = (yield from _by_ids(command.client, [command.id])).get(command.id)
    if found is None:
        return _missing(command.id)
    yield Execute(MARK_DELETED, [(command.client, number) for number in (yield from _copies(command.client, command.id, found))])
    return found


def set_interested(command: SetInterested) -> Plan[Message | NotFound]:
    """Run `SetInterested`."""
    found = (yield from _by_ids(command.client, [command.id])).get(command.id)
    if found is None:
        return _missing(command.id)
    value = None if command.interested is None else int(command.interested)
    numbers = yield from _copies(command.client, command.id, found)
    yield Execute(SET_INTERESTED, [(command.client, number, value) for number in numbers])
    return replace(found, interested=command.interested)


def _missing(number: int) -> NotFound:
    return NotFound(f"there is no message with id {number}: it was deleted, or its contact was")


def _copies(client: int, number: int, found: Message) -> Plan[list[int]]:
    if found.copy_key is None:
        return [number]
    rows = yield Execute(COPIES_OF, [(client, *_group(found))])
    return sorted({number, *(row[0] for row in rows)})


def prune_messages(command: PruneMessages) -> Plan[int]:
    """Run `PruneMessages`."""
    sql = "SELECT id FROM message WHERE client = ? AND has_body = 1 AND received_us < ? ORDER BY received_us LIMIT ?"
    rows = yield Select(sql, (command.client, command.before_us, command.limit))
    if rows:
        yield Execute(PRUNE_MESSAGE, [(command.client, row[0]) for row in sorted(rows)])
    return len(rows)


def get_messages(query: GetMessages) -> Plan[dict[int, Message]]:
    """Run `GetMessages`."""
    return (yield from _by_ids(query.client, query.ids))


def list_messages(query: ListMessages) -> Plan[list[Message]]:
    """Run `ListMessages`."""
    where = Where("m.client = ?", query.client)
    where.equal("e.record_id", query.contact_id)
    where.equal("c.email_key", query.contact_key)
    for column in ("direction", "channel", "campaign_id", "tool", "mailbox"):
        where.equal(f"m.{column}", getattr(query, column))
    where.equal("m.interested", None if query.interested is None else int(query.interested))
    where.at_least("m.occurred_us", query.since_us)
    where.less("m.occurred_us", query.until_us)
    if query.after is not None:
        where.add("(m.occurred_us, m.id) < (?, ?)", *query.after)
    sql = f"{LIST_FROM} WHERE {where} AND {IS_FIRST} ORDER BY m.occurred_us DESC, m.id DESC LIMIT ?"
    copies = [message_of(row) for row in (yield Select(sql, (*where.params, query.limit)))]
    return list((yield from _complete(query.client, copies)).values())


def messages_of_contact(query: MessagesOfContact) -> Plan[list[Message]]:
    """Run `MessagesOfContact`."""
    groups: dict[object, list[Message]] = {}
    gone: set[object] = set()
    for row in (yield Execute(COPIES_OF_RECORD, [(query.client, CONTACT, query.contact_id)])):
        copy = message_of(row)
        group = copy.id if copy.copy_key is None else _group(copy)
        groups.setdefault(group, []).append(copy)
        if row[22]:
            gone.add(group)
    found = [united(copies) for group, copies in groups.items() if group not in gone]
    return sorted(found, key=lambda one: (one.occurred_us, one.id))


def messages_of_events(query: MessagesOfEvents) -> Plan[dict[EventKey, int]]:
    """Run `MessagesOfEvents`."""
    rows = yield Execute(COPIES_OF_EVENTS, [(query.client, *each) for each in query.events])
    found = yield from _by_ids(query.client, [row[2] for row in rows])
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
        if row[22]:
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
