"""SQL of clients and their settings: row mapping, statements and plans. Settings are rarely written, so one client at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from touchbase.audit import audited
from touchbase.clients.models import (
    ACTIVE,
    BY_ADMINISTRATOR,
    BY_CALL,
    DELETING,
    MOVING,
    SUSPENDED,
    Client,
    ClientSettings,
    Deletion,
    FormerId,
    keeping_limits,
    keeping_names,
    new_handle,
)
from touchbase.common.timestamps import Micros
from touchbase.errors import ClientMoving, Conflict, Forbidden, NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.sql.cell_answers import CONCATENATED, FIRST, AnswerMerge, Division, concatenated, divide_clients, sorted_page
from touchbase.sql.filters import Where, among
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, digest, names, settings_text
from touchbase.sql.scope import CLIENT_LIST
from touchbase.sql.statement import Execute, Plan, Row, Select, SerializationConflict, Statement, delete

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


_ADDED_BY_HAND = f"SELECT 1 FROM client WHERE made_by = '{BY_ADMINISTRATOR}' LIMIT 1"
FORMER_OWNER = Statement(
    "former_owner",
    (("client_id", "text"),),
    body=f"SELECT {client_names('c')}, a.client_id, a.until_us FROM p JOIN client_alias a ON a.client_id = p.client_id "
    "JOIN client c ON c.id = a.client",
)


def _ensure_clients(calls: Sequence[Any], ids: Ids) -> Plan[list[Client | NotFound]]:
    """Create the missing clients of a batch, in the order of their ids: of two batches with the same ones neither waits for the other's."""
    decisive = sorted(calls, key=lambda call: (call.made_by == BY_ADMINISTRATOR, not call.first_use))
    by_id = {call.client_id: call for call in decisive}
    first_uses = {client_id for client_id, call in by_id.items() if call.first_use}
    refused = first_uses if first_uses and (yield Select(_ADDED_BY_HAND, ())) else set()
    settings = settings_text(ClientSettings())
    new = [by_id[client_id] for client_id in sorted(by_id.keys() - refused)]
    if new:
        yield Execute(INSERT_CLIENT, [(ids.take("client"), call.client_id, call.at, settings, call.made_by, new_handle()) for call in new])
    clients = {row[1]: client_of(row) for row in (yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,) for client_id in by_id]))}
    former = yield from former_owners(by_id)
    if former.keys() & clients.keys():
        raise SerializationConflict  # the id became a former id of its owner during this transaction
    if by_id.keys() - refused - former.keys() - clients.keys():
        raise SerializationConflict  # the client existed at the insert, and was deleted since
    return [clients.get(call.client_id) or _former_owner(call, former) for call in calls]


def _former_owner(call: Any, former: Mapping[str, tuple[Client, Micros]]) -> Client | NotFound:
    if call.client_id not in former:
        return NotFound(f"there is no client {call.client_id!r}")
    client, until = former[call.client_id]
    return client if until > call.at else NotFound(f"there is no client {call.client_id!r} any more: it has another id now")


@command(ids="client", batch=_ensure_clients, quick=True, scope=CLIENT_LIST)
def ensure_client(client_id: str, at: Micros, made_by: str = BY_CALL, first_use: bool = False) -> Plan[Client | NotFound]:
    """Return the client of this `client_id`; create it if there is none.

    A former id returns its client while it is valid, and is `NotFound` afterwards, because it stays that client's. With `first_use` a
    missing client is `NotFound` too if an administrator has created any: then an unknown id is a typing error.
    """
    raise NotImplementedError


def former_owners(client_ids: Iterable[str]) -> Plan[dict[str, tuple[Client, Micros]]]:
    """Return the clients of former ids, and until when the ids are valid."""
    rows = yield Execute(FORMER_OWNER, [(client_id,) for client_id in client_ids])
    return {row[-2]: (client_of(row), row[-1]) for row in rows}


def _settings_set(call: Any, client: Client) -> str:
    return "client.created" if call.is_new else "settings.changed"


