"""Removing values of records from the log: of erased persons, and of records that are gone for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from touchbase.event_log.models import record_event
from touchbase.event_log.sql.statements import FORGET_CHANGES, MERGES_OF
from touchbase.sql.statement import Execute, Log, Plan, Row


def forget_changes(client: int, records: Sequence[Row]) -> Plan[None]:
    """Remove what changed from the events of these records (kind and id), and of the records that were merged into them."""
    known: set[Row] = set()
    waiting = {*records}
    while waiting:
        known |= waiting
        rows = yield Execute(MERGES_OF, [(client, *each, record_event(each[0], "merged")) for each in sorted(waiting)])
        waiting = {(kind, number) for kind, data in rows for number in _merged(data)} - known
    rows = [(client, kind, number) for kind, number in sorted(known)]
    yield Execute(FORGET_CHANGES, rows)
    yield Log([], rows)  # also from events of this transaction, which are stored at its end


def _merged(data: str) -> list[int]:
    decoded: dict[str, Any] = msgspec.json.decode(data)
    found: list[int] = decoded.get("merged", [])
    return found
