"""Find problems that a person must solve in the present state of the store: an item is gone as soon as its cause is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, NamedTuple

from msgspec import json

from touchbase.audit import audited
from touchbase.clients.models import ACTIVE, ClientSettings
from touchbase.common.timestamps import DAY, SECOND, Micros
from touchbase.connections.models import ConnectionSettings
from touchbase.conversations.answers import FAILED as UNSENT_ANSWER
from touchbase.conversations.answers import UNKNOWN as UNKNOWN_ANSWER
from touchbase.conversations.plans import OPEN, WAITING, Filters, list_conversations
from touchbase.deliveries.delivery import FAILED, UNRECOGNISED
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.problems import FIELDS_LEFT_OUT, STATUS_REFUSED
from touchbase.history.sql import event_of
from touchbase.inbox.refused import NO_CLIENT, NOT_VERIFIED, STORAGE, TOO_LARGE, UNKNOWN_CLIENT
from touchbase.jobs.models import BAD_ROWS as BAD_ROWS_FILE
from touchbase.jobs.models import FAILED as FAILED_JOB
from touchbase.jobs.models import SUCCEEDED
from touchbase.messages.sql.plans import event_of_copy
from touchbase.sql.cell_answers import AnswerMerge, Answers, Division, divide_clients, named_clients
from touchbase.sql.filters import among
from touchbase.sql.operation import command, query
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement
from touchbase.statuses.sql.refused import EVENTS_OF_DELIVERY, allowed_status, refused_word

REFUSED, UNKNOWN, ENDPOINT, SILENT, FETCHING, JOB, BAD_ROWS, ERASURE, WAITING_REPLY, UNSENT = (
    "refused_webhooks", "unknown_client", "endpoint", "silent_connection", "fetching", "job", "bad_rows", "erasure_request",
    "waiting_reply", "unsent_answer",
)  # fmt: skip
NOT_RECOGNISED, NOT_APPLIED, STORED_BYTES, KEY, SERVER = "not_recognised", "not_applied", "stored_bytes", "key", "server"
KINDS = (
    REFUSED, UNKNOWN, ENDPOINT, SILENT, FETCHING, NOT_APPLIED, NOT_RECOGNISED, STATUS_REFUSED, FIELDS_LEFT_OUT, JOB, BAD_ROWS, ERASURE,
    WAITING_REPLY, UNSENT, STORED_BYTES, KEY, SERVER,
)  # fmt: skip
CRITICAL, WARNING = "critical", "warning"
RECENT: Micros = 7 * DAY
"""How far back refused webhooks, problems of applied ones and failed jobs are looked for."""
MAX_FAILING: Micros = 600 * SECOND
"""Time for which an endpoint may fail before it is an item."""
PATIENCE: Micros = DAY
"""Time that a promising reply may wait, without Saturdays and Sundays."""
PROMISING = ("interested", "meeting")
"""Labels of replies that somebody answers within `PATIENCE`."""
KEY_NOTICE: Micros = 14 * DAY
"""Time before its end from which a key is an item."""
MOST = 200
"""Items of one kind; more are not looked for."""


@dataclass(slots=True)
class Item:
    """One thing that needs a person. `client` 0: no client's."""

    kind: str
    client: int
    count: int
    since_us: Micros | None
    last_us: Micros | None
    severity: str = WARNING
    channel: str | None = None
    tool: str | None = None
    about: str | None = None
    """The cause of a refusal, the id in the address, the refused status, the state or error of an endpoint, a queue or a job."""
    record_kind: int | None = None
    """The kind of record that a refused status is for."""
    id: int | None = None
    """The endpoint, the job, the newest of the webhooks, or the contact whose reply waits longest or who got no answer."""
    snoozed_until_us: Micros | None = None

    @property
    def key(self) -> str:
        """Name of the item, which stays the same as long as its cause does."""
        subject = (
            self.id if self.kind in (ENDPOINT, JOB, BAD_ROWS) else self.about if self.kind in (REFUSED, UNKNOWN, KEY, SERVER) else None
        )
        if self.kind == STATUS_REFUSED:
            subject = f"{self.record_kind} {self.about}"
        return blake2b(repr((self.kind, self.client, self.channel, self.tool, subject)).encode(), digest_size=8).hexdigest()


