"""Removing values of records from the log: of erased persons, and of records that are gone for good."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from touchbase.event_log.sql.log import FORGET_CHANGES
from touchbase.sql.statement import Execute, Log, Plan, Row, Select

_MERGES = (
    "SELECT record_kind, record_id, data FROM logged_event WHERE client = ? AND type IN ('contact.merged', 'company.merged') "
    "ORDER BY sequence"
)


class _Merged(msgspec.Struct):
    merged: list[int]


_merged = msgspec.json.Decoder(_Merged).decode


def forget_changes(client: int, records: Sequence[Row]) -> Plan[None]:
    """Remove the changes from the events of these records (kind and id), and of records that a merge has ever joined with them.

    The events of a merge have values of all its records, also after it was undone.
    """
    joined_records = {*records}
    merges = [
        {(kind, number), *((kind, merged_id) for merged_id in _merged(data).merged)} for kind, number, data in (yield from _all(client))
    ]
    while joined := [merge for merge in merges if not joined_records.isdisjoint(merge)]:
        joined_records |= {record for merge in joined for record in merge}
        merges = [merge for merge in merges if merge not in joined]
    rows = [(client, kind, number) for kind, number in sorted(joined_records)]
    yield Execute(FORGET_CHANGES, rows)
    yield Log([], rows)  # also from events of this transaction, which are stored at its end


def _all(client: int) -> Plan[list[Row]]:
    return (yield Select(_MERGES, (client,)))
