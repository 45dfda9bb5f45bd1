"""Plans of the directory. Each change takes the next revision in its own transaction, so that revisions follow the order of commits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.cells.commands import (
    AddCell,
    AdoptErasureKey,
    ConfirmPlace,
    FindKeyPlace,
    FindPlace,
    ForgetPlaces,
    PlaceKey,
    RaiseIds,
    ReadDirectory,
    ReleasePlace,
    RemoveCell,
    ReservePlace,
    SetCellState,
    ShareErasureKey,
)
from touchbase.cells.models import ID_BITS, MOST_CELLS, OPEN, REMOVED, Cell, Directory, Place
from touchbase.connections.sql.encrypted_columns import CELL_TABLE, decrypt_row, encrypt_row
from touchbase.encryption.cipher import Cipher
from touchbase.errors import Conflict, NotFound, TouchbaseError, WrongState
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement
from touchbase.suppression.server_secret import make_erasure_key

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
    sqlite="UPDATE client_place SET number = NULL, cell = NULL, revision = ?2 WHERE number = ?1",
    body="UPDATE client_place t SET number = NULL, cell = NULL, revision = p.revision FROM p WHERE t.number = p.number",
)
FORGET_KEYS = Statement(
    "forget_key_places",
    (("number", "bigint"),),
    sqlite="DELETE FROM key_place WHERE number = ?1",
    body="DELETE FROM key_place t USING p WHERE t.number = p.number",
)
RAISE = Statement(
    "raise_ids",
    (("first", "bigint"),),
    sqlite=f"UPDATE id_block SET next = ?1 + next % {1 << ID_BITS} WHERE next < ?1 AND name NOT IN {NO_RANGE}",
    body=f"UPDATE id_block t SET next = p.first + t.next % {1 << ID_BITS} FROM p WHERE t.next < p.first AND t.name NOT IN {NO_RANGE}",
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
    found = []
    for row in rows:
        number, name, address, state, created_us, _ = decrypt_row(cipher, CELL_TABLE, CELL, row[:-1])
        found.append(Cell(number, name, address, state, created_us, row[-1]))
    return found


def _write_cell(cipher: Cipher, cell: Cell, revision: int) -> Plan[None]:
    row = (cell.number, cell.name, cell.address, cell.state, cell.created_us, revision)
    yield Execute(STORE_CELL, [(yield from encrypt_row(cipher, CELL_TABLE, CELL, row))])


def add_cell(command: AddCell, cipher: Cipher) -> Plan[Cell | TouchbaseError]:
    """Add a cell under the next number."""
    revision = yield from _next_revision()
    if (yield Select("SELECT 1 FROM cell WHERE name = ?", (command.name,))):
        return Conflict(f"there is a cell {command.name!r} already: choose another name")
    rows = yield Select("SELECT COALESCE(max(number), 0) FROM cell", ())
    number: int = rows[0][0] + 1
    if number > MOST_CELLS:
        return WrongState(f"there have been {MOST_CELLS} cells, and no number is used again")
    cell = Cell(number, command.name, command.address, OPEN, command.at)
    yield from _write_cell(cipher, cell, revision)
    return cell


def _named(cipher: Cipher, name: str) -> Plan[Cell | NotFound]:
    found = yield from _cells(cipher, "name = ? AND state <> ?", name, REMOVED)
    return found[0] if found else NotFound(f"there is no cell {name!r}; `touchbase cells list` shows all")


def set_cell_state(command: SetCellState, cipher: Cipher) -> Plan[Cell | TouchbaseError]:
    """Open or close a cell for new clients."""
    revision = yield from _next_revision()
    found = yield from _named(cipher, command.name)
    if isinstance(found, NotFound):
        return found
    cell = Cell(found.number, found.name, found.address, command.state, found.created_us, found.clients)
    yield from _write_cell(cipher, cell, revision)
    return cell


def remove_cell(command: RemoveCell, cipher: Cipher) -> Plan[Cell | TouchbaseError]:
    """Forget a cell's address and free its name."""
    revision = yield from _next_revision()
    found = yield from _named(cipher, command.name)
    if isinstance(found, NotFound):
        return found
    if found.clients:
        return WrongState(f"clients live in {command.name!r}: delete them first; `touchbase cells list` counts them")
    removed = Cell(found.number, f"{found.name}~{found.number}", "", REMOVED, found.created_us)
    yield from _write_cell(cipher, removed, revision)
    return removed


