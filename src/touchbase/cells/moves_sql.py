"""Plans of the moves of clients, in the home store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.cells.models import HOME
from touchbase.cells.moves import CLEANING, COPYING, LEASE, EndMove, ListMoves, Move, NoteMove, SwitchPlace, TakeMove
from touchbase.cells.sql import STORE_KEY, STORE_PLACE, next_revision, store_rows
from touchbase.errors import TouchbaseError, WrongState
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, delete

MOVE: Columns = (
    ("number", "bigint"), ("client_id", "text"), ("source", "bigint"), ("target", "bigint"), ("state", "text"), ("token", "text"),
    ("began_us", "bigint"), ("updated_us", "bigint"), ("position", "text"),
)  # fmt: skip
STORE_MOVE = store_rows("client_move", MOVE)
DELETE_MOVE = delete("end_move", "client_move", (("number", "bigint"), ("token", "text")))


def _find(number: int) -> Plan[Move | None]:
    """Return a client's move. No other transaction changes it before this one ends."""
    sql = f"SELECT {names(MOVE)} FROM client_move WHERE number = ?"
    rows = yield Select(sql, (number,), f"{sql} FOR UPDATE")
    return Move(*rows[0]) if rows else None


def _store(move: Move) -> Plan[None]:
    yield Execute(STORE_MOVE, [tuple(getattr(move, name) for name, _ in MOVE)])


def _cell_of(number: int) -> Plan[int]:
    """Return where a client lives."""
    rows = yield Select("SELECT cell FROM client_place WHERE number = ? AND cell IS NOT NULL LIMIT 1", (number,))
    cell: int = rows[0][0] if rows else HOME
    return cell


def take_move(command: TakeMove) -> Plan[Move | TouchbaseError]:
    """Begin a move or take it over; the client gets a place, so that every process knows where it lives.

    Tokens rise, so that a store refuses a process that had the move before, however late it comes. A process that read where the client
    lived, and then waited for another one to end, must not begin the same move again: it would empty the target.
    """
    revision = yield from next_revision()
    known = yield from _find(command.number)
    token = f"{revision:016}{command.token}"
    if known is None:
        if not command.client_ids or (yield from _cell_of(command.number)) != command.source:
            return WrongState("the client has moved or was removed since this began: run it again")
        made = Move(command.number, command.client_ids[0], command.source, command.target, COPYING, token, command.at, command.at, "{}")
        yield from _store(made)
        rows = [(client_id, command.number, command.source, revision) for client_id in command.client_ids]
        yield Execute(STORE_PLACE, sorted(rows))
        return made
    if known.target != command.target:
        return WrongState(f"client {known.client_id!r} is being moved to another cell: finish that, or undo it with --undo")
    if not known.token.endswith(command.token) and command.at < known.updated_us + LEASE:
        return known
    taken = Move(known.number, known.client_id, known.source, known.target, known.state, token, known.began_us, command.at, known.position)
    yield from _store(taken)
    return taken


def note_move(command: NoteMove) -> Plan[bool]:
    """Write how far a move is."""
    known = yield from _find(command.number)
    if known is None or known.token != command.token:
        return False
    moved = (known.number, known.client_id, known.source, known.target, command.state, known.token, known.began_us)
    yield Execute(STORE_MOVE, [(*moved, command.at, command.position)])
    return True


def switch_place(command: SwitchPlace) -> Plan[bool]:
    """Change where the client and its keys are found, for all of its ids at once."""
    revision = yield from next_revision()
    known = yield from _find(command.number)
    if known is None or known.token != command.token:
        return False
    yield Execute(STORE_PLACE, sorted((client_id, known.number, known.target, revision) for client_id in command.client_ids))
    yield Execute(STORE_KEY, sorted((key_id, known.number, revision) for key_id in command.key_ids))
    moved = (known.number, known.client_id, known.source, known.target, CLEANING, known.token, known.began_us)
    yield Execute(STORE_MOVE, [(*moved, command.at, "{}")])
    return True


def end_move(command: EndMove) -> Plan[None]:
    """Forget a move."""
    yield Execute(DELETE_MOVE, [(command.number, command.token)])


def list_moves(query: ListMoves) -> Plan[list[Move]]:
    """Return the moves."""
    rows = yield Select(f"SELECT {names(MOVE)} FROM client_move ORDER BY began_us, number", ())
    return [Move(*row) for row in rows]


COMMANDS: dict[type, Callable[..., Plan[Any]]] = {
    TakeMove: take_move,
    NoteMove: note_move,
    SwitchPlace: switch_place,
    EndMove: end_move,
}
ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {ListMoves: list_moves}