@command(
    scope=CLIENT_LIST,
    follow_up=audited(_settings_set, "client", lambda _, client: client.client_id, lambda _, client: client.number),
)
def set_client_settings(
    client_id: str,
    settings: ClientSettings,
    keep_limits: bool = False,
    is_new: bool = False,
    if_versions: Collection[str] | None = None,
) -> Plan[Client | TouchbaseError]:
    """Replace a client's settings. `NotFound`, and `Forbidden` when the client itself changes its limits.

    `keep_limits`: The client itself changes its settings: its limits must stay as in the store. `is_new`: it was just created.
    `if_versions`: `PreconditionFailed` if it has none of them; None: any.
    """
    ids = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    rows = (yield Execute(CLIENT_BY_NUMBER, [(row[0],) for row in ids])) if ids else []
    if not rows:
        return NotFound(f"there is no client {client_id!r}")
    locked, decided = client_of(rows[0]), settings  # before the lock another process may have changed the id
    if if_versions is not None and version_of(locked) not in if_versions:
        return PreconditionFailed(f"client {client_id!r} has changed since it was read")
    try:
        decided = keeping_limits(decided, locked.settings) if keep_limits else decided
    except Forbidden as error:
        return error
    if decided.max_stored_bytes != locked.settings.max_stored_bytes:
        yield Execute(COUNT_AGAIN, [(locked.number,)])
    return (yield from store_settings(locked.client_id, keeping_names(decided, locked.settings)))


def version_of(client: Client) -> str:
    """Return the version of a client's name and settings: a digest of them."""
    return digest(client.name, settings_text(client.settings))


def store_settings(client_id: str, settings: ClientSettings) -> Plan[Client]:
    """Store the settings of a client that this transaction has locked."""
    yield Execute(SET_CLIENT_SETTINGS, [(client_id, settings_text(settings))])
    rows = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    return client_of(rows[0])


_CLIENT = client_names()
_BY_ID = f"SELECT {_CLIENT}, CAST(NULL AS bigint) FROM client WHERE client_id = ?"
_BY_FORMER_ID = (
    f"SELECT {client_names('c')}, a.until_us FROM client_alias a JOIN client c ON c.id = a.client WHERE a.client_id = ? AND a.until_us > ?"
)
CLIENTS_OF = Statement("clients_of", (("id", "bigint"),), body=f"SELECT {client_names('c')} FROM p CROSS JOIN client c WHERE c.id = p.id")


@query(scope=CLIENT_LIST, quick=True)
def find_client(client_id: str, at: Micros | None = None) -> Plan[Client | None]:
    """The client of this `client_id`; with `at` also by a former id that is valid then."""
    if at is None:
        rows = yield Select(_BY_ID, (client_id,))
    else:
        rows = yield Select(f"{_BY_ID} UNION ALL {_BY_FORMER_ID}", (client_id, client_id, at))
    if not rows:
        return None
    client = client_of(rows[0])
    client.until_us = rows[0][-1]
    return client


@query(scope=CLIENT_LIST, merge=sorted_page(lambda client: client.client_id))
def list_clients() -> Plan[list[Client]]:
    """All clients by `client_id`."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client", ())
    return sorted((client_of(row) for row in rows), key=lambda client: client.client_id)


@query(scope=CLIENT_LIST, merge=CONCATENATED)
def list_active_clients() -> Plan[list[int]]:
    """The numbers of all active clients: tens of thousands are read in milliseconds, their settings in half a second."""
    return [row[0] for row in (yield Select(f"SELECT id FROM client WHERE state = '{ACTIVE}' ORDER BY id", ()))]


@query(scope=CLIENT_LIST)
def client_numbers() -> Plan[list[int]]:
    """The numbers of all clients of this store."""
    return [row[0] for row in (yield Select("SELECT id FROM client", ()))]


@query(scope=CLIENT_LIST, merge=sorted_page(lambda client: client.number))
def list_clients_from(number: int, limit: int) -> Plan[list[Client]]:
    """The first clients from a number on, without those that are being deleted."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE id >= ? AND state <> 'deleting' ORDER BY id LIMIT ?", (number, limit))
    return [client_of(row) for row in rows]


@query(scope=CLIENT_LIST, merge=AnswerMerge(lambda call, answers: sum(answers.values())))
def count_clients() -> Plan[int]:
    """The number of clients."""
    return (yield Select("SELECT count(*) FROM client", ()))[0][0]  # type: ignore[no-any-return]


@query(clients=lambda call: call.clients, divide=Division(divide_clients, concatenated, partial=True))
def find_clients(clients: Sequence[int]) -> Plan[list[Client]]:
    """The clients of these numbers."""
    condition, numbers = among(clients)
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE id {condition}", numbers)
    return [client_of(row) for row in rows]


