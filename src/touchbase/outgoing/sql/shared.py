"""Endpoints of all clients: rows of `EVERY_CLIENT` in the home store, of which each active client has a copy in its cell.

The process that serves a client's share makes its copies (`Dispatcher`). A copy has a position, attempts and a state of its own, so that
one client's backlog delays no other; all else is copied when the version has grown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.encryption.encrypted_columns import WEBHOOK_TABLE, decrypt_row, encrypt_row
from touchbase.outgoing.models import ACTIVE, AUDIT, EVERY_CLIENT, SHARDS, Endpoint
from touchbase.outgoing.sql.statements import (
    DELETE_ATTEMPTS,
    DELETE_ENDPOINT,
    DELETE_PENDING,
    DELETE_POSITION,
    ENDPOINT,
    INSERT_ENDPOINT,
    INSERT_POSITION,
    NO_FAILURE,
    RETRY_WAITING,
    UPDATE_ENDPOINT,
    endpoint_of,
    endpoint_row,
)
from touchbase.sql.cell_answers import SUMMED
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import names
from touchbase.sql.scope import ALL_CLIENTS, CLIENT_LIST, scope_for
from touchbase.sql.statement import Execute, Plan, Row, Select

PAGE = 200
"""Copies that one transaction makes, changes or removes."""
LATE = 1_000
"""Events of a client that are looked through for those between the addition of an endpoint and the making of its copy."""
_COLUMNS = names(ENDPOINT, "e.")


@query(scope=scope_for(EVERY_CLIENT), quick=True)
def shared_versions() -> Plan[list[tuple[int, int]]]:
    """Ids and versions of the endpoints of all clients that are copied."""
    rows = yield Select("SELECT id, version FROM webhook_endpoint WHERE client = ? AND kind <> ? ORDER BY id", (EVERY_CLIENT, AUDIT))
    return [(number, version) for number, version in rows]


@query(scope=scope_for(EVERY_CLIENT), cipher=True)
def read_shared(cipher: Cipher) -> Plan[list[Endpoint]]:
    """The endpoints of all clients that are copied, with their secrets."""
    rows = yield Select(
        f"SELECT {_COLUMNS} FROM webhook_endpoint e WHERE e.client = ? AND e.kind <> ? ORDER BY e.id", (EVERY_CLIENT, AUDIT)
    )
    return [endpoint_of(decrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, row)) for row in rows]


@query(scope=CLIENT_LIST)
def newest_client() -> Plan[int]:
    """The number of the newest client; 0: there is none."""
    rows = yield Select("SELECT max(id) FROM client", ())
    return rows[0][0] or 0


@command(ids=lambda calls: {"webhook_endpoint": PAGE * len(calls)}, cipher=True, scope=ALL_CLIENTS, background=True)
def copy_shared(ids: Ids, cipher: Cipher, shared: Sequence[Endpoint], shards: Collection[int], at: Micros) -> Plan[int]:
    """Make, change and remove up to `PAGE` copies for active clients of these shards; return how many, 0 once all are as they must be."""
    of_shards = f"% {SHARDS} IN ({', '.join(str(number) for number in sorted(shards))})"
    is_gone = f"AND shared_id NOT IN ({', '.join('?' * len(shared))})" if shared else ""
    gone = yield Select(
        f"SELECT client, id FROM webhook_endpoint WHERE shared_id IS NOT NULL {is_gone} AND client {of_shards} "
        f"ORDER BY client, id LIMIT {PAGE}",
        tuple(endpoint.id for endpoint in shared),
    )
    for statement in (DELETE_ENDPOINT, DELETE_POSITION, DELETE_PENDING, DELETE_ATTEMPTS):
        yield Execute(statement, [(client, number) for client, number in gone])
    done = len(gone)
    for endpoint in shared if done < PAGE else ():
        rows = yield Select(
            f"SELECT c.id, c.created_us, {_COLUMNS} FROM client c LEFT JOIN webhook_endpoint e ON e.shared_id = ? AND e.client = c.id "
            f"WHERE c.state = 'active' AND c.id {of_shards} AND (e.id IS NULL OR e.shared_version < ?) ORDER BY c.id LIMIT {PAGE - done}",
            (endpoint.id, endpoint.version),
        )
        yield from _add([(row[0], row[1]) for row in rows if row[3] is None], endpoint, ids, cipher)
        yield from _change([row[2:] for row in rows if row[3] is not None], endpoint, cipher, at)
        done += len(rows)
        if done >= PAGE:
            break
    return done


def _add(clients: Sequence[tuple[int, Micros]], shared: Endpoint, ids: Ids, cipher: Cipher) -> Plan[None]:
    """Give clients a copy, which gets their events since the endpoint was added; a client that is younger all of its events."""
    rows: list[Row] = []
    positions: list[Row] = []
    for client, created_us in clients:
        copy = replace(
            shared, client=client, id=ids.take("webhook_endpoint"), version=1, shared_id=shared.id, shared_version=shared.version
        )
        rows.append((yield from encrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, endpoint_row(copy))))
        start = 0
        if created_us < shared.created_us:
            newest = yield Select("SELECT next - 1 FROM event_counter WHERE client = ?", (client,))
            start = newest[0][0] if newest else 0
            [(first,)] = yield Select(
                "SELECT min(sequence) FROM logged_event WHERE client = ? AND sequence > ? AND at >= ?",
                (client, start - LATE, shared.created_us),
            )
            start = start if first is None else first - 1
        positions.append((client, copy.id, start))
    yield Execute(INSERT_ENDPOINT, rows)
    yield Execute(INSERT_POSITION, positions)


def _change(rows: Sequence[Row], shared: Endpoint, cipher: Cipher, at: Micros) -> Plan[None]:
    """Copy an endpoint again; a copy has its state if that was set later than the copy's own."""
    changed: list[Row] = []
    for row in rows:
        before = endpoint_of(decrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, row))
        state = (before.state, before.reason, before.state_us)
        if shared.state_us > before.state_us:
            state = (shared.state, shared.reason, shared.state_us)
            if shared.state == ACTIVE:
                yield Execute(NO_FAILURE, [(before.client, before.id)])
                yield Execute(RETRY_WAITING, [(before.client, before.id, at)])
        copy = replace(
            shared, client=before.client, id=before.id, created_us=before.created_us, version=before.version + 1,
            state=state[0], reason=state[1], state_us=state[2], shared_id=shared.id, shared_version=shared.version,
        )  # fmt: skip
        changed.append((yield from encrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, endpoint_row(copy))))
    yield Execute(UPDATE_ENDPOINT, changed)


