"""Conversations: all messages with one contact of a client, whose state follows from the messages.

A received message is handled or not, and every copy of it has the same mark, so that repeats, merges and undo need no further rule.
Open: a reply of a person is not handled. Snoozed: open, until a time or the next reply of a person. Automatic: only replies of machines
are not handled. Done: all are handled. The table `conversation` has what follows from no message: a snooze and a chosen label.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from msgspec.structs import replace

from touchbase.audit import Act, current_act, record_bulk_change
from touchbase.common.cache import FOREVER
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros, to_text_or_none
from touchbase.errors import Fault, Invalid, NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.changes import BULK, note_change
from touchbase.event_log.sql.log import log_events
from touchbase.history.events import CONTACT, NO_AUTHOR, Author
from touchbase.messages.sql.plans import event_of_copy
from touchbase.records.models import Contact
from touchbase.records.operations import update_contact
from touchbase.records.sql.statements import lock_existing
from touchbase.records.writes import RecordUpdate
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.cell_answers import AnswerMerge, Answers, CellOf, Division, divide_clients, named_clients, union
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import NO_IDS, Options, command, or_nothing, outcome_of, plan_of, query
from touchbase.sql.rows import Columns, encode
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

OPEN, SNOOZED, AUTOMATIC, DONE = "open", "snoozed", "automatic", "done"
STATES = (OPEN, SNOOZED, AUTOMATIC, DONE)
ANY = "any"
"""A list of conversations in all states."""
NEWEST, WAITING = "newest", "waiting"
SORTS = (NEWEST, WAITING)
MOST_COUNTED = 999
"""Conversations of one state that a counter tells apart."""
MOST_GROUPED = 20_000
"""Conversations that are counted; of more, some counts are too low."""
SNIPPET = 300
"""Characters of a reply's text in a list."""
Place = tuple[Micros, int, int]
"""Where a page ends: the time by which it is sorted, client and contact."""


@dataclass(slots=True)
class Conversation:
    """The messages with one contact: their state, and the newest received one."""

    client: int
    contact_id: int
    newest_us: Micros | None
    """The newest received message that is not handled; else the newest received one. None: the contact never wrote."""
    newest_id: int = 0
    """The highest id of its messages that are not handled; 0: there is none."""
    open_since_us: Micros | None = None
    """The oldest reply of a person that is not handled."""
    replied_us: Micros | None = None
    """When the newest of these replies was received."""
    human: int = 0
    """Copies of replies of persons that are not handled."""
    automatic: int = 0
    snoozed_us: Micros | None = None
    snoozed_until_us: Micros | None = None
    label: str | None = None
    """The label that a person chose."""
    assignee_id: str | None = None
    """The user who works on it."""
    updated_us: Micros = 0
    unread: int = 0
    """1: the person who reads it has not seen a reply that is not handled."""
    contact: Row = ()
    """E-mail address, first and last name, status of the contact, and the name of its company."""
    message: Row = ()
    """The newest message: id, tool, channel, campaign's id and name, mailbox, subject, beginning of text, automatic, label, category."""

    def state(self, now: Micros) -> str:
        """Return the state at a time."""
        if not self.human:
            return AUTOMATIC if self.automatic else DONE
        until, since = self.snoozed_until_us, self.snoozed_us
        return SNOOZED if until is not None and since is not None and until > now and since >= (self.replied_us or 0) else OPEN

    @property
    def version(self) -> str:
        """The version that a change names: another one after each reply that is not handled, and after each change."""
        return f"{self.newest_id}-{self.human + self.automatic}-{self.updated_us}"