@query(client="number", quick=True)
def find_client_by_number(number: int) -> Plan[Client | None]:
    """The client of this number."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE id = ?", (number,))
    return client_of(rows[0]) if rows else None


def settings_of(number: int) -> Plan[ClientSettings | None]:
    """Return a client's settings, without a lock."""
    client: Client | None = yield from find_client_by_number.plan(number)
    return None if client is None else client.settings


@query(scope=CLIENT_LIST, merge=FIRST)
def find_client_by_handle(handle: str) -> Plan[Client | None]:
    """The client of this handle."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE handle = ?", (handle,))
    return client_of(rows[0]) if rows else None


@query(scope=CLIENT_LIST, merge=CONCATENATED)
def names_like(stem: str) -> Plan[list[str]]:
    """The handles and ids of clients that are this text, or begin with it and a hyphen."""
    like = (stem, f"{stem}-%")
    parts = " UNION ALL ".join(f"SELECT {name} FROM client WHERE {name} = ? OR {name} LIKE ?" for name in ("handle", "client_id"))
    return [name for (name,) in (yield Select(parts, like * 2))]


@query(unnamed=CLIENT_LIST, client="only", merge=sorted_page(lambda client: client.client_id))
def list_client_page(
    limit: int, after: str | None = None, state: str | None = None, text: str | None = None, only: int | None = None
) -> Plan[list[Client]]:
    """Clients by `client_id`, after `after`, whose name or id contains `text`, case ignored.

    `only`: The number of the only client that may be shown.
    """
    where = Where()
    where.equal("id", only)
    where.equal("state", state)
    rows = yield Select(f"SELECT id, client_id, name FROM client WHERE {where}", where.params)
    current_text = (text or "").casefold()
    fitting = sorted(
        (client_id, number)
        for number, client_id, name in rows
        if (after is None or client_id > after) and (current_text in client_id.casefold() or current_text in name.casefold())
    )
    page = yield Execute(CLIENTS_OF, [(number,) for _, number in fitting[:limit]])
    return sorted((client_of(row) for row in page), key=lambda client: client.client_id)


@query
def former_ids(client: int, at: Micros) -> Plan[list[FormerId]]:
    """The former ids of a client that are valid at this time, ordered by their end."""
    rows = yield Select("SELECT client_id, until_us FROM client_alias WHERE client = ? AND until_us > ?", (client, at))
    return sorted((FormerId(*row) for row in rows), key=lambda former: (former.until_us, former.client_id))


@query(scope=CLIENT_LIST, merge=sorted_page(lambda client: client.client_id))
def deleting_clients() -> Plan[list[Client]]:
    """The clients that are being deleted."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE state = 'deleting' ORDER BY id", ())
    return [client_of(row) for row in rows]


