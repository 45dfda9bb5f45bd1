"""SQL of clients and their settings: row mapping, statements and plans. Settings are rarely written, so one client at a time."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from touchbase.clients.models import (
    BY_ADMINISTRATOR,
    BY_CALL,
    DELETING,
    Client,
    ClientSettings,
    Deletion,
    keeping_limits,
    keeping_names,
    new_handle,
)
from touchbase.common.timestamps import Micros
from touchbase.errors import Forbidden, NotFound, TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.rows import Columns, names, settings_text
from touchbase.sql.scope import CLIENT_LIST
from touchbase.sql.statement import Execute, Plan, Row, Select, SerializationConflict, Statement

CLIENT: Columns = (
    ("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("name", "text"), ("state", "text"),
    ("state_us", "bigint"), ("removed", "bigint"), ("rows_total", "bigint"), ("made_by", "text"),
    ("handle", "text"),
)  # fmt: skip


def client_names(table: str = "client") -> str:
    """Return the columns that `client_of` reads.

    The last two are whether the client has erasures and how many bytes it stores, so that other queries need not check.
    """
    stored = f"COALESCE((SELECT storage.stored_bytes FROM client_storage storage WHERE storage.client = {table}.id), 0)"
    return f"{names(CLIENT, f'{table}.')}, EXISTS (SELECT 1 FROM erased e WHERE e.client = {table}.id), {stored}"


_decode_settings = msgspec.json.Decoder(ClientSettings).decode


def client_of(row: Row) -> Client:
    """Return the client of a row that begins with `client_names`."""
    number, client_id, created_us, settings, name, state, state_us, removed, total, made_by, handle, has_erased, stored = row[:13]
    deletion = Deletion(state_us, removed, total) if state == DELETING else None
    return Client(
        number, client_id, created_us, _decode_settings(settings), name, state, deletion, bool(has_erased), made_by, stored, handle or ""
    )


# Locks the row where several processes write: the identities that a batch reads of one client stay true until it ends,
# so that two batches never create two records of one person.
CLIENT_BY_NUMBER = Statement(
    "client_by_number",
    (("id", "bigint"),),
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.id = p.id",
    lock=" FOR NO KEY UPDATE OF c",
    by_row=True,
)
INSERT_CLIENT = Statement(
    "insert_client",
    (("id", "bigint"), ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("made_by", "text"), ("handle", "text")),
    body="INSERT INTO client (id, client_id, created_us, settings, made_by, handle) SELECT * FROM p "
    "WHERE NOT EXISTS (SELECT 1 FROM client_alias a WHERE a.client_id = p.client_id) ON CONFLICT DO NOTHING",
)
CLIENT_BY_CLIENT_ID = Statement(
    "client_by_client_id",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')} FROM p JOIN client c ON c.client_id = p.client_id",
)
SET_CLIENT_SETTINGS = Statement(
    "set_client_settings",
    (("client_id", "text"), ("settings", "text")),
    body="UPDATE client SET settings = p.settings FROM p WHERE client.client_id = p.client_id",
)
COUNT_AGAIN = Statement(
    "count_again", (("client", "bigint"),), body="UPDATE client_storage AS t SET due_us = 0 FROM p WHERE t.client = p.client"
)
"""A new limit is compared with new bytes."""


_ANY_MADE = f"SELECT 1 FROM client WHERE made_by = '{BY_ADMINISTRATOR}' LIMIT 1"
FORMER_OWNER = Statement(
    "former_owner",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')}, a.client_id, a.until_us FROM p JOIN client_alias a ON a.client_id = p.client_id "
    "JOIN client c ON c.id = a.client",
)


@command(ids="client", scope=CLIENT_LIST)
def ensure_client(ids: Ids, client_id: str, at: Micros, made_by: str = BY_CALL, first_use: bool = False) -> Plan[Client | NotFound]:
    """Return the client of this `client_id`; create it if there is none.

    A former id returns its client while it is valid, and is `NotFound` afterwards, because it stays that client's. With `first_use` a
    missing client is `NotFound` too if an administrator has created any: then an unknown id is a typing error.
    """
    creates = not (first_use and (yield Select(_ANY_MADE, ())))
    if creates:
        settings = settings_text(ClientSettings())
        yield Execute(INSERT_CLIENT, [(ids.take("client"), client_id, at, settings, made_by, new_handle())])
    rows = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    former = yield from former_owners([client_id])
    if rows and former:
        raise SerializationConflict  # the id became a former id of its owner during this transaction
    if rows:
        return client_of(rows[0])
    if not former:
        if creates:
            raise SerializationConflict  # the client existed at the insert, and was deleted since
        return NotFound(f"there is no client {client_id!r}")
    client, until = former[client_id]
    return client if until > at else NotFound(f"there is no client {client_id!r} any more: it has another id now")


def former_owners(client_ids: Iterable[str]) -> Plan[dict[str, tuple[Client, Micros]]]:
    """Return the clients of former ids, and until when the ids are valid."""
    rows = yield Execute(FORMER_OWNER, [(client_id,) for client_id in client_ids])
    return {row[-2]: (client_of(row), row[-1]) for row in rows}


@command(scope=CLIENT_LIST)
def set_client_settings(client_id: str, settings: ClientSettings, keep_limits: bool = False) -> Plan[Client | TouchbaseError]:
    """Replace a client's settings. `NotFound`, and `Forbidden` when the client itself changes its limits.

    `keep_limits`: The client itself changes its settings: its limits must stay as in the store.
    """
    found = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    rows = (yield Execute(CLIENT_BY_NUMBER, [(row[0],) for row in found])) if found else []
    if not rows:
        return NotFound(f"there is no client {client_id!r}")
    locked, decided = client_of(rows[0]), settings  # before the lock another process may have changed the id
    try:
        decided = keeping_limits(decided, locked.settings) if keep_limits else decided
    except Forbidden as error:
        return error
    if decided.max_stored_bytes != locked.settings.max_stored_bytes:
        yield Execute(COUNT_AGAIN, [(locked.number,)])
    return (yield from store_settings(locked.client_id, keeping_names(decided, locked.settings)))


def store_settings(client_id: str, settings: ClientSettings) -> Plan[Client]:
    """Store the settings of a client that this transaction has locked."""
    yield Execute(SET_CLIENT_SETTINGS, [(client_id, settings_text(settings))])
    rows = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    return client_of(rows[0])