_OPEN = "m.direction = 'received' AND m.handled_us IS NULL AND m.deleted = 0"
"""Must match the condition of the index `message_open`."""
_V = "max(v.snoozed_us), max(v.snoozed_until_us), max(v.label), max(v.assignee_id), COALESCE(max(v.updated_us), 0)"
_COUNTS = (
    f"COALESCE(max(CASE WHEN {_OPEN} THEN m.id END), 0), min(CASE WHEN {_OPEN} AND m.automatic = 0 THEN m.occurred_us END), "
    f"max(CASE WHEN {_OPEN} AND m.automatic = 0 THEN m.received_us END), "
    f"count(CASE WHEN {_OPEN} AND m.automatic = 0 THEN 1 END), count(CASE WHEN {_OPEN} AND m.automatic = 1 THEN 1 END)"
)
_OF_CONTACT = "x.client = p.client AND x.record_kind = p.record_kind AND x.record_id = p.record_id"
_MESSAGE_OF = "m.client = x.client AND m.event_key = x.key AND m.occurred_us = x.occurred_us"
_UNREAD = f"CASE WHEN max(CASE WHEN {_OPEN} THEN m.received_us END) > COALESCE(max(r.read_us), 0) THEN 1 ELSE 0 END"
_READER: Columns = (("user_id", "text"),)
CONVERSATION_OF = Statement(
    "conversation_of",
    (*RECORD, *_READER),
    body="SELECT p.client, p.record_id, COALESCE("
    f"max(CASE WHEN {_OPEN} THEN m.occurred_us END), max(CASE WHEN m.direction = 'received' AND m.deleted = 0 THEN m.occurred_us END)), "
    f"{_COUNTS}, {_V}, {_UNREAD} FROM p CROSS JOIN event x CROSS JOIN message m LEFT JOIN conversation v ON v.client = p.client "
    "AND v.contact_id = p.record_id LEFT JOIN conversation_read r ON r.client = p.client AND r.contact_id = p.record_id "
    f"AND r.user_id = p.user_id WHERE {_OF_CONTACT} AND {_MESSAGE_OF} GROUP BY p.client, p.record_id",
)
_DETAILS = (
    "SELECT p.client, p.record_id, c.email, c.first_name, c.last_name, c.status, k.name, m.id, m.tool, m.channel, m.campaign_id, "
    f"m.campaign_name, m.mailbox, m.subject, substr(m.text, 1, {SNIPPET}), m.automatic, m.label, m.category "
    # By the contact's events: very many messages of a client may have one time.
    f"FROM p CROSS JOIN event x CROSS JOIN {{message}} CROSS JOIN contact c LEFT JOIN company k ON k.client = c.client "
    f"AND k.id = c.company_id WHERE {_OF_CONTACT} AND x.occurred_us = p.occurred_us AND {_MESSAGE_OF} AND m.direction = 'received' "
    "AND m.deleted = 0 AND c.client = p.client AND c.id = p.record_id"
)
DETAILS = Statement(
    "conversation_details",
    (*RECORD, ("occurred_us", "bigint")),
    sqlite_set=_DETAILS.format(message="message m"),
    # PostgreSQL would look for the time alone; it does not move a part with OFFSET into the rest.
    body=_DETAILS.format(message=f"LATERAL (SELECT m.* FROM message m WHERE {_MESSAGE_OF} OFFSET 0) m"),
)
CONTACTS = Statement(
    "contacts_of_conversations",
    ROW_KEY,
    body="SELECT p.client, p.id, c.email, c.first_name, c.last_name, c.status, k.name FROM p CROSS JOIN contact c "
    "LEFT JOIN company k ON k.client = c.client AND k.id = c.company_id WHERE c.client = p.client AND c.id = p.id",
)


def _update_received(name: str, columns: Columns, values: str, condition: str) -> Statement:
    """Build an update of the received messages of a contact: `values` and `condition` name the columns of p after the record's."""
    numbered = {name: f"?{n}" for n, (name, _) in enumerate(columns, 1)}

    def sqlite(text: str) -> str:
        return _PARAMETER.sub(lambda match: numbered[match[1]], text.replace("t.", ""))

    return Statement(
        name,
        columns,
        sqlite=f"UPDATE message SET {sqlite(values)} WHERE client = ?1 AND direction = 'received' AND deleted = 0 AND {sqlite(condition)} "
        "AND (event_key, occurred_us) IN (SELECT key, occurred_us FROM event WHERE client = ?1 AND record_kind = ?2 AND record_id = ?3)",
        body=f"UPDATE message t SET {values} FROM p CROSS JOIN event x WHERE {_OF_CONTACT} AND t.client = x.client "
        f"AND t.event_key = x.key AND t.occurred_us = x.occurred_us AND t.direction = 'received' AND t.deleted = 0 AND {condition}",
    )


