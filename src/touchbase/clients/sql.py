"""Clients and their settings: rarely written, so one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from touchbase.clients import statements as clients_sql
from touchbase.clients.commands import EnsureClient, SetClientSettings
from touchbase.clients.models import BY_ADMINISTRATOR, Client, ClientSettings, keeping_limits
from touchbase.clients.rows import client_names, client_of
from touchbase.common.timestamps import Micros
from touchbase.errors import Forbidden, NotFound, TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.sql.rows import settings_text
from touchbase.sql.statement import Execute, Plan, Select, SerializationConflict, Statement

_ANY_MADE = f"SELECT 1 FROM client WHERE made_by = '{BY_ADMINISTRATOR}' LIMIT 1"
FORMER_OWNER = Statement(
    "former_owner",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')}, a.client_id, a.until_us FROM p JOIN client_alias a ON a.client_id = p.client_id "
    "JOIN client c ON c.id = a.client",
)


def ensure_clients(commands: Sequence[EnsureClient], ids: Ids) -> Plan[list[object]]:
    """Make those that are not there; answer all."""
    fresh = {
        command.client_id: command for command in sorted(commands, key=lambda one: (one.made_by == BY_ADMINISTRATOR, not one.first_use))
    }
    strict = {client_id for client_id, command in fresh.items() if command.first_use}
    unknown = strict if strict and (yield Select(_ANY_MADE, ())) else set()
    text = settings_text(ClientSettings())
    made = [fresh[client_id] for client_id in sorted(fresh.keys() - unknown)]
    if made:
        yield Execute(clients_sql.INSERT_CLIENT, [(ids.take("client"), one.client_id, one.at, text, one.made_by) for one in made])
    rows = yield Execute(clients_sql.CLIENT_BY_CLIENT_ID, [(client_id,) for client_id in fresh])
    found = {row[1]: client_of(row) for row in rows}
    former = yield from former_owners(fresh)
    if former.keys() & found.keys():
        raise SerializationConflict  # an id was given up, and made its former owner's, while we took it
    if fresh.keys() - unknown - former.keys() - found.keys():
        raise SerializationConflict  # the client was there as we would have made it, and is deleted by now
    return [found.get(command.client_id) or _former(command, former) for command in commands]


def former_owners(client_ids: Iterable[str]) -> Plan[dict[str, tuple[Client, Micros]]]:
    """Whose former ids these are, and until when they are honoured."""
    rows = yield Execute(FORMER_OWNER, [(client_id,) for client_id in client_ids])
    return {row[-2]: (client_of(row), row[-1]) for row in rows}


def _former(command: EnsureClient, former: Mapping[str, tuple[Client, Micros]]) -> object:
    if command.client_id not in former:
        return NotFound(f"there is no client {command.client_id!r}")
    client, until = former[command.client_id]
    if until <= command.at:
        return NotFound(f"there is no client {command.client_id!r} any more: it has another id now")
    return client


def set_settings(command: SetClientSettings) -> Plan[Client | TouchbaseError]:
    """Replace a client's settings."""
    decided = yield from _decided(command)
    if isinstance(decided, Forbidden):
        return decided
    yield Execute(clients_sql.SET_CLIENT_SETTINGS, [(command.client_id, settings_text(decided))])
    rows = yield Execute(clients_sql.CLIENT_BY_CLIENT_ID, [(command.client_id,)])
    return client_of(rows[0]) if rows else NotFound(f"there is no client {command.client_id!r}")


def _decided(command: SetClientSettings) -> Plan[ClientSettings | Forbidden]:
    """The settings to be kept. A client's own limits are read where nobody else changes them until the transaction ends."""
    if not command.keep_limits:
        return command.settings
    found = yield Execute(clients_sql.CLIENT_BY_CLIENT_ID, [(command.client_id,)])
    rows = yield Execute(clients_sql.CLIENT_BY_NUMBER, [(row[0],) for row in found])
    try:
        return keeping_limits(command.settings, client_of(rows[0]).settings.limits if rows else None)
    except Forbidden as error:
        return error
