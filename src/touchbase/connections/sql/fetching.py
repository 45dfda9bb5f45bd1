"""Fetch queue: claim it, list due records, store results. One worker at a time fetches for one client and tool."""

from __future__ import annotations

from touchbase.common.timestamps import Micros
from touchbase.connections.fetch_state import ClaimedFetch, FetchRequest, FetchResult, FetchState
from touchbase.sql.dialect import only_row
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

_SOURCE: Columns = (("client", "bigint"), ("tool", "text"))
_SAME_SOURCE = "t.client = p.client AND t.tool = p.tool"
INSERT_SOURCE = Statement(
    "insert_source",
    _SOURCE,
    body="INSERT INTO fetch_state (client, tool, next_us, failures, stopped) SELECT p.client, p.tool, 0, 0, 0 FROM p WHERE true "
    "ON CONFLICT DO NOTHING",
)
CLAIM_SOURCE = Statement(
    "claim_source",
    (*_SOURCE, ("now_us", "bigint"), ("until_us", "bigint")),
    body="UPDATE fetch_state AS t SET next_us = p.until_us FROM p "
    f"WHERE {_SAME_SOURCE} AND t.stopped = 0 AND t.next_us <= p.now_us RETURNING t.failures",
    by_row=True,
)
_DUE = (
    "SELECT object_type, object_id, requested_us, attempts, cursor FROM fetch_queue "
    "WHERE client = {} AND tool = {} AND next_us <= {} ORDER BY rank, next_us LIMIT {}"
)
_DUE_ROW: Columns = (*_SOURCE, ("now_us", "bigint"), ("most", "bigint"))
WANTED_NOW = Statement(
    "wanted_now",
    _DUE_ROW,
    sqlite=_DUE.format("?1", "?2", "?3", "?4"),
    postgres=_DUE.format(*only_row(_DUE_ROW)),
)
_FINISH: Columns = (
    *_SOURCE, ("until_us", "bigint"), ("next_us", "bigint"), ("failures", "bigint"), ("stopped", "bigint"), ("error", "text"),
    ("error_us", "bigint"), ("fetched_us", "bigint"),
)  # fmt: skip
FINISH_SOURCE = Statement(
    "finish_source",
    _FINISH,
    body="UPDATE fetch_state AS t SET next_us = p.next_us, failures = p.failures, stopped = p.stopped, "
    "error = COALESCE(p.error, t.error), error_us = COALESCE(p.error_us, t.error_us), "
    f"fetched_us = COALESCE(p.fetched_us, t.fetched_us) FROM p WHERE {_SAME_SOURCE} AND t.next_us = p.until_us RETURNING t.client",
    by_row=True,
)
_REQUEST: Columns = (*_SOURCE, ("object_type", "text"), ("object_id", "text"), ("requested_us", "bigint"))
_SAME_WANTED = f"{_SAME_SOURCE} AND t.object_type = p.object_type AND t.object_id = p.object_id AND t.requested_us = p.requested_us"
DROP_WANTED = delete("drop_wanted", "fetch_queue", _REQUEST)
RETRY_WANTED = Statement(
    "ask_later",
    (*_REQUEST, ("next_us", "bigint")),
    body=f"UPDATE fetch_queue AS t SET attempts = t.attempts + 1, next_us = p.next_us FROM p WHERE {_SAME_WANTED}",
    by_row=True,
)
FOLLOW = Statement(
    "follow_list",
    (*_REQUEST, ("cursor", "text"), ("next_us", "bigint")),
    body="UPDATE fetch_queue AS t SET cursor = p.cursor, "
    "attempts = CASE WHEN t.requested_us = p.requested_us THEN -1 ELSE t.attempts END, "
    "next_us = CASE WHEN t.requested_us = p.requested_us THEN p.next_us ELSE t.next_us END FROM p "
    f"WHERE {_SAME_SOURCE} AND t.object_type = p.object_type AND t.object_id = p.object_id",
    by_row=True,
)
"""With -1 attempts a list waits for its next reading, and counts as nothing that is still to be fetched."""
RESUME_SOURCE = Statement(
    "resume_source",
    _SOURCE,
    body="UPDATE fetch_state AS t SET stopped = 0, failures = 0, "
    "next_us = CASE WHEN t.stopped = 1 OR t.failures > 0 THEN 0 ELSE t.next_us END, "
    f"error = NULL, error_us = NULL FROM p WHERE {_SAME_SOURCE}",
    by_row=True,
)
RETRY_NOT_FOUND = Statement(
    "want_once_more",
    (*_SOURCE, ("next_us", "bigint")),
    body=f"UPDATE fetch_queue AS t SET next_us = p.next_us, attempts = 0 FROM p WHERE {_SAME_SOURCE} AND t.next_us IS NULL",
    by_row=True,
)