_ID = (("id", "bigint"),)
_CREATED = (*_ID, ("client_id", "text"), ("created_us", "bigint"), ("settings", "text"), ("name", "text"), ("handle", "text"))
ADD_CLIENT = Statement(
    "add_client",
    _CREATED,
    body="INSERT INTO client (id, client_id, created_us, settings, name, handle, made_by) "
    f"SELECT p.*, '{BY_ADMINISTRATOR}' FROM p WHERE true ON CONFLICT DO NOTHING RETURNING id",
)
RENAME = Statement(
    "rename_client", (*_ID, ("name", "text")), body="UPDATE client AS t SET name = p.name FROM p WHERE t.id = p.id", by_row=True
)
SET_STATE = Statement(
    "set_client_state",
    (*_ID, ("state", "text"), ("state_us", "bigint")),
    body="UPDATE client AS t SET state = p.state, state_us = p.state_us FROM p WHERE t.id = p.id",
    by_row=True,
)
SET_CLIENT_ID = Statement(
    "set_client_id",
    (*_ID, ("client_id", "text")),
    body="UPDATE client AS t SET client_id = p.client_id FROM p WHERE t.id = p.id",
    by_row=True,
)
KEEP_FORMER_ID = Statement(
    "keep_former_id",
    (("client_id", "text"), ("client", "bigint"), ("until_us", "bigint")),
    body="INSERT INTO client_alias (client_id, client, until_us) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
TAKE_FORMER_ID = delete("take_former_id", "client_alias", (("client_id", "text"), ("client", "bigint")))


@command(
    ids="client",
    scope=CLIENT_LIST,
    follow_up=audited("client.created", "client", lambda _, client: client.client_id, lambda _, client: client.number),
)
def create_client(
    ids: Ids, client_id: str, name: str, at: Micros, settings: ClientSettings | None = None, cell: str = "", handle: str = ""
) -> Plan[Client | Conflict]:
    """Create a client. `Conflict` when the id is, or was, another client's.

    `cell`: The name of the cell that it is to live in; blank: the one with the fewest clients.
    `handle`: One that was free a moment ago; blank, or if another client has it by now: a random one.
    """
    if (yield from _taken(client_id)) is not None:
        return _conflict(client_id)
    row = (ids.take("client"), client_id, at, settings_text(settings or ClientSettings()), name)
    created = yield Execute(ADD_CLIENT, [(*row, handle or new_handle())])
    if not created and handle:
        created = yield Execute(ADD_CLIENT, [(*row, new_handle())])
    yield from _check_not_former(client_id)
    rows = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    return client_of(rows[0]) if created else _conflict(client_id)


@command(follow_up=audited("client.renamed", "client", lambda _, client: client.client_id))
def rename_client(client: int, name: str, if_versions: Collection[str] | None = None) -> Plan[Client | TouchbaseError]:
    """Rename a client. `NotFound`, `WrongState` while it is being deleted, `PreconditionFailed` if it has none of `if_versions`."""
    current = yield from _changeable(client)
    if if_versions is not None and version_of(current) not in if_versions:
        return PreconditionFailed(f"client {current.client_id!r} has changed since it was read")
    yield Execute(RENAME, [(client, name)])
    current.name = name
    return current


def _state_set(call: Any, client: Client) -> str:
    return "client.suspended" if call.state == SUSPENDED else "client.resumed"


@command(follow_up=audited(_state_set, "client", lambda _, client: client.client_id))
def set_client_state(client: int, state: str, at: Micros) -> Plan[Client | TouchbaseError]:
    """Suspend or resume a client; a client in that state stays as it is. `NotFound`, `WrongState` as above."""
    current = yield from _changeable(client)
    if current.state != state:
        yield Execute(SET_STATE, [(client, state, at)])
        current.state = state
    return current


@command(scope=CLIENT_LIST, follow_up=audited("client.id_rotated", "client", lambda call, _: call.client_id))
def rotate_client_id(client: int, client_id: str, keep_until_us: Micros) -> Plan[Client | TouchbaseError]:
    """Replace a client's `client_id`; its present id is valid until `keep_until_us`, and never becomes another client's.

    `Conflict` when the new id is, or was, another client's. `NotFound`, and `WrongState` while it is being deleted or when it has this id
    already.
    """
    current_client = yield from _changeable(client)
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


@command(follow_up=audited("client.deleted", "client", lambda _, client: client.client_id))
def begin_deletion(client: int, at: Micros) -> Plan[Client | NotFound]:
    """Stop serving a client, so that its data can be removed; repeating it continues the deletion. `NotFound`."""
    current = yield from lock_client(client)
    if current.state != DELETING:
        yield Execute(SET_STATE, [(client, DELETING, at)])
        current = yield from lock_client(client)
    return current


def locked(number: int) -> Plan[Client | None]:
    """Return the client of this number, locked until the transaction ends."""
    rows = yield Execute(CLIENT_BY_NUMBER, [(number,)])
    return client_of(rows[0]) if rows else None


def lock_client(number: int) -> Plan[Client]:
    """Return the client of this number, locked until the transaction ends. Raises `NotFound`."""
    client = yield from locked(number)
    if client is None:
        raise NotFound("this client no longer exists")
    return client


def _changeable(number: int) -> Plan[Client]:
    current = yield from lock_client(number)
    if current.state == DELETING:
        raise WrongState(f"client {current.client_id!r} is being deleted; nothing of it can be changed any more")
    if current.state == MOVING:
        raise ClientMoving
    return current


def _taken(client_id: str) -> Plan[int | None]:
    """Return the number of the client that has or had this id."""
    rows = yield Execute(CLIENT_BY_CLIENT_ID, [(client_id,)])
    if rows:
        return int(rows[0][0])
    former = yield from former_owners([client_id])
    return former[client_id][0].number if former else None


def _check_not_former(client_id: str) -> Plan[None]:
    """Restart the transaction if the id became a former id of another client since the check: it stays that client's."""
    if (yield from former_owners([client_id])):
        raise SerializationConflict


def _conflict(client_id: str) -> Conflict:
    return Conflict(f"{client_id!r} is, or was, the id of another client; choose another one, or leave it out to get a generated one")