_PARAMETER = re.compile(r"\bp\.([a-z_]+)")
_NOT_HANDLED = "t.handled_us IS NULL"
HANDLE = _update_received(
    "handle_messages",
    (*RECORD, ("handled_us", "bigint"), ("handled_by", "text")),
    "handled_us = p.handled_us, handled_by = p.handled_by",
    _NOT_HANDLED,
)
REOPEN_HANDLED_BY = _update_received(
    "reopen_messages_handled_by",
    (*RECORD, ("handled_by", "text")),
    "handled_us = NULL, handled_by = NULL",
    "t.handled_by = p.handled_by",
)
SET_AUTOMATIC = _update_received("set_messages_automatic", (*RECORD, ("automatic", "bigint")), "automatic = p.automatic", _NOT_HANDLED)
REOPEN = _update_received(
    "reopen_messages",
    (*RECORD, ("message_id", "bigint"), ("copy_key", "text")),
    "handled_us = NULL, handled_by = NULL",
    "(t.id = p.message_id OR t.copy_key = p.copy_key)",
)
NEWEST_COPY = Statement(
    "newest_received_copy",
    RECORD,
    body=f"SELECT m.id, m.copy_key, m.occurred_us FROM p CROSS JOIN event x CROSS JOIN message m WHERE {_OF_CONTACT} AND {_MESSAGE_OF} "
    "AND m.direction = 'received' AND m.deleted = 0 ORDER BY m.occurred_us DESC, m.id DESC LIMIT 1",
)
_DECISION: Columns = (
    ("client", "bigint"), ("contact_id", "bigint"), ("snoozed_us", "bigint"), ("snoozed_until_us", "bigint"), ("label", "text"),
    ("assignee_id", "text"), ("updated_us", "bigint"), ("updated_by", "text"),
)  # fmt: skip
_SET = ", ".join(f"{name} = excluded.{name}" for name, _ in _DECISION[2:])
DELETE_DECISION = Statement(
    "delete_conversation",
    RECORD,
    sqlite="DELETE FROM conversation WHERE client = ?1 AND contact_id = ?3 AND ?2 = 1",
    body="DELETE FROM conversation t USING p WHERE t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1",
)
DELETE_READS = Statement(
    "delete_read_marks",
    RECORD,
    sqlite="DELETE FROM conversation_read WHERE client = ?1 AND contact_id = ?3 AND ?2 = 1",
    body="DELETE FROM conversation_read t USING p WHERE t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1",
)
COUNT_READS = Statement(
    "count_read_marks",
    RECORD,
    body="SELECT count(*) FROM p CROSS JOIN conversation_read t WHERE t.client = p.client AND t.contact_id = p.record_id "
    "AND p.record_kind = 1",
)
_MARK: Columns = (*RECORD, *_READER)
MARK_READ = Statement(
    "mark_conversation_read",
    _MARK,
    body="INSERT INTO conversation_read (client, contact_id, user_id, read_us) SELECT p.client, p.record_id, p.user_id, COALESCE(("
    f"SELECT max(m.received_us) FROM event x CROSS JOIN message m WHERE {_OF_CONTACT} AND {_MESSAGE_OF} AND m.direction = 'received' "
    "AND m.deleted = 0), 0) FROM p WHERE p.record_kind = 1 ON CONFLICT (client, contact_id, user_id) "
    "DO UPDATE SET read_us = excluded.read_us",
)
MARK_UNREAD = Statement(
    "mark_conversation_unread",
    _MARK,
    sqlite="DELETE FROM conversation_read WHERE client = ?1 AND contact_id = ?3 AND user_id = ?4 AND ?2 = 1",
    body="DELETE FROM conversation_read t USING p WHERE t.client = p.client AND t.contact_id = p.record_id AND t.user_id = p.user_id",
)
COUNT_DECISION = Statement(
    "count_conversation",
    RECORD,
    body="SELECT count(*) FROM p CROSS JOIN conversation t WHERE t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1",
)
STORE = Statement(
    "store_conversation",
    _DECISION,
    body=f"INSERT INTO conversation ({', '.join(name for name, _ in _DECISION)}) SELECT * FROM p WHERE true "
    f"ON CONFLICT (client, contact_id) DO UPDATE SET {_SET}",
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Which conversations a list has; None: any."""

    labels: Sequence[str] = ()
    """Any of these; empty: any or none."""
    tool: str | None = None
    channel: str | None = None
    campaign_id: str | None = None
    mailbox: str | None = None
    assignee: str | None = None
    """The id of a user; empty: nobody."""
    unread: bool = False
    """Only conversations that the reading person has not read."""
    contact_status: str | None = None
    open_before: Micros | None = None
    """Only conversations whose oldest reply of a person that is not handled came before this time."""
    q: str | None = None
    """Words that the contact's name or address, or the subject or text of one of its messages must have, in any order."""

    def add_to(self, where: Where, *, is_postgres: bool) -> None:
        """Add the conditions on the contact `x` of client `m.client`, whatever the state of the conversation is."""
        if self.contact_status is not None:
            where.add(f"EXISTS (SELECT 1 FROM contact s WHERE {_CONTACT_OF} AND s.status = ?)", self.contact_status)
        like = "ILIKE" if is_postgres else "LIKE"
        for word in (self.q or "").split()[:MOST_WORDS]:
            escaped = re.sub(r"([\\%_])", r"\\\1", word)
            # SQLite knows upper and lower case of ASCII letters alone.
            patterns = [f"%{text}%" for text in {escaped, *(() if word.isascii() else (escaped.lower(), escaped.upper(), escaped.title()))}]
            matches = " OR ".join([f"{{0}} {like} ? ESCAPE '\\'"] * len(patterns))
            where.add(
                f"(EXISTS (SELECT 1 FROM contact s WHERE {_CONTACT_OF} AND ({matches.format(_NAMES)})) "
                f"OR EXISTS (SELECT 1 FROM event f CROSS JOIN message o WHERE {_EVENTS_OF} AND {_RECEIVED_OF} "
                f"AND ({matches.format(_TEXTS)})))",
                *patterns,
                *patterns,
            )


_OF_MESSAGE = ("tool", "channel", "campaign_id", "mailbox")
MOST_WORDS = 8
"""Words of a search that count."""
_CONTACT_OF = "s.client = m.client AND s.id = x.record_id"
_NAMES = "(COALESCE(s.first_name, '') || ' ' || COALESCE(s.last_name, '') || ' ' || COALESCE(s.email, ''))"
_TEXTS = "(COALESCE(o.subject, '') || ' ' || COALESCE(o.text, ''))"
_EVENTS_OF = "f.client = m.client AND f.record_kind = 1 AND f.record_id = x.record_id"
_RECEIVED_OF = (
    "o.client = f.client AND o.event_key = f.key AND o.occurred_us = f.occurred_us AND o.direction = 'received' AND o.deleted = 0"
)


def _first_of_all(call: object, answers: Answers) -> list[Conversation]:
    conversations = [conversation for answer in answers.values() for conversation in answer]
    return in_order(conversations, getattr(call, "sort", NEWEST))[: call.limit]  # type: ignore[attr-defined]


def in_order(conversations: Iterable[Conversation], sort: str) -> list[Conversation]:
    """Return conversations in the order of a list."""
    return sorted(conversations, key=lambda conversation: place(conversation, sort), reverse=sort == NEWEST)


def place(conversation: Conversation, sort: str) -> Place:
    """Return the place of a conversation in a list."""
    at = conversation.newest_us if sort == NEWEST else conversation.open_since_us or conversation.newest_us
    return at or 0, conversation.client, conversation.contact_id


_SQLITE = "FROM message m CROSS JOIN event x"
_NOT_DELETED = "NOT EXISTS (SELECT 1 FROM deleted_record d WHERE d.client = x.client AND d.record_kind = 1 AND d.record_id = x.record_id)"
"""Read in place of the contacts, of which each is on a page of its own."""
_SAME = f"{event_of_copy('x', 'm')} AND {_NOT_DELETED}"
_POSTGRES = f"FROM message m CROSS JOIN LATERAL (SELECT x.record_id FROM event x WHERE {_SAME} OFFSET 0) x"
"""PostgreSQL would join all messages with all events; it does not move a part with `OFFSET` into the rest."""
_DECIDED = "LEFT JOIN conversation v ON v.client = m.client AND v.contact_id = x.record_id"
_READ = "LEFT JOIN conversation_read r ON r.client = m.client AND r.contact_id = x.record_id AND r.user_id = ?"
_HUMAN = "CASE WHEN m.automatic = 0 THEN {0} END"
_STATE = (
    "CASE WHEN min(m.automatic) = 1 THEN 'automatic' WHEN max(v.snoozed_until_us) > ? "
    f"AND max(v.snoozed_us) >= max({_HUMAN.format('m.received_us')}) THEN 'snoozed' ELSE 'open' END"
)
"""The state of a group of messages that are not handled; its parameter is the present time."""


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _first_of_all, partial=True),
    merge=AnswerMerge(_first_of_all),
)
def list_conversations(
    clients: Sequence[int] | None,
    state: str | None,
    now: Micros,
    limit: int,
    filters: Filters = Filters(),
    sort: str = NEWEST,
    after: Place | None = None,
    reader: str = "",
) -> Plan[list[Conversation]]:
    """Conversations that are open, snoozed or automatic, newest first, or with `waiting` the longest waiting first.

    `clients`: None: all active ones. `state`: None for any of them. `reader`: The user who reads the list; empty: a key, for which
    nothing is unread.
    """
    if clients == []:
        return []
    having = Where() if state is None else Where(f"{_STATE} = ?", now, state)
    of_message = [(name, value) for name in _OF_MESSAGE if (value := getattr(filters, name)) is not None]
    if of_message:
        condition = " AND ".join(f"m.{name} = ?" for name, _ in of_message)
        having.add(f"sum(CASE WHEN {condition} THEN 1 ELSE 0 END) > 0", *(value for _, value in of_message))
    if filters.labels:
        is_one_of = f"IN ({', '.join('?' for _ in filters.labels)})"
        having.add(
            f"(max(v.label) {is_one_of} OR (max(v.label) IS NULL AND sum(CASE WHEN m.label {is_one_of} THEN 1 ELSE 0 END) > 0))",
            *filters.labels,
            *filters.labels,
        )
    if filters.assignee is not None:
        having.add("COALESCE(max(v.assignee_id), '') = ?", filters.assignee)
    unread = _UNREAD if reader else "0"
    if filters.unread:
        having.add(f"{unread} = 1")
    oldest = f"COALESCE(min({_HUMAN.format('m.occurred_us')}), max(m.occurred_us))"
    by, direction, than = ("max(m.occurred_us)", "DESC", "<") if sort == NEWEST else (oldest, "ASC", ">")
    having.less(f"min({_HUMAN.format('m.occurred_us')})", filters.open_before)
    if after is not None:
        having.add(f"({by}, m.client, x.record_id) {than} (?, ?, ?)", *after)
    in_postgres = having.copy()
    filters.add_to(having, is_postgres=False)
    filters.add_to(in_postgres, is_postgres=True)
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    of_clients = f"m.client {condition} AND {_OPEN}"
    columns = f"SELECT m.client, x.record_id, max(m.occurred_us), {_COUNTS}, {_V}, {unread}"
    groups, ends = (
        "GROUP BY m.client, x.record_id HAVING",
        f"ORDER BY {by} {direction}, m.client {direction}, x.record_id {direction} LIMIT ?",
    )
    rows = yield Select(
        f"{columns} {_SQLITE} {_DECIDED} {_READ} WHERE {of_clients} AND {_SAME} {groups} {having} {ends}",
        (reader, *numbers, *having.params, limit),
        f"{columns} {_POSTGRES} {_DECIDED} {_READ} WHERE {of_clients} {groups} {in_postgres} {ends}",
    )
    return (yield from _with_details([_conversation(row) for row in rows]))


