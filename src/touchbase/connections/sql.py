"""Connections: rarely written, so one at a time."""

from __future__ import annotations

from touchbase.connections.commands import AddConnection, ChangeConnection, ListConnections, RemoveConnection
from touchbase.connections.encrypted_columns import CONNECTION_TABLE, opened_row, sealed_row
from touchbase.connections.fetch_sql import resume
from touchbase.connections.models import CRM, Connection
from touchbase.connections.rows import CONNECTION, connection_of, connection_row, secrets_text
from touchbase.encryption.protocol import Cipher
from touchbase.errors import Conflict, NotFound, PreconditionFailed, TouchbaseError
from touchbase.sql.rows import names, settings_text
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

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
    sqlite="UPDATE connection SET updated_us = ?4, secrets = COALESCE(?5, secrets), settings = ?6, "
    "access_token = COALESCE(?7, access_token), secrets_since_us = CASE WHEN ?5 IS NULL THEN secrets_since_us "
    "WHEN ?5 <> '[]' THEN COALESCE(secrets_since_us, ?4) END "
    f"WHERE client = ?1 AND channel = ?2 AND tool = ?3 RETURNING {names(CONNECTION)}",
)
LOCK_CONNECTION = Statement(
    "lock_connection",
    _KEY,
    body=f"SELECT {names(CONNECTION, 't.')} FROM p JOIN connection t ON {_SAME} FOR UPDATE OF t",
    sqlite=f"SELECT {names(CONNECTION)} FROM connection WHERE client = ?1 AND channel = ?2 AND tool = ?3",
)
DELETE_CONNECTION = delete("delete_connection", "connection", _KEY, "client")


def add_connection(command: AddConnection, sealer: Cipher) -> Plan[Connection | Conflict]:
    """Keep a connection; of two for one tool the first stays."""
    made = command.connection
    row = yield from sealed_row(sealer, CONNECTION_TABLE, CONNECTION, connection_row(made))
    if not (yield Execute(INSERT_CONNECTION, [row])):
        return Conflict(f"{made.tool} is connected on the channel {made.channel} already; change that connection")
    if made.access_token:
        yield from resume(made.client, made.tool, made.created_us, new_token=True)
    return made


def change_connection(command: ChangeConnection, sealer: Cipher) -> Plan[Connection | TouchbaseError]:
    """Replace what a connection holds."""
    if (yield from _is_outdated(command, sealer)):
        return PreconditionFailed("the connection has changed since it was read; read it again and repeat the change")
    secrets = None if command.secrets is None else secrets_text(command.secrets)
    place = (command.client, command.channel, command.tool, command.at)
    row = yield from sealed_row(sealer, CONNECTION_TABLE, _CHANGE, (*place, secrets, settings_text(command.settings), command.access_token))
    rows = yield Execute(UPDATE_CONNECTION, [row])
    if not rows:
        return _missing(command)
    changed = _opened(rows[0], sealer)
    if command.channel == CRM:
        yield from resume(command.client, command.tool, command.at, new_token=bool(command.access_token))
    return changed


def _is_outdated(command: ChangeConnection, sealer: Cipher) -> Plan[bool]:
    """Whether the connection is another than the one that the change was made up from. It then stays as it is found."""
    if command.known is None:
        return False
    rows = yield Execute(LOCK_CONNECTION, [(command.client, command.channel, command.tool)])
    return bool(rows) and _opened(rows[0], sealer) != command.known


def remove_connection(command: RemoveConnection) -> Plan[TouchbaseError | None]:
    """Forget a connection."""
    rows = yield Execute(DELETE_CONNECTION, [(command.client, command.channel, command.tool)])
    return None if rows else _missing(command)


def list_connections(query: ListConnections, sealer: Cipher) -> Plan[list[Connection]]:
    """The client's connections, by channel and tool."""
    rows = yield Select(f"SELECT {names(CONNECTION)} FROM connection WHERE client = ?", (query.client,))
    return sorted((_opened(row, sealer) for row in rows), key=lambda one: (one.channel, one.tool))


def _opened(row: Row, sealer: Cipher) -> Connection:
    return connection_of(opened_row(sealer, CONNECTION_TABLE, CONNECTION, row))


def _missing(command: ChangeConnection | RemoveConnection) -> TouchbaseError:
    return NotFound(f"no tool {command.tool[:100]!r} is connected on the channel {command.channel[:100]!r}")
