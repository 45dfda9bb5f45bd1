"""Plans of messages: store, list, change and prune them.

Columns, rows and statements of messages. The contact of a copy is that of its event.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import Any

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, NotFound
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, NO_AUTHOR, VIA_API, Author, StoredEvent
from touchbase.history.sql import event_row
from touchbase.messages.models import (
    API,
    HANDLED_AGE,
    MADE_EVENTS,
    MOST_COMPARED,
    MOST_CUSTOM_FIELDS,
    NEAR,
    RECEIVED,
    SENT,
    EventKey,
    Message,
    compared_text,
    tells_of,
    united,
)
from touchbase.records.models import Record
from touchbase.records.sql.address_book import add_filters
from touchbase.records.sql.rows import contact_of
from touchbase.records.sql.statements import lock_existing
from touchbase.sql.builders import RECORD, ROW_KEY, ROW_MATCH, find
from touchbase.sql.cell_answers import AnswerMerge, Answers, Division, divide_clients, named_clients
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget, Cut, newest_of
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

MESSAGE: Columns = (
    *ROW_KEY, ("direction", "text"), ("channel", "text"), ("occurred_us", "bigint"), ("event_key", "text"), ("delivery_id", "bigint"),
    ("received_us", "bigint"), ("tool", "text"), ("mailbox", "text"), ("subject", "text"), ("text", "text"), ("html", "text"),
    ("campaign_id", "text"), ("campaign_name", "text"), ("step", "text"), ("message_id", "text"), ("thread_id", "text"),
    ("category", "text"), ("interested", "bigint"), ("custom", "text"), ("updated_us", "bigint"), ("copy_key", "text"),
    ("has_body", "bigint"), ("deleted", "bigint"), ("handled_us", "bigint"), ("handled_by", "text"), ("automatic", "bigint"),
    ("label", "text"), ("reply_ref", "text"), ("thread_url", "text"),
)  # fmt: skip
_REFERENCE = MESSAGE[-2:]
_SHOWN = (*MESSAGE[1:22], *_REFERENCE, ("copy_key", "text"))
LONG_COLUMNS = [place for place, (name, _) in enumerate(_SHOWN) if name in ("subject", "text", "html", "custom")]
"""Positions of the columns of a shown copy that can be long."""
_CONTENT = (*MESSAGE[6:19], ("has_body", "bigint"), *_REFERENCE)
"""Columns that an earlier receipt of the same event replaces."""
_INDEXED = "({0}.delivery_id IS NOT NULL OR {0}.event IN ('message.received', 'message.sent'))"
"""Must match the condition of the index `event_key` literally."""


def event_of_copy(event: str, copy: str) -> str:
    """Return the condition that an alias of `event` is the event, of a contact, of an alias of `message`."""
    same = f"{event}.client = {copy}.client AND {event}.key = {copy}.event_key AND {event}.occurred_us = {copy}.occurred_us"
    return f"{same} AND {event}.record_kind = 1 AND {_INDEXED.format(event)}"


_EARLIER = (
    "message.deleted = 0 AND (excluded.received_us < message.received_us "
    "OR (excluded.received_us = message.received_us AND excluded.delivery_id < message.delivery_id))"
)
# Only of events that are in a history or wait for their record: not of people that the client's settings leave out.
INSERT_MESSAGE = Statement(
    "insert_message",
    MESSAGE,
    body=f"INSERT INTO message ({names(MESSAGE)}) SELECT {names(MESSAGE, 'p.')} FROM p WHERE EXISTS (SELECT 1 FROM event e "
    f"WHERE e.client = p.client AND e.key = p.event_key AND e.occurred_us = p.occurred_us AND {_INDEXED.format('e')}) "
    f"ON CONFLICT (client, event_key, occurred_us) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name, _ in _CONTENT)}, "
    "copy_key = CASE WHEN message.message_id IS NULL AND excluded.message_id IS NULL THEN message.copy_key ELSE excluded.copy_key END "
    f"WHERE {_EARLIER} RETURNING id",
)
COPIES_BY_ID = Statement(
    "message_copies_by_id",
    ROW_KEY,
    sqlite_set=f"SELECT {names(_SHOWN, 'm.')}, e.record_id, c.email FROM p CROSS JOIN message m CROSS JOIN event e CROSS JOIN contact c "
    f"WHERE m.client = p.client AND m.id = p.id AND {event_of_copy('e', 'm')} AND c.client = e.client AND c.id = e.record_id "
    "AND m.deleted = 0",
    body=f"SELECT {names(_SHOWN, 'm.')}, x.record_id, x.email FROM p CROSS JOIN LATERAL (SELECT * FROM message t WHERE t.client = p.client "
    "AND t.id = p.id AND t.deleted = 0 OFFSET 0) m CROSS JOIN LATERAL (SELECT e.record_id, c.email FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} OFFSET 0) x",
)
_COPY = "o.client = m.client AND o.copy_key = m.copy_key AND o.direction = m.direction AND (o.deleted = 1 OR o.id < m.id)"
_BEFORE = "o.id < m.id OR NOT EXISTS (SELECT 1 FROM p n WHERE n.id = o.id)"
NEW_MESSAGES = Statement(
    "new_messages",
    ROW_KEY,
    sqlite_set="SELECT m.id, e.record_id FROM p CROSS JOIN message m CROSS JOIN event e CROSS JOIN contact c WHERE m.client = p.client "
    f"AND m.id = p.id AND m.deleted = 0 AND {event_of_copy('e', 'm')} AND c.client = e.client AND c.id = e.record_id "
    f"AND NOT EXISTS (SELECT 1 FROM message o JOIN event f ON {event_of_copy('f', 'o')} WHERE {_COPY} AND f.record_id = e.record_id)",
    body="SELECT m.id, x.record_id FROM p CROSS JOIN LATERAL (SELECT * FROM message t WHERE t.client = p.client AND t.id = p.id "
    "AND t.deleted = 0 OFFSET 0) m CROSS JOIN LATERAL (SELECT e.record_id FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} OFFSET 0) x "
    f"WHERE NOT EXISTS (SELECT 1 FROM message o CROSS JOIN LATERAL (SELECT f.record_id FROM event f WHERE {event_of_copy('f', 'o')} "
    f"OFFSET 0) y WHERE {_COPY.replace('o.id < m.id', _BEFORE)} AND y.record_id = x.record_id OFFSET 0)",
)
"""The copies that are the first ones of their message, with its contact, which is not deleted. Without texts: it runs for
every batch with messages. Ids say which copy of one batch is the first; on PostgreSQL another process may have stored an earlier copy
with a higher id. PostgreSQL knows nothing of new tables and would join all messages with all events for each batch;
it does not move a part with `OFFSET` into the rest."""
_GROUP: Columns = (("client", "bigint"), ("copy_key", "text"), ("direction", "text"), ("record_id", "bigint"))
COPIES_OF = Statement(
    "message_copies_of",
    _GROUP,
    body=f"SELECT {names(_SHOWN, 'm.')}, e.record_id, NULL, m.deleted FROM p CROSS JOIN message m CROSS JOIN event e "
    "WHERE m.client = p.client AND m.copy_key = p.copy_key AND m.direction = p.direction "
    f"AND {event_of_copy('e', 'm')} AND e.record_id = p.record_id",
)
_OF_RECORD = "e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id"
_OF_EVENT = "t.client = e.client AND t.event_key = e.key AND t.occurred_us = e.occurred_us"
PLACES_OF_RECORD = Statement(
    "places_of_messages",
    RECORD,
    body="SELECT t.id, t.occurred_us, t.copy_key, t.direction, t.deleted FROM p CROSS JOIN event e CROSS JOIN message t "
    f"WHERE {_OF_RECORD} AND {_OF_EVENT}",
)
"""The copies of a contact's messages, without their texts."""
TOLD_AGAIN = Statement(
    "messages_told_again",
    ROW_KEY,
    body="SELECT DISTINCT m.id FROM p CROSS JOIN message m CROSS JOIN message o WHERE m.client = p.client AND m.id = p.id "
    "AND o.client = m.client AND o.copy_key = m.copy_key AND o.direction = m.direction AND o.delivery_id IS NOT NULL AND EXISTS "
    f"(SELECT 1 FROM event e JOIN event f ON f.client = e.client AND f.record_kind = 1 AND f.record_id = e.record_id "
    f"WHERE {event_of_copy('e', 'm')} AND f.key = o.event_key AND f.occurred_us = o.occurred_us)",
)
COPIES_BY_NUMBER = find("message_copies_by_number", "message", _SHOWN, ROW_KEY, ROW_MATCH)
COUNT_OF_RECORD = Statement(
    "count_messages", RECORD, body=f"SELECT count(*) FROM p CROSS JOIN event e CROSS JOIN message t WHERE {_OF_RECORD} AND {_OF_EVENT}"
)
DELETE_OF_RECORD = Statement(
    "delete_messages_of",
    RECORD,
    sqlite="DELETE FROM message WHERE client = ?1 AND (event_key, occurred_us) IN "
    "(SELECT key, occurred_us FROM event WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3)",
    body=f"DELETE FROM message t USING p CROSS JOIN event e WHERE {_OF_RECORD} AND {_OF_EVENT}",
)
"""Run it before the events are deleted."""
_EVENT: Columns = (("client", "bigint"), ("event_key", "text"), ("occurred_us", "bigint"))
COPIES_OF_EVENTS = Statement(
    "message_copies_of_events",
    _EVENT,
    body="SELECT m.event_key, m.occurred_us, m.id FROM p CROSS JOIN message m "
    "WHERE m.client = p.client AND m.event_key = p.event_key AND m.occurred_us = p.occurred_us AND m.deleted = 0",
)
_SAME_EVENT = "t.client = p.client AND t.event_key = p.event_key AND t.occurred_us = p.occurred_us"
DELETE_OF_EVENT = Statement("delete_message_of_event", _EVENT, body=f"DELETE FROM message t USING p WHERE {_SAME_EVENT}", by_row=True)
RETIME_MESSAGE = Statement(
    "retime_message",
    (*_EVENT, ("to_us", "bigint")),
    body=f"UPDATE message t SET occurred_us = p.to_us FROM p WHERE {_SAME_EVENT}",
    by_row=True,
)
_REMOVED = "subject = NULL, text = NULL, html = NULL, has_body = 0"
MARK_DELETED = Statement(
    "mark_message_deleted",
    ROW_KEY,
    body=f"UPDATE message t SET {_REMOVED}, custom = '{{}}', category = NULL, mailbox = NULL, reply_ref = NULL, thread_url = NULL, "
    "deleted = 1 FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
SET_INTERESTED = Statement(
    "set_message_interested",
    (*ROW_KEY, ("interested", "bigint"), ("updated_us", "bigint")),
    body="UPDATE message t SET interested = p.interested, updated_us = p.updated_us FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
LOCK_CONTACT_OF = Statement(
    "lock_contact_of_message",
    ROW_KEY,
    sqlite_set="SELECT c.id FROM p CROSS JOIN message m CROSS JOIN event e CROSS JOIN contact c WHERE m.client = p.client AND m.id = p.id "
    f"AND m.deleted = 0 AND {event_of_copy('e', 'm')} AND c.client = e.client AND c.id = e.record_id",
    body="SELECT c.id FROM p CROSS JOIN LATERAL (SELECT * FROM message t WHERE t.client = p.client AND t.id = p.id AND t.deleted = 0 "
    f"OFFSET 0) m CROSS JOIN LATERAL (SELECT e.client, e.record_id FROM event e WHERE {event_of_copy('e', 'm')} OFFSET 0) x "
    "JOIN contact c ON c.client = x.client AND c.id = x.record_id",
    lock=" FOR UPDATE OF c",
)
_NEAR = (
    "e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id AND e.occurred_us >= p.since_us "
    "AND e.occurred_us <= p.until_us AND CASE WHEN e.event = 'message.sent' THEN 1 ELSE 0 END = p.is_stored"
)
_SENT_COPY = (
    "m.client = e.client AND m.occurred_us = e.occurred_us AND m.event_key = e.key AND m.direction = 'sent' AND m.tool = p.tool "
    "AND m.deleted = 0 AND NOT EXISTS (SELECT 1 FROM message o WHERE o.client = m.client AND o.copy_key = m.copy_key "
    "AND o.direction = m.direction AND (o.delivery_id IS NULL) <> (m.delivery_id IS NULL)"
)
NEAR_COPIES = Statement(
    "near_copies",
    (*RECORD, ("tool", "text"), ("is_stored", "bigint"), ("since_us", "bigint"), ("until_us", "bigint")),
    sqlite_set=f"SELECT {names(_SHOWN, 'm.')}, e.record_id, NULL FROM p CROSS JOIN event e CROSS JOIN message m "
    f"WHERE {_NEAR} AND {_SENT_COPY})",
    body=f"SELECT {names(_SHOWN, 'x.')}, x.record_id, NULL FROM p CROSS JOIN LATERAL (SELECT * FROM event e WHERE {_NEAR} OFFSET 0) e "
    f"CROSS JOIN LATERAL (SELECT m.*, e.record_id FROM message m WHERE {_SENT_COPY} OFFSET 0) OFFSET 0) x",
)
"""Sent messages of a contact that requests stored or that webhooks told of, and not both."""
JOIN_COPIES = Statement(
    "join_copies",
    (*ROW_KEY, ("copy_key", "text")),
    body="UPDATE message t SET copy_key = p.copy_key FROM p WHERE t.client = p.client AND t.id = p.id AND t.copy_key IS NULL",
    by_row=True,
)
_COMPLETED = (*(pair for pair in MESSAGE[9:19] if pair[0] != "message_id"), *_REFERENCE)
COMPLETE_COPY = Statement(
    "complete_copy",
    (*MESSAGE[:1], *MESSAGE[4:6], *_COMPLETED, ("message_id", "text"), ("copy_key", "text"), ("label", "text"), ("has_body", "bigint")),
    body=f"UPDATE message t SET {', '.join(f'{name} = COALESCE(t.{name}, p.{name})' for name, _ in _COMPLETED)}, "
    "copy_key = CASE WHEN t.message_id IS NULL AND t.copy_key IS NULL THEN p.copy_key ELSE t.copy_key END, "
    "message_id = COALESCE(t.message_id, p.message_id), label = COALESCE(t.label, p.label), "
    "has_body = CASE WHEN p.has_body = 1 THEN 1 ELSE t.has_body END FROM p "
    "WHERE t.client = p.client AND t.event_key = p.event_key AND t.occurred_us = p.occurred_us AND t.deleted = 0",
    by_row=True,
)
_SIBLING = "o.client = t.client AND o.copy_key = t.copy_key AND o.direction = t.direction AND o.id <> t.id"
INHERIT_MARK = Statement(
    "inherit_mark_of_message",
    ROW_KEY,
    body="UPDATE message t SET handled_us = received_us FROM p WHERE t.client = p.client AND t.id = p.id AND t.handled_us IS NULL "
    f"AND EXISTS (SELECT 1 FROM message o JOIN event f ON {event_of_copy('f', 'o')} JOIN event e ON {event_of_copy('e', 't')} "
    f"WHERE {_SIBLING} AND (o.handled_us IS NOT NULL OR o.deleted = 1) AND f.record_id = e.record_id)",
    by_row=True,
)
CUSTOM_OF = find("message_custom_of", "message", (("id", "bigint"), ("custom", "text")), ROW_KEY, ROW_MATCH)
STORE_CUSTOM = Statement(
    "store_message_custom",
    (*ROW_KEY, ("custom", "text"), ("updated_us", "bigint")),
    body="UPDATE message t SET custom = p.custom, updated_us = p.updated_us FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
PRUNE_MESSAGE = Statement(
    "prune_message",
    ROW_KEY,
    body=f"UPDATE message t SET {_REMOVED} FROM p WHERE t.client = p.client AND t.id = p.id AND t.has_body = 1 RETURNING t.id",
    by_row=True,
)
LIST_FROM = f"SELECT {names(_SHOWN, 'm.')}, e.record_id, c.email FROM message m JOIN event e ON {event_of_copy('e', 'm')} "
LIST_FROM += "JOIN contact c ON c.client = e.client AND c.id = e.record_id"
_COPY_BEFORE = (
    "o.client = m.client AND o.copy_key = m.copy_key AND o.direction = m.direction "
    "AND (o.deleted = 1 OR (o.occurred_us, o.event_key) < (m.occurred_us, m.event_key))"
)
IS_FIRST = (
    f"m.deleted = 0 AND NOT EXISTS (SELECT 1 FROM message o JOIN event f ON {event_of_copy('f', 'o')} "
    f"WHERE {_COPY_BEFORE} AND f.record_id = e.record_id)"
)
"""The condition by which a copy is the earliest one of its message, and the message is not deleted."""
_FIRST_ON_POSTGRES = (
    "m.deleted = 0 AND NOT EXISTS (SELECT 1 FROM message o CROSS JOIN LATERAL (SELECT f.record_id FROM event f "
    f"WHERE {event_of_copy('f', 'o')} OFFSET 0) y WHERE {_COPY_BEFORE} AND y.record_id = e.record_id OFFSET 0)"
)
"""As above: PostgreSQL would read all events of the contact for each of its messages."""
LIST_IN_ORDER = (
    f"SELECT {names(_SHOWN, 'm.')}, x.record_id, x.email FROM message m CROSS JOIN LATERAL (SELECT e.record_id, c.email FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} AND {_FIRST_ON_POSTGRES} OFFSET 0) x"
)
"""For PostgreSQL, where no contact is given: from the newest message on, each with its contact, until the page is full. PostgreSQL
takes it that hardly any message has an event, so it would join all messages of the client before it sorts them; it does not move
a part with `OFFSET` into the rest."""
decode_custom: Callable[[str], dict[str, str]] = msgspec.json.Decoder(dict[str, str]).decode
_message: Callable[..., Message] = Message


def message_of(row: Row) -> Message:
    """Return the copy of a row of the shown columns, the contact's id and its address."""
    values: list[Any] = list(row[:21])
    values[18] = None if values[18] is None else bool(values[18])
    values[19] = decode_custom(values[19])
    return _message(*values, reply_ref=row[21], thread_url=row[22], copy_key=row[23], contact_id=row[24], contact_email=row[25])


def message_row(client: int, message: Message) -> Row:
    """Return the row of a copy, in the order of `MESSAGE`."""
    interested = None if message.interested is None else int(message.interested)
    # An old message, of an import of history or a tool's first load, waits for nobody.
    handled_us = message.received_us if message.received_us - message.occurred_us > HANDLED_AGE else None
    return (
        client, message.id, message.direction, message.channel, message.occurred_us, message.event_key, message.delivery_id,
        message.received_us, message.tool, message.mailbox, message.subject, message.text, message.html, message.campaign_id,
        message.campaign_name, message.step, message.message_id, message.thread_id, message.category, interested,
        encode(message.custom) if message.custom else "{}", message.updated_us or message.received_us, message.copy_key,
        int(message.has_body), 0, handled_us, None, int(message.automatic), message.label, message.reply_ref, message.thread_url,
    )  # fmt: skip


ID = "message"
MOST_MOVES = 3
"""How often the contact of a message is looked up: a merge may give the message another contact before the contact is locked."""
Group = tuple[str, str, int]
"""Copy key, direction and contact."""


def insert_copies(client: int, copies: Sequence[Message], ids: Ids) -> Plan[list[Message]]:
    """Store copies whose events are stored, and set their ids and contacts; return the copies of new messages."""
    for copy in copies:
        copy.id = ids.take(ID)
    rows = [message_row(client, copy) for copy in sorted(copies, key=lambda copy: (copy.event_key, copy.occurred_us))]
    inserted = {row[0] for row in (yield Execute(INSERT_MESSAGE, rows))} & {copy.id for copy in copies}
    if not inserted:
        return []
    by_id = {copy.id: copy for copy in copies}
    owners = yield Execute(NEW_MESSAGES, [(client, number) for number in sorted(inserted)])
    yield from _inherit_marks(client, inserted - {row[0] for row in owners})
    for number, contact in owners:
        by_id[number].contact_id = contact
    return (yield from _without_joined(client, [by_id[number] for number, _ in sorted(owners)]))


ASSIGN_FIRST = Statement(
    "assign_first_conversation",
    (("client", "bigint"), ("contact_id", "bigint"), ("assignee_id", "text"), ("updated_us", "bigint")),
    body="INSERT INTO conversation (client, contact_id, assignee_id, updated_us, updated_by) "
    "SELECT p.client, p.contact_id, p.assignee_id, p.updated_us, '{}' FROM p WHERE true ON CONFLICT (client, contact_id) DO NOTHING "
    "RETURNING contact_id",
)


def assign_to_owners(
    client: int, new: Iterable[Message], contacts: Mapping[int, Record], at: Micros, cause: Mapping[str, Any] | None
) -> Plan[None]:
    """Give the conversations of new replies of people to the contacts' owners, unless somebody has changed them before."""
    replies = [copy for copy in new if copy.direction == RECEIVED and not copy.automatic and copy.occurred_us > at - HANDLED_AGE]
    owners = {
        number: owner for copy in replies if (number := copy.contact_id) in contacts and (owner := contacts[number].owner_id) is not None
    }
    if not owners:
        return
    rows = yield Execute(ASSIGN_FIRST, [(client, contact, owner, at) for contact, owner in sorted(owners.items())])
    assigned = EventType.CONVERSATION_ASSIGNED
    yield from log_events(
        [
            LoggedEvent(client, assigned, at, CONTACT, contact, cause=cause or {}, data={"assignee_id": owners[contact]})
            for contact in sorted(row[0] for row in rows)
        ]
    )


def complete_copies(client: int, repeats: Sequence[Message]) -> Plan[None]:
    """Add what repeats say to the stored copies of their events, where these leave it out."""
    columns = [name for name, _ in MESSAGE]
    rows = [dict(zip(columns, message_row(client, repeat), strict=True)) for repeat in repeats]
    if rows:
        yield Execute(COMPLETE_COPY, [tuple(row[name] for name, _ in COMPLETE_COPY.columns) for row in rows])


def first_copies(client: int, events: Sequence[EventKey]) -> Plan[list[Message]]:
    """Return the messages of which these events brought the first copy."""
    rows = (yield Execute(COPIES_OF_EVENTS, [(client, *event) for event in events])) if events else []
    messages = yield from _by_ids(client, sorted(row[2] for row in rows))
    yield from _inherit_marks(client, {row[2] for row in rows} - {message.id for message in messages.values()})
    return (yield from _without_joined(client, [message for number, message in messages.items() if message.id == number]))


def _without_joined(client: int, new: list[Message]) -> Plan[list[Message]]:
    """Join sent messages that requests stored with those that webhooks tell of; return the ones that are new all the same."""
    sent = [copy for copy in new if copy.direction == SENT and copy.tool != API]
    wanted = {
        (client, CONTACT, copy.contact_id, copy.tool, int(copy.delivery_id is not None), copy.occurred_us - NEAR, copy.occurred_us + NEAR)
        for copy in sent
    }
    near = {row[0]: message_of(row) for row in (yield Execute(NEAR_COPIES, sorted(wanted)))} if wanted else {}
    joined: dict[int, Message] = {}
    texts: dict[int, str] = {}

    def are_one(copy: Message, second: Message) -> bool:
        received, stored = (copy, second) if second.delivery_id is None else (second, copy)
        if received.text or not received.html:
            return tells_of(received, received.text, stored)
        if received.id not in texts and len(texts) < MOST_COMPARED:
            texts[received.id] = compared_text(received.html)
        return tells_of(received, texts.get(received.id, ""), stored)

    for copy in sorted(sent, key=lambda copy: (copy.occurred_us, copy.id)):
        others = [
            message for message in near.values()
            if (message.contact_id, message.tool, message.delivery_id is None) == (copy.contact_id, copy.tool, copy.delivery_id is not None)
        ]  # fmt: skip
        nearest = nsmallest(MOST_COMPARED, others, key=lambda second: (abs(second.occurred_us - copy.occurred_us), second.id))
        match = next((second for second in nearest if are_one(copy, second)), None)
        if match is not None:
            del near[match.id]
            key = copy.copy_key or match.copy_key or f"= {min(copy.id, match.id)}"
            yield Execute(JOIN_COPIES, [(client, number, key) for number in sorted((copy.id, match.id))])
            joined[copy.id] = match
    return [copy for copy in new if copy.id not in joined]


def _inherit_marks(client: int, numbers: Iterable[int]) -> Plan[None]:
    """Mark copies of messages that somebody handled or removed as handled."""
    if rows := [(client, number) for number in sorted(numbers)]:
        yield Execute(INHERIT_MARK, rows)


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
    # The lock blocks merges, deletions and erasures of the contact until the message is stored: they move or remove all its messages.
    [contact] = map(contact_of, (yield from lock_existing(client, CONTACT, [message.contact_id])))
    copies = (yield Execute(COPIES_OF, [(client, *_group(message))])) if message.copy_key is not None else []
    if any(row[-1] for row in copies):
        return _deleted(message)
    event = StoredEvent(
        record_kind=CONTACT, record_id=message.contact_id, occurred_us=message.occurred_us, key=message.event_key,
        event=MADE_EVENTS[message.direction], effect="", status=None, tool=message.tool, channel="api",
        campaign=message.campaign_name or message.campaign_id, delivery_id=None, received_us=message.received_us, via=VIA_API,
        detail={"by": by} if any(by) else {}, campaign_id=message.campaign_id,
    )  # fmt: skip
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, event)])
    new = yield from insert_copies(client, [message], ids)
    yield from log_messages(client, new, message.received_us, by_request(by))
    yield from assign_to_owners(client, new, {contact.id: contact}, message.received_us, by_request(by))
    return (yield from _by_ids(client, [message.id])).get(message.id) or _deleted(message)


