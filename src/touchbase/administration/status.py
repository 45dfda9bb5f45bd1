"""The server's status for administrators, with the details that `/health/ready` may hide."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN
from touchbase.common.timestamps import to_text
from touchbase.errors import Forbidden, TouchbaseError
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode
from touchbase.spool.spool import Spool
from touchbase.sql.store import Store, check_in_time


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
    found = await spool.counts()
    return SpoolOut(found.webhooks, found.bytes, None if found.oldest_us is None else to_text(found.oldest_us), found.set_aside)


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
        description="Whether the store can write, why it cannot, what an operator should change, and what is in the spool of webhooks. "
        "Needs a key without a client.",
        success=(Success(200, "The status.", StatusOut),),
    ),
]  # fmt: skip
