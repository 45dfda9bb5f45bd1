"""Find, store and delete the responses of idempotency keys."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.idempotency.models import LIFETIME, KnownResponse, RequestKey, StoredResponse
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

RESPONSE: Columns = (
    ("client", "bigint"), ("key", "text"), ("fingerprint", "bytea"), ("record_kind", "bigint"), ("record_id", "bigint"),
    ("created_us", "bigint"), ("expires_us", "bigint"), ("response", "bytea"),
)  # fmt: skip
_KEY_AT: Columns = (("client", "bigint"), ("key", "text"), ("now_us", "bigint"))
_STORED: Columns = tuple(column for column in RESPONSE if not column[0].endswith("_us"))
_THEN = ", ".join(f"{name} = excluded.{name}" for name, _ in RESPONSE[2:])

FIND_RESPONSE = Statement(
    "find_response",
    _KEY_AT,
    body=f"SELECT {names(_STORED, 't.')} FROM p CROSS JOIN idempotency_key t "
    "WHERE t.client = p.client AND t.key = p.key AND t.expires_us > p.now_us",
)
# Returns no row for a key that a concurrent request has used since we searched for it.
STORE_RESPONSE = Statement(
    "store_response",
    RESPONSE,
    body=f"INSERT INTO idempotency_key ({names(RESPONSE)}) SELECT * FROM p WHERE true "
    f"ON CONFLICT (client, key) DO UPDATE SET {_THEN} WHERE idempotency_key.expires_us <= excluded.created_us RETURNING client",
)
DELETE_EXPIRED = Statement(
    "delete_expired_response",
    _KEY_AT,
    body="DELETE FROM idempotency_key t USING p WHERE t.client = p.client AND t.key = p.key AND t.expires_us <= p.now_us "
    "RETURNING t.client",
    by_row=True,
)
# When two records are merged, the responses about the removed record belong to the remaining one.
MOVE_RESPONSES = Statement(
    "move_responses",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("to_id", "bigint")),
    body="UPDATE idempotency_key t SET record_id = p.to_id FROM p "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id",
    by_row=True,
)


def response_row(request: RequestKey, response: StoredResponse) -> Row:
    """Return the response's row, in the order of `RESPONSE`."""
    record = (response.record_kind, response.record_id)
    return (request.client, request.key, request.fingerprint, *record, request.at, request.at + LIFETIME, response.encoded)


def stored_responses(requests: Sequence[RequestKey]) -> Plan[dict[tuple[int, str], KnownResponse]]:
    """Return the stored responses of these requests' keys, by client and key."""
    rows = yield Execute(FIND_RESPONSE, list({(r.client, r.key): (r.client, r.key, r.at) for r in requests}.values()))
    return {(row[0], row[1]): KnownResponse(row[2], StoredResponse(row[5], row[3], row[4])) for row in rows}


@query(client="request.client", quick=True)
def find_response(request: RequestKey) -> Plan[KnownResponse | None]:
    """The stored response of a request's key, whichever request it belongs to; None when it has expired."""
    stored = yield from stored_responses([request])
    return stored.get((request.client, request.key))


@query(scope=ALL_CLIENTS)
def expired_responses(now_us: Micros, limit: int) -> Plan[list[tuple[int, str]]]:
    """Client and key of responses that have expired by `now_us`, the oldest first."""
    sql = "SELECT client, key FROM idempotency_key WHERE expires_us <= ? ORDER BY expires_us LIMIT ?"
    rows = yield Select(sql, (now_us, limit))
    return [(row[0], row[1]) for row in rows]


@command(background=True)
def delete_responses(client: int, keys: list[str], now_us: Micros) -> Plan[int]:
    """Delete these responses if they have expired by `now_us`; return how many."""
    rows = yield Execute(DELETE_EXPIRED, [(client, key, now_us) for key in sorted(keys)])
    return len(rows)