def _deleted(message: Message) -> NotFound:
    return NotFound(f"the message {message.message_id!r} of this contact was deleted; send another message_id, or none")


@command
def delete_message(client: int, id: int) -> Plan[Message | NotFound]:
    """Remove a message, also for later repeats of it; the result is the message as it was. `NotFound`."""
    message = yield from lock_message(client, id)
    yield Execute(MARK_DELETED, [(client, number) for number in (yield from _copies(client, id, message))])
    return message


@command
def set_interested(
    client: int, id: int, interested: bool | None, at_us: Micros, custom: Mapping[str, str] | None = None
) -> Plan[Message | NotFound]:
    """Store whether the sender of a message is interested. `NotFound`.

    `custom`: Custom fields that are set too.
    """
    message = yield from lock_message(client, id)
    value = None if interested is None else int(interested)
    numbers = yield from _copies(client, id, message)
    if custom:
        present = yield from _custom_of(client, numbers)
        yield from _store_custom(client, message, present, custom, at_us)
    yield Execute(SET_INTERESTED, [(client, number, value, at_us) for number in numbers])
    return replace(message, interested=interested, custom={**message.custom, **(custom or {})}, updated_us=at_us)


@command
def add_custom_field(client: int, id: int, name: str, value: str, at_us: Micros) -> Plan[Message | NotFound | Conflict | Invalid]:
    """Add a custom field to a message. `NotFound`; `Conflict` if it has a field of this name; `Invalid` if it has too many."""
    message = yield from lock_message(client, id)
    present = yield from _custom_of(client, (yield from _copies(client, id, message)))
    names = {current_name for custom in present.values() for current_name in custom}
    if name in names:
        return Conflict(f"this message has the custom field {name!r} already; remove it first")
    if len(names) >= MOST_CUSTOM_FIELDS:
        fault = Fault("/field_name", "too_many", f"a message has at most {MOST_CUSTOM_FIELDS} custom fields: remove one first")
        return Invalid([fault])
    yield from _store_custom(client, message, present, {name: value}, at_us)
    return replace(message, custom=message.custom | {name: value}, updated_us=at_us)


