"""`If-Match` of writes of one record (RFC 9110, 13.1.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from touchbase.common.timestamps import Micros
from touchbase.errors import PreconditionFailed
from touchbase.http.endpoint import Call
from touchbase.records.api.resource_type import states_named
from touchbase.records.models import Record
from touchbase.records.writes import CHANGED

IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The ETag that the record must still have.",
}
_IF_MATCH = b"if-match"


async def if_updated_us(call: Call, read: Callable[[], Awaitable[Record]]) -> Micros | None:
    """Return the `updated_us` that the record must have by the request's `If-Match`; None for any.

    `read` reads the record, and raises its error if there is none; it is called only if the header names ETags.
    """
    values = [value.decode("latin-1") for name, value in call.scope["headers"] if name == _IF_MATCH]
    states = states_named(", ".join(values)) if values else None  # several lines are one list (RFC 9110, 5.3)
    if states is None:
        return None
    if not states:
        raise PreconditionFailed("If-Match contains no ETag of a record: send the ETag of the response, with its quotes and without W/")
    record = await read()
    if record.updated_us in states:
        return record.updated_us
    raise PreconditionFailed(CHANGED)
