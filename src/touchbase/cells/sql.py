"""Plans of the directory. Each change takes the next revision in its own transaction, so that revisions follow the order of commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.cells.models import ID_BITS, MOST_CELLS, OPEN, REMOVED, Cell, ClientPlace, Directory
from touchbase.clients.sql.removal import FORGET_GRANTS
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.encryption.encrypted_columns import CELL_TABLE, decrypt_row, encrypt_row
from touchbase.erasure_marks import ERASURE, make_erasure_key
from touchbase.errors import Conflict, NotFound, TouchbaseError, WrongState
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import CLIENT_LIST
from touchbase.sql.statement import Execute, Plan, Select, Statement

CELL: Columns = (
    ("number", "bigint"), ("name", "text"), ("address", "text"), ("state", "text"), ("created_us", "bigint"), ("revision", "bigint"),
)  # fmt: skip
PLACE: Columns = (("client_id", "text"), ("number", "bigint"), ("cell", "bigint"), ("revision", "bigint"))
KEY: Columns = (("key_id", "text"), ("number", "bigint"), ("revision", "bigint"))
_REVISION = "cell_revision"
NO_RANGE = (_REVISION, "installation_list", "first_key", "check")
"""Names in `id_block` that are no ids of records."""


def _store_rows(table: str, columns: Columns) -> Statement:
    """Return the statement that writes whole rows, whether they exist or not."""
    changed = ", ".join(f"{name} = excluded.{name}" for name, _ in columns[1:])
    conflict = f"ON CONFLICT ({columns[0][0]}) DO UPDATE SET {changed}"
    return Statement(f"store_{table}", columns, body=f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE true {conflict}")


STORE_CELL, STORE_PLACE, STORE_KEY = _store_rows("cell", CELL), _store_rows("client_place", PLACE), _store_rows("key_place", KEY)
FORGET_PLACES = Statement(
    "forget_places",
    (("number", "bigint"), ("revision", "bigint")),
    body="UPDATE client_place t SET number = NULL, cell = NULL, revision = p.revision FROM p WHERE t.number = p.number",
    by_row=True,
)
FORGET_KEYS = Statement(
    "forget_key_places", (("number", "bigint"),), body="DELETE FROM key_place t USING p WHERE t.number = p.number", by_row=True
)
RAISE = Statement(
    "raise_ids",
    (("first", "bigint"),),
    body=f"UPDATE id_block t SET next = p.first + t.next % {1 << ID_BITS} FROM p WHERE t.next < p.first AND t.name NOT IN {NO_RANGE}",
    by_row=True,
)
_CELLS = f"SELECT {names(CELL)}, (SELECT count(DISTINCT COALESCE(number, 0)) FROM client_place WHERE cell = cell.number) FROM cell"
_TAKEN = (
    "SELECT c.id FROM client c WHERE c.client_id = ? "
    "UNION ALL SELECT c.id FROM client_alias a JOIN client c ON c.id = a.client WHERE a.client_id = ?"
)


def _next_revision() -> Plan[int]:
    """Return the next revision. Another transaction that changes the directory waits until this one ends."""
    rows = yield Execute(RESERVE_IDS, [(_REVISION, 1, 0, 0)])
    revision: int = rows[0][0] + 1
    return revision


def _cells(cipher: Cipher, where: str, *params: object) -> Plan[list[Cell]]:
    rows = yield Select(f"{_CELLS} WHERE {where} ORDER BY number", params)
    cells = []
    for row in rows:
        number, name, address, state, created_us, _ = decrypt_row(cipher, CELL_TABLE, CELL, row[:-1])
        cells.append(Cell(number, name, address, state, created_us, row[-1]))
    return cells


def _write_cell(cipher: Cipher, cell: Cell, revision: int) -> Plan[None]:
    row = (cell.number, cell.name, cell.address, cell.state, cell.created_us, revision)
    yield Execute(STORE_CELL, [(yield from encrypt_row(cipher, CELL_TABLE, CELL, row))])


@command(cipher=True)
def add_cell(cipher: Cipher, name: str, address: str, at: Micros) -> Plan[Cell | TouchbaseError]:
    """Add a cell. `Conflict` when there is one of this name."""
    revision = yield from _next_revision()
    if (yield Select("SELECT 1 FROM cell WHERE name = ?", (name,))):
        return Conflict(f"there is a database {name!r} already: choose another name")
    rows = yield Select("SELECT COALESCE(max(number), 0) FROM cell", ())
    number: int = rows[0][0] + 1
    if number > MOST_CELLS:
        return WrongState(f"there have been {MOST_CELLS} databases, and no number is used again")
    cell = Cell(number, name, address, OPEN, at)
    yield from _write_cell(cipher, cell, revision)
    return cell


def _named(cipher: Cipher, name: str) -> Plan[Cell | NotFound]:
    cells = yield from _cells(cipher, "name = ? AND state <> ?", name, REMOVED)
    return cells[0] if cells else NotFound(f"there is no database {name!r}; `touchbase databases list` shows all")


@command(cipher=True)
def set_cell_state(cipher: Cipher, name: str, state: str) -> Plan[Cell | TouchbaseError]:
    """Open a cell for new clients, or close it. `NotFound`."""
    revision = yield from _next_revision()
    existing = yield from _named(cipher, name)
    if isinstance(existing, NotFound):
        return existing
    cell = replace(existing, state=state)
    yield from _write_cell(cipher, cell, revision)
    return cell


@command(cipher=True)
def set_addresses(cipher: Cipher, addresses: Sequence[tuple[str, str]]) -> Plan[NotFound | None]:
    """Change the addresses of cells, named by their names, together. `NotFound`."""
    revision = yield from _next_revision()
    changed: list[Cell] = []
    for name, address in addresses:
        existing = yield from _named(cipher, name)
        if isinstance(existing, NotFound):
            return existing
        changed.append(replace(existing, address=address))
    for cell in changed:
        yield from _write_cell(cipher, cell, revision)
    return None


@command(cipher=True)
def remove_cell(cipher: Cipher, name: str) -> Plan[Cell | TouchbaseError]:
    """Forget a cell. `NotFound`, and `WrongState` while clients live in it. Its number is not used again."""
    revision = yield from _next_revision()
    existing = yield from _named(cipher, name)
    if isinstance(existing, NotFound):
        return existing
    if existing.clients:
        return WrongState(
            f"clients live in {name!r}: move them (`touchbase clients move`) or delete them first; `touchbase databases list` counts them"
        )
    removed = Cell(existing.number, f"{existing.name}~{existing.number}", "", REMOVED, existing.created_us)
    yield from _write_cell(cipher, removed, revision)
    return removed


@command(scope=CLIENT_LIST)
def reserve_place(client_id: str, cell: int, number: int | None = None) -> Plan[ClientPlace | TouchbaseError]:
    """Reserve a `client_id` for a client of a cell, so that no other cell gives it to another client. `Conflict` when it is taken.

    A reservation for a client that was never created is returned as it is: the client is to be created in its cell. With `number` it is a
    new id of that client.
    """
    revision = yield from _next_revision()
    rows = yield Select("SELECT number, cell FROM client_place WHERE client_id = ?", (client_id,))
    current_number, current_cell = rows[0] if rows else (None, None)
    if current_cell is not None and current_number is None and number is None:
        return ClientPlace(client_id, None, current_cell)
    owners = {row[0] for row in (yield Select(_TAKEN, (client_id, client_id)))} - {number}
    if owners or (current_cell is not None and current_number != number):
        return Conflict(f"client {client_id!r} exists already; choose another id")
    yield Execute(STORE_PLACE, [(client_id, number, cell, revision)])
    return ClientPlace(client_id, number, cell)


@command
def confirm_place(client_id: str, number: int) -> Plan[None]:
    """Store the client that was created under a reserved `client_id`."""
    revision = yield from _next_revision()
    rows = yield Select("SELECT cell FROM client_place WHERE client_id = ? AND cell IS NOT NULL", (client_id,))
    if rows:
        yield Execute(STORE_PLACE, [(client_id, number, rows[0][0], revision)])


@command
def release_place(client_id: str, number: int | None = None) -> Plan[None]:
    """Remove a reservation; a client that exists keeps its place. With `number` a new id of that client is removed."""
    revision = yield from _next_revision()
    rows = yield Select("SELECT number FROM client_place WHERE client_id = ?", (client_id,))
    if rows == [(number,)]:
        yield Execute(STORE_PLACE, [(client_id, None, None, revision)])


@command
def move_place(number: int, cell: int, client_ids: Sequence[str], key_ids: Sequence[str]) -> Plan[None]:
    """Store that a client lives in another cell now, for all of its ids and keys."""
    revision = yield from _next_revision()
    yield Execute(STORE_PLACE, sorted((client_id, number, cell, revision) for client_id in client_ids))
    yield Execute(STORE_KEY, sorted((key_id, number, revision) for key_id in key_ids))


@command(background=True)
def forget_places(number: int) -> Plan[None]:
    """Forget where a deleted client lived, its keys, and who might see it."""
    revision = yield from _next_revision()
    yield Execute(FORGET_PLACES, [(number, revision)])
    yield Execute(FORGET_KEYS, [(number,)])
    yield Execute(FORGET_GRANTS, [(number,)])


@command
def place_key(key_id: str, number: int) -> Plan[None]:
    """Store a key's client."""
    revision = yield from _next_revision()
    yield Execute(STORE_KEY, [(key_id, number, revision)])


