"""Outcomes of deliveries: the state, error and fingerprint that each gets after its events were applied, or failed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from touchbase.adapters.kit.ignored_names import reason_to_ignore
from touchbase.common.content_encoding import decoded
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.fetch_state import FETCHED
from touchbase.connections.rhythm import Call
from touchbase.connections.sql.ignore_rules import Ignored, count_ignored, ignored_by
from touchbase.deliveries.claiming import WAITS
from touchbase.deliveries.delivery import (
    APPLIED,
    FAILED,
    IGNORED,
    MAX_ATTEMPTS,
    PARKED,
    RECEIVED,
    UNRECOGNISED,
    UNSEARCHABLE,
    Delivery,
    waiting_since,
)
from touchbase.deliveries.limits import LONGEST_WAIT
from touchbase.deliveries.payload_fingerprint import fingerprint_of
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.deliveries.sql.body_retention import clear_deliveries
from touchbase.deliveries.sql.rows import problems_text
from touchbase.deliveries.work import WorkReport
from touchbase.erasure_marks import WHY_IGNORED
from touchbase.errors import UnrecognisedPayload
from touchbase.event_log.models import DELIVERY, EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.projection.suppression_guard import names_erased
from touchbase.sql.builders import ROW_KEY, ROW_MATCH
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Row, Statement
from touchbase.tracing.interface import AppliedDelivery

_LOGGED = {FAILED: EventType.DELIVERY_FAILED, UNRECOGNISED: EventType.DELIVERY_UNRECOGNISED}
"""States that the log has an event of."""
ALL_REPEATED = "all events in it were already known"
NO_IDENTITY = "waits until a webhook names the e-mail address or domain of this object"
NOT_FETCHED = f"{NO_IDENTITY}, or until it is fetched with the access token of the connection"
CREATION_DISABLED = "about an unknown record, and the settings do not create records: replay this webhook once the record exists"
_MARK: Columns = (
    *ROW_KEY, ("state", "text"), ("tool", "text"), ("attempts", "bigint"), ("error", "text"), ("applied_us", "bigint"),
    ("next_attempt_us", "bigint"), ("shape", "text"), ("dated", "bigint"), ("problems", "text"),
)  # fmt: skip
_MARKED = ", ".join(f"{column} = p.{column}" for column, _ in _MARK[2:])
# The slower of two workers marks nothing: its events changed nothing, and the first outcome stays.
MARK_DELIVERY = Statement(
    "mark_delivery",
    _MARK,
    body=f"UPDATE delivery AS t SET {_MARKED} FROM p WHERE {ROW_MATCH} AND t.{WAITS} RETURNING t.id",
)
# The common case, with fewer parameters per row.
_APPLIED: Columns = (*ROW_KEY, ("tool", "text"), ("applied_us", "bigint"), ("dated", "bigint"), ("problems", "text"))
MARK_APPLIED = Statement(
    "mark_applied",
    _APPLIED,
    body="UPDATE delivery AS t SET state = 'applied', tool = p.tool, attempts = t.attempts + 1, error = NULL, applied_us = p.applied_us, "
    "next_attempt_us = 0, shape = NULL, dated = p.dated, problems = p.problems "
    f"FROM p WHERE {ROW_MATCH} AND t.{WAITS} RETURNING t.id",
)
MAX_PARSED_BODY = 32 * 1024
"""Bytes that are parsed within the transaction; the fingerprint of a longer body has only the event's name."""
# Members in which unknown tools name the event.
_NAMES = (
    "event", "type", "event_type", "eventType", "event_name", "eventName", "subscriptionType", "topic", "action", "trigger", "method",
    "webhook_type", "webhookType", "webhookEvent", "name",
)  # fmt: skip
_MAX_NAME_LENGTH = 60
_FIELD = re.compile(rb"([A-Za-z0-9_.\-]{1,40})(?:%5B|\[|=)")