def _is_last(other: str) -> str:
    """Return the condition that a handled message is the last of its contact, of which all are handled.

    Only the last message reads all that the contact wrote, which may be very many. An engine may not change the order of a CASE.
    """
    later = "f.occurred_us >= m.occurred_us AND (o.occurred_us, o.id) > (m.occurred_us, m.id)"
    return f"CASE WHEN EXISTS ({other} AND {later}) THEN 1 = 0 ELSE NOT EXISTS ({other} AND o.handled_us IS NULL) END"


_LAST_ON_SQLITE = _is_last(f"SELECT 1 FROM event f CROSS JOIN message o WHERE {_EVENTS_OF} AND {_RECEIVED_OF}")
_LAST_ON_POSTGRES = _is_last(
    f"SELECT 1 FROM event f CROSS JOIN LATERAL (SELECT o.* FROM message o WHERE {_RECEIVED_OF} OFFSET 0) o WHERE {_EVENTS_OF}"
)


_NEWEST_HANDLED = (
    "SELECT k.id, (SELECT m.occurred_us FROM message m WHERE m.client = k.id AND m.direction = 'received' AND m.deleted = 0 "
    "AND m.handled_us IS NOT NULL AND m.occurred_us <= ? ORDER BY m.occurred_us DESC LIMIT 1) FROM client k WHERE"
)
"""Clients with the time of their newest handled message: few of many are looked through for a page."""


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _first_of_all, partial=True),
    merge=AnswerMerge(_first_of_all),
)
def list_done_conversations(
    clients: Sequence[int] | None, limit: int, filters: Filters = Filters(), after: Place | None = None
) -> Plan[list[Conversation]]:
    """Conversations of these clients (None: of all active ones) whose replies are all handled, newest first."""
    # What is done waits for no reader and no answer.
    if clients == [] or filters.unread or filters.open_before is not None:
        return []
    last, rows = FOREVER if after is None else after[0], [(client, FOREVER) for client in clients or ()]
    if len(rows) != 1:
        condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
        rows = yield Select(f"{_NEWEST_HANDLED} k.id {condition}", (last, *numbers))
    conversations: list[Conversation] = []
    for newest, client in sorted(((row[1], row[0]) for row in rows if row[1] is not None), reverse=True):
        if len(conversations) == limit and newest < (conversations[-1].newest_us or 0):
            break  # this client, and those after it, have only older ones
        conversations = in_order([*conversations, *(yield from _done(client, limit, filters, after))], NEWEST)[:limit]
    return (yield from _with_details(conversations))


