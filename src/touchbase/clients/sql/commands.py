"""Plans that create, rename and suspend clients, and rotate their ids."""

from __future__ import annotations

from touchbase.clients.models import BY_ADMINISTRATOR, DELETING, Client, ClientSettings, new_handle
from touchbase.clients.sql import statements as clients_sql
from touchbase.clients.sql.statements import client_of, former_owners
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, NotFound, TouchbaseError, WrongState
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.rows import settings_text
from touchbase.sql.scope import CLIENT_LIST
from touchbase.sql.statement import Execute, Plan, SerializationConflict, Statement, delete

_ONE = (("id", "bigint"),)
_MADE = (*_ONE, ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("name", "text"), ("handle", "text"))
ADD_CLIENT = Statement(
    "add_client",
    _MADE,
    body="INSERT INTO client (id, client_id, created_us, settings, name, handle, made_by) "
    f"SELECT p.*, '{BY_ADMINISTRATOR}' FROM p WHERE true ON CONFLICT DO NOTHING RETURNING id",
)
RENAME = Statement(
    "rename_client", (*_ONE, ("name", "text")), body="UPDATE client AS t SET name = p.name FROM p WHERE t.id = p.id", by_row=True
)
SET_STATE = Statement(
    "set_client_state",
    (*_ONE, ("state", "text"), ("state_us", "bigint")),
    body="UPDATE client AS t SET state = p.state, state_us = p.state_us FROM p WHERE t.id = p.id",
    by_row=True,
)
SET_CLIENT_ID = Statement(
    "set_client_id",
    (*_ONE, ("client_id", "text")),
    body="UPDATE client AS t SET client_id = p.client_id FROM p WHERE t.id = p.id",
    by_row=True,
)
KEEP_FORMER_ID = Statement(
    "keep_former_id",
    (("client_id", "text"), ("client", "bigint"), ("until_us", "bigint")),
    body="INSERT INTO client_alias (client_id, client, until_us) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
TAKE_FORMER_ID = delete("take_former_id", "client_alias", (("client_id", "text"), ("client", "bigint")))


@command(ids="client", scope=CLIENT_LIST)
def create_client(
    ids: Ids, client_id: str, name: str, at: Micros, settings: ClientSettings | None = None, cell: str = ""
) -> Plan[Client | Conflict]:
    """Create a client. `Conflict` when the id is, or was, another client's.

    `cell`: The name of the cell that it is to live in; blank: the one with the fewest clients.
    """
    if (yield from _taken(client_id)) is not None:
        return _conflict(client_id)
    made = yield Execute(ADD_CLIENT, [(ids.take("client"), client_id, at, settings_text(settings or ClientSettings()), name, new_handle())])
    yield from _check_not_former(client_id)
    rows = yield Execute(clients_sql.CLIENT_BY_CLIENT_ID, [(client_id,)])
    return client_of(rows[0]) if made else _conflict(client_id)


@command
def rename_client(client: int, name: str) -> Plan[Client | TouchbaseError]:
    """Rename a client. `NotFound`, and `WrongState` while it is being deleted."""
    found = yield from _changeable(client)
    if isinstance(found, Client):
        yield Execute(RENAME, [(client, name)])
        found.name = name
    return found


@command
def set_client_state(client: int, state: str, at: Micros) -> Plan[Client | TouchbaseError]:
    """Suspend or resume a client; a client in that state stays as it is. `NotFound`, `WrongState` as above."""
    found = yield from _changeable(client)
    if isinstance(found, Client) and found.state != state:
        yield Execute(SET_STATE, [(client, state, at)])
        found.state = state
    return found


@command(scope=CLIENT_LIST)
def rotate_client_id(client: int, client_id: str, keep_until_us: Micros) -> Plan[Client | TouchbaseError]:
    """Replace a client's `client_id`; its present id is valid until `keep_until_us`, and never becomes another client's.

    `Conflict` when the new id is, or was, another client's. `NotFound`, and `WrongState` while it is being deleted or when it has this id
    already.
    """
    current_client = yield from _changeable(client)
    if not isinstance(current_client, Client):
        return current_client
    former = current_client.client_id
    if former == client_id:
        return WrongState(f"{former!r} is the client's id already; name another one, or leave it out to get a generated one")
    owner = yield from _taken(client_id)
    if owner not in (None, current_client.number):
        return _conflict(client_id)
    if owner is not None:
        yield Execute(TAKE_FORMER_ID, [(client_id, current_client.number)])
    yield Execute(SET_CLIENT_ID, [(current_client.number, client_id)])
    yield Execute(KEEP_FORMER_ID, [(former, current_client.number, keep_until_us)])
    yield from _check_not_former(client_id)
    current_client.client_id = client_id
    return current_client


@command
def begin_deletion(client: int, at: Micros) -> Plan[Client | NotFound]:
    """Stop serving a client, so that its data can be removed; repeating it continues the deletion. `NotFound`."""
    found = yield from locked(client)
    if found is not None and found.state != DELETING:
        yield Execute(SET_STATE, [(client, DELETING, at)])
        found = yield from locked(client)
    return found or _not_found()


def locked(number: int) -> Plan[Client | None]:
    """Return the client of this number, locked until the transaction ends."""
    rows = yield Execute(clients_sql.CLIENT_BY_NUMBER, [(number,)])
    return client_of(rows[0]) if rows else None


def _changeable(number: int) -> Plan[Client | TouchbaseError]:
    found = yield from locked(number)
    if found is None:
        return _not_found()
    if found.state == DELETING:
        return WrongState(f"client {found.client_id!r} is being deleted; nothing of it can be changed any more")
    return found


def _taken(client_id: str) -> Plan[int | None]:
    """Return the number of the client that has or had this id."""
    rows = yield Execute(clients_sql.CLIENT_BY_CLIENT_ID, [(client_id,)])
    if rows:
        return int(rows[0][0])
    former = yield from former_owners([client_id])
    return former[client_id][0].number if former else None


def _check_not_former(client_id: str) -> Plan[None]:
    """Restart the transaction if the id became a former id of another client since the check: it stays that client's."""
    if (yield from former_owners([client_id])):
        raise SerializationConflict


def _not_found() -> NotFound:
    return NotFound("this client no longer exists")


def _conflict(client_id: str) -> Conflict:
    return Conflict(f"{client_id!r} is, or was, the id of another client; choose another one, or leave it out to get a generated one")