class Snooze(NamedTuple):
    """What the team puts off until a time, as it was then."""

    client: int
    item: str
    severity: str
    last_us: Micros | None
    until_us: Micros

    def covers(self, item: Item) -> bool:
        """Return whether the item is still the snoozed one: not more severe, and not begun since."""
        is_worse = item.severity == CRITICAL != self.severity
        return not is_worse and (item.since_us is None or self.last_us is None or item.since_us <= self.last_us)


STORE_SNOOZE = Statement(
    "store_attention_snooze",
    (("client", "bigint"), ("item", "text"), ("severity", "text"), ("last_us", "bigint"), ("until_us", "bigint")),
    body="INSERT INTO attention_snooze (client, item, severity, last_us, until_us) SELECT * FROM p WHERE true ON CONFLICT (client, item) "
    "DO UPDATE SET severity = excluded.severity, last_us = excluded.last_us, until_us = excluded.until_us",
)

_ACTIVE_AND_NONE: tuple[str, Row] = (f"IN (SELECT id FROM client WHERE state = '{ACTIVE}' UNION ALL SELECT {NO_CLIENT})", ())


def _joined(call: object, answers: Answers) -> list[Item]:
    return in_order(item for answer in answers.values() for item in answer)


def in_order(items: Iterable[Item]) -> list[Item]:
    """Critical items first, then the newest."""
    return sorted(items, key=lambda item: (item.severity != CRITICAL, -(item.last_us or item.since_us or 0)))


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _joined, partial=True), merge=AnswerMerge(_joined))
def list_items(clients: Sequence[int] | None, now: Micros) -> Plan[list[Item]]:
    """Return the attention items of these clients, snoozed ones too; None: of all active ones, and webhooks for unknown clients too."""
    if clients == []:
        return []
    condition, numbers = _ACTIVE_AND_NONE if clients is None else among(clients)
    items = (yield from _refused(condition, numbers, now)) + (yield from _endpoints(condition, numbers, now))
    rows = yield Select(
        "SELECT s.* FROM (SELECT n.client, n.channel, n.tool, n.since_us, n.noticed_us, NULL AS error FROM connection_silence n "
        f"WHERE n.client {condition} AND n.ended_us IS NULL LIMIT {MOST}) s "
        "UNION ALL SELECT t.* FROM (SELECT f.client, NULL, f.tool, f.error_us, f.error_us AS last_us, f.error FROM fetch_state f "
        f"WHERE f.client {condition} AND f.stopped = 1 LIMIT {MOST}) t",
        (*numbers, *numbers),
    )
    items += [
        Item(FETCHING, client, 1, since, last, CRITICAL, "crm", tool, error)
        if channel is None
        else Item(SILENT, client, 1, since, last, WARNING, channel, tool)
        for client, channel, tool, since, last, error in rows
    ]
    items += yield from _deliveries(condition, numbers)
    items += yield from _problems(condition, numbers, now)
    items += yield from _jobs(condition, numbers, now)
    rows = yield Select(
        "SELECT d.client, count(*), min(d.erasure_asked_us), max(d.erasure_asked_us) FROM deleted_record d "
        f"WHERE d.client {condition} AND d.erasure_asked_us IS NOT NULL GROUP BY d.client",
        numbers,
    )
    items += [Item(ERASURE, *row) for row in rows]
    items += yield from _waiting(clients, now)
    items += yield from _unsent(condition, numbers)
    mark_snoozed(items, (yield from _snoozes(condition, numbers, now)))
    return in_order(items)


def mark_snoozed(items: Iterable[Item], snoozes: Iterable[Snooze]) -> None:
    """Set until when the items are snoozed."""
    by_item = {(snooze.client, snooze.item): snooze for snooze in snoozes}
    if by_item:
        for item in items:
            snooze = by_item.get((item.client, item.key))
            if snooze is not None and snooze.covers(item):
                item.snoozed_until_us = snooze.until_us