def _done(client: int, limit: int, filters: Filters, after: Place | None) -> Plan[list[Conversation]]:
    where = Where("m.client = ? AND m.direction = 'received' AND m.deleted = 0 AND m.handled_us IS NOT NULL", client)
    for name in _OF_MESSAGE:
        where.equal(f"m.{name}", getattr(filters, name))
    if filters.labels:
        where.add(f"COALESCE(v.label, m.label) IN ({', '.join('?' for _ in filters.labels)})", *filters.labels)
    if filters.assignee is not None:
        where.add("COALESCE(v.assignee_id, '') = ?", filters.assignee)
    if after is not None:
        where.add("(m.occurred_us, m.client, x.record_id) < (?, ?, ?)", *after)
    in_postgres = where.copy()
    filters.add_to(where, is_postgres=False)
    filters.add_to(in_postgres, is_postgres=True)
    columns = "SELECT m.client, x.record_id, m.occurred_us, 0, NULL, NULL, 0, 0, v.snoozed_us, v.snoozed_until_us, v.label, v.assignee_id, "
    columns += "COALESCE(v.updated_us, 0), 0"
    ends = "ORDER BY m.occurred_us DESC, x.record_id DESC LIMIT ?"
    rows = yield Select(
        f"{columns} {_SQLITE} {_DECIDED} WHERE {where} AND {_SAME} AND {_LAST_ON_SQLITE} {ends}",
        (*where.params, limit),
        f"{columns} {_POSTGRES} {_DECIDED} WHERE {in_postgres} AND {_LAST_ON_POSTGRES} {ends}",
    )
    return [_conversation(row) for row in rows]


def _conversation(row: Row) -> Conversation:
    return Conversation(*row)


def _with_details(conversations: list[Conversation]) -> Plan[list[Conversation]]:
    wanted = [
        (conversation.client, CONTACT, conversation.contact_id, conversation.newest_us)
        for conversation in conversations
        if conversation.newest_us is not None
    ]
    rows = (yield Execute(DETAILS, sorted(wanted))) if wanted else []
    details: dict[tuple[int, int], Row] = {}
    for row in rows:
        present = details.get(row[:2])
        # Of several copies the one with a text, then the first.
        if present is None or (row[14] is not None, -row[7]) > (present[14] is not None, -present[7]):
            details[row[:2]] = row
    for conversation in conversations:
        detail = details.get((conversation.client, conversation.contact_id))
        if detail is not None:
            conversation.contact, conversation.message = detail[2:7], detail[7:]
    return conversations


