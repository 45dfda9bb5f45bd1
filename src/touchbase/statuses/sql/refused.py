"""Plans of statuses that events asked for and the declared set did not have: count them, and apply them once it does.

Such an event is stored without a status, and the word is its problem (`history/problems.py`). To apply it is to store the word as
its status: the record is then folded as if the set had always had it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import locked
from touchbase.common.timestamps import Micros
from touchbase.deliveries.sql.rows import problems_text
from touchbase.do_not_contact.models import EMAIL, STATUS
from touchbase.do_not_contact.sql.entries import add_causes
from touchbase.event_log.models import JOB, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL, StoredEvent
from touchbase.history.problems import STATUS_REFUSED
from touchbase.history.sql import EVENT, detail_text, event_of
from touchbase.history.status_words import StatusWords
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import insert_job
from touchbase.projection.suppressions import cause_of, lists_contact
from touchbase.records.logged_changes import changes, state_of
from touchbase.records.models import Company, Contact, Record
from touchbase.records.projection import refold_status
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import company_row, contact_of, contact_row
from touchbase.records.sql.statements import TABLES, lock_records
from touchbase.records.sql.update import save_contacts
from touchbase.sql.builders import RECORD, ROW_KEY, ROW_MATCH, find
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement
from touchbase.statuses.models import PLURALS, Rechecked

MOST_WORDS = 1_000
"""Newest deliveries with a problem whose words are listed."""
EVENTS_OF_DELIVERY = find("events_of_delivery", "event", EVENT, ROW_KEY, "t.client = p.client AND t.delivery_id = p.id")
SET_EVENT_STATUS = Statement(
    "set_event_status",
    (*RECORD, ("occurred_us", "bigint"), ("key", "text"), ("status", "text"), ("detail", "text")),
    body="UPDATE event t SET status = p.status, detail = p.detail FROM p WHERE t.client = p.client AND t.record_kind = p.record_kind "
    "AND t.record_id = p.record_id AND t.occurred_us = p.occurred_us AND t.key = p.key",
    by_row=True,
)
SET_DELIVERY_PROBLEMS = Statement(
    "set_delivery_problems",
    (*ROW_KEY, ("problems", "text")),
    body=f"UPDATE delivery t SET problems = p.problems FROM p WHERE {ROW_MATCH}",
    by_row=True,
)
_WITH_PROBLEMS = "SELECT id, problems FROM delivery WHERE client = ? AND problems IS NOT NULL AND id > ? ORDER BY id LIMIT ?"
_NEWEST = "SELECT id, problems FROM delivery WHERE client = ? AND problems IS NOT NULL ORDER BY id DESC LIMIT ?"
_problems = msgspec.json.Decoder(dict[str, str]).decode


def refused_words(client: int, kind: int) -> Plan[Counter[str]]:
    """Return the words that events about contacts or companies asked for in vain, with the number of deliveries."""
    words, _ = yield from _newest_words(client, kind)
    return words


def _newest_words(client: int, kind: int) -> Plan[tuple[Counter[str], bool]]:
    """Return these words, and whether there may be older deliveries with other ones."""
    rows = yield Select(_NEWEST, (client, MOST_WORDS))
    refused = [row[0] for row in rows if STATUS_REFUSED in _problems(row[1])]
    words: Counter[str] = Counter()
    if refused:
        events = [event_of(row) for row in (yield Execute(EVENTS_OF_DELIVERY, [(client, number) for number in refused]))]
        words.update(word for _, word in {(event.delivery_id, refused_word(event, kind)) for event in events} if word is not None)
    return words, len(rows) == MOST_WORDS


def refused_word(event: StoredEvent, kind: int) -> str | None:
    """Return the status that an event of this kind asked for in vain; None if there is none."""
    about = COMPANY if event.event.startswith("company.") else CONTACT
    if (about if event.record_kind == EXTERNAL else event.record_kind) != kind:
        return None
    word: str | None = event.detail.get("problems", {}).get(STATUS_REFUSED)
    return word


@command(ids="job")
def recheck_statuses(ids: Ids, client: int, kind: int, at: Micros, by: str | None = None) -> Plan[Job | None]:
    """Start a job that applies the statuses that events asked for and the declared set did not have then; None if it still has none."""
    current_client = yield from locked(client)
    return None if current_client is None else (yield from recheck(client, kind, current_client.settings, at, by, ids))


def recheck(client: int, kind: int, settings: ClientSettings, at: Micros, by: str | None, ids: Ids) -> Plan[Job | None]:
    """Start a job if the declared set now has a status that was refused; `settings` are the locked client's."""
    words, more = yield from _newest_words(client, kind)
    if not more and not any(allowed_status(settings, kind, word) is not None for word in words):
        return None
    job = Job(client, 0, f"{PLURALS[kind]}.recheck_statuses", QUEUED, at, at, {}, made_by=by)
    return (yield from insert_job(job, ids))


def allowed_status(settings: ClientSettings, kind: int, word: str) -> str | None:
    """Return the word as events store it now; None if the declared set still does not have it."""
    declared = settings.declared(kind)
    return word if declared is None else settings.words(kind).matching(word, declared.statuses)


