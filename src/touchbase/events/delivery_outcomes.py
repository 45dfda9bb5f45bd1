"""Marking deliveries: how each ends, by what its events came to."""

from __future__ import annotations

from collections import Counter

from touchbase.errors import UnrecognisedPayload
from touchbase.events.claim_statements import by_id
from touchbase.events.event_normalization import Outcome
from touchbase.events.projection_batch import Batch
from touchbase.events.sql_fingerprint import outcome_shape
from touchbase.events.work import WorkReport
from touchbase.inbox import statements as inbox_sql
from touchbase.inbox.delivery import APPLIED, FAILED, IGNORED, PARKED, UNRECOGNISED, waits_since
from touchbase.inbox.rows import problems_text
from touchbase.sql.builders import ONE, ONE_MATCH
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Row, Statement
from touchbase.suppression.suppression_keys import WHY_IGNORED

KNOWN_ALREADY = "everything in it was known already"
NAMES_NOBODY = "waits until a call names the e-mail address or domain of this object"
BARRED = "about somebody unknown, and the settings create nobody: once the record is there, replay this call"
_MARK: Columns = (
    *ONE, ("state", "text"), ("tool", "text"), ("attempts", "bigint"), ("error", "text"), ("applied_us", "bigint"),
    ("next_attempt_us", "bigint"), ("shape", "text"), ("dated", "bigint"), ("problems", "text"),
)  # fmt: skip
_MARKED = f"SET {', '.join(f'{column} = p.{column}' for column, _ in _MARK[2:])} FROM p WHERE {ONE_MATCH} AND t.state = 'received'"
# A worker that was slower finds nothing to mark: what it applied changed nothing, and the first ending stays.
MARK_DELIVERY = Statement(
    "mark_delivery",
    _MARK,
    sqlite_set=f"UPDATE delivery AS t {_MARKED} RETURNING id",
    body=f"UPDATE delivery AS t {by_id(_MARKED)} RETURNING t.id",
)
# Nearly all end so: what is the same of all is said once.
_APPLIED: Columns = (*ONE, ("tool", "text"), ("applied_us", "bigint"), ("dated", "bigint"), ("problems", "text"))
_MARKED_APPLIED = (
    "SET state = 'applied', tool = p.tool, attempts = t.attempts + 1, error = NULL, applied_us = p.applied_us, next_attempt_us = 0, "
    f"shape = NULL, dated = p.dated, problems = p.problems FROM p WHERE {ONE_MATCH} AND t.state = 'received'"
)
MARK_APPLIED = Statement(
    "mark_applied",
    _APPLIED,
    sqlite_set=f"UPDATE delivery AS t {_MARKED_APPLIED} RETURNING id",
    body=f"UPDATE delivery AS t {by_id(_MARKED_APPLIED)} RETURNING t.id",
)


def mark(batch: Batch, outcomes: list[Outcome], report: WorkReport) -> Plan[None]:
    """Mark these deliveries, and tell the report how many ended how. One that somebody else has marked meanwhile stays as it is."""
    again = [(batch.client, outcome.delivery.id) for outcome in outcomes if _may_have_events(outcome)]
    had = {row[0] for row in (yield Execute(inbox_sql.DELIVERIES_WITH_EVENTS, again))} if again else set()
    applied: list[Row] = []
    others: dict[int, Row] = {}
    noted: Counter[str] = Counter()
    for outcome in outcomes:
        seen, delivery = outcome.seen, outcome.delivery
        if delivery.id in had:
            # A replay: what it had caused is there, and stays its own.
            outcome.applied, outcome.repeated = outcome.repeated or 1, 0
        state, error = _ending(outcome)
        told = outcome.problems if state in (APPLIED, PARKED) else {}
        if delivery.id in had or outcome.repeated:
            told = delivery.problems | told  # a replay says nothing new of events that are there
        problems = problems_text(told)
        noted.update(told.keys() - delivery.problems.keys())
        if state == APPLIED:
            applied.append((batch.client, delivery.id, seen.tool, batch.now_us, int(seen.is_dated), problems))
            continue
        done = batch.now_us if state == IGNORED else None
        others[delivery.id] = (
            batch.client, delivery.id, state, seen.tool, delivery.attempts + 1, error, done, 0, outcome_shape(outcome),
            int(seen.is_dated), problems,
        )  # fmt: skip
    report.problems = dict(noted)
    endings: dict[int, str] = {}
    if applied:
        endings |= {row[0]: APPLIED for row in (yield Execute(MARK_APPLIED, applied))}
    if others:
        endings |= {row[0]: others[row[0]][2] for row in (yield Execute(MARK_DELIVERY, list(others.values())))}
    _count(report, outcomes, endings)


def _count(report: WorkReport, outcomes: list[Outcome], endings: dict[int, str]) -> None:
    """Count the deliveries that were marked, by their new state."""
    marked = [(outcome, endings[outcome.delivery.id]) for outcome in outcomes if outcome.delivery.id in endings]
    report.taken, report.ended = len(marked), dict(Counter(state for _, state in marked))
    report.outcomes = dict(Counter((outcome.delivery.channel, outcome.seen.tool or "", state) for outcome, state in marked))
    report.applied_since_us = [
        waits_since(outcome.delivery.received_us, outcome.delivery.next_attempt_us) for outcome, state in marked if state == APPLIED
    ]


def _may_have_events(outcome: Outcome) -> bool:
    """Whether events may be there of a delivery that brings none now: it repeats some, or has ended before and is read otherwise today."""
    return not outcome.applied and (outcome.repeated > 0 or outcome.delivery.applied_us is not None)


def _ending(outcome: Outcome) -> tuple[str, str | None]:
    if outcome.names_erased and not (outcome.parked or outcome.applied):
        return IGNORED, WHY_IGNORED
    if outcome.seen.error is not None:
        known = isinstance(outcome.seen.error, UnrecognisedPayload)
        return (UNRECOGNISED if known else FAILED), outcome.seen.error.detail
    if outcome.parked:
        return PARKED, BARRED if outcome.unknown else NAMES_NOBODY
    if outcome.applied:
        return APPLIED, None
    if outcome.seen.nameless and not outcome.repeated:
        return UNRECOGNISED, "the call names no person or company that we could find"
    return IGNORED, _why_ignored(outcome)


def _why_ignored(outcome: Outcome) -> str:
    if outcome.repeated:
        return KNOWN_ALREADY
    if outcome.unknown:
        return "about somebody unknown, and this client's settings create nobody"
    return f"understood, but not used: {outcome.seen.other or 'no event in it'}"
