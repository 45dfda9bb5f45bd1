"""The server's status for administrators, with the details that `/health/ready` may hide."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth import ADMIN
from touchbase.errors import Forbidden, TouchbaseError
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode
from touchbase.sql.store import Store, check_in_time


class StatusOut(Struct):
    """The server's status."""

    ready: Annotated[bool, Meta(description="Whether the store can write.")]
    reason: Annotated[str | None, Meta(description="Why it cannot.")]
    warnings: Annotated[list[str], Meta(description="What an operator should change about the store.")]
    version: str


async def status(call: Call) -> Response:
    """Handle `GET` of the status; for administrators of all clients."""
    if await call.administrator() is not None:
        raise Forbidden("this key belongs to one client; the status needs a key without a client")
    parts = call.api.dependencies
    reason = await _why_not_ready(parts.store)
    return Response(body=encode(StatusOut(reason is None, reason, list(parts.store.warnings), parts.version)))


async def _why_not_ready(store: Store) -> str | None:
    try:
        await check_in_time(store)
    except TouchbaseError as error:
        return error.detail
    return None


ROUTES = [
    Route(
        "GET", "/admin/v1/status", status, scope=ADMIN, operation_id="get_status", tag=Tag("Status", "The server's status."),
        summary="Get the server's status",
        description="Whether the store can write, why it cannot, and what an operator should change. Needs a key without a client.",
        success=(Success(200, "The status.", StatusOut),),
    ),
]  # fmt: skip
