"""Events that a first load and a webhook both bring: the second one joins the first one, whichever it is.

A tool's API and its webhooks name a message otherwise, and round its time otherwise. So they are the same event if they are about the same
contact and text within an hour, or within some minutes where one of them has no text. Each event joins one other event only: a person may
write the same twice. What the second one has in addition, such as the ids for an answer, is added to the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.events import CONTACT, EMAIL_CAMPAIGN, StoredEvent
from touchbase.history.sql import EVENT, event_of
from touchbase.messages.models import COMPARED_HTML, MOST_COMPARED, NEAR, are_same_text
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.sql.builders import RECORD
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Statement

_KINDS = {name: name for name in ("email_sent", "email_replied", "linkedin_sent", "linkedin_replied")}
_KINDS |= {"manual_email_sent": "email_sent", "email_auto_replied": "email_replied"}
_KINDS |= {name: name for name in ("linkedin_invite_sent", "linkedin_invite_accepted")}
"""Events that join others of their kind, by name."""
LOADED_TOOLS = frozenset({"heyreach", "instantly", "lemlist", "reply_io", "smartlead", "woodpecker"})
"""The tools whose history can be loaded (`loading.requests.SOURCES`); webhooks of others need no look."""
NEAR_WITHOUT_TEXT: Micros = 900 * SECOND
"""A tool may see a reply some minutes after its time, and two within them have their own webhooks and rows."""
_IS_LOADED = "CASE WHEN e.detail LIKE '%\"loaded\":true%' THEN 1 ELSE 0 END"
_NEAR: Columns = (*RECORD, ("tool", "text"), ("is_loaded", "bigint"), ("at_us", "bigint"), ("since_us", "bigint"), ("until_us", "bigint"))
_FOUND = (
    f"SELECT {names(EVENT, 'e.')}, (SELECT substr(m.text, 1, {COMPARED_HTML}) FROM message m WHERE m.client = e.client "
    "AND m.event_key = e.key AND m.occurred_us = e.occurred_us) FROM event e WHERE e.client = {} AND e.record_kind = {} "
    f"AND e.record_id = {{}} AND e.tool = {{}} AND {_IS_LOADED} <> {{}} AND e.occurred_us >= {{}} AND e.occurred_us <= {{}} "
    f"AND e.delivery_id IS NOT NULL AND e.event IN ({', '.join(map(repr, sorted(_KINDS)))}) "
    f"ORDER BY abs(e.occurred_us - {{}}), e.key LIMIT {MOST_COMPARED}"
)
NEAR_EVENTS = Statement(
    "near_events",
    _NEAR,
    sqlite=_FOUND.format("?1", "?2", "?3", "?4", "?5", "?7", "?8", "?6"),
    body="SELECT x.* FROM p CROSS JOIN LATERAL ("
    + _FOUND.format("p.client", "p.record_kind", "p.record_id", "p.tool", "p.is_loaded", "p.since_us", "p.until_us", "p.at_us")
    + ") x",
)
"""Of a contact and tool, the loaded events near a webhook's, or the webhooks' near a loaded one, with the texts of their messages."""
COMPLETE_EVENT = Statement(
    "complete_event",
    (*RECORD, ("occurred_us", "bigint"), ("key", "text"), ("detail", "text")),
    body="UPDATE event t SET detail = p.detail FROM p WHERE t.client = p.client AND t.record_kind = p.record_kind "
    "AND t.record_id = p.record_id AND t.occurred_us = p.occurred_us AND t.key = p.key",
    by_row=True,
)


@dataclass(slots=True)
class _Near:
    """An event with the beginning of its text; `is_stored`: it was there before the batch."""

    event: StoredEvent
    text: str | None
    is_stored: bool

    @property
    def is_loaded(self) -> bool:
        return "loaded" in self.event.detail


def join_loaded_events(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[list[StoredEvent]]:
    """Take out the pending events that join others; return what they add to the values of stored ones, as events without an effect."""
    of_contacts = [(target, events) for target, events in batch.pending.items() if target[0] == CONTACT]
    targets = [(target, event) for target, events in of_contacts for event in events if event.tool in LOADED_TOOLS]
    if not targets:
        return []
    subjects = {
        (subject.key, subject.at): subject
        for outcome in outcomes
        if outcome.delivery.channel == EMAIL_CAMPAIGN
        for subject in outcome.subjects
        if subject.event.event in _KINDS and subject.event.occurred_us is not None
    }
    new = [(target, event, subjects[named]) for target, event in targets if (named := (event.key, event.occurred_us)) in subjects]
    if not new:
        return []
    new.sort(key=lambda pending: (pending[1].received_us, pending[1].delivery_id or 0, pending[1].detail.get("position", 0)))
    wanted = {
        (batch.client, CONTACT, batch.final(*target), event.tool, int("loaded" in event.detail), event.occurred_us)
        for target, event, _ in new
        if target[1] not in batch.resolvers[CONTACT].created
    }
    rows = [(*row, row[-1] - NEAR, row[-1] + NEAR) for row in sorted(wanted)]
    stored = {row[1:5]: _Near(event_of(row[:-1]), row[-1], True) for row in ((yield Execute(NEAR_EVENTS, rows)) if rows else [])}
    near = [*stored.values()]
    completed: dict[int, _Near] = {}
    echoes: list[StoredEvent] = []
    for target, event, subject in new:
        content = subject.event.message
        pending = _Near(event, (content.text or "")[:COMPARED_HTML] or None if content is not None else None, False)
        twin = event.key if subject.own_id else f"{event.key} {event.occurred_us}"
        match = _match(pending, twin, [other for other in near if batch.final(CONTACT, other.event.record_id) == batch.final(*target)])
        if match is None:
            near.append(pending)
            continue
        added = _add(match.event, event, twin)
        if match.is_stored:
            completed[id(match)] = match
            if added:
                echoes.append(replace(match.event, effect="", status=None, detail=added))
        batch.pending[target].remove(event)
        batch.joined[event.key, event.occurred_us] = match.event.key, match.event.occurred_us
        for outcome in batch.causes.pop((*target, event.occurred_us, event.key), ()):
            outcome.repeated += 1
    if completed:
        events = [other.event for other in completed.values()]
        details = [(batch.client, CONTACT, event.record_id, event.occurred_us, event.key, encode(event.detail)) for event in events]
        yield Execute(COMPLETE_EVENT, sorted(details))
    return echoes


def _match(pending: _Near, twin: str, near: Sequence[_Near]) -> _Near | None:
    """Return the event that this one joined before, else the nearest one that is the same and has none yet."""
    event = pending.event
    others = [
        other for other in near
        if (other.event.tool, _KINDS[other.event.event], other.is_loaded) == (event.tool, _KINDS[event.event], not pending.is_loaded)
    ]  # fmt: skip
    others.sort(key=lambda other: (abs(other.event.occurred_us - event.occurred_us), other.event.key))
    joined = (other for other in others if other.event.detail.get("twin") == twin)
    free = (other for other in others[:MOST_COMPARED] if "twin" not in other.event.detail and _are_same(pending, other))
    return next(joined, None) or next(free, None)


def _are_same(one: _Near, other: _Near) -> bool:
    apart: Micros = abs(one.event.occurred_us - other.event.occurred_us)
    if one.text is None or other.text is None:
        return apart <= NEAR_WITHOUT_TEXT
    return apart <= NEAR and are_same_text(one.text, other.text)


def _add(event: StoredEvent, repeat: StoredEvent, twin: str) -> dict[str, dict[str, str | None]]:
    """Add the values of a repeat that an event leaves out; return them."""
    added = {}
    for name in ("carried", "custom"):
        present = event.detail.get(name, {})
        if missing := {field: value for field, value in repeat.detail.get(name, {}).items() if field not in present}:
            added[name] = missing
    event.detail = {**event.detail, "twin": twin, **{name: {**event.detail.get(name, {}), **values} for name, values in added.items()}}
    return added
