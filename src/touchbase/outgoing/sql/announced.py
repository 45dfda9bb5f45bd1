"""The installation's do-not-contact list in the logs of clients: an event for each entry that an endpoint of the kind blocklist lacks.

The list is no client's, so no transaction that changes it logs an event of a client. What an endpoint was told of is stored and compared
with the list, in each cell with its copy: so new endpoints catch up, and entries that were removed or have ended are announced too.
"""

from __future__ import annotations

from touchbase.common.timestamps import DAY, Micros
from touchbase.event_log.models import SERVICE, EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.outgoing.sql.statements import LOCK_ENDPOINT, SAVE_ANNOUNCED
from touchbase.sql.operation import command, query
from touchbase.sql.statement import Execute, Plan, Select

PAGE = 500
"""Entries of one transaction. Further ones follow when the endpoint has sent these."""
KEEP: Micros = 90 * DAY
"""Age of an announced removal after which its row is deleted: its attempts are over."""
_ACTIVE = "(s.until_us IS NULL OR s.until_us > ?)"


@command(background=True)
def announce_installation_list(client: int, endpoint_id: int, at: Micros) -> Plan[int]:
    """Log events for entries that an endpoint does not know, and for known ones that have left the list; return how many."""
    if not (yield Execute(LOCK_ENDPOINT, [(client, endpoint_id)])):
        return 0
    key = (client, endpoint_id)
    gone = yield Select(
        "SELECT a.suppression_id, a.kind, a.value FROM announced_suppression a WHERE a.client = ? AND a.endpoint_id = ? "
        f"AND a.removed_us IS NULL AND NOT EXISTS (SELECT 1 FROM installation_suppression s WHERE s.id = a.suppression_id AND {_ACTIVE}) "
        "ORDER BY a.suppression_id LIMIT ?",
        (*key, at, PAGE),
    )
    new = yield Select(
        f"SELECT s.id, s.kind, s.value FROM installation_suppression s WHERE {_ACTIVE} AND NOT EXISTS "
        "(SELECT 1 FROM announced_suppression a WHERE a.client = ? AND a.endpoint_id = ? AND a.suppression_id = s.id "
        "AND a.removed_us IS NULL) ORDER BY s.id LIMIT ?",
        (at, *key, PAGE - len(gone)),
    )
    yield Select(
        "DELETE FROM announced_suppression WHERE client = ? AND endpoint_id = ? AND removed_us < ? RETURNING suppression_id",
        (*key, at - KEEP),
    )
    rows = [(*key, *row, at) for row in gone] + [(*key, *row, None) for row in new]
    if rows:
        yield Execute(SAVE_ANNOUNCED, sorted(rows, key=lambda row: row[2]))
        yield from log_events([_event(client, endpoint_id, row[2], row[3], at, is_removal=row[5] is not None) for row in rows])
    return len(rows)


def _event(client: int, endpoint_id: int, number: int, kind: str, at: Micros, *, is_removal: bool) -> LoggedEvent:
    what = EventType.INSTALLATION_SUPPRESSION_REMOVED if is_removal else EventType.INSTALLATION_SUPPRESSION_ADDED
    # Without the address, as in the events of the client's own list.
    data = {"suppression_id": number, "kind": kind, "endpoint_id": endpoint_id}
    return LoggedEvent(client, what, at, cause={"origin": SERVICE}, data=data)


@query
def find_announced(client: int, endpoint_id: int, id: int) -> Plan[tuple[str, str] | None]:
    """Kind and value of an entry that an endpoint was told of, also of a removed one."""
    rows = yield Select(
        "SELECT kind, value FROM announced_suppression WHERE client = ? AND endpoint_id = ? AND suppression_id = ?",
        (client, endpoint_id, id),
    )
    return (rows[0][0], rows[0][1]) if rows else None


@query
def is_listed(client: int, address_kind: str, value: str, now: Micros) -> Plan[bool]:
    """Whether the client's list or the installation's has an active entry for exactly this address."""
    alive = "kind = ? AND value = ? AND (until_us IS NULL OR until_us > ?)"
    rows = yield Select(
        f"SELECT 1 FROM suppression WHERE client = ? AND {alive} AND reason IS NOT NULL "
        f"UNION ALL SELECT 1 FROM installation_suppression WHERE {alive}",
        (client, address_kind, value, now, address_kind, value, now),
    )
    return bool(rows)


@query
def is_on_list(client: int, endpoint_id: int, address_kind: str, value: str) -> Plan[bool]:
    """Whether the last request of an endpoint that succeeded for an address, of either list, put it on the tool's list."""
    address = (client, address_kind, value)
    rows = yield Select(
        "SELECT a.type FROM webhook_attempt a JOIN logged_event e ON e.client = a.client AND e.sequence = a.sequence JOIN ("
        "SELECT id FROM suppression WHERE client = ? AND kind = ? AND value = ? UNION "
        "SELECT suppression_id FROM announced_suppression WHERE client = ? AND kind = ? AND value = ? AND endpoint_id = ?"
        ") s ON e.data LIKE '{\"suppression_id\":' || s.id || ',%' "
        "WHERE a.client = ? AND a.endpoint_id = ? AND a.outcome = 'delivered' ORDER BY a.id DESC LIMIT 1",
        (*address, *address, endpoint_id, client, endpoint_id),
    )
    return bool(rows) and rows[0][0] in (EventType.SUPPRESSION_ADDED, EventType.INSTALLATION_SUPPRESSION_ADDED)