@command
def raise_ids(first: int) -> Plan[None]:
    """Reserve the ids below `first` for other cells; the cell does it whenever it is opened."""
    yield Execute(RAISE, [(first,)])


@query(cipher=True, scope=CLIENT_LIST)
def read_directory(cipher: Cipher, after: int = 0) -> Plan[Directory]:
    """Return the rows that were written since a revision; with 0 the complete directory."""
    rows = yield Select("SELECT next FROM id_block WHERE name = ?", (_REVISION,))
    revision: int = rows[0][0]
    if revision <= after:
        return Directory(revision)
    cells = yield from _cells(cipher, "revision > ?", after)
    places = yield Select("SELECT client_id, number, cell FROM client_place WHERE revision > ?", (after,))
    keys = yield Select("SELECT key_id, number FROM key_place WHERE revision > ?", (after,))
    counted = yield Select("SELECT count(*) FROM client", ())
    return Directory(revision, cells, [ClientPlace(*row) for row in places], [(row[0], row[1]) for row in keys], counted[0][0])


@query
def cell_identity() -> Plan[tuple[int, bytes | None]]:
    """Return the number of the cell whose ids this store gives out, 0 for none, and its erasure key, which an installation shares."""
    rows = yield Select(f"SELECT COALESCE(max(next), 0) FROM id_block WHERE name NOT IN {NO_RANGE}", ())
    secret = yield Select("SELECT value FROM server_secret WHERE name = ?", (ERASURE,))
    return rows[0][0] >> ID_BITS, bytes(secret[0][0]) if secret else None


@query
def find_place(client_id: str) -> Plan[ClientPlace | None]:
    """Where the client of this `client_id` lives; None if it has no place."""
    rows = yield Select("SELECT client_id, number, cell FROM client_place WHERE client_id = ?", (client_id,))
    return ClientPlace(*rows[0]) if rows else None


@query
def find_key_place(key_id: str) -> Plan[ClientPlace | None]:
    """Return the home of this key's client; None if the key is no client's in a cell."""
    rows = yield Select(
        "SELECT p.client_id, p.number, p.cell FROM key_place k JOIN client_place p ON p.number = k.number WHERE k.key_id = ? LIMIT 1",
        (key_id,),
    )
    return ClientPlace(*rows[0]) if rows else None


@command
def share_erasure_key() -> Plan[bytes]:
    """Return the key that erased identities are hashed with, made if there is none: all cells hash alike."""
    return (yield from make_erasure_key())


@command
def adopt_erasure_key(value: bytes) -> Plan[WrongState | None]:
    """Take over that key; carried out by a new cell. `WrongState` when the store has hashed with another one."""
    if (yield from make_erasure_key(value)) != value:
        return WrongState("this store has erased people with a key of its own: name an empty database")
    return None
