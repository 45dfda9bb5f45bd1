"""The stores that clients live in, for administrators of all clients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.cells.models import HOME_NAME
from touchbase.errors import Forbidden
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, example, named_enum
from touchbase.routing.listing import ListedCell, list_cells

State = Literal["open", "draining"]
_STATE = named_enum("CellState", "Whether new clients may live in a cell.", get_args(State))


class CellOut(Struct):
    """A store that clients live in."""

    name: Annotated[str, Meta(description=f"The store that has the directory is `{HOME_NAME}`.")]
    number: Annotated[int, Meta(ge=0, le=511, description="0 is the home store.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    clients: Annotated[int, Meta(ge=0, description="How many clients live there.")]
    answers: Annotated[bool, Meta(description="Whether it could write when this server last looked, a few seconds ago.")]
    reason: Annotated[str | None, Meta(description="Why it could not, such as a schema that must be migrated.")]


class CellPage(Struct):
    """The home store, and the cells by their numbers."""

    data: list[CellOut]


example(
    CellPage,
    {
        "data": [
            {"name": "home", "number": 0, "state": "open", "clients": 412, "answers": True, "reason": None},
            {
                "name": "eu2",
                "number": 1,
                "state": "draining",
                "clients": 96,
                "answers": False,
                "reason": "cannot use the database now: its disk is full; make room, writing goes on by itself",
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
    return CellPage([_out(each) for each in found])


def _out(one: ListedCell) -> CellOut:
    return CellOut(one.cell.name, one.cell.number, one.cell.state, one.cell.clients, one.reason is None, one.reason)


ROUTES = [
    Route(
        "GET", "/admin/v1/cells", cells, scope=ADMIN, operation_id="list_cells",
        tag=Tag("Cells", "The stores that clients live in, when one database is not enough."), summary="List cells",
        description="The stores that clients live in, how many, and whether each answers; most installations have the home store "
        "only. Addresses are not shown. Needs a key without a client.",
        success=(Success(200, "All cells.", CellPage),),
    ),
]  # fmt: skip