@dataclass(slots=True)
class ConversationCounts:
    """Numbers of conversations, each up to `MOST_COUNTED`; `unassigned`, `mine`, `unread` and `by_client` are of open ones."""

    open: int = 0
    snoozed: int = 0
    automatic: int = 0
    unassigned: int = 0
    mine: int = 0
    unread: int = 0
    by_client: dict[int, int] = field(default_factory=dict)
    """Clients with open ones."""

    def add(self, name: str, number: int) -> None:
        """Add conversations to one of the numbers."""
        setattr(self, name, min(getattr(self, name) + number, MOST_COUNTED))


_NUMBERS = tuple(number.name for number in fields(ConversationCounts) if number.name != "by_client")


def _sum(call: object, answers: Answers) -> ConversationCounts:
    total = ConversationCounts()
    for counts in answers.values():
        for name in _NUMBERS:
            total.add(name, getattr(counts, name))
        total.by_client |= counts.by_client
    return total


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _sum, partial=True), merge=AnswerMerge(_sum))
def count_conversations(clients: Sequence[int] | None, now: Micros, user_id: str = "") -> Plan[ConversationCounts]:
    """Count the conversations of these clients (None: of all active ones); `mine` and `unread` are those of a user."""
    counts = ConversationCounts()
    if clients == []:
        return counts
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    of_clients = f"m.client {condition} AND {_OPEN}"
    columns = f"SELECT m.client AS client, {_STATE} AS state, COALESCE(max(v.assignee_id), '') AS assignee, {_UNREAD} AS unread"
    ends = f"GROUP BY m.client, x.record_id LIMIT {MOST_GROUPED}"
    sums = (
        "SELECT client, state, count(*), count(CASE WHEN assignee = '' THEN 1 END), count(CASE WHEN assignee = ? THEN 1 END), "
        "count(CASE WHEN unread = 1 THEN 1 END) FROM"
    )
    rows = yield Select(
        f"{sums} ({columns} {_SQLITE} {_DECIDED} {_READ} WHERE {of_clients} AND {_SAME} {ends}) s GROUP BY client, state",
        (user_id, now, user_id, *numbers),
        f"{sums} ({columns} {_POSTGRES} {_DECIDED} {_READ} WHERE {of_clients} {ends}) s GROUP BY client, state",
    )
    for client, state, count, unassigned, mine, unread in rows:
        counts.add(state, count)
        if state == OPEN:
            counts.by_client[client] = min(count, MOST_COUNTED)
            counts.add("unassigned", unassigned)
            if user_id:
                counts.add("mine", mine)
                counts.add("unread", unread)
    return counts


class DayCounts(NamedTuple):
    """Numbers of a client's day: replies of people, conversations that are open, and those whose snooze ends."""

    replies: int = 0
    open: int = 0
    ending: int = 0


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, union), merge=AnswerMerge(union))
def count_day(
    clients: Sequence[int] | None, now: Micros, since_us: Micros, until_us: Micros, ends_us: Micros
) -> Plan[dict[int, DayCounts]]:
    """Counts of each of these clients (None: of all active ones) that has any, of conversations up to `MOST_COUNTED`.

    `since_us`, `until_us`: the times between which replies count. `ends_us`: the latest end of the snoozes that count.
    """
    if clients == []:
        return {}
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    of_clients = f"m.client {condition} AND {_OPEN}"
    ending = f"count(CASE WHEN s.state = '{SNOOZED}' AND s.ends <= ? THEN 1 END)"
    sums = f"SELECT s.client, count(CASE WHEN s.state = '{OPEN}' THEN 1 END), {ending}"
    columns = f"SELECT m.client AS client, {_STATE} AS state, max(v.snoozed_until_us) AS ends"
    groups = f"GROUP BY m.client, x.record_id LIMIT {MOST_GROUPED}"
    rows = yield Select(
        f"{sums} FROM ({columns} {_SQLITE} {_DECIDED} WHERE {of_clients} AND {_SAME} {groups}) s GROUP BY s.client",
        (ends_us, now, *numbers),
        f"{sums} FROM ({columns} {_POSTGRES} {_DECIDED} WHERE {of_clients} {groups}) s GROUP BY s.client",
    )
    counts = {client: DayCounts(0, min(count, MOST_COUNTED), min(ended, MOST_COUNTED)) for client, count, ended in rows}
    rows = yield Select(
        "SELECT m.client, count(DISTINCT COALESCE(m.copy_key, CAST(m.id AS TEXT))) FROM message m "
        f"WHERE m.client {condition} AND m.direction = 'received' AND m.automatic = 0 AND m.deleted = 0 "
        "AND m.occurred_us >= ? AND m.occurred_us < ? GROUP BY m.client",
        (*numbers, since_us, until_us),
    )
    return counts | {client: counts.get(client, DayCounts())._replace(replies=replies) for client, replies in rows}


