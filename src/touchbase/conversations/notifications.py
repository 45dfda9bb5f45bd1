"""Notifications: who is told of what, once each; their rows have ids only, and go with the client, the contact and time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import DAY, Micros
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.cell_answers import CONCATENATED, AnswerMerge, Answers, Division, divide_clients, named_clients
from touchbase.sql.filters import Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

MENTION, ASSIGNMENT, REPLY, POSITIVE_REPLY, CRITICAL = "mention", "assignment", "reply", "positive_reply", "critical"
TASK_DUE, SUMMARY = "task_due", "daily_summary"
KINDS = (MENTION, ASSIGNMENT, REPLY, POSITIVE_REPLY, CRITICAL, TASK_DUE, SUMMARY)
ABOUT_COMPANIES = (MENTION, TASK_DUE)
"""Kinds whose `about` is the id of a company if they are about no contact."""
NOTHING = "nothing"
"""Kind of the row of a day on which a person gets no summary, since nothing happened; nobody is shown it."""
NO_CLIENT = 0
"""Stands for the client of summaries, which are about all that a person may see."""
KEEP: Micros = 30 * DAY
"""Age after which a notification is removed."""
KEEP_CRITICAL: Micros = 7 * DAY
"""The same of a critical item: if it is still there, people are told again."""
MOST_ATTEMPTS = 3
"""Mails about a notification that no server took; then it stays in the console only."""


@dataclass(frozen=True, slots=True)
class NewNotification:
    """Somebody to tell of something."""

    user_id: str
    kind: str
    dedupe: str
    """What happened, such as `evt_17`: the same is told once."""
    contact_id: int | None = None
    about: str = ""
    """Of a critical item: its kind, channel and tool; of a note or task about a company: the company's id; of a summary: its counts."""
    browser: bool = False
    mail_us: Micros | None = None
    """When it is mailed; None: it is not."""


@dataclass(slots=True)
class Notification:
    """A person was told of something; the names are those of the contact now."""

    client: int
    id: int
    kind: str
    contact_id: int | None
    about: str
    created_us: Micros
    browser: bool
    read_us: Micros | None
    email: str | None = None
    first_name: str | None = None
    last_name: str | None = None


_NEW: Columns = (
    *ROW_KEY, ("user_id", "text"), ("kind", "text"), ("contact_id", "bigint"), ("about", "text"), ("dedupe", "text"),
    ("created_us", "bigint"), ("browser", "bigint"), ("mail_us", "bigint"), ("attempts", "bigint"), ("read_us", "bigint"),
)  # fmt: skip
INSERT_NOTIFICATION = Statement(
    "insert_notification",
    _NEW,
    body=f"INSERT INTO notification ({names(_NEW)}) SELECT * FROM p WHERE true ON CONFLICT (client, user_id, dedupe) DO NOTHING",
)
SET_POSITION = Statement(
    "set_notification_position",
    (("client", "bigint"), ("sequence", "bigint")),
    body="INSERT INTO notification_position (client, sequence) SELECT * FROM p WHERE true ON CONFLICT (client) DO UPDATE SET "
    "sequence = excluded.sequence WHERE notification_position.sequence < excluded.sequence",
)
CLAIM_MAIL = Statement(
    "claim_mail_of_notification",
    (("client", "bigint"), ("user_id", "text"), ("now_us", "bigint")),
    body="UPDATE notification t SET mail_us = NULL FROM p WHERE t.client = p.client AND t.user_id = p.user_id AND t.mail_us <= p.now_us "
    "RETURNING t.id",
    by_row=True,
)
RETURN_MAIL = Statement(
    "return_mail_of_notification",
    (*ROW_KEY, ("mail_us", "bigint"), ("most", "bigint")),
    body="UPDATE notification t SET attempts = t.attempts + 1, mail_us = CASE WHEN t.attempts + 1 < p.most THEN p.mail_us END FROM p "
    "WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
_OF_CONTACT = "t.client = p.client AND t.contact_id = p.record_id AND p.record_kind = 1"
DELETE_NOTIFICATIONS = Statement(
    "delete_notifications",
    RECORD,
    sqlite="DELETE FROM notification WHERE client = ?1 AND contact_id = ?3 AND ?2 = 1",
    body=f"DELETE FROM notification t USING p WHERE {_OF_CONTACT}",
)
COUNT_NOTIFICATIONS = Statement("count_notifications", RECORD, body=f"SELECT count(*) FROM p CROSS JOIN notification t WHERE {_OF_CONTACT}")
_COLUMNS = "n.client, n.id, n.kind, n.contact_id, n.about, n.created_us, n.browser, n.read_us, c.email, c.first_name, c.last_name"
_CONTACT = "LEFT JOIN contact c ON c.client = n.client AND c.id = n.contact_id"
NOTIFICATIONS_BY_ID = Statement(
    "notifications_by_id",
    ROW_KEY,
    body=f"SELECT {_COLUMNS} FROM p CROSS JOIN notification n {_CONTACT} WHERE n.client = p.client AND n.id = p.id",
)


def _notification(row: Row) -> Notification:
    return Notification(row[0], row[1], row[2], row[3], row[4], row[5], bool(row[6]), *row[7:])


@command(ids=lambda calls: {"notification": sum(len(call.new) for call in calls)}, background=True)
def store_notifications(ids: Ids, client: int, new: Sequence[NewNotification], at: Micros, sequence: int | None = None) -> Plan[None]:
    """Store notifications, those that are there already left out; `sequence`: the log was looked through up to it."""
    if sequence is not None:
        yield Execute(SET_POSITION, [(client, sequence)])
    rows = [
        (
            client, ids.take("notification"), item.user_id, item.kind, item.contact_id, item.about, item.dedupe, at, int(item.browser),
            item.mail_us, 0, None,
        )
        for item in sorted(new, key=lambda item: (item.user_id, item.dedupe))
    ]  # fmt: skip
    if rows:
        yield Execute(INSERT_NOTIFICATION, rows)


@query(scope=ALL_CLIENTS)
def notification_positions() -> Plan[dict[int, int]]:
    """How far the log of each client was looked through."""
    return dict((yield Select("SELECT client, sequence FROM notification_position ORDER BY client", ())))


@query
def find_assignees(client: int, contacts: Collection[int]) -> Plan[dict[int, str]]:
    """The users who work on the conversations with these contacts."""
    condition, numbers = among(contacts)
    sql = f"SELECT contact_id, assignee_id FROM conversation WHERE client = ? AND contact_id {condition} AND assignee_id IS NOT NULL"
    return dict((yield Select(sql, (client, *numbers))))


@query
def find_dedupes(client: int, dedupes: Collection[str]) -> Plan[set[tuple[str, str]]]:
    """Ids of people with what they were told of already, of these."""
    marks = ", ".join("?" * len(dedupes))
    rows = yield Select(f"SELECT user_id, dedupe FROM notification WHERE client = ? AND dedupe IN ({marks})", (client, *sorted(dedupes)))
    return {(user_id, dedupe) for user_id, dedupe in rows}


def _newest_first(call: object, answers: Answers) -> list[Notification]:
    listed = [notification for answer in answers.values() for notification in answer]
    return sorted(listed, key=place, reverse=True)[: call.limit]  # type: ignore[attr-defined]


def place(notification: Notification) -> tuple[Micros, int, int]:
    """Return the place of a notification in a list."""
    return notification.created_us, notification.client, notification.id


_ACTIVE_AND_NONE: tuple[str, Row] = (f"IN (SELECT id FROM client WHERE state = 'active' UNION ALL SELECT {NO_CLIENT})", ())


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _newest_first, partial=True),
    merge=AnswerMerge(_newest_first),
)
def list_notifications(
    clients: Sequence[int] | None, user_id: str, limit: int, before: tuple[Micros, int, int] | None = None, unread: bool = False
) -> Plan[list[Notification]]:
    """Notifications of a person about these clients (None: about all active ones and none), newest first."""
    if clients == []:
        return []
    condition, numbers = _ACTIVE_AND_NONE if clients is None else among(clients)
    where = Where(f"n.client {condition} AND n.user_id = ? AND n.kind <> '{NOTHING}'", *numbers, user_id)
    if before is not None:
        where.add("(n.created_us, n.client, n.id) < (?, ?, ?)", *before)
    if unread:
        where.add("n.read_us IS NULL")
    sql = f"SELECT {_COLUMNS} FROM notification n {_CONTACT} WHERE {where} ORDER BY n.created_us DESC, n.client DESC, n.id DESC LIMIT ?"
    return [_notification(row) for row in (yield Select(sql, (*where.params, limit)))]