def _snoozes(condition: str, numbers: Row, now: Micros) -> Plan[list[Snooze]]:
    rows = yield Select(
        f"SELECT s.client, s.item, s.severity, s.last_us, s.until_us FROM attention_snooze s WHERE s.client {condition} AND s.until_us > ?",
        (*numbers, now),
    )
    return [Snooze(*row) for row in rows]


def _joined_snoozes(call: object, answers: Answers) -> list[Snooze]:
    return [snooze for answer in answers.values() for snooze in answer]


@query(
    clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _joined_snoozes, partial=True),
    merge=AnswerMerge(_joined_snoozes),
)  # fmt: skip
def list_snoozes(clients: Sequence[int] | None, now: Micros) -> Plan[list[Snooze]]:
    """Return the snoozes of these clients that have not ended; None: of all active ones, and of no client."""
    if clients == []:
        return []
    return (yield from _snoozes(*(_ACTIVE_AND_NONE if clients is None else among(clients)), now))


@command(
    client="snooze.client",
    follow_up=audited("attention.snoozed", "attention", lambda call, _: call.snooze.item, lambda call, _: call.snooze.client),
)
def snooze_item(snooze: Snooze, now: Micros) -> Plan[None]:
    """Put an item off; removes the client's snoozes that have ended."""
    yield Select("DELETE FROM attention_snooze WHERE client = ? AND until_us <= ? RETURNING item", (snooze.client, now))
    yield Execute(STORE_SNOOZE, [tuple(snooze)])


@command(follow_up=audited("attention.woken", "attention", lambda call, _: call.item))
def wake_item(client: int, item: str) -> Plan[None]:
    """End the snooze of an item, if it has one."""
    yield Select("DELETE FROM attention_snooze WHERE client = ? AND item = ? RETURNING item", (client, item))


def _refused(condition: str, numbers: Row, now: Micros) -> Plan[list[Item]]:
    """Refused webhooks of the last days, by tool and cause; those from before the connection was changed are mended."""
    rows = yield Select(
        "SELECT r.client, r.channel, r.tool, r.cause, r.client_id, sum(r.calls), min(r.received_us), max(r.received_us) FROM refusal r "
        f"LEFT JOIN connection n ON n.client = r.client AND n.channel = r.channel AND n.tool = r.tool WHERE r.client {condition} "
        "AND r.received_us > ? AND r.received_us > COALESCE(n.updated_us, 0) AND r.cause IN (?, ?, ?, ?) "
        f"GROUP BY r.client, r.channel, r.tool, r.cause, r.client_id LIMIT {MOST}",
        (*numbers, now - RECENT, NOT_VERIFIED, UNKNOWN_CLIENT, TOO_LARGE, STORAGE),
    )
    return [
        Item(UNKNOWN, NO_CLIENT, int(row[5]), row[6], row[7], CRITICAL, row[1], row[2], row[4])
        if row[0] == NO_CLIENT
        else Item(REFUSED, row[0], int(row[5]), row[6], row[7], CRITICAL, row[1], row[2], row[3])
        for row in rows
    ]


def _endpoints(condition: str, numbers: Row, now: Micros) -> Plan[list[Item]]:
    rows = yield Select(
        "SELECT e.client, e.id, e.description, e.state, e.reason, s.failing_since_us, e.state_us, e.shared_id FROM webhook_endpoint e "
        f"JOIN webhook_position s ON s.client = e.client AND s.endpoint_id = e.id WHERE e.client {condition} AND (e.state <> 'active' OR "
        "s.failing_since_us < ?) AND NOT (e.shared_id IS NOT NULL AND e.state = 'disabled' AND e.reason IS NULL) "
        f"ORDER BY e.client, e.id LIMIT {MOST}",
        (*numbers, now - MAX_FAILING),
    )
    items: list[Item] = []
    of_all: dict[int, Item] = {}
    for client, number, description, state, reason, failing, since, shared_id in rows:
        if shared_id in of_all:  # one channel is one problem, however many clients it is for
            of_all[shared_id].count += 1
            continue
        name = f'the endpoint "{description}"' if description else f"endpoint {number}"
        why = f"{name} fails" if state == "active" else f"{name} is {state}{f', {reason}' if reason else ''}"
        severity = WARNING if state == "disabled" and reason is None else CRITICAL
        items.append(Item(ENDPOINT, client, 1, failing if state == "active" else since, None, severity, about=why, id=number))
        if shared_id is not None:
            of_all[shared_id] = items[-1]
    return items