@command
def remove_custom_field(client: int, id: int, name: str, at_us: Micros) -> Plan[Message | NotFound]:
    """Remove a custom field from a message. `NotFound`, also without a field of this name."""
    message = yield from lock_message(client, id)
    present = yield from _custom_of(client, (yield from _copies(client, id, message)))
    if not any(name in custom for custom in present.values()):
        return NotFound(f"message {id} has no custom field {name!r}")
    yield from _store_custom(client, message, present, {name: None}, at_us)
    left = {current_name: value for current_name, value in message.custom.items() if current_name != name}
    return replace(message, custom=left, updated_us=at_us)


def _custom_of(client: int, numbers: Sequence[int]) -> Plan[dict[int, dict[str, str]]]:
    """Return the custom fields of copies."""
    rows = yield Execute(CUSTOM_OF, [(client, number) for number in numbers])
    return {row[0]: decode_custom(row[1]) for row in rows}


def _store_custom(
    client: int, message: Message, present: Mapping[int, dict[str, str]], change: Mapping[str, str | None], at: Micros
) -> Plan[None]:
    """Change custom fields of a message: its earliest copy gets the values, and no other one has these names."""
    rows = []
    for number, custom in present.items():
        left = {name: value for name, value in custom.items() if name not in change}
        if number == message.place:
            left |= {name: value for name, value in change.items() if value is not None}
        rows.append((client, number, encode(left), at))
    yield Execute(STORE_CUSTOM, rows)


