"""Clients and keys: rarely written, so one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from touchbase.domain.client import ClientSettings
from touchbase.domain.commands import EnsureClient, SetClientSettings, StoreKey
from touchbase.domain.errors import NotFound
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Plan, Step
from touchbase.storage.sql.rows import client_of, settings_text


def ensure_needs(commands: Sequence[EnsureClient]) -> Mapping[str, int]:
    """The ids that these commands may take."""
    return {"client": len(commands)}


def ensure_clients(commands: Sequence[EnsureClient], ids: Ids) -> Plan[list[object]]:
    """Make those that are not there; answer all."""
    fresh = {command.client_id: command.at for command in commands}
    text = settings_text(ClientSettings())
    yield Step(sql.INSERT_CLIENT, [(ids.take("client"), client_id, at, text) for client_id, at in sorted(fresh.items())])
    rows = yield Step(sql.CLIENT_BY_CLIENT_ID, [(client_id,) for client_id in fresh])
    found = {row[1]: client_of(row) for row in rows}
    return [found[command.client_id] for command in commands]


def set_settings(commands: Sequence[SetClientSettings], ids: Ids) -> Plan[list[object]]:
    """Replace settings, in order: the last of two for one client stays."""
    answers: list[object] = []
    for command in commands:
        yield Step(sql.SET_CLIENT_SETTINGS, [(command.client_id, settings_text(command.settings))])
        rows = yield Step(sql.CLIENT_BY_CLIENT_ID, [(command.client_id,)])
        answers.append(client_of(rows[0]) if rows else NotFound(f"there is no client {command.client_id!r}"))
    return answers


def store_keys(commands: Sequence[StoreKey], ids: Ids) -> Plan[list[object]]:
    """Keep keys; one id is never used twice."""
    yield Step(
        sql.INSERT_KEY,
        [(c.key_id, c.digest, msgspec.json.encode(c.scopes).decode(), c.client, c.name, c.at) for c in commands],
    )
    return [None] * len(commands)