def reserve_place(command: ReservePlace) -> Plan[Place | TouchbaseError]:
    """Reserve a `client_id`, in the home store's own list of clients too."""
    revision = yield from _next_revision()
    rows = yield Select("SELECT number, cell FROM client_place WHERE client_id = ?", (command.client_id,))
    number, cell = rows[0] if rows else (None, None)
    if cell is not None and number is None and command.number is None:
        return Place(command.client_id, None, cell)
    owners = {row[0] for row in (yield Select(_TAKEN, (command.client_id, command.client_id)))} - {command.number}
    if owners or (cell is not None and number != command.number):
        return Conflict(f"client {command.client_id!r} exists already; choose another id")
    yield Execute(STORE_PLACE, [(command.client_id, command.number, command.cell, revision)])
    return Place(command.client_id, command.number, command.cell)


def confirm_place(command: ConfirmPlace) -> Plan[None]:
    """Write the number of a created client."""
    revision = yield from _next_revision()
    rows = yield Select("SELECT cell FROM client_place WHERE client_id = ? AND cell IS NOT NULL", (command.client_id,))
    if rows:
        yield Execute(STORE_PLACE, [(command.client_id, command.number, rows[0][0], revision)])


def release_place(command: ReleasePlace) -> Plan[None]:
    """Free an id whose client was not created."""
    revision = yield from _next_revision()
    rows = yield Select("SELECT number FROM client_place WHERE client_id = ?", (command.client_id,))
    if rows == [(command.number,)]:
        yield Execute(STORE_PLACE, [(command.client_id, None, None, revision)])


def forget_places(command: ForgetPlaces) -> Plan[None]:
    """Free the ids of a deleted client. The rows stay, so that every process learns of it."""
    revision = yield from _next_revision()
    yield Execute(FORGET_PLACES, [(command.number, revision)])
    yield Execute(FORGET_KEYS, [(command.number,)])


def place_key(command: PlaceKey) -> Plan[None]:
    """Write which client a key belongs to."""
    revision = yield from _next_revision()
    yield Execute(STORE_KEY, [(command.key_id, command.number, revision)])


def raise_ids(command: RaiseIds) -> Plan[None]:
    """Move the blocks of ids into the cell's range, with those of migrations since."""
    yield Execute(RAISE, [(command.first,)])


def read_directory(query: ReadDirectory, cipher: Cipher) -> Plan[Directory]:
    """Return what was written since a revision."""
    rows = yield Select("SELECT next FROM id_block WHERE name = ?", (_REVISION,))
    revision: int = rows[0][0]
    if revision <= query.after:
        return Directory(revision)
    cells = yield from _cells(cipher, "revision > ?", query.after)
    places = yield Select("SELECT client_id, number, cell FROM client_place WHERE revision > ?", (query.after,))
    keys = yield Select("SELECT key_id, number FROM key_place WHERE revision > ?", (query.after,))
    counted = yield Select("SELECT count(*) FROM client", ())
    return Directory(revision, cells, [Place(*row) for row in places], [(row[0], row[1]) for row in keys], counted[0][0])


def find_place(query: FindPlace) -> Plan[Place | None]:
    """Return the place of a `client_id`."""
    rows = yield Select("SELECT client_id, number, cell FROM client_place WHERE client_id = ?", (query.client_id,))
    return Place(*rows[0]) if rows else None


def find_key_place(query: FindKeyPlace) -> Plan[Place | None]:
    """Return the place of the client of a key."""
    rows = yield Select(
        "SELECT p.client_id, p.number, p.cell FROM key_place k JOIN client_place p ON p.number = k.number WHERE k.key_id = ? LIMIT 1",
        (query.key_id,),
    )
    return Place(*rows[0]) if rows else None


def share_erasure_key(command: ShareErasureKey) -> Plan[bytes]:
    """Return the key of erasures."""
    return (yield from make_erasure_key())


def adopt_erasure_key(command: AdoptErasureKey) -> Plan[WrongState | None]:
    """Store the key of another store, unless this one has its own."""
    if (yield from make_erasure_key(command.value)) != command.value:
        return WrongState("this store has erased people with a key of its own: name an empty database")
    return None


COMMANDS: dict[type, Callable[..., Plan[Any]]] = {
    ShareErasureKey: share_erasure_key,
    AdoptErasureKey: adopt_erasure_key,
    ReservePlace: reserve_place,
    ConfirmPlace: confirm_place,
    ReleasePlace: release_place,
    ForgetPlaces: forget_places,
    PlaceKey: place_key,
    RaiseIds: raise_ids,
}
CIPHER_COMMANDS: dict[type, Callable[..., Plan[Any]]] = {AddCell: add_cell, SetCellState: set_cell_state, RemoveCell: remove_cell}
ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {FindPlace: find_place, FindKeyPlace: find_key_place}
CIPHER_ANSWERS: dict[type, Callable[..., Plan[Any]]] = {ReadDirectory: read_directory}