def lock_message(client: int, number: int) -> Plan[Message]:
    """Lock the contact of a message; return the message. Raises `NotFound`.

    The lock blocks other changes of the message, and merges, deletions and erasures of the contact.
    """
    for _ in range(MOST_MOVES):
        rows = yield Execute(LOCK_CONTACT_OF, [(client, number)])
        message = (yield from _by_ids(client, [number])).get(number) if rows else None
        if message is not None and message.contact_id == rows[0][0]:
            return message
    raise NotFound(f"there is no message with id {number}: it was deleted, or its contact was")


def _copies(client: int, number: int, message: Message) -> Plan[list[int]]:
    if message.copy_key is None:
        return [number]
    rows = yield Execute(COPIES_OF, [(client, *_group(message))])
    return sorted({number, *(row[0] for row in rows)})


@command(background=True)
def prune_messages(client: int, before_us: Micros, limit: int) -> Plan[int]:
    """Remove subject, text and HTML of messages that were received before a time; return how many, up to `limit`."""
    sql = "SELECT id FROM message WHERE client = ? AND has_body = 1 AND received_us < ? ORDER BY received_us LIMIT ?"
    rows = yield Select(sql, (client, before_us, limit))
    pruned = (yield Execute(PRUNE_MESSAGE, [(client, row[0]) for row in sorted(rows)])) if rows else []
    return len(pruned)


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
    add_filters(where, CONTACT, client, [("email_key", contact_key)], of="c.")
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
    in_order = f"{LIST_FROM} WHERE {where} AND {_FIRST_ON_POSTGRES} {page}"
    postgres = in_order if by_contact else f"{LIST_IN_ORDER} WHERE {where} AND m.deleted = 0 {page}"
    budget = ByteBudget(page_bytes, LONG_COLUMNS) if page_bytes else None
    copies = [message_of(row) for row in (yield Select(sql, (*where.params, limit, skip), postgres, budget))]
    messages = list((yield from _complete(client, copies)).values())
    return Cut(messages) if budget is not None and budget.is_spent else messages