def mark(batch: ApplyBatch, outcomes: list[DeliveryOutcome], report: WorkReport) -> Plan[None]:
    """Store the outcome of these deliveries and count them in the report; skip deliveries that another worker has marked."""
    again = [(batch.client, outcome.delivery.id) for outcome in outcomes if _may_have_events(outcome)]
    had = {row[0] for row in (yield Execute(inbox_sql.DELIVERIES_WITH_EVENTS, again))} if again else set()
    applied: list[Row] = []
    others: dict[int, Row] = {}
    new_problems: Counter[str] = Counter()
    for outcome in outcomes:
        normalized, delivery = outcome.normalized, outcome.delivery
        if delivery.id in had:
            # A replay: the delivery's earlier events are stored and still count as its own.
            outcome.applied, outcome.repeated = outcome.repeated or 1, 0
        state, error = _ending(outcome)
        delivery_problems = outcome.problems if state in (APPLIED, PARKED) else {}
        if delivery.id in had or outcome.repeated:
            delivery_problems = delivery.problems | delivery_problems  # a replay finds no new problems in stored events
        problems = problems_text(delivery_problems)
        if delivery_problems:
            new_problems.update(delivery_problems.keys() - delivery.problems.keys())
        if state == APPLIED:
            applied.append((batch.client, delivery.id, normalized.tool, batch.now_us, int(normalized.is_dated), problems))
            continue
        done = batch.now_us if state == IGNORED else None
        others[delivery.id] = (
            batch.client, delivery.id, state, normalized.tool, delivery.attempts + 1, error, done, 0, outcome_fingerprint(outcome),
            int(normalized.is_dated), problems,
        )  # fmt: skip
    report.problems = dict(new_problems)
    endings: dict[int, str] = {}
    if applied:
        endings |= {row[0]: APPLIED for row in (yield Execute(MARK_APPLIED, applied))}
    if others:
        endings |= {row[0]: others[row[0]][2] for row in (yield Execute(MARK_DELIVERY, list(others.values())))}
    ignored = [outcome for outcome in outcomes if endings.get(outcome.delivery.id) == IGNORED and outcome.normalized.rule]
    yield from count_ignored(batch.client, map(_ignored, ignored))
    yield from log_events(
        [
            _event(outcome.delivery, endings[outcome.delivery.id], outcome.normalized.tool, batch.now_us)
            for outcome in outcomes
            if endings.get(outcome.delivery.id) in _LOGGED
        ]
    )
    _count(report, outcomes, endings)


def _ignored(outcome: DeliveryOutcome) -> Ignored:
    normalized, delivery = outcome.normalized, outcome.delivery
    return delivery.channel, normalized.tool or "", normalized.rule or "", delivery.received_us, delivery.applied_us


def _count(report: WorkReport, outcomes: list[DeliveryOutcome], endings: dict[int, str]) -> None:
    """Count the deliveries that were marked, by their new state, in the report."""
    marked = [(outcome, endings[outcome.delivery.id]) for outcome in outcomes if outcome.delivery.id in endings]
    report.taken, report.ended = len(marked), dict(Counter(state for _, state in marked))
    report.outcomes = dict(Counter((outcome.delivery.channel, outcome.normalized.tool or "", state) for outcome, state in marked))
    report.applied_since_us = [
        waiting_since(outcome.delivery.received_us, outcome.delivery.next_attempt_us) for outcome, state in marked if state == APPLIED
    ]
    report.traced = [
        _traced(outcome.delivery, outcome.delivery.trace, state, outcome.normalized.tool)
        for outcome, state in marked
        if outcome.delivery.trace
    ]
    report.calls = [call for outcome, _ in marked for call in _calls(outcome.delivery, outcome.normalized.tool)]


def _calls(delivery: Delivery, tool: str | None) -> list[Call]:
    """Return the delivery as a call of its tool; nothing if it is no call, or if no tool was recognised."""
    if not tool or delivery.next_attempt_us < 0 or FETCHED in delivery.headers:
        return []
    return [(delivery.client, delivery.channel, tool, delivery.received_us)]


def _traced(delivery: Delivery, trace: str, state: str, tool: str | None) -> AppliedDelivery:
    return AppliedDelivery(trace, delivery.client_id, delivery.id, delivery.channel, tool, state, delivery.attempts + 1)


def _may_have_events(outcome: DeliveryOutcome) -> bool:
    """Whether a delivery without new events may have stored ones: it repeats events, or was processed before and reads differently now."""
    return not outcome.applied and (outcome.repeated > 0 or outcome.delivery.applied_us is not None)


def _ending(outcome: DeliveryOutcome) -> tuple[str, str | None]:
    if outcome.names_erased and not (outcome.parked or outcome.applied):
        return IGNORED, WHY_IGNORED
    if outcome.normalized.error is not None:
        is_unrecognised = isinstance(outcome.normalized.error, UnrecognisedPayload)
        return (UNRECOGNISED if is_unrecognised else FAILED), outcome.normalized.error.detail
    if outcome.parked or outcome.refused:
        waiting = CREATION_DISABLED if outcome.unknown else NOT_FETCHED if outcome.normalized.may_ask else NO_IDENTITY
        return (FAILED, outcome.refused) if outcome.refused else (PARKED, waiting)
    if outcome.applied:
        return APPLIED, None
    if outcome.normalized.unidentified and not outcome.repeated:
        return UNRECOGNISED, "the webhook names no person or company"
    return IGNORED, _why_ignored(outcome)


