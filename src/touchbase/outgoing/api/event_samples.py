"""HTTP resource of samples of events, as builders of workflows show them to a person who maps their members."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import READ
from touchbase.event_log.models import EVENT_TYPES
from touchbase.event_log.reading import types_of
from touchbase.event_log.sql.queries import list_latest_events
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameter
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import EXAMPLES, encode, example
from touchbase.outgoing.api.event_objects import envelopes
from touchbase.outgoing.api.event_schemas import LogEvent
from touchbase.outgoing.api.events import TAG, TYPES
from touchbase.outgoing.samples import sample

PATH = "/public/v2/events/samples"
LARGEST, USUAL = 20, 3
LIMIT: Parameter[int] = Parameter(
    "limit",
    lambda given, name: given.integer(name, 1, LARGEST) or USUAL,
    {"type": "integer", "minimum": 1, "maximum": LARGEST, "default": USUAL},
    "Maximum number of samples of stored events.",
)


class EventSamples(Struct):
    """Samples of events, newest first."""

    data: list[LogEvent]
    fictitious: Annotated[bool, Meta(description="Whether they are about fictitious persons, since no such event is stored.")]


async def samples(call: Call) -> Response:
    """Handle `GET` of samples."""
    client, given, parts = await call.client(), call.parameters(), call.api.dependencies
    types = types_of(given[TYPES], "?types", given.faults)
    given.done()
    stored = await parts.store.read(list_latest_events(client.number, given[LIMIT], types))
    data = await envelopes(parts.store, client, stored)
    if not stored:
        now = parts.clock()
        data = [
            sample(kind, client.client_id, now, f"sample_{kind}")[0] for kind in types or [event_kind.value for event_kind in EVENT_TYPES]
        ]
    return Response(body=encode({"data": data, "fictitious": not stored}), headers=[(b"cache-control", b"no-store")])


example(EventSamples, {"data": EXAMPLES["EventPage"]["data"], "fictitious": False})
ROUTES = [
    Route(
        "GET", PATH, samples, scope=READ, operation_id="list_event_samples", tag=TAG, summary="Get samples of events, newest first",
        description="Each is what an endpoint of the usual form gets as its body, so that a builder of workflows (Zapier, n8n, Make) can "
        "show members before the first event comes. Looks at the newest 10,000 events; if none of them is of the types, each type has a "
        "sample about a fictitious person, whose id begins with `sample_`.",
        query=(TYPES, LIMIT), success=(Success(200, "Samples, newest first.", EventSamples),),
    ),
]  # fmt: skip
