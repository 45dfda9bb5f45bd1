"""Queries that find the clients whose data retention has to remove, a few statements for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.deliveries.sql.body_retention import DUE, UNPROVEN
from touchbase.history.events import COMPANY, CONTACT
from touchbase.sql.operation import query
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan, Select

_UNRECOGNISED = f"FROM delivery WHERE client = c.id AND {UNPROVEN}"
_REFUSED = "FROM refused_body WHERE client = c.id"
# The oldest by id, because they are removed in this order; and SQLite would look for the smallest time among the bodies of all clients.
_SIZE = "SELECT CAST(COALESCE(sum(size), 0) AS bigint)"
_BODIES = (
    f"SELECT c.id, (SELECT received_us {_UNRECOGNISED} ORDER BY id LIMIT 1), ({_SIZE} {_UNRECOGNISED}), "
    f"(SELECT received_us {_REFUSED} ORDER BY received_us, digest LIMIT 1), ({_SIZE} {_REFUSED}) "
    f"FROM client c WHERE EXISTS (SELECT 1 {_UNRECOGNISED}) OR EXISTS (SELECT 1 {_REFUSED}) ORDER BY c.id"
)


@query(scope=ALL_CLIENTS)
def clients_above_limits(unrecognised_before: Micros, refused_before: Micros, max_bytes: int) -> Plan[list[int]]:
    """Numbers of clients with an unrecognised or refused body from before these times, or with more than `max_bytes` of them (0: any)."""
    return [
        client
        for client, unrecognised_us, unrecognised_size, refused_us, refused_size in (yield Select(_BODIES, ()))
        if (unrecognised_us is not None and unrecognised_us < unrecognised_before)
        or (refused_us is not None and refused_us < refused_before)
        or unrecognised_size + refused_size > max_bytes > 0
    ]


@dataclass(frozen=True, slots=True)
class OldestData:
    """A client, and the times of its oldest data of each kind that retention removes; None for a kind that it has not."""

    client: int
    body_us: Micros | None
    message_us: Micros | None
    answer_us: Micros | None
    deleted_us: Micros | None
    merged_us: Micros | None
    logged_us: Micros | None

    def is_due(self, bodies_before: Micros | None, deleted_before: Micros, logged_before: Micros | None) -> bool:
        """Return whether something is from before the time up to which data of its kind is removed; None: it is stored for ever."""
        return any(
            at is not None and before is not None and at < before
            for before, times in (
                (bodies_before, (self.body_us, self.message_us, self.answer_us)),
                (deleted_before, (self.deleted_us, self.merged_us)),
                (logged_before, (self.logged_us,)),
            )
            for at in times
        )


_DELETED = "SELECT deleted_us FROM deleted_record WHERE client = c.id AND erasure_asked_us IS NULL"
# Each reads the first entry of an index, except answers, of which a client has few.
_OLDEST = ", ".join(
    f"({sql})"
    for sql in (
        f"SELECT applied_us FROM delivery WHERE client = c.id AND applied_us IS NOT NULL AND {DUE} ORDER BY applied_us LIMIT 1",
        "SELECT received_us FROM message WHERE client = c.id AND has_body = 1 ORDER BY received_us LIMIT 1",
        "SELECT min(created_us) FROM answer WHERE client = c.id AND state IN ('sent', 'failed', 'unknown')",
        *(f"{_DELETED} AND record_kind = {kind} ORDER BY deleted_us LIMIT 1" for kind in (CONTACT, COMPANY)),
        "SELECT merged_us FROM record_merge WHERE client = c.id ORDER BY merged_us LIMIT 1",
        "SELECT at FROM logged_event WHERE client = c.id ORDER BY sequence LIMIT 1",
    )
)


@query(scope=ALL_CLIENTS)
def list_oldest(after: int, limit: int) -> Plan[list[OldestData]]:
    """The oldest data of the clients after a number."""
    rows = yield Select(f"SELECT c.id, {_OLDEST} FROM client c WHERE c.id > ? ORDER BY c.id LIMIT ?", (after, limit))
    return [
        OldestData(client, body, message, answer, min((at for at in deleted if at is not None), default=None), merged, logged)
        for client, body, message, answer, *deleted, merged, logged in rows
    ]