@query
def get_conversation(client: int, contact_id: int, reader: str = "") -> Plan[Conversation | None]:
    """The conversation with a contact; None if there is no such contact. `reader`: as in `list_conversations`."""
    rows = yield Execute(CONTACTS, [(client, contact_id)])
    return (yield from _of_contact(client, contact_id, rows[0][2:], reader)) if rows else None


def _of_contact(client: int, contact_id: int, contact: Row, reader: str) -> Plan[Conversation]:
    rows = yield Execute(CONVERSATION_OF, [(client, CONTACT, contact_id, reader)])
    conversation = _conversation(rows[0]) if rows else Conversation(client, contact_id, None)
    conversation.contact = contact
    if not reader:
        conversation.unread = 0
    yield from _with_details([conversation])
    return conversation


@dataclass(frozen=True, slots=True)
class ConversationChange:
    """A person's changes; None changes nothing."""

    state: str | None = None
    """`open` or `done`."""
    snoozed_until_us: Micros | None = None
    """0 ends a snooze."""
    label: str | None = None
    """Empty: the label of the newest reply again."""
    assignee_id: str | None = None
    """The id of a user; empty: nobody."""
    kind: str | None = None
    """Author of the replies to handle: `human` or `automatic`."""
    reader: str = ""
    """The user for whom the result states whether it is unread."""


CHANGED = "the conversation changed since it was read: a reply came in, or somebody else changed it"


def _logged(
    what: EventType, before: Conversation, after: Conversation, states: tuple[str, str | None], at: Micros, cause: dict[str, Any]
) -> LoggedEvent:
    """Return an event of the change of a conversation, with the values that a revert of it needs."""
    event = LoggedEvent(before.client, what, at, CONTACT, before.contact_id, cause=cause)
    values: dict[str, tuple[Any, Any]] = {"state": states}
    if what == EventType.CONVERSATION_ASSIGNED:
        event.data, values = {"assignee_id": after.assignee_id}, {"assignee_id": (before.assignee_id, after.assignee_id)}
    elif what == EventType.CONVERSATION_UPDATED:
        until = to_text_or_none(before.snoozed_until_us), to_text_or_none(after.snoozed_until_us)
        values = {"label": (before.label, after.label), "snoozed_until": until}
    event.changed = {name: (old, new) for name, (old, new) in values.items() if old != new}
    return event


@command
def change_conversation(
    client: int, contact_id: int, change: ConversationChange, at: Micros, by: Author = NO_AUTHOR, if_version: str | None = None
) -> Plan[Conversation | NotFound | PreconditionFailed | WrongState | Invalid]:
    """Change a conversation; the result is the conversation afterwards.

    `NotFound` without the contact, `PreconditionFailed` if it has another version than `if_version`, `WrongState` if there is no reply to
    reopen or to snooze.
    """
    # The lock blocks merges, deletions and erasures of the contact, and other changes of the conversation.
    yield from lock_existing(client, CONTACT, [contact_id])
    rows = yield Execute(CONTACTS, [(client, contact_id)])
    before: Conversation = yield from _of_contact(client, contact_id, rows[0][2:], change.reader)
    if if_version is not None and if_version != before.version:
        return PreconditionFailed(CHANGED)
    state = before.state(at)
    if change.snoozed_until_us and (change.state == DONE or not before.human):
        fault = Fault("/snoozed_until", "value", "only an open conversation can be snoozed: reopen it first")
        return Invalid([fault])
    record, author = (client, CONTACT, contact_id), encode(by._asdict())
    events: list[EventType] = []
    copies = (yield Execute(NEWEST_COPY, [record])) if change.state == OPEN and state == DONE else []
    if change.state == OPEN and state == DONE and not copies:
        return WrongState("the contact has sent no message that could be reopened")
    if change.kind is not None:
        yield Execute(SET_AUTOMATIC, [(*record, int(change.kind == AUTOMATIC))])
    if change.state == DONE and state != DONE:
        yield Execute(HANDLE, [(*record, at, author)])
        events.append(EventType.CONVERSATION_DONE)
    elif copies:
        yield Execute(REOPEN, [(*record, copies[0][0], copies[0][1])])
        events.append(EventType.CONVERSATION_REOPENED)
    snoozed = (None, None) if change.state is not None else (before.snoozed_us, before.snoozed_until_us)
    if change.snoozed_until_us is not None:
        snoozed = (at, change.snoozed_until_us) if change.snoozed_until_us else (None, None)
    label = before.label if change.label is None else change.label or None
    assignee = before.assignee_id if change.assignee_id is None else change.assignee_id or None
    if assignee != before.assignee_id:
        events.append(EventType.CONVERSATION_ASSIGNED)
    if change.kind is not None or label != before.label or (change.state is None and snoozed[1] != before.snoozed_until_us):
        events.append(EventType.CONVERSATION_UPDATED)
    updated = max(at, before.updated_us + 1)
    yield Execute(STORE, [(client, contact_id, *snoozed, label, assignee, updated, author)])
    cause = by_request(by)
    after = Conversation(client, contact_id, None, label=label, assignee_id=assignee, snoozed_until_us=snoozed[1])
    logged = [_logged(event, before, after, (state, change.state), at, cause) for event in events]
    yield from log_events(logged)
    return (yield from _of_contact(client, contact_id, rows[0][2:], change.reader))


