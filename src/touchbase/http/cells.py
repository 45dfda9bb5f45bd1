"""The stores that clients live in, for administrators of all clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from touchbase.auth import ADMIN
from touchbase.cells import HOME_NAME, Move
from touchbase.common.timestamps import to_text
from touchbase.errors import Forbidden
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, example, named_enum
from touchbase.routing import ListedCell, list_cells

State = Literal["open", "draining"]
MoveState = Literal["copying", "switching", "cleaning"]
_STATE = named_enum("CellState", "Whether new clients may live in a cell.", get_args(State))
_MOVE_STATE = named_enum(
    "MoveState",
    "How far a move is: `copying`, and it can be undone; `switching` between the cells; `cleaning` the former cell.",
    get_args(MoveState),
)


class MoveOut(Struct):
    """A move of a client to another cell that is not done."""

    client_id: str
    target: Annotated[str, Meta(description="The name of the cell where it is to live.")]
    state: Annotated[str, Meta(extra_json_schema=_MOVE_STATE)]
    began_at: Annotated[Time, Meta(description="When the command was first run.")]
    updated_at: Annotated[
        Time,
        Meta(
            description="The last sign of the process that carries it out, which gives one every few seconds. If it is a minute ago, the "
            "move has stopped: run `touchbase clients move` again to go on, with `--undo` to go back."
        ),
    ]


class CellOut(Struct):
    """A store that clients live in."""

    name: Annotated[str, Meta(description=f"The store that has the directory is `{HOME_NAME}`.")]
    number: Annotated[int, Meta(ge=0, le=511, description="0 is the home store.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    clients: Annotated[int, Meta(ge=0, description="How many clients live there.")]
    answers: Annotated[bool, Meta(description="Whether it could write when this server last looked, a few seconds ago.")]
    reason: Annotated[str | None, Meta(description="Why it could not, such as a schema that must be migrated.")]
    moves: Annotated[
        list[MoveOut] | None,
        Meta(description="Moves of its clients to other cells, until they are done, the oldest first; null while the home store is down."),
    ]


class CellPage(Struct):
    """The home store, and the cells by their numbers."""

    data: list[CellOut]


example(
    CellPage,
    {
        "data": [
            {"name": "home", "number": 0, "state": "open", "clients": 412, "answers": True, "reason": None, "moves": []},
            {
                "name": "eu2",
                "number": 1,
                "state": "draining",
                "clients": 96,
                "answers": False,
                "reason": "cannot use the database now: its disk is full; make room, writing goes on by itself",
                "moves": [
                    {
                        "client_id": "alder",
                        "target": "home",
                        "state": "copying",
                        "began_at": "2026-11-02T09:00:00.000000Z",
                        "updated_at": "2026-11-02T09:00:41.000000Z",
                    }
                ],
            },
        ]
    },
)


async def cells(call: Call) -> Response:
    """Handle `GET` of the cells; for administrators of all clients."""
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; the cells need a key without a client")
    call.parameters().done()
    found = await list_cells(call.api.dependencies.store)
    return Response(body=encode(cell_page(found)))


def cell_page(found: Sequence[ListedCell]) -> CellPage:
    """Show cells without their addresses."""
    names = {each.cell.number: each.cell.name for each in found}
    return CellPage([_out(each, names) for each in found])


def _out(one: ListedCell, names: Mapping[int, str]) -> CellOut:
    moves = None if one.moves is None else [_move_out(move, names.get(move.target, f"cell {move.target}")) for move in one.moves]
    return CellOut(one.cell.name, one.cell.number, one.cell.state, one.cell.clients, one.reason is None, one.reason, moves)


def _move_out(move: Move, target: str) -> MoveOut:
    return MoveOut(move.client_id, target, move.state, to_text(move.began_us), to_text(move.updated_us))


ROUTES = [
    Route(
        "GET", "/admin/v1/cells", cells, scope=ADMIN, operation_id="list_cells",
        tag=Tag("Cells", "The stores that clients live in, when one database is not enough."), summary="List cells",
        description="The stores that clients live in, how many, whether each answers, and which clients move out of it; most installations "
        "have the home store only. Addresses are not shown. Needs a key without a client.",
        success=(Success(200, "All cells.", CellPage),),
    ),
]  # fmt: skip
