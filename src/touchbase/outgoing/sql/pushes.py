"""Pushes: events that go to one tool, by endpoints of the kinds blocklist and hubspot, of which no request has succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, TouchbaseError
from touchbase.event_log.models import event_id
from touchbase.outgoing.models import ACTIVE, PAUSED, SKIPPED, Attempt, Pending, order_key
from touchbase.outgoing.sql.endpoints import locked_endpoint, save_endpoint
from touchbase.outgoing.sql.statements import ATTEMPT, NO_FAILURE, RETRY_FAILED, SAVE_PENDING, attempt_of, pending_row
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select

WAITING, FAILED = "waiting", "failed"
STATES = (WAITING, FAILED, SKIPPED)
"""Another attempt follows; all attempts failed; nothing was sent, or the tool has it already."""
MAX_EVENTS = 100
"""Events of one retry that names them."""


@dataclass(frozen=True, slots=True)
class Push:
    """The last attempt of an event that a tool has not taken, and its follow-up."""

    attempt: Attempt
    data: dict[str, Any]
    """The event's own data."""
    record_id: int | None
    next_us: Micros | None
    endpoint_state: str

    @property
    def state(self) -> str:
        """One of `STATES`."""
        return SKIPPED if self.attempt.outcome == SKIPPED else FAILED if self.next_us is None else WAITING


_OF_TOOL = "SELECT id FROM webhook_endpoint WHERE client = ? AND kind IN ('blocklist', 'hubspot') AND url = ?"
_PUSHES = (
    f"SELECT {names(ATTEMPT, 'a.')}, e.data, e.record_id, p.next_us, w.state FROM webhook_attempt a "
    "JOIN webhook_endpoint w ON w.client = a.client AND w.id = a.endpoint_id AND w.kind IN ('blocklist', 'hubspot') "
    "LEFT JOIN pending_webhook p ON p.client = a.client AND p.endpoint_id = a.endpoint_id AND p.sequence = a.sequence "
    "LEFT JOIN logged_event e ON e.client = a.client AND e.sequence = a.sequence"
)
_CONDITIONS = {
    WAITING: "p.next_us IS NOT NULL AND a.outcome <> 'skipped'",
    FAILED: "p.sequence IS NOT NULL AND p.next_us IS NULL AND a.outcome <> 'skipped'",
    SKIPPED: "a.outcome = 'skipped' AND p.sequence IS NULL",
    None: "p.sequence IS NOT NULL AND a.outcome <> 'skipped'",
}


@query
def list_pushes(client: int, url: str, limit: int, before: int | None = None, state_is: str | None = None) -> Plan[list[Push]]:
    """Pushes to a tool that it has not taken, newest first.

    `url`: The URL of the endpoints for the tool. `before`: Id of an attempt. `state_is`: None: waiting and failed ones.
    """
    where = Where("a.client = ?", client)
    where.add("w.url = ? AND a.sequence > 0", url)
    where.add(_CONDITIONS.get(state_is) or _CONDITIONS[None])
    where.add(
        "NOT EXISTS (SELECT 1 FROM webhook_attempt n WHERE n.client = a.client AND n.sequence = a.sequence "
        "AND n.endpoint_id = a.endpoint_id AND n.id > a.id)"
    )
    where.less("a.id", before)
    rows = yield Select(f"{_PUSHES} WHERE {where} ORDER BY a.id DESC LIMIT ?", (*where.params, limit))
    width = len(ATTEMPT)
    return [Push(attempt_of(row[:width]), _data(row[width]), *row[width + 1 :]) for row in rows]


def _data(text: str | None) -> dict[str, Any]:
    """Return the data of an event; empty if it has left the log."""
    return {} if text is None else msgspec.json.decode(text, type=dict[str, Any])


@command(cipher=True)
def retry_pushes(cipher: Cipher, client: int, url: str, at: Micros, sequences: Sequence[int] = ()) -> Plan[int | TouchbaseError]:
    """Send pushes that a tool has not taken again, and resume paused endpoints; return how many events.

    `sequences`: Only these events, also skipped ones; empty: all that wait or failed. `Invalid` if one of them was never sent to the tool.
    """
    count = 0
    unsent = {*sequences}
    for (number,) in (yield Select(f"{_OF_TOOL} ORDER BY id", (client, url))):
        key = (client, number)
        endpoint = yield from locked_endpoint(client, number, cipher)
        events = yield from _attempted(key, sequences, at)
        unsent -= {event.sequence for event in events}
        if sequences and not events:
            continue
        yield Execute(SAVE_PENDING, [pending_row(*key, event) for event in events])
        count += len(events) if sequences else len((yield Execute(RETRY_FAILED, [(*key, 0, at)])))
        if endpoint.state == PAUSED:
            endpoint.state, endpoint.reason, endpoint.state_us = ACTIVE, None, at
            yield Execute(NO_FAILURE, [key])
        yield from save_endpoint(endpoint, cipher)
    if unsent:
        detail = "no attempt to send {} to this tool is stored: the list of its pushes has the ids"
        indices = [(index, event) for index, event in enumerate(sequences) if event in unsent]
        raise Invalid([Fault(f"/events/{index}", "unknown", detail.format(event_id(event))) for index, event in indices])
    return count


def _attempted(key: tuple[int, int], sequences: Sequence[int], at: Micros) -> Plan[list[Pending]]:
    """Return those events of which an endpoint has made an attempt, and that the log has."""
    if not sequences:
        return []
    places = ", ".join("?" * len(sequences))
    rows = yield Select(
        f"SELECT sequence, record_kind, record_id, data FROM logged_event e WHERE client = ? AND sequence IN ({places}) AND EXISTS "
        "(SELECT 1 FROM webhook_attempt a WHERE a.client = e.client AND a.sequence = e.sequence AND a.endpoint_id = ?) ORDER BY sequence",
        (key[0], *sequences, key[1]),
    )
    return [Pending(row[0], order_key(row[1], row[2], _data(row[3])), 0, at, at) for row in rows]