@command
def mark_conversation(
    client: int, contact_id: int, user_id: str, if_version: str | None = None, is_read: bool = True
) -> Plan[NotFound | PreconditionFailed | None]:
    """Note that a person has read the messages with a contact, or forget that they have.

    `NotFound` without the contact, `PreconditionFailed` if the conversation has another version than `if_version`: a reply came in that
    nobody has read.
    """
    yield from lock_existing(client, CONTACT, [contact_id])
    if if_version is not None:
        present: Conversation = yield from _of_contact(client, contact_id, (), user_id)
        if present.version != if_version:
            return PreconditionFailed(CHANGED)
    yield Execute(MARK_READ if is_read else MARK_UNREAD, [(client, CONTACT, contact_id, user_id)])
    return None


Named = tuple[int, int, str | None]
"""Client and contact of a conversation, and the version that it must have."""


def _divide_named(call: Any, cell_of: CellOf) -> dict[int, object]:
    parts: dict[int, list[Named]] = {}
    for named in call.conversations:
        parts.setdefault(cell_of(named[0]), []).append(named)
    return {cell: replace(call, conversations=part) for cell, part in parts.items()}


Outcomes = dict[tuple[int, int], Conversation | TouchbaseError]
"""The result or error of each conversation, by client and contact."""


class _AuditedBulk:
    """Follow-up of an operation on many conversations: an entry for each client whose conversations it changed."""

    def capture(self) -> Act:
        return current_act()

    def plan(self, call: object, outcomes: Outcomes, act: Act) -> Plan[None]:
        for client, count in _changed_by_client(outcomes):
            of_client = dataclasses.replace(act, id=f"{act.id}-{client}")  # the key of an entry
            yield from record_bulk_change.plan(client, of_client, "conversations", count)


OF_NAMED: Options = {
    "clients": lambda call: {client for client, *_ in call.conversations},
    "divide": Division(_divide_named, union),
    "large": True,
    "follow_up": _AuditedBulk(),
}
"""The options of commands whose parameter `conversations` names conversations of several clients."""


class StatusUpdate(NamedTuple):
    """A new status of the contact of a conversation, and the one that it must have."""

    update: RecordUpdate[Contact]
    present: str | None
    is_checked: bool
    """Whether it must have `present`."""


def _change_with_status(
    cipher: Cipher, named: Named, change: ConversationChange, status: StatusUpdate, at: Micros, by: Author
) -> Plan[Conversation | TouchbaseError]:
    client, contact, version = named
    yield from lock_existing(client, CONTACT, [contact])
    [row] = yield Execute(CONTACTS, [(client, contact)])
    if status.is_checked and row[5] != status.present:
        return PreconditionFailed("the contact has another status by now")
    outcome: Conversation | TouchbaseError = yield from change_conversation.plan(client, contact, change, at, by, version)
    if isinstance(outcome, TouchbaseError):
        return outcome
    [updated] = yield from plan_of([update_contact(status.update)], NO_IDS, cipher)
    return updated if isinstance(updated, TouchbaseError) else (yield from get_conversation.plan(client, contact, change.reader))


@command(cipher=True, **OF_NAMED)
def change_conversations(
    cipher: Cipher,
    conversations: Sequence[Named],
    change: ConversationChange,
    at: Micros,
    by: Author = NO_AUTHOR,
    statuses: Mapping[tuple[int, int], StatusUpdate] | None = None,
) -> Plan[Outcomes | TouchbaseError]:
    """Change many conversations, each as `change_conversation` does, and the status of those with an entry in `statuses`."""
    outcomes: Outcomes = {}
    for named in sorted(conversations, key=lambda named: named[:2]):
        client, contact, version = named
        if (status := (statuses or {}).get((client, contact))) is not None:
            outcomes[client, contact] = yield from or_nothing(_change_with_status(cipher, named, change, status, at, by))
        else:
            outcomes[client, contact] = yield from outcome_of(change_conversation.plan(client, contact, change, at, by, version))
    yield from note_outcomes(outcomes, at, by)
    return outcomes


def note_outcomes(outcomes: Outcomes, at: Micros, by: Author) -> Plan[None]:
    """Record the change of each client whose conversations were changed."""
    for client, count in _changed_by_client(outcomes):
        yield from note_change(client, BULK, by, at, count)


def _changed_by_client(outcomes: Outcomes) -> list[tuple[int, int]]:
    changed = Counter(client for (client, _), outcome in outcomes.items() if not isinstance(outcome, TouchbaseError))
    return sorted(changed.items())
