"""Statements on endpoints, their progress and attempts, and the mapping of their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from touchbase.outgoing.models import Attempt, Endpoint, Pending, Secret
from touchbase.sql.builders import ROW_KEY, ROW_MATCH, find, insert, update
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Row, Statement, delete

ENDPOINT: Columns = (
    *ROW_KEY, ("url", "text"), ("created_us", "bigint"), ("updated_us", "bigint"), ("types", "text"), ("fields", "text"),
    ("filter", "text"), ("ordering", "text"), ("format", "text"), ("rate", "bigint"), ("description", "text"), ("secrets", "text"),
    ("state", "text"), ("reason", "text"), ("state_us", "bigint"), ("version", "bigint"), ("kind", "text"), ("settings", "text"),
    ("shared_id", "bigint"), ("shared_version", "bigint"),
)  # fmt: skip
KEY: Columns = (("client", "bigint"), ("endpoint_id", "bigint"))
PENDING: Columns = (
    *KEY, ("sequence", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("attempts", "bigint"), ("first_us", "bigint"),
    ("next_us", "bigint"),
)  # fmt: skip
ATTEMPT: Columns = (
    ("client", "bigint"), ("endpoint_id", "bigint"), ("sequence", "bigint"), ("type", "text"), ("at", "bigint"), ("number", "bigint"),
    ("outcome", "text"), ("status", "bigint"), ("latency_us", "bigint"), ("response", "text"), ("error", "text"), ("id", "bigint"),
)  # fmt: skip
_OF_ENDPOINT = "t.client = p.client AND t.endpoint_id = p.endpoint_id"
INSERT_ENDPOINT = insert("webhook_endpoint", ENDPOINT)
UPDATE_ENDPOINT = update("update_webhook_endpoint", "webhook_endpoint", ENDPOINT)
LOCK_ENDPOINT = find("lock_webhook_endpoint", "webhook_endpoint", ENDPOINT, ROW_KEY, ROW_MATCH, lock=True)
DELETE_ENDPOINT = delete("delete_webhook_endpoint", "webhook_endpoint", ROW_KEY, "id")
DELETE_POSITION = delete("delete_webhook_position", "webhook_position", KEY)
DELETE_PENDING = delete("delete_pending_webhooks", "pending_webhook", KEY)
DELETE_ATTEMPTS = delete("delete_webhook_attempts", "webhook_attempt", KEY)
FIND_ENDPOINTS = find("find_webhook_endpoints", "webhook_endpoint", ROW_KEY, ROW_KEY, ROW_MATCH)
SERVED = Statement(
    "served_webhook_endpoints",
    ROW_KEY,
    body=f"SELECT {names(ENDPOINT, 't.')}, COALESCE(c.client_id, ''), s.start, s.position, s.failing_since_us, s.delivered_us FROM p "
    f"CROSS JOIN webhook_endpoint t CROSS JOIN webhook_position s LEFT JOIN client c ON c.id = p.client WHERE {ROW_MATCH} "
    "AND s.client = p.client AND s.endpoint_id = p.id",
)
WAITING = Statement(
    "waiting_webhooks",
    KEY,
    body=f"SELECT {names(PENDING, 't.')} FROM p CROSS JOIN pending_webhook t WHERE {_OF_ENDPOINT} AND t.next_us IS NOT NULL",
)
_NEW_POSITION: Columns = (*KEY, ("start", "bigint"))
INSERT_POSITION = Statement(
    "insert_webhook_position",
    _NEW_POSITION,
    body="INSERT INTO webhook_position (client, endpoint_id, start, position) "
    "SELECT p.client, p.endpoint_id, p.start, p.start FROM p WHERE true ON CONFLICT DO NOTHING",
)
_POSITION: Columns = (*KEY, ("position", "bigint"), ("failing_since_us", "bigint"), ("delivered_us", "bigint"))
ADVANCE = Statement(
    "advance_webhook_position",
    _POSITION,
    body="UPDATE webhook_position AS t SET position = CASE WHEN p.position > t.position THEN p.position ELSE t.position END, "
    "failing_since_us = p.failing_since_us, delivered_us = COALESCE(p.delivered_us, t.delivered_us) "
    f"FROM p WHERE {_OF_ENDPOINT}",
)
SET_START = Statement(
    "set_webhook_start", _NEW_POSITION, body=f"UPDATE webhook_position AS t SET start = p.start FROM p WHERE {_OF_ENDPOINT}"
)
NO_FAILURE = Statement(
    "forget_webhook_failure", KEY, body=f"UPDATE webhook_position AS t SET failing_since_us = NULL FROM p WHERE {_OF_ENDPOINT}"
)
SAVE_PENDING = Statement(
    "save_pending_webhook",
    PENDING,
    body=f"INSERT INTO pending_webhook ({names(PENDING)}) SELECT * FROM p WHERE true ON CONFLICT (client, endpoint_id, sequence) "
    "DO UPDATE SET attempts = excluded.attempts, next_us = excluded.next_us",
)
ANNOUNCED: Columns = (
    *KEY, ("suppression_id", "bigint"), ("kind", "text"), ("value", "text"), ("removed_us", "bigint"),
)  # fmt: skip
SAVE_ANNOUNCED = Statement(
    "save_announced_suppression",
    ANNOUNCED,
    body=f"INSERT INTO announced_suppression ({names(ANNOUNCED)}) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, endpoint_id, suppression_id) DO UPDATE SET removed_us = excluded.removed_us",
)
FORGET_ANNOUNCED = delete(
    "forget_announced_suppressions", "announced_suppression", (("client", "bigint"), ("kind", "text"), ("value", "text"))
)
DELETE_ANNOUNCED = delete("delete_announced_suppressions", "announced_suppression", KEY)
REMOVE_PENDING = delete("remove_pending_webhook", "pending_webhook", (*KEY, ("sequence", "bigint")))
_FAILED_SINCE: Columns = (*KEY, ("since", "bigint"), ("at", "bigint"))
RETRY_FAILED = Statement(
    "retry_failed_webhooks",
    _FAILED_SINCE,
    body="UPDATE pending_webhook AS t SET attempts = 0, next_us = p.at FROM p "
    f"WHERE {_OF_ENDPOINT} AND t.first_us >= p.since RETURNING t.sequence",
    by_row=True,
)
_DUE_NOW: Columns = (*KEY, ("at", "bigint"))
RETRY_WAITING = Statement(
    "retry_waiting_webhooks",
    _DUE_NOW,
    body=f"UPDATE pending_webhook AS t SET next_us = p.at FROM p WHERE {_OF_ENDPOINT} AND t.next_us > p.at",
)
_STATE: Columns = (*ROW_KEY, ("state", "text"), ("reason", "text"), ("at", "bigint"))
STOP_ENDPOINT = Statement(
    "stop_webhook_endpoint",
    _STATE,
    body="UPDATE webhook_endpoint AS t SET state = p.state, reason = p.reason, state_us = p.at, updated_us = p.at, "
    f"version = t.version + 1 FROM p WHERE {ROW_MATCH} AND t.state = 'active'",
)
INSERT_ATTEMPT = insert("webhook_attempt", ATTEMPT)
_LEASE: Columns = (("name", "text"), ("token", "text"), ("until_us", "bigint"))
NEW_LEASE = insert("dispatch_lease", _LEASE)
SAVE_LEASE = Statement(
    "save_dispatch_lease",
    _LEASE,
    body="INSERT INTO dispatch_lease (name, token, until_us) SELECT * FROM p WHERE true "
    "ON CONFLICT (name) DO UPDATE SET token = excluded.token, until_us = excluded.until_us",
)
DROP_LEASE = delete("drop_dispatch_lease", "dispatch_lease", (("name", "text"),))
FORGET_RESPONSES = Statement(
    "forget_webhook_responses",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint")),
    body="UPDATE webhook_attempt AS t SET response = '' FROM p WHERE t.client = p.client AND t.response <> '' AND t.sequence IN "
    "(SELECT e.sequence FROM logged_event e WHERE e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id)",
)
"""A response may repeat the request."""
_list: Callable[[str], list[Any]] = msgspec.json.Decoder(list[Any]).decode
_dict: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


def endpoint_row(e: Endpoint) -> Row:
    """Return the row of an endpoint, in the order of `ENDPOINT`; its secrets are plain."""
    secrets = encode([[secret.value, secret.until_us] for secret in e.secrets])
    return (
        e.client, e.id, e.url, e.created_us, e.updated_us, encode(list(e.types)), encode(list(e.fields)), encode(e.filter), e.ordering,
        e.format, e.rate, e.description, secrets, e.state, e.reason, e.state_us, e.version, e.kind, encode(e.settings),
        e.shared_id, e.shared_version,
    )  # fmt: skip


def endpoint_of(row: Row) -> Endpoint:
    """Return the endpoint of an `ENDPOINT` row whose secrets are plain."""
    secrets = [Secret(value, until) for value, until in _list(row[12])]
    build: Callable[..., Endpoint] = Endpoint
    return build(*row[:5], _list(row[5]), _list(row[6]), _dict(row[7]), *row[8:12], secrets, *row[13:18], _dict(row[18]), *row[19:])


def pending_of(row: Row) -> Pending:
    """Return the event of a `PENDING` row."""
    _, _, sequence, kind, number, attempts, first_us, next_us = row
    return Pending(sequence, None if number is None else (kind, number), attempts, first_us, next_us)


def pending_row(client: int, endpoint_id: int, pending: Pending) -> Row:
    """Return the row of an event that waits."""
    kind, number = pending.record or (None, None)
    return (client, endpoint_id, pending.sequence, kind, number, pending.attempts, pending.first_us, pending.next_us)


def attempt_of(row: Row) -> Attempt:
    """Return the attempt of an `ATTEMPT` row."""
    build: Callable[..., Attempt] = Attempt
    return build(*row)


def attempt_row(a: Attempt) -> Row:
    """Return the row of an attempt, in the order of `ATTEMPT`."""
    return (
        a.client, a.endpoint_id, a.sequence, a.type, a.at, a.number, a.outcome, a.status, a.latency_us, a.response, a.error, a.id,
    )  # fmt: skip
