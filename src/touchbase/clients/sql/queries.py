"""Plans that read clients: by id, by number, in pages, and the rows left of deleted ones."""

from __future__ import annotations

from touchbase.clients.models import Client, ClientSettings, FormerId
from touchbase.clients.sql import statements as clients_sql
from touchbase.clients.sql.removal import CLIENT_TABLES
from touchbase.common.timestamps import Micros
from touchbase.sql.cell_answers import FIRST, sorted_page
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.scope import CLIENT_LIST
from touchbase.sql.statement import Execute, Plan, Select, Statement

_CLIENT = clients_sql.client_names()
_BY_ID = f"SELECT {_CLIENT}, CAST(NULL AS bigint) FROM client WHERE client_id = ?"
_BY_FORMER_ID = (
    f"SELECT {clients_sql.client_names('c')}, a.until_us FROM client_alias a JOIN client c ON c.id = a.client "
    "WHERE a.client_id = ? AND a.until_us > ?"
)
CLIENTS_OF = Statement(
    "clients_of", (("id", "bigint"),), body=f"SELECT {clients_sql.client_names('c')} FROM p CROSS JOIN client c WHERE c.id = p.id"
)


@query(scope=CLIENT_LIST, quick=True)
def find_client(client_id: str, at: Micros | None = None) -> Plan[Client | None]:
    """The client of this `client_id`; with `at` also by a former id that is valid then."""
    if at is None:
        rows = yield Select(_BY_ID, (client_id,))
    else:
        rows = yield Select(f"{_BY_ID} UNION ALL {_BY_FORMER_ID}", (client_id, client_id, at))
    if not rows:
        return None
    found = clients_sql.client_of(rows[0])
    found.until_us = rows[0][-1]
    return found


@query(scope=CLIENT_LIST, merge=sorted_page(lambda client: client.client_id))
def list_clients() -> Plan[list[Client]]:
    """All clients by `client_id`."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client", ())
    return sorted((clients_sql.client_of(row) for row in rows), key=lambda client: client.client_id)


@query(clients=lambda call: (call.number,), quick=True)
def find_client_by_number(number: int) -> Plan[Client | None]:
    """The client of this number."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE id = ?", (number,))
    return clients_sql.client_of(rows[0]) if rows else None


def settings_of(number: int) -> Plan[ClientSettings | None]:
    """Return a client's settings, without a lock."""
    found: Client | None = yield from find_client_by_number.plan(number)
    return None if found is None else found.settings


@query(scope=CLIENT_LIST, merge=FIRST)
def find_client_by_handle(handle: str) -> Plan[Client | None]:
    """The client of this handle."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE handle = ?", (handle,))
    return clients_sql.client_of(rows[0]) if rows else None


@query(unnamed=CLIENT_LIST, clients=lambda call: (call.only,), merge=sorted_page(lambda client: client.client_id))
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
    found = yield Execute(CLIENTS_OF, [(number,) for _, number in fitting[:limit]])
    return sorted((clients_sql.client_of(row) for row in found), key=lambda client: client.client_id)


@query
def former_ids(client: int, at: Micros) -> Plan[list[FormerId]]:
    """The former ids of a client that are valid at this time, ordered by their end."""
    rows = yield Select("SELECT client_id, until_us FROM client_alias WHERE client = ? AND until_us > ?", (client, at))
    return sorted((FormerId(*row) for row in rows), key=lambda former: (former.until_us, former.client_id))


@query(scope=CLIENT_LIST, merge=sorted_page(lambda client: client.client_id))
def deleting_clients() -> Plan[list[Client]]:
    """The clients that are being deleted."""
    rows = yield Select(f"SELECT {_CLIENT} FROM client WHERE state = 'deleting' ORDER BY id", ())
    return [clients_sql.client_of(row) for row in rows]


@query
def count_client_rows(client: int) -> Plan[int]:
    """The number of a client's rows in all tables."""
    total = 0
    for table in CLIENT_TABLES:
        rows = yield Select(f"SELECT count(*) FROM {table.name} WHERE client = ?", (client,))
        total += rows[0][0]
    return total