@command(background=True)
def claim_fetch(client: int, tool: str, now_us: Micros, until_us: Micros, limit: int) -> Plan[ClaimedFetch | None]:
    """Claim the fetch queue of a client's tool until `until_us`, so that no other worker fetches from it.

    Returns the due records, first the ones needed by parked events; None when another worker has the claim, or the queue is paused.
    """
    yield Execute(INSERT_SOURCE, [(client, tool)])
    rows = yield Execute(CLAIM_SOURCE, [(client, tool, now_us, until_us)])
    if not rows:
        return None
    due = yield Execute(WANTED_NOW, [(client, tool, now_us, limit)])
    return ClaimedFetch([FetchRequest(*row) for row in due], rows[0][0])


@command(background=True)
def finish_fetch(
    client: int,
    tool: str,
    until_us: Micros,
    result: FetchResult,
) -> Plan[bool]:
    """Store the result of a fetch and release the claim that ends at `until_us`.

    Returns False when the claim had expired: then the queue's times are those of the worker that claimed it next.
    """
    error_us = result.at if result.error is not None else None
    progress = (until_us, result.next_us, result.failures, int(result.stopped), result.error, error_us, result.fetched_us)
    rows = yield Execute(FINISH_SOURCE, [(client, tool, *progress)])
    if result.done:
        yield Execute(DROP_WANTED, sorted(_row(client, tool, request) for request in result.done))
    later = [(*_row(client, tool, request), next_us) for request, next_us in result.retries]
    later += [(*_row(client, tool, request), None) for request in result.not_found]
    if later:
        yield Execute(RETRY_WANTED, sorted(later, key=lambda row: row[:4]))
    if result.followed:
        yield Execute(FOLLOW, [(*_row(client, tool, request), cursor, at) for request, cursor, at in result.followed])
    return bool(rows)


def resume_fetching(client: int, tool: str, at: Micros, *, new_token: bool) -> Plan[None]:
    """Resume a stopped queue; with a new token also queue the records again that were not found."""
    yield Execute(RESUME_SOURCE, [(client, tool)])
    if new_token:
        yield Execute(RETRY_NOT_FOUND, [(client, tool, at)])


@query(scope=ALL_CLIENTS)
def due_fetches(now_us: Micros) -> Plan[list[tuple[int, str]]]:
    """List fetch queues (client number, tool) of active clients that have an access token and records due by `now_us`.

    The queue that has been due longest comes first.
    """
    rows = yield Select(
        "SELECT c.client, c.tool FROM connection c JOIN client k ON k.id = c.client AND k.state = 'active' "
        "LEFT JOIN fetch_state s ON s.client = c.client AND s.tool = c.tool "
        "WHERE c.channel = 'crm' AND c.access_token <> '' AND COALESCE(s.stopped, 0) = 0 AND COALESCE(s.next_us, 0) <= ? "
        "AND EXISTS (SELECT 1 FROM fetch_queue w WHERE w.client = c.client AND w.tool = c.tool AND w.next_us <= ?) "
        "ORDER BY COALESCE(s.next_us, 0), c.client, c.tool",
        (now_us, now_us),
    )
    return [(row[0], row[1]) for row in rows]


@query
def list_fetching(client: int) -> Plan[list[FetchState]]:
    """List the state of a client's fetch queues, without tools that were never requested."""
    rows = yield Select("SELECT tool, next_us, failures, stopped, error, error_us, fetched_us FROM fetch_state WHERE client = ?", (client,))
    states = {row[0]: FetchState(row[0], row[1], row[2], bool(row[3]), row[4], row[5], row[6]) for row in rows}
    counted = yield Select(
        "SELECT tool, count(next_us), count(*) FROM fetch_queue WHERE client = ? AND attempts >= 0 GROUP BY tool", (client,)
    )
    for tool, wanted, total in counted:
        state = states.setdefault(tool, FetchState(tool))
        state.wanted, state.not_found = wanted, total - wanted
    return [states[tool] for tool in sorted(states)]


def _row(client: int, tool: str, request: FetchRequest) -> Row:
    return (client, tool, request.object_type, request.object_id, request.wanted_us)
