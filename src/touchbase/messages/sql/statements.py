"""Columns, rows and statements of messages. The contact of a copy is that of its event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from touchbase.messages.models import Message
from touchbase.sql.builders import ONE, ONE_MATCH, RECORD, find
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Row, Statement

MESSAGE: Columns = (
    *ONE, ("direction", "text"), ("channel", "text"), ("occurred_us", "bigint"), ("event_key", "text"), ("delivery_id", "bigint"),
    ("received_us", "bigint"), ("tool", "text"), ("mailbox", "text"), ("subject", "text"), ("text", "text"), ("html", "text"),
    ("campaign_id", "text"), ("campaign_name", "text"), ("step", "text"), ("message_id", "text"), ("thread_id", "text"),
    ("category", "text"), ("interested", "bigint"), ("custom", "text"), ("updated_us", "bigint"), ("copy_key", "text"),
    ("has_body", "bigint"), ("deleted", "bigint"),
)  # fmt: skip
_SHOWN = MESSAGE[1:22]
LONG_COLUMNS = [place for place, (name, _) in enumerate(_SHOWN) if name in ("subject", "text", "html", "custom")]
"""Positions of the columns of a shown copy that can be long."""
_CONTENT = (*MESSAGE[6:19], ("copy_key", "text"), ("has_body", "bigint"))
"""What an earlier receipt of the same event replaces."""
_INDEXED = "({0}.delivery_id IS NOT NULL OR {0}.event IN ('message.received', 'message.sent'))"
"""Must match the condition of the index `event_key` literally."""


def event_of_copy(event: str, copy: str) -> str:
    """Return the condition by which an alias of `event` is the event, of a contact, of an alias of `message`."""
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
    f"ON CONFLICT (client, event_key, occurred_us) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name, _ in _CONTENT)} "
    f"WHERE {_EARLIER} RETURNING id",
)
COPIES_BY_ID = Statement(
    "message_copies_by_id",
    ONE,
    sqlite_set=f"SELECT {names(_SHOWN, 'm.')}, e.record_id, c.email FROM p CROSS JOIN message m CROSS JOIN event e CROSS JOIN contact c "
    f"WHERE m.client = p.client AND m.id = p.id AND {event_of_copy('e', 'm')} AND c.client = e.client AND c.id = e.record_id "
    "AND m.deleted = 0",
    body=f"SELECT {names(_SHOWN, 'm.')}, x.record_id, x.email FROM p CROSS JOIN LATERAL (SELECT * FROM message t WHERE t.client = p.client "
    "AND t.id = p.id AND t.deleted = 0 OFFSET 0) m CROSS JOIN LATERAL (SELECT e.record_id, c.email FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} OFFSET 0) x",
)
_OTHER = "o.client = m.client AND o.copy_key = m.copy_key AND o.direction = m.direction AND (o.deleted = 1 OR o.id < m.id)"
NEW_MESSAGES = Statement(
    "new_messages",
    ONE,
    sqlite_set="SELECT m.id, e.record_id FROM p CROSS JOIN message m CROSS JOIN event e CROSS JOIN contact c WHERE m.client = p.client "
    f"AND m.id = p.id AND m.deleted = 0 AND {event_of_copy('e', 'm')} AND c.client = e.client AND c.id = e.record_id "
    f"AND NOT EXISTS (SELECT 1 FROM message o JOIN event f ON {event_of_copy('f', 'o')} WHERE {_OTHER} AND f.record_id = e.record_id)",
    body="SELECT m.id, x.record_id FROM p CROSS JOIN LATERAL (SELECT * FROM message t WHERE t.client = p.client AND t.id = p.id "
    "AND t.deleted = 0 OFFSET 0) m CROSS JOIN LATERAL (SELECT e.record_id FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} OFFSET 0) x "
    f"WHERE NOT EXISTS (SELECT 1 FROM message o CROSS JOIN LATERAL (SELECT f.record_id FROM event f WHERE {event_of_copy('f', 'o')} "
    f"OFFSET 0) y WHERE {_OTHER} AND y.record_id = x.record_id OFFSET 0)",
)
"""The copies that are the first ones of their message, with its contact, which is not deleted. Without texts: it runs for
every batch with messages. PostgreSQL knows nothing of new tables and would join all messages with all events for each batch;
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
COPIES_BY_NUMBER = find("message_copies_by_number", "message", _SHOWN, ONE, ONE_MATCH)
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
    ONE,
    body=f"UPDATE message t SET {_REMOVED}, custom = '{{}}', category = NULL, mailbox = NULL, deleted = 1 "
    "FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
SET_INTERESTED = Statement(
    "set_message_interested",
    (*ONE, ("interested", "bigint"), ("updated_us", "bigint")),
    body="UPDATE message t SET interested = p.interested, updated_us = p.updated_us FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
LOCK_CUSTOM = find("lock_message_custom", "message", (("id", "bigint"), ("custom", "text")), ONE, ONE_MATCH, lock=True)
STORE_CUSTOM = Statement(
    "store_message_custom",
    (*ONE, ("custom", "text"), ("updated_us", "bigint")),
    body="UPDATE message t SET custom = p.custom, updated_us = p.updated_us FROM p WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
PRUNE_MESSAGE = Statement(
    "prune_message", ONE, body=f"UPDATE message t SET {_REMOVED} FROM p WHERE t.client = p.client AND t.id = p.id", by_row=True
)
LIST_FROM = f"SELECT {names(_SHOWN, 'm.')}, e.record_id, c.email FROM message m JOIN event e ON {event_of_copy('e', 'm')} "
LIST_FROM += "JOIN contact c ON c.client = e.client AND c.id = e.record_id"
IS_FIRST = (
    "m.deleted = 0 AND NOT EXISTS (SELECT 1 FROM message o JOIN event f ON "
    f"{event_of_copy('f', 'o')} WHERE o.client = m.client AND o.copy_key = m.copy_key AND o.direction = m.direction "
    "AND f.record_id = e.record_id AND (o.deleted = 1 OR (o.occurred_us, o.event_key) < (m.occurred_us, m.event_key)))"
)
"""The condition by which a copy is the earliest one of its message, and the message is not deleted."""
LIST_IN_ORDER = (
    f"SELECT {names(_SHOWN, 'm.')}, x.record_id, x.email FROM message m CROSS JOIN LATERAL (SELECT e.record_id, c.email FROM event e "
    f"JOIN contact c ON c.client = e.client AND c.id = e.record_id WHERE {event_of_copy('e', 'm')} AND {IS_FIRST} OFFSET 0) x"
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
    return _message(*values, contact_id=row[21], contact_email=row[22])


def message_row(client: int, one: Message) -> Row:
    """Return the row of a copy, in the order of `MESSAGE`."""
    interested = None if one.interested is None else int(one.interested)
    return (
        client, one.id, one.direction, one.channel, one.occurred_us, one.event_key, one.delivery_id, one.received_us, one.tool,
        one.mailbox, one.subject, one.text, one.html, one.campaign_id, one.campaign_name, one.step, one.message_id, one.thread_id,
        one.category, interested, encode(one.custom) if one.custom else "{}", one.updated_us or one.received_us, one.copy_key,
        int(one.has_body), 0,
    )  # fmt: skip
