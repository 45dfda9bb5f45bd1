"""Row mapping of connections."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.sql.rows import Columns, encode, settings_text
from touchbase.sql.statement import Row

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