def _why_ignored(outcome: DeliveryOutcome) -> str:
    if outcome.repeated:
        return ALL_REPEATED
    if outcome.unknown:
        return "about an unknown record, and this client's settings do not create records"
    if outcome.normalized.rule:
        return ignored_by(outcome.normalized.rule)
    name = outcome.normalized.unused_event
    reason = reason_to_ignore(name) if name else None
    return f"understood, but not used: {name or 'no event in it'}{f' ({reason})' if reason else ''}"


def record_failure(client: int, delivery: Delivery, error: str, now_us: Micros, *, for_good: bool = False) -> Plan[WorkReport]:
    """Record a failed attempt: retry with exponential backoff; mark as failed after `MAX_ATTEMPTS`, or at once with `for_good`.

    The report counts a delivery only when it is not retried.
    """
    attempts = delivery.attempts + 1
    key = yield from names_erased(client, delivery)
    if key is not None:  # do not store it for a later adapter: it names an erased person
        why = UNSEARCHABLE if delivery.unsearchable else WHY_IGNORED
        row: Row = (client, delivery.id, IGNORED, delivery.tool, attempts, why, now_us, 0, None, 0, None)
        marked = yield Execute(MARK_DELIVERY, [row])
        yield from clear_deliveries(key, client, [delivery.id], now_us, unsearchable=delivery.unsearchable)
        return _ended(delivery, IGNORED, marked)
    state = FAILED if for_good or attempts >= MAX_ATTEMPTS else RECEIVED
    again = now_us + min(LONGEST_WAIT, SECOND * 2**attempts)
    shape = delivery_fingerprint(delivery) if state == FAILED else None
    row = (client, delivery.id, state, delivery.tool, attempts, error[:2000], None, again, shape, 0, None)
    marked = yield Execute(MARK_DELIVERY, [row])
    if marked and state in _LOGGED:
        yield from log_events([_event(delivery, state, delivery.tool, now_us)])
    return _ended(delivery, state, marked)


def _event(delivery: Delivery, state: str, tool: str | None, at: Micros) -> LoggedEvent:
    # Without the error, which may quote the body: the delivery has it.
    cause = {"origin": DELIVERY, "tool": tool, "channel": delivery.channel, "deliveries": [delivery.id]}
    data = {"delivery_id": delivery.id, "channel": delivery.channel, "tool": tool}
    return LoggedEvent(delivery.client, _LOGGED[state], at, cause=cause, data=data)


def _ended(delivery: Delivery, state: str, marked: Sequence[Row]) -> WorkReport:
    report = WorkReport(taken=1)
    if marked and delivery.trace:
        report.traced = [_traced(delivery, delivery.trace, state, delivery.tool)]
    if marked and state != RECEIVED:
        report.ended = {state: 1}
        report.outcomes = {(delivery.channel, delivery.tool or "", state): 1}
        report.calls = _calls(delivery, delivery.tool)
    return report


def outcome_fingerprint(outcome: DeliveryOutcome) -> str:
    """Return the fingerprint of a delivery that was read, with the tool's name of its first event."""
    name = outcome.normalized.unknown_event or outcome.normalized.unused_event
    if name is None and outcome.subjects:
        sighted = outcome.subjects[0].event
        name = sighted.source_event or sighted.event
    return delivery_fingerprint(outcome.delivery, name)


def delivery_fingerprint(delivery: Delivery, name: str | None = None) -> str:
    """Return the fingerprint of a delivery; without a name, take the event's name from the usual members of the body."""
    item = _item(delivery)
    if name is None:
        values = (item.get(name) for name in _NAMES)
        name = next((value for value in values if isinstance(value, str) and 0 < len(value) <= _MAX_NAME_LENGTH), None)
    return fingerprint_of(name, item)


def _item(delivery: Delivery) -> dict[str, object]:
    """Return the body's first JSON object, or the names of its form fields."""
    try:
        body = decoded(delivery.headers.get("content-encoding", ""), delivery.body, MAX_PARSED_BODY).strip()
        if len(body) > MAX_PARSED_BODY:
            return {}
        if body[:1] in (b"{", b"["):
            data = msgspec.json.decode(body)
            item = next((item for item in data if isinstance(item, dict)), {}) if isinstance(data, list) else data
            return item if isinstance(item, dict) else {}
    except (UnrecognisedPayload, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    fields = (_FIELD.match(field) for field in body.split(b"&", 200)) if body[:1] != b"<" else ()
    return {field[1].decode(): None for field in fields if field is not None}
