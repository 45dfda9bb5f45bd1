"""Plans that store, change, remove and list connections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from touchbase.audit import audited
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros, to_text
from touchbase.connections.models import NO_SETTINGS, Connection, ConnectionSettings
from touchbase.connections.sql.fetching import resume_fetching
from touchbase.connections.sql.ignore_rules import forget_ignore_rules, note_ignore_rules
from touchbase.connections.sql.silence import forget_calls, settings_changed
from touchbase.encryption.encrypted_columns import CONNECTION_TABLE, decrypt_row, encrypt_row
from touchbase.errors import Conflict, NotFound, PreconditionFailed, TouchbaseError
from touchbase.history.events import CRM, NO_AUTHOR, Author
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names, settings_text
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

CONNECTION: Columns = (
    ("client", "bigint"), ("channel", "text"), ("tool", "text"), ("created_us", "bigint"), ("updated_us", "bigint"),
    ("secrets", "text"), ("settings", "text"), ("access_token", "text"), ("secrets_since_us", "bigint"),
)  # fmt: skip
_decode_secrets = msgspec.json.Decoder(list[str]).decode
_decode_connection_settings = msgspec.json.Decoder(ConnectionSettings).decode


def connection_of(row: Row) -> Connection:
    """Return the connection of a `CONNECTION` row."""
    client, channel, tool, created_us, updated_us, secrets, settings, token, guarded_us = row
    decoded = _decode_secrets(secrets), _decode_connection_settings(settings)
    return Connection(client, channel, tool, created_us, updated_us, *decoded, token, guarded_us)


def connection_row(c: Connection) -> Row:
    """Return the row of a connection, in the order of `CONNECTION`."""
    texts = secrets_text(c.secrets), settings_text(c.settings), c.access_token
    return (c.client, c.channel, c.tool, c.created_us, c.updated_us, *texts, c.updated_us if c.secrets else None)


def secrets_text(secrets: Sequence[str]) -> str:
    """Return secrets as stored: JSON."""
    return encode(list(secrets))


_KEY = CONNECTION[:3]
_SAME = "t.client = p.client AND t.channel = p.channel AND t.tool = p.tool"
_CHANGE = (*_KEY, ("updated_us", "bigint"), ("secrets", "text"), ("settings", "text"), ("access_token", "text"))
INSERT_CONNECTION = Statement(
    "insert_connection",
    CONNECTION,
    body=f"INSERT INTO connection ({names(CONNECTION)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING RETURNING client",
)
UPDATE_CONNECTION = Statement(
    "update_connection",
    _CHANGE,
    body="UPDATE connection AS t SET updated_us = p.updated_us, secrets = COALESCE(p.secrets, t.secrets), settings = p.settings, "
    "access_token = COALESCE(p.access_token, t.access_token), secrets_since_us = CASE WHEN p.secrets IS NULL THEN t.secrets_since_us "
    "WHEN p.secrets <> '[]' THEN COALESCE(t.secrets_since_us, p.updated_us) END "
    f"FROM p WHERE {_SAME} RETURNING {names(CONNECTION, 't.')}",
    by_row=True,
)
LOCK_CONNECTION = Statement(
    "lock_connection",
    _KEY,
    body=f"SELECT {names(CONNECTION, 't.')} FROM p JOIN connection t ON {_SAME}",
    lock=" FOR UPDATE OF t",
    by_row=True,
)
DELETE_CONNECTION = delete("delete_connection", "connection", _KEY, "client")


def _tool_of(call: Any, _: object) -> str:
    return f"{call.channel}/{call.tool}"


@command(
    cipher=True,
    client="connection.client",
    follow_up=audited(
        "connection.created",
        "connection",
        lambda call, _: _tool_of(call.connection, None),
        lambda call, _: call.connection.client,
    ),
)
def add_connection(cipher: Cipher, connection: Connection, by: Author = NO_AUTHOR, rule: str = "") -> Plan[Connection | Conflict]:
    """Connect a tool; `rule` names the rules of its settings that ignore. `Conflict` when the client has connected it already."""
    row = yield from encrypt_row(cipher, CONNECTION_TABLE, CONNECTION, connection_row(connection))
    if not (yield Execute(INSERT_CONNECTION, [row])):
        return Conflict(f"{connection.tool} is already connected on the channel {connection.channel}; change that connection")
    key = (connection.client, connection.channel, connection.tool)
    yield from note_ignore_rules(key, NO_SETTINGS, connection.settings, connection.updated_us, by, rule)
    if connection.access_token:
        yield from resume_fetching(connection.client, connection.tool, connection.created_us, new_token=True)
    return connection


def _changed(call: Any, connection: Connection) -> str:
    return "connection.changed" if call.secrets is None and call.access_token is None else "connection.secret_changed"


@command(cipher=True, hidden=("secrets", "access_token", "current"), follow_up=audited(_changed, "connection", _tool_of))
def change_connection(
    cipher: Cipher,
    client: int,
    channel: str,
    tool: str,
    secrets: list[str] | None,
    settings: ConnectionSettings,
    at: Micros,
    access_token: str | None = None,
    current: Connection | None = None,
    by: Author = NO_AUTHOR,
    rule: str = "",
) -> Plan[Connection | TouchbaseError]:
    """Replace a connection's settings, and its secrets and access token unless they are None. `NotFound`.

    A change lets stopped fetching start again; a new token also queues the records again that were not found.

    `access_token`: Empty: remove it.
    `current`: The connection that the change was decided on; `PreconditionFailed` if it has changed since. None: no check.
    `rule`: Name of new rules that ignore.
    """
    key = (client, channel, tool)
    if (yield from _is_outdated(key, current, cipher)):
        return PreconditionFailed("the connection has changed since it was read; read it again and repeat the change")
    current_secrets = None if secrets is None else secrets_text(secrets)
    values = (*key, at, current_secrets, settings_text(settings), access_token)
    row = yield from encrypt_row(cipher, CONNECTION_TABLE, _CHANGE, values)
    rows = yield Execute(UPDATE_CONNECTION, [row])
    if not rows:
        return _missing(channel, tool)
    changed = _decrypted(rows[0], cipher)
    if channel == CRM:
        yield from resume_fetching(client, tool, at, new_token=bool(access_token))
    yield from settings_changed(key, settings, at)
    if current is not None:
        yield from note_ignore_rules(key, current.settings, settings, at, by, rule)
    return changed


def _is_outdated(key: Row, before: Connection | None, cipher: Cipher) -> Plan[bool]:
    """Return whether the connection has changed since the change was decided; it is locked until the commit."""
    if before is None:
        return False
    rows = yield Execute(LOCK_CONNECTION, [key])
    return bool(rows) and _decrypted(rows[0], cipher) != before


@command(follow_up=audited("connection.removed", "connection", _tool_of))
def remove_connection(client: int, channel: str, tool: str, tags: Collection[str] | None = None) -> Plan[TouchbaseError | None]:
    """Disconnect a tool and forget its rhythm and silences; its deliveries and records stay. `NotFound`.

    `tags`: Times of its last change, of which it must have one, else `PreconditionFailed`.
    """
    key = (client, channel, tool)
    if tags is not None:
        sql = "SELECT updated_us FROM connection WHERE client = ? AND channel = ? AND tool = ?"
        rows = yield Select(sql, key, f"{sql} FOR UPDATE")
        if rows and to_text(rows[0][0]) not in tags:
            return PreconditionFailed("the connection has changed since it was read")
    if not (yield Execute(DELETE_CONNECTION, [key])):
        return _missing(channel, tool)
    yield from forget_calls(key)
    yield from forget_ignore_rules(key)
    return None


@query(cipher=True, quick=True)
def list_connections(cipher: Cipher, client: int) -> Plan[list[Connection]]:
    """List all connections of one client, by channel and tool."""
    rows = yield Select(f"SELECT {names(CONNECTION)} FROM connection WHERE client = ?", (client,))
    return sorted((_decrypted(row, cipher) for row in rows), key=lambda connection: (connection.channel, connection.tool))


def _decrypted(row: Row, cipher: Cipher) -> Connection:
    return connection_of(decrypt_row(cipher, CONNECTION_TABLE, CONNECTION, row))


def _missing(channel: str, tool: str) -> TouchbaseError:
    return NotFound(f"no tool {tool[:100]!r} is connected on the channel {channel[:100]!r}")
