"""Removing values of records from the log: of erased persons, and of records that are gone for good."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from touchbase.event_log.sql.statements import FORGET_CHANGES
from touchbase.sql.statement import Execute, Log, Plan, Row, Select

_MERGES = (
    "SELECT record_kind, record_id, data FROM logged_event WHERE client = ? AND type IN ('contact.merged', 'company.merged') "
    "ORDER BY sequence"
)
_merged = msgspec.json.Decoder(dict[str, list[int]]).decode


def forget_changes(client: int, records: Sequence[Row]) -> Plan[None]:
    """Remove what changed from the events of these records (kind and id), and of those with which a merge has ever joined them.

    The events of a merge have values of all its records, also after it was undone.
    """
    known = {*records}
    merges = [{(kind, number), *((kind, each) for each in _merged(data)["merged"])} for kind, number, data in (yield from _all(client))]
    while joined := [merge for merge in merges if not known.isdisjoint(merge)]:
        known |= {record for merge in joined for record in merge}
        merges = [merge for merge in merges if merge not in joined]
    rows = [(client, kind, number) for kind, number in sorted(known)]
    yield Execute(FORGET_CHANGES, rows)
    yield Log([], rows)  # also from events of this transaction, which are stored at its end


def _all(client: int) -> Plan[list[Row]]:
    return (yield Select(_MERGES, (client,)))