def _jobs(condition: str, numbers: Row, now: Micros) -> Plan[list[Item]]:
    """Jobs of the last days that failed, and imports that left out rows, as long as their file of these is stored."""
    rows = yield Select(
        f"SELECT j.client, j.id, j.kind, j.state, j.error, j.finished_us, j.settings, j.progress FROM job j WHERE j.client {condition} "
        f"AND j.finished_us > ? AND (j.state = '{FAILED_JOB}' OR (j.state = '{SUCCEEDED}' AND EXISTS (SELECT 1 FROM job_file f "
        f"WHERE f.client = j.client AND f.job_id = j.id AND f.name = '{BAD_ROWS_FILE}' AND f.number = 0))) "
        f"ORDER BY j.finished_us DESC LIMIT {MOST}",
        (*numbers, now - RECENT),
    )
    items: list[Item] = []
    for client, number, kind, state, error, at, settings, progress in rows:
        decided, counts = json.decode(settings, type=dict[str, Any]), json.decode(progress, type=dict[str, Any])
        name = f'"{decided["file_name"]}"' if decided.get("file_name") else f"the job {kind} {number}"
        if state == FAILED_JOB:
            items.append(Item(JOB, client, 1, at, at, about=f"{name} failed: {error}", id=number))
        elif not decided.get("dry_run"):
            left_out = counts.get("invalid", 0) + counts.get("not_a_row", 0)
            items.append(Item(BAD_ROWS, client, left_out, at, at, about=name, id=number))
    return items


def _deliveries(condition: str, numbers: Row) -> Plan[list[Item]]:
    rows = yield Select(
        "SELECT d.client, d.channel, NULLIF(d.tool, 'generic'), d.state, count(*), min(d.received_us), max(d.received_us), max(d.id) "
        "FROM delivery d "
        f"WHERE d.client {condition} AND (d.state = '{UNRECOGNISED}' OR d.state = '{FAILED}') "
        f"GROUP BY d.client, d.channel, NULLIF(d.tool, 'generic'), d.state LIMIT {MOST}",
        numbers,
    )
    return [
        Item(NOT_APPLIED, client, count, since, last, CRITICAL, channel, tool, id=example)
        if state == FAILED
        else Item(NOT_RECOGNISED, client, count, since, last, WARNING, channel, tool, id=example)
        for client, channel, tool, state, count, since, last, example in rows
    ]