COPIES, FAILING, FAILED = "copies", "failing", "failed"
"""Counts besides those by state."""


@query(scope=ALL_CLIENTS, merge=SUMMED)
def count_copies(shared_ids: Sequence[int]) -> Plan[Mapping[tuple[int, str], int]]:
    """Copies of endpoints of all clients by endpoint and state, those that fail, and their events of which all attempts failed."""
    counts: dict[tuple[int, str], int] = {}
    if not shared_ids:
        return counts
    rows = yield Select(
        "SELECT e.shared_id, e.state, count(*), count(s.failing_since_us), COALESCE(sum((SELECT count(*) FROM pending_webhook p "
        "WHERE p.client = e.client AND p.endpoint_id = e.id AND p.next_us IS NULL)), 0) FROM webhook_endpoint e "
        "JOIN webhook_position s ON s.client = e.client AND s.endpoint_id = e.id "
        f"WHERE e.shared_id IN ({', '.join('?' * len(shared_ids))}) GROUP BY e.shared_id, e.state",
        tuple(shared_ids),
    )
    for shared_id, state, copies, failing, failed in rows:
        values: list[tuple[str, Any]] = [(state, copies), (COPIES, copies), (FAILING, failing), (FAILED, failed)]
        for name, count in values:
            counts[shared_id, name] = counts.get((shared_id, name), 0) + int(count)
    return counts
