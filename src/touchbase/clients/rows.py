"""Rows to clients, and back: the order of their columns."""

from __future__ import annotations

import msgspec

from touchbase.clients.models import DELETING, Client, ClientSettings, Deletion
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Row

CLIENT: Columns = (
    ("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("name", "text"), ("state", "text"),
    ("state_us", "bigint"), ("removed", "bigint"), ("rows_total", "bigint"), ("made_by", "text"),
)  # fmt: skip


def client_names(table: str = "client") -> str:
    """What `client_of` reads of this table; last, whether the client has erased somebody, so that nobody else pays for asking."""
    return f"{names(CLIENT, f'{table}.')}, EXISTS (SELECT 1 FROM erased e WHERE e.client = {table}.id)"


_decode_settings = msgspec.json.Decoder(ClientSettings).decode


def client_of(row: Row) -> Client:
    """A client of a row that begins with `client_names`."""
    number, client_id, created_us, settings, name, state, state_us, removed, total, made_by, has_erased = row[:11]
    deletion = Deletion(state_us, removed, total) if state == DELETING else None
    return Client(number, client_id, created_us, _decode_settings(settings), name, state, deletion, bool(has_erased), made_by)