def _problems(condition: str, numbers: Row, now: Micros) -> Plan[list[Item]]:
    """Statuses that the client's set lacks, and fields for which a record has no room, by tool, as long as nobody has dealt with them."""
    rows = yield Select(
        # A quotation mark in a subject is escaped, so it cannot look like a code.
        "SELECT g.client, g.channel, g.tool, g.problems, g.n, g.first_us, g.last_us, g.id, n.updated_us, n.settings, c.settings "
        f"""FROM (SELECT d.client, d.channel, d.tool, CASE WHEN d.problems LIKE '%"{STATUS_REFUSED}":%' THEN d.problems END AS problems, """
        "count(*) AS n, min(d.received_us) AS first_us, max(d.received_us) AS last_us, max(d.id) AS id FROM delivery d "
        f"""WHERE d.client {condition} AND d.received_us > ? AND d.problems IS NOT NULL AND (d.problems LIKE '%"{STATUS_REFUSED}":%' """
        f"""OR d.problems LIKE '%"{FIELDS_LEFT_OUT}":%') GROUP BY d.client, d.channel, d.tool, 4 ORDER BY last_us DESC LIMIT {MOST}) g """
        "JOIN client c ON c.id = g.client LEFT JOIN connection n ON n.client = g.client AND n.channel = g.channel AND n.tool = g.tool",
        (*numbers, now - RECENT),
    )
    newest = [(row[0], row[7]) for row in rows if row[3] is not None]
    events = [(row[0], event_of(row)) for row in (yield Execute(EVENTS_OF_DELIVERY, newest))] if newest else []
    items: dict[str, Item] = {}
    for client, channel, tool, text, count, since, last, example, changed, chosen, settings in rows:
        problems = {FIELDS_LEFT_OUT: ""} if text is None else json.decode(text, type=dict[str, str])
        if FIELDS_LEFT_OUT in problems and last > (changed or 0):
            _add(items, Item(FIELDS_LEFT_OUT, client, count, since, last, WARNING, channel, tool, id=example))
        word = problems.get(STATUS_REFUSED)
        if word is None or (chosen is not None and json.decode(chosen, type=ConnectionSettings).has_status_label(word)):
            continue
        decided = json.decode(settings, type=ClientSettings)
        of_delivery = [event for number, event in events if number == client and event.delivery_id == example]
        for kind in (CONTACT, COMPANY):
            is_refused = any(refused_word(event, kind) == word for event in of_delivery)
            if is_refused and allowed_status(decided, kind, word) is None:
                _add(items, Item(STATUS_REFUSED, client, count, since, last, WARNING, channel, tool, word, kind, id=example))
    return [*items.values()]


def _add(items: dict[str, Item], item: Item) -> None:
    """Add an item, or its numbers to the one that it belongs to; the newest comes first."""
    known = items.setdefault(item.key, item)
    if known is not item:
        known.count += item.count
        known.since_us = min(known.since_us or 0, item.since_us or 0)


def _waiting(clients: Sequence[int] | None, now: Micros) -> Plan[list[Item]]:
    items: dict[int, Item] = {}
    # Working time is at most the time that passed.
    waiting = Filters(labels=PROMISING, open_before=now - PATIENCE + 1)
    for conversation in (yield from list_conversations.plan(clients, OPEN, now, MOST, waiting, WAITING)):
        since = conversation.open_since_us
        if since is None or working_time(since, now) < PATIENCE:
            break
        item = items.setdefault(conversation.client, Item(WAITING_REPLY, conversation.client, 0, since, since, id=conversation.contact_id))
        item.count += 1
        item.last_us = max(item.last_us or 0, since)
    return [*items.values()]


def _unsent(condition: str, numbers: Row) -> Plan[list[Item]]:
    """Answers that were not sent, or perhaps not, until somebody removes them or answers that message again."""
    rows = yield Select(
        "SELECT a.client, e.record_id, a.created_us FROM answer a JOIN message m ON m.client = a.client AND m.id = a.message_id "
        f"JOIN event e ON {event_of_copy('e', 'm')} WHERE a.client {condition} AND a.state IN ('{UNSENT_ANSWER}', '{UNKNOWN_ANSWER}') "
        "AND NOT EXISTS (SELECT 1 FROM answer o WHERE o.client = a.client AND o.message_id = a.message_id AND o.id > a.id) "
        f"ORDER BY a.created_us, a.id LIMIT {MOST}",
        numbers,
    )
    items: dict[int, Item] = {}
    for client, contact, created in rows:
        item = items.setdefault(client, Item(UNSENT, client, 0, created, created, CRITICAL, id=contact))
        item.count, item.last_us = item.count + 1, created
    return [*items.values()]


def working_time(since: Micros, until: Micros) -> Micros:
    """Return the time between two times that is not on a Saturday or Sunday (UTC)."""
    total = 0
    day = since - since % DAY
    while day < until and total < PATIENCE:
        # The first day of the epoch was a Thursday.
        if (day // DAY + 3) % 7 < 5:
            total += max(0, min(day + DAY, until) - max(day, since))
        day += DAY
    return total
