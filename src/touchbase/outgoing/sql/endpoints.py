"""Plans that make, change, list and remove endpoints, one command at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from touchbase.audit import audited
from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros, to_text
from touchbase.encryption.encrypted_columns import WEBHOOK_TABLE, decrypt_row, encrypt_row
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.outgoing.models import (
    ACTIVE,
    AUDIT,
    EVERY_CLIENT,
    MAX_ENDPOINTS,
    MAX_UNDONE,
    SIGNED,
    SKIPPED,
    Endpoint,
    EndpointProgress,
    Pending,
    Secret,
    act_number,
    order_key,
)
from touchbase.outgoing.sql.backlog import count_waiting, filter_conditions
from touchbase.outgoing.sql.statements import (
    DELETE_ANNOUNCED,
    DELETE_ATTEMPTS,
    DELETE_ENDPOINT,
    DELETE_PENDING,
    DELETE_POSITION,
    ENDPOINT,
    INSERT_ENDPOINT,
    INSERT_POSITION,
    LOCK_ENDPOINT,
    NO_FAILURE,
    RETRY_FAILED,
    RETRY_WAITING,
    SAVE_PENDING,
    SET_START,
    UPDATE_ENDPOINT,
    endpoint_of,
    endpoint_row,
    pending_row,
)
from touchbase.sql.cell_answers import Division, divide_clients, named_clients, sorted_page
from touchbase.sql.filters import Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select


def no_such_endpoint(endpoint_id: int) -> NotFound:
    """Return the error for an endpoint that the client does not have."""
    return NotFound(f"there is no webhook endpoint with id {endpoint_id}")


def _endpoint_of(call: Any, endpoint: Endpoint) -> int:
    return endpoint.id


def _client_of(call: Any, endpoint: Endpoint) -> int:
    return endpoint.client


@command(
    ids="webhook_endpoint",
    cipher=True,
    client="endpoint.client",
    follow_up=audited("endpoint.created", "endpoint", _endpoint_of, _client_of),
)
def add_endpoint(ids: Ids, cipher: Cipher, endpoint: Endpoint) -> Plan[Endpoint | TouchbaseError]:
    """Store an endpoint; the store assigns its id. It gets the events that are logged from now on. `Conflict` above `MAX_ENDPOINTS`."""
    there = yield Select("SELECT count(*) FROM webhook_endpoint WHERE client = ? AND shared_id IS NULL", (endpoint.client,))
    if there[0][0] >= MAX_ENDPOINTS:
        return Conflict(f"a client has at most {MAX_ENDPOINTS} webhook endpoints; remove one, or read the change feed")
    endpoint.id = ids.take("webhook_endpoint")
    row = yield from encrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, endpoint_row(endpoint))
    yield Execute(INSERT_ENDPOINT, [row])
    start = act_number(endpoint.created_us) - 1 if endpoint.kind == AUDIT else (yield from _newest(endpoint.client))
    yield Execute(INSERT_POSITION, [(endpoint.client, endpoint.id, start)])
    return endpoint


def _newest(client: int) -> Plan[int]:
    rows = yield Select("SELECT next - 1 FROM event_counter WHERE client = ?", (client,))
    return rows[0][0] if rows else 0


@command(cipher=True, client="endpoint.client", follow_up=audited("endpoint.changed", "endpoint", _endpoint_of, _client_of))
def change_endpoint(cipher: Cipher, endpoint: Endpoint, revision: int) -> Plan[Endpoint | TouchbaseError]:
    """Replace the values of an endpoint, decided on `revision`; `NotFound`, and `PreconditionFailed` if it has changed since.

    `endpoint`: With the new values.
    `revision`: The version that the change was decided on.
    """
    current = yield from locked_endpoint(endpoint.client, endpoint.id, cipher)
    if current.version != revision:
        return PreconditionFailed("the endpoint has changed since it was read; read it again and repeat the change")
    own = replace(current, state=endpoint.state, reason=endpoint.reason, state_us=endpoint.state_us, updated_us=endpoint.updated_us)
    if own != endpoint:
        _refuse_copy(current.shared_id)
    return (yield from save_endpoint(endpoint, cipher))


@command(cipher=True, follow_up=audited("endpoint.secret_rotated", "endpoint", _endpoint_of))
def rotate_secret(cipher: Cipher, client: int, id: int, secret: Secret, until_us: Micros, at: Micros) -> Plan[Endpoint | TouchbaseError]:
    """Add a secret; the present one signs too until `until_us`, older ones stop. `NotFound`."""
    current = yield from locked_endpoint(client, id, cipher)
    _refuse_copy(current.shared_id)
    if current.kind not in SIGNED:
        return WrongState(f"an endpoint of the kind {current.kind} signs nothing; change what its messages are sent to instead")
    current.secrets = [secret, replace(current.secrets[0], until_us=until_us)]
    current.updated_us = at
    return (yield from save_endpoint(current, cipher))


@command(cipher=True, follow_up=audited("endpoint.resumed", "endpoint", _endpoint_of))
def resume_endpoint(cipher: Cipher, client: int, id: int, at: Micros) -> Plan[Endpoint | TouchbaseError]:
    """Resume an endpoint; waiting events are sent, in order. `NotFound`."""
    current = yield from locked_endpoint(client, id, cipher)
    current.state, current.reason, current.state_us, current.updated_us = ACTIVE, None, at, at
    yield Execute(NO_FAILURE, [(client, id)])
    yield Execute(RETRY_WAITING, [(client, id, at)])
    return (yield from save_endpoint(current, cipher))


def _refuse_copy(shared_id: int | None) -> None:
    """Raise `WrongState` for a copy of an endpoint of all clients."""
    if shared_id is not None:
        raise WrongState(
            f"this endpoint is a copy of endpoint {shared_id} of all clients: change that, at /team/v1/webhook-endpoints/{shared_id}; "
            "of the copy only `disabled` can be changed"
        )


def locked_endpoint(client: int, endpoint_id: int, cipher: Cipher) -> Plan[Endpoint]:
    """Return an endpoint, locked until the commit. Raises `NotFound`."""
    rows = yield Execute(LOCK_ENDPOINT, [(client, endpoint_id)])
    if not rows:
        raise no_such_endpoint(endpoint_id)
    return _decrypted(rows[0], cipher)


def save_endpoint(endpoint: Endpoint, cipher: Cipher) -> Plan[Endpoint]:
    """Store an endpoint under its next version, so that the process that serves it reads it again."""
    endpoint.version += 1
    row = yield from encrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, endpoint_row(endpoint))
    yield Execute(UPDATE_ENDPOINT, [row])
    return endpoint


def _decrypted(row: Row, cipher: Cipher) -> Endpoint:
    return endpoint_of(decrypt_row(cipher, WEBHOOK_TABLE, ENDPOINT, row))


_UPDATED = [name for name, _ in ENDPOINT].index("updated_us")


@command(follow_up=audited("endpoint.removed", "endpoint", lambda call, _: call.id))
def remove_endpoint(client: int, id: int, tags: Collection[str] | None = None) -> Plan[TouchbaseError | None]:
    """Remove an endpoint with its undelivered events and its attempts. `NotFound`, `WrongState` for a copy.

    `tags`: Times of its last change, of which it must have one, else `PreconditionFailed`.
    """
    key = (client, id)
    rows = yield Execute(LOCK_ENDPOINT, [key])
    if not rows:
        return no_such_endpoint(id)
    if tags is not None and to_text(rows[0][_UPDATED]) not in tags:
        return PreconditionFailed("the endpoint has changed since it was read")
    _refuse_copy(rows[0][-2])
    yield Execute(DELETE_ENDPOINT, [key])
    for statement in (DELETE_POSITION, DELETE_PENDING, DELETE_ANNOUNCED, DELETE_ATTEMPTS):
        yield Execute(statement, [key])
    return None


@command(cipher=True)
def replay(
    cipher: Cipher,
    client: int,
    id: int,
    at: Micros,
    sequence: int | None = None,
    failed_since_us: Micros | None = None,
    missing_since_us: Micros | None = None,
) -> Plan[int | TouchbaseError]:
    """Send events to an endpoint again; return how many. `NotFound`, and `Invalid` for more than `MAX_UNDONE`.

    One of: an event, in any state; events that began to fail since a time; events since a time that were never delivered, also
    skipped ones and those from before the endpoint was made.
    """
    endpoint = yield from locked_endpoint(client, id, cipher)
    key = (client, id)
    if failed_since_us is not None:
        count = len((yield Execute(RETRY_FAILED, [(*key, failed_since_us, at)])))
    else:
        events = yield from _to_replay(endpoint, at, sequence, missing_since_us)
        yield Execute(SAVE_PENDING, [pending_row(*key, event) for event in events])
        count = len(events)
        if missing_since_us is not None:
            again = yield Execute(RETRY_FAILED, [(*key, missing_since_us, at)])
            count = len({event.sequence for event in events} | {current_sequence for (current_sequence,) in again})
    yield from save_endpoint(endpoint, cipher)
    return count


def _to_replay(endpoint: Endpoint, at: Micros, sequence: int | None, missing_since_us: Micros | None) -> Plan[list[Pending]]:
    """Return the events from the log that a replay adds to the ones that wait."""
    where, start = Where("client = ?", endpoint.client), 0
    if sequence is not None:
        where.add("sequence = ?", sequence)
    else:
        [(start,)] = yield Select("SELECT start FROM webhook_position WHERE client = ? AND endpoint_id = ?", (endpoint.client, endpoint.id))
        # Events that had nothing to write then may have it now.
        skipped = "SELECT a.sequence FROM webhook_attempt a WHERE a.client = ? AND a.endpoint_id = ? AND a.outcome = ?"
        where.add(f"(sequence <= ? OR sequence IN ({skipped}))", start, endpoint.client, endpoint.id, SKIPPED)
        where.add("at >= ?", missing_since_us)
        if endpoint.types:
            where.add(f"type IN ({', '.join('?' * len(endpoint.types))})", *endpoint.types)
    sql = f"SELECT sequence, record_kind, record_id, data FROM logged_event WHERE {where} ORDER BY sequence LIMIT ?"
    rows = yield Select(sql, (*where.params, MAX_UNDONE + 1))
    if sequence is not None and not rows:
        raise NotFound(f"there is no event evt_{sequence}; the log keeps events for a limited time")
    if len(rows) > MAX_UNDONE:
        detail = f"more than {MAX_UNDONE} events are missing since then: name a later time, or read the change feed"
        raise Invalid([Fault("/missing_since", "too_many", detail)])
    if sequence is None and rows and rows[0][0] <= start:
        yield Execute(SET_START, [(endpoint.client, endpoint.id, rows[0][0] - 1)])
    return [Pending(row[0], order_key(row[1], row[2], msgspec.json.decode(row[3])), 0, at, at) for row in rows]


@query(cipher=True)
def get_endpoint(cipher: Cipher, client: int, id: int) -> Plan[Endpoint | None]:
    """One endpoint."""
    rows = yield Select(f"SELECT {names(ENDPOINT)} FROM webhook_endpoint WHERE client = ? AND id = ?", (client, id))
    return _decrypted(rows[0], cipher) if rows else None


_ACTIVE_AND_SHARED = f"IN (SELECT id FROM client WHERE state = 'active' UNION ALL SELECT {EVERY_CLIENT})"
_BY_KEY = sorted_page(lambda listed: (listed[0].client, listed[0].id))


@query(
    cipher=True,
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _BY_KEY.join, partial=True),
    merge=_BY_KEY,
)
def list_endpoints(
    cipher: Cipher, clients: Sequence[int] | None, limit: int, at: Micros, after: tuple[int, int] | None = None, state: str | None = None
) -> Plan[list[tuple[Endpoint, EndpointProgress]]]:
    """Endpoints of these clients with their progress, by client, oldest first, after a client and id; None: of all, those of all first.

    `at`: Now, for filters on times.
    """
    if clients == []:
        return []
    condition, numbers = (_ACTIVE_AND_SHARED, ()) if clients is None else among(clients)
    where = Where(f"client {condition} AND (client, id) > (?, ?)", *numbers, *(after or (-1, 0)))
    where.equal("state", state)
    rows = yield Select(f"SELECT {names(ENDPOINT)} FROM webhook_endpoint WHERE {where} ORDER BY client, id LIMIT ?", (*where.params, limit))
    endpoints: list[tuple[Endpoint, EndpointProgress]] = []
    newest, settings, client = 0, ClientSettings(), None
    for row in rows:
        endpoint = _decrypted(row, cipher)
        if endpoint.client != client:
            client, newest = endpoint.client, (yield from _newest(endpoint.client))
            settings = (yield from settings_of(client)) or ClientSettings()
        [position] = yield Select(
            "SELECT start, position, failing_since_us, delivered_us FROM webhook_position WHERE client = ? AND endpoint_id = ?",
            (endpoint.client, endpoint.id),
        )
        [(failed,)] = yield Select(
            "SELECT count(*) FROM pending_webhook WHERE client = ? AND endpoint_id = ? AND next_us IS NULL", (endpoint.client, endpoint.id)
        )
        conditions = filter_conditions(endpoint.filter, settings, at)
        waiting, _ = yield from count_waiting(endpoint.client, endpoint.id, endpoint.types, conditions, position[1], newest)
        endpoints.append((endpoint, EndpointProgress(position[0], position[1], position[2], position[3], waiting, failed)))
    return endpoints
