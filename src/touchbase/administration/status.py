"""HTTP resources for administrators of all clients: the server's status, which `/health/ready` may hide, and the databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.cells.models import HOME, HOME_NAME, OPEN, Cell
from touchbase.clients.sql.clients import count_clients
from touchbase.common.timestamps import to_text_or_none
from touchbase.errors import Forbidden, Overloaded, TouchbaseError
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, example, named_enum
from touchbase.routing.router import CellRouter
from touchbase.spool.spool import Spool
from touchbase.sql.store import Store, check_in_time


@dataclass(frozen=True, slots=True)
class ListedCell:
    """A cell as people see it."""

    cell: Cell
    reason: str | None
    """Why it does not answer; None: it does."""


async def list_cells(store: Store, address: str = "") -> list[ListedCell]:
    """Return the home store, whose address is not in the directory, and the cells by their numbers.

    The cells answer as of the last check, a few seconds ago, so that one that is down delays no request.
    """
    router = store if isinstance(store, CellRouter) else None
    counts = {} if router is None else router.placement.counts()
    home = store if router is None else router.home
    reason: str | None = None
    try:
        await check_in_time(home)
        if router is None or not router.cells:  # without cells the directory counts nothing
            counts = {HOME: await home.read(count_clients())}
    except Overloaded as error:
        reason = error.detail
    cells = [] if router is None else sorted(router.cells.values(), key=lambda cell: cell.cell.number)
    return [
        ListedCell(Cell(HOME, HOME_NAME, address, OPEN, 0, counts.get(HOME, 0)), reason),
        *(ListedCell(replace(cell.cell, clients=counts.get(cell.cell.number, 0)), cell.reason) for cell in cells),
    ]


class SpoolOut(Struct):
    """Webhooks on the server's disk, which came while their store could not be used."""

    webhooks: Annotated[int, Meta(ge=0, description="How many wait for their store.")]
    bytes: Annotated[int, Meta(ge=0, description="Bytes that these take on the disk.")]
    oldest_time: Annotated[Time | None, Meta(description="About when the oldest of them came; null without any.")]
    set_aside: Annotated[int, Meta(ge=0, description="How many an error keeps from being received; the server's log says which error.")]


class StatusOut(Struct):
    """The server's status."""

    ready: Annotated[bool, Meta(description="Whether the store can write.")]
    reason: Annotated[str | None, Meta(description="Why it cannot.")]
    warnings: Annotated[list[str], Meta(description="What an operator should change about the store.")]
    version: str
    spool: Annotated[SpoolOut | None, Meta(description="What is in the spool of webhooks; null without one.")]


async def status(call: Call) -> Response:
    """Handle `GET` of the status; for administrators of all clients."""
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; the status needs a key without a client")
    parts = call.api.dependencies
    reason = await _why_not_ready(parts.store)
    return Response(body=encode(StatusOut(reason is None, reason, list(parts.store.warnings), parts.version, await _spool(parts.spool))))


async def _spool(spool: Spool | None) -> SpoolOut | None:
    if spool is None:
        return None
    counts = await spool.counts()
    return SpoolOut(counts.webhooks, counts.bytes, to_text_or_none(counts.oldest_us), counts.set_aside)


async def _why_not_ready(store: Store) -> str | None:
    try:
        await check_in_time(store)
    except TouchbaseError as error:
        return error.detail
    return None


State = Literal["open", "draining"]
_STATE = named_enum("DatabaseState", "Whether new clients may live in a database.", get_args(State))


class DatabaseOut(Struct):
    """A database that clients live in."""

    name: Annotated[str, Meta(description=f"The one that has the directory is `{HOME_NAME}`.")]
    number: Annotated[int, Meta(ge=0, le=511, description="0 is the home database.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    clients: Annotated[int, Meta(ge=0, description="How many clients live there.")]
    answers: Annotated[bool, Meta(description="Whether it could write when this server last looked, a few seconds ago.")]
    reason: Annotated[str | None, Meta(description="Why it could not, such as a schema that must be migrated.")]


class DatabasePage(Struct):
    """The home database, and the others by their numbers."""

    data: list[DatabaseOut]


example(
    DatabasePage,
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


async def databases(call: Call) -> Response:
    """Handle `GET` of the databases; for administrators of all clients."""
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; the databases need a key without a client")
    call.parameters().done()
    listed = await list_cells(call.api.dependencies.store)
    return Response(body=encode(database_page(listed)))


def database_page(listed: Sequence[ListedCell]) -> DatabasePage:
    """Show databases without their addresses."""
    return DatabasePage([_out(cell) for cell in listed])


def _out(listed: ListedCell) -> DatabaseOut:
    return DatabaseOut(listed.cell.name, listed.cell.number, listed.cell.state, listed.cell.clients, listed.reason is None, listed.reason)


ROUTES = [
    Route(
        "GET", "/admin/v1/databases", databases, scope=ADMIN, operation_id="list_databases",
        tag=Tag("Databases", "The databases that clients live in."), summary="List databases",
        description="The databases that clients live in, how many, and whether each answers; most installations have the home database "
        "only. Addresses are not shown. Needs a key without a client.",
        success=(Success(200, "All databases.", DatabasePage),),
    ),
    Route(
        "GET", "/admin/v1/status", status, scope=ADMIN, operation_id="get_status", tag=Tag("Status", "The server's status."),
        summary="Get the server's status",
        description="Whether the store can write, why it cannot, what an operator should change, and what is in the spool of webhooks. "
        "Needs a key without a client.",
        success=(Success(200, "The status.", StatusOut),),
    ),
]  # fmt: skip