@command
def apply_refused(client: int, kind: int, after: int, limit: int, at: Micros) -> Plan[Rechecked]:
    """Restore refused statuses of the next deliveries' events, if the declared set has them now, and fold their records."""
    current_client = yield from locked(client)
    if current_client is None:
        return Rechecked(0, 0, 0, None)
    deliveries = yield Select(_WITH_PROBLEMS, (client, after, limit))
    last = deliveries[-1][0] if len(deliveries) == limit else None
    problems = {row[0]: problem for row in deliveries if STATUS_REFUSED in (problem := _problems(row[1]))}
    rows = (yield Execute(EVENTS_OF_DELIVERY, [(client, number) for number in problems])) if problems else []
    events = [event_of(row) for row in rows]
    changed = [event for event in events if _apply(event, current_client.settings, kind)]
    if changed:
        yield Execute(SET_EVENT_STATUS, [_event_row(client, event) for event in changed])
        yield from _settle(client, problems, events, {event.delivery_id for event in changed})
    records = yield from _fold(client, kind, changed, current_client.settings.words(kind), at)
    if kind == CONTACT:
        yield from _list_opt_outs(client, [event for event in changed if lists_contact(event, current_client.settings.words(kind))], at)
    return Rechecked(len(deliveries), len(changed), records, last)


def _list_opt_outs(client: int, events: Sequence[StoredEvent], at: Micros) -> Plan[None]:
    """Put the contacts on the list whose status opts out now."""
    rows = (yield Execute(records_sql.CONTACT_TO_SHOW, sorted({(client, event.record_id) for event in events}))) if events else []
    emails = {contact.id: contact.email_key for contact in map(contact_of, rows)}
    causes = [((EMAIL, email), cause_of(event, STATUS)) for event in events if (email := emails.get(event.record_id)) is not None]
    yield from add_causes(client, causes, None, at)


def _apply(event: StoredEvent, settings: ClientSettings, kind: int) -> bool:
    """Restore an event's refused status; return whether the declared set has it."""
    word = refused_word(event, kind)
    status = None if word is None else allowed_status(settings, kind, word)
    if status is None:
        return False
    event.status = status
    left = {code: about for code, about in event.detail["problems"].items() if code != STATUS_REFUSED}
    event.detail = {name: value for name, value in event.detail.items() if name != "problems"} | ({"problems": left} if left else {})
    return True


def _event_row(client: int, event: StoredEvent) -> Row:
    return (client, event.record_kind, event.record_id, event.occurred_us, event.key, event.status, detail_text(event.detail))


def _settle(client: int, problems: Mapping[int, dict[str, str]], events: Sequence[StoredEvent], changed: set[int | None]) -> Plan[None]:
    """Store the remaining problems of deliveries."""
    left: dict[int, str] = {}
    for event in events:
        if event.delivery_id is not None and (word := event.detail.get("problems", {}).get(STATUS_REFUSED)) is not None:
            left.setdefault(event.delivery_id, word)
    rows: list[Row] = []
    for number in sorted(problems.keys() & changed):
        others = {code: about for code, about in problems[number].items() if code != STATUS_REFUSED}
        rows.append((client, number, problems_text(others | ({STATUS_REFUSED: left[number]} if number in left else {}))))
    yield Execute(SET_DELIVERY_PROBLEMS, rows)


def _fold(client: int, kind: int, events: Sequence[StoredEvent], words: StatusWords, at: Micros) -> Plan[int]:
    """Fold the records of events from their whole histories; return how many changed."""
    numbers = sorted({event.record_id for event in events if event.record_kind == kind})
    if not numbers:
        return 0
    rows = yield from lock_records(client, kind, numbers)
    records: list[Record] = [*map(TABLES[kind].record_of, rows)]
    histories: dict[int, list[StoredEvent]] = {record.id: [] for record in records}
    for event in map(event_of, (yield Execute(history_sql.EVENTS_OF, [(client, kind, record.id) for record in records]))):
        histories[event.record_id].append(event)
    shown, logs = 0, list[LoggedEvent]()
    for record in records:
        before, state = (record.status, record.previous_status, record.status_changed_us), state_of(record, words)
        refold_status(record, histories[record.id], words)
        if before != (record.status, record.previous_status, record.status_changed_us):
            record.updated_us, shown = max(at, record.updated_us + 1), shown + 1
            logs += changes(record, state, at, {"origin": JOB}, words)
    yield from save_folded(kind, records, rows)
    yield from log_events(logs)
    return shown


def save_folded(kind: int, records: Sequence[Record], rows: Sequence[Row]) -> Plan[None]:
    """Save records whose status was folded; `rows` are theirs as this transaction has loaded them."""
    if records and kind == CONTACT:
        before: Mapping[Any, Row] = {(row[0], row[1]): row for row in rows}
        yield from save_contacts([contact_row(record) for record in records if isinstance(record, Contact)], before)
    elif records:
        yield Execute(records_sql.UPDATE_COMPANY, [company_row(record) for record in records if isinstance(record, Company)])