Place = tuple[Micros, int, int]
"""Time, client and id of the earliest copy of a message among those of several clients."""
MOST_CLIENTS = 500
"""Clients that are looked through for a page of messages of several; most pages need few of them."""
_NEWEST = (
    "SELECT * FROM (SELECT (SELECT m.occurred_us FROM message m WHERE m.client = k.id AND m.occurred_us <= ? "
    "ORDER BY m.occurred_us DESC LIMIT 1) AS at, k.id FROM client k WHERE k.id"
)


def _place_of(owned: tuple[int, Message]) -> Place:
    client, message = owned
    return message.occurred_us, client, message.place


def _first_of_all(call: Any, answers: Answers) -> list[tuple[int, Message]]:
    return newest_of(answers.values(), _place_of, call.limit)


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _first_of_all, partial=True),
    merge=AnswerMerge(_first_of_all),
)
def list_all_messages(
    clients: Sequence[int] | None, limit: int, before: Place | None, filters: Mapping[str, Any], page_bytes: int
) -> Plan[list[tuple[int, Message]]]:
    """Messages of these clients, None: of all active ones, newest first, each with its client; `filters` are those of `list_messages`.

    Ends as a `Cut` after `page_bytes`. Raises `Invalid` if the page needs more than `MOST_CLIENTS`.
    """
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    last = sys.maxsize if before is None else before[0]
    sql = f"{_NEWEST} {condition}) newest WHERE at IS NOT NULL ORDER BY at DESC, id DESC LIMIT ?"
    rows = yield Select(sql, (last, *numbers, MOST_CLIENTS + 1))
    messages: list[tuple[int, Message]] = []
    for count, (at, client) in enumerate(rows):
        if (len(messages) == limit or isinstance(messages, Cut)) and at < messages[-1][1].occurred_us:
            break  # this client, and those after it, have only older ones
        if count == MOST_CLIENTS:
            raise Invalid([Fault("?client", "required", f"{MOST_CLIENTS} clients have few such messages: name one with ?client=")])
        after = None
        if before is not None:
            after = (last, before[2] if client == before[1] else sys.maxsize if client < before[1] else 0)
        left = max(1, page_bytes - sum(len(message.text or "") + len(message.html or "") for _, message in messages))
        page = yield from list_messages.plan(client, limit, after, page_bytes=left, **filters)
        owned = [(client, message) for message in page]
        messages = newest_of((messages, Cut(owned) if isinstance(page, Cut) else owned), _place_of, limit)
    return messages


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
    messages: list[Message] = []
    budget = ByteBudget(page_bytes or sys.maxsize, LONG_COLUMNS)
    while len(messages) < len(places):
        if budget.is_spent:
            return Cut(messages)
        portion = [numbers for _, numbers in places[len(messages) : len(messages) + budget.rows]]
        rows = yield Execute(COPIES_BY_NUMBER, [(client, number) for numbers in portion for number in numbers])
        by_number = {row[0]: message_of((*row, contact_id, None)) for row in rows}
        messages += [united([by_number[number] for number in numbers]) for numbers in portion]
        budget.spend(rows)
    return messages