@command
def read_notifications(client: int, user_id: str, at: Micros) -> Plan[int]:
    """Note that a person has read the notifications about a client; they are not mailed any more. Return how many."""
    rows = yield Select(
        "UPDATE notification SET read_us = ?, mail_us = NULL WHERE client = ? AND user_id = ? AND read_us IS NULL RETURNING id",
        (at, client, user_id),
    )
    return len(rows)


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def due_mails(now: Micros, limit: int) -> Plan[list[tuple[int, str]]]:
    """Clients and people with notifications to mail."""
    rows = yield Select(
        "SELECT DISTINCT n.client, n.user_id FROM notification n LEFT JOIN client k ON k.id = n.client WHERE n.mail_us <= ? "
        f"AND (k.state = 'active' OR n.client = {NO_CLIENT}) ORDER BY n.client, n.user_id LIMIT ?",
        (now, limit),
    )
    return [(row[0], row[1]) for row in rows]


@command(background=True)
def claim_mails(client: int, user_id: str, now: Micros) -> Plan[list[Notification]]:
    """Take the due notifications of a person for one mail: nobody else mails them, also if this process ends before it has."""
    rows = yield Execute(CLAIM_MAIL, [(client, user_id, now)])
    taken = (yield Execute(NOTIFICATIONS_BY_ID, sorted((client, row[0]) for row in rows))) if rows else []
    return [_notification(row) for row in sorted(taken)]


@command(background=True)
def return_mails(client: int, numbers: Sequence[int], mail_us: Micros) -> Plan[None]:
    """Mail notifications again later, since no server took the mail; after `MOST_ATTEMPTS` they are not mailed."""
    yield Execute(RETURN_MAIL, [(client, number, mail_us, MOST_ATTEMPTS) for number in sorted(numbers)])


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def clients_to_prune(now: Micros, limit: int) -> Plan[list[int]]:
    """Clients with old notifications."""
    sql = f"SELECT DISTINCT client FROM notification WHERE created_us < ? OR (kind = '{CRITICAL}' AND created_us < ?) LIMIT ?"
    return [row[0] for row in (yield Select(sql, (now - KEEP, now - KEEP_CRITICAL, limit)))]


@command(background=True)
def prune_notifications(client: int, now: Micros, limit: int) -> Plan[int]:
    """Remove old notifications; return how many, up to `limit`."""
    rows = yield Select(
        "DELETE FROM notification WHERE client = ? AND id IN (SELECT id FROM notification WHERE client = ? AND (created_us < ? OR "
        f"(kind = '{CRITICAL}' AND created_us < ?)) ORDER BY id LIMIT ?) RETURNING id",
        (client, client, now - KEEP, now - KEEP_CRITICAL, limit),
    )
    return len(rows)