@query
def told_again(client: int, numbers: list[int]) -> Plan[set[int]]:
    """The messages among these that webhooks told of as well: so requests that sent or stored them need no entry in a timeline."""
    rows = (yield Execute(TOLD_AGAIN, [(client, number) for number in numbers])) if numbers else []
    return {row[0] for row in rows}


@query
def messages_of_events(client: int, events: list[EventKey]) -> Plan[dict[EventKey, int]]:
    """The ids of the messages that events of histories brought, by the event's key and time; events without one are left out."""
    rows = yield Execute(COPIES_OF_EVENTS, [(client, *event) for event in events])
    messages = yield from _by_ids(client, [row[2] for row in rows])
    return {(row[0], row[1]): messages[row[2]].id for row in rows if row[2] in messages}


def _by_ids(client: int, numbers: Sequence[int]) -> Plan[dict[int, Message]]:
    rows = (yield Execute(COPIES_BY_ID, [(client, number) for number in numbers])) if numbers else []
    return (yield from _complete(client, [message_of(row) for row in rows]))


def _complete(client: int, copies: Sequence[Message]) -> Plan[dict[int, Message]]:
    """Return the message of each copy by the copy's id, completed from its other copies; deleted ones are left out."""
    groups = {_group(copy) for copy in copies if copy.copy_key is not None}
    others: dict[Group, list[Message]] = {}
    gone: set[Group] = set()
    for row in (yield Execute(COPIES_OF, [(client, *group) for group in sorted(groups)])) if groups else []:
        stored_copy = message_of(row)
        others.setdefault(_group(stored_copy), []).append(stored_copy)
        if row[-1]:
            gone.add(_group(stored_copy))
    messages: dict[int, Message] = {}
    for copy in copies:
        if copy.copy_key is None or _group(copy) not in gone:
            united_message = united([copy]) if copy.copy_key is None else united(others[_group(copy)])
            messages[copy.id] = replace(united_message, contact_email=copy.contact_email)
    return messages


def _group(copy: Message) -> Group:
    assert copy.copy_key is not None
    return copy.copy_key, copy.direction, copy.contact_id
