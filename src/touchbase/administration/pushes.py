"""HTTP resources of pushes that a connected tool has not taken: list them with their cure, and try them again."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

from touchbase.administration.connections import PATH, TAG, connection_in_path
from touchbase.auth.authentication import ADMIN
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.connections.models import Connection
from touchbase.errors import Fault, Invalid
from touchbase.event_log.models import event_id
from touchbase.event_log.sql.queries import find_subjects
from touchbase.history.events import CRM
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import RecordId, Time, encode, example, fitting, named_enum
from touchbase.outgoing.api.endpoint_bodies import sequence_of_id
from touchbase.outgoing.api.schemas import WebhooksReplayed
from touchbase.outgoing.blocklists import url_of
from touchbase.outgoing.hubspot import SHOWN
from touchbase.outgoing.models import HUBSPOT, PAUSED, SKIPPED, TIMEOUT, UNREACHABLE
from touchbase.outgoing.sql.pushes import MAX_EVENTS, STATES, WAITING, Push, list_pushes, retry_pushes

_STATE = named_enum("PushState", "waiting: another attempt follows; failed: none does; skipped: nothing was sent.", STATES)


class PushOut(Struct):
    """A push that the tool has not taken, as its last attempt says."""

    event: Annotated[str, Meta(description="The event's id.", examples=["evt_1207"])]
    endpoint_id: RecordId
    type: Annotated[str, Meta(description="The type of the event.", examples=["suppression.created"])]
    kind: Annotated[str | None, Meta(description="Kind of address, of an entry of a do-not-contact list.")]
    value: Annotated[str | None, Meta(description="The address; null: of no entry, or it is not stored any more.")]
    record_id: Annotated[int | None, Meta(description="The contact, of a status that is written.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    attempts: Annotated[int, Meta(ge=1, description="Number of the last attempt.")]
    last_attempt_time: Annotated[Time, Meta(description="When it was sent last.")]
    next_attempt_time: Annotated[Time | None, Meta(description="null: none follows.")]
    status: Annotated[int | None, Meta(description="Of the tool's response; null: none came, or it refused in its words.")]
    reason: Annotated[str, Meta(description="Why it was not taken.")]
    advice: Annotated[str, Meta(description="What to do.")]
    response_body: Annotated[str, Meta(description="The tool's words: the first 2,000 bytes.")]


class PushPage(Struct):
    """A page of pushes, newest first."""

    data: list[PushOut]
    next_cursor: str | None = None


class PushRetry(Struct, forbid_unknown_fields=True):
    """Which pushes to send again."""

    events: Annotated[
        Annotated[list[str], Meta(max_length=MAX_EVENTS)] | None,
        Meta(description="Ids of events, also of skipped ones; null: all that wait or failed."),
    ] = None


example(PushRetry, {"events": ["evt_1207"]})


def _advice(push: Push) -> str:
    """Return the cure of a push."""
    attempt, status = push.attempt, push.attempt.status
    if push.endpoint_state != "active":
        then = "retry resumes it" if push.endpoint_state == PAUSED else "resume it to send what waits"
        return f"Endpoint {attempt.endpoint_id} is {push.endpoint_state}: correct the cause in the reason; {then}."
    if attempt.outcome == SKIPPED:
        return "Nothing, unless the reason says otherwise; retry sends it if that has changed."
    if status in (401, 402, 403):
        return "Give the connection a token that may do this, then retry."
    if status in (404, 405) or (status is not None and 300 <= status < 400):
        return "Correct the setting api_base of the connection, then retry."
    if status == 429 or (status is not None and status >= 500) or attempt.outcome in (TIMEOUT, UNREACHABLE):
        later = "it is tried again by itself" if push.state == WAITING else "retry when the tool works again"
        return f"Nothing if it is rare: {later}. If it lasts, look at the tool's own status page and at the setting api_base."
    return "Read the tool's words, and correct the address here or put it on the list in the tool by hand; retry sends it again."


def _reason(push: Push) -> str:
    attempt = push.attempt
    if attempt.error:
        return attempt.error
    return "no response in time" if attempt.status is None else f"the tool answered {attempt.status}"


def _out(push: Push, value: str | None) -> PushOut:
    attempt = push.attempt
    return PushOut(
        event_id(attempt.sequence), attempt.endpoint_id, attempt.type, push.data.get("kind"), value, push.record_id, push.state,
        attempt.number, to_text(attempt.at), to_text_or_none(push.next_us), attempt.status, _reason(push), _advice(push), attempt.response,
    )  # fmt: skip


def _url(connection: Connection) -> str:
    """Return the URL of the endpoints that push to the tool of a connection."""
    return SHOWN if (connection.channel, connection.tool) == (CRM, HUBSPOT) else url_of(connection.tool)


async def pushes(call: Call) -> Response:
    """Handle `GET` of a page of pushes that were not taken."""
    connected, parameters, store = await connection_in_path(call), call.parameters(), call.api.dependencies.store
    before = parameters.cursor("pushes", int)
    parameters.done()
    page_bytes, limit = await call.page_bytes(), parameters[LIMIT]
    listed = await store.read(list_pushes(connected.client, _url(connected), limit + 1, before, **parameters.filters))
    entries = sorted({push.data["suppression_id"] for push in listed if "suppression_id" in push.data})
    subjects: dict[int, tuple[str, str | None]] = {}
    if entries:
        subjects = (await store.read(find_subjects(connected.client, entries, []))).suppressions
    rows = (_out(push, subjects.get(push.data.get("suppression_id", 0), ("", None))[1]) for push in listed[:limit])
    data = fitting(rows, page_bytes)
    cursor = cursor_text("pushes", listed[len(data) - 1].attempt.id) if len(listed) > len(data) else None
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def retry(call: Call) -> Response:
    """Handle `POST` that sends pushes again."""
    connected, parts = await connection_in_path(call), call.api.dependencies
    call.parameters().done()
    body = await call.body(PushRetry)
    sequences = [sequence_of_id(text) for text in body.events or ()]
    faults = [
        Fault(f"/events/{index}", "choice", "must be the id of an event, such as evt_1207")
        for index, sequence in enumerate(sequences)
        if sequence is None
    ]
    if body.events is not None and not body.events:
        faults.append(Fault("/events", "required", "must name an event; leave it out for all that wait or failed"))
    if faults:
        raise Invalid(faults)
    command: Any = retry_pushes(connected.client, _url(connected), parts.clock(), [number for number in sequences if number is not None])
    response = await call.write_and_respond(
        lambda writes: writes.write(command), lambda count: Response(202, encode(WebhooksReplayed(count)))
    )
    parts.on_endpoint()
    return response


STATE = query.choice("state", STATES, "Pushes in this state; left out: waiting and failed ones.", member="state_is")
_PATH = f"{PATH}/{{channel}}/{{tool}}/pushes"
ROUTES = [
    Route(
        "GET", _PATH, pushes, scope=ADMIN, operation_id="list_pushes", tag=TAG, summary="List what a connected tool has not taken",
        description="Entries of do-not-contact lists that endpoints of the kind blocklist push to the tool, and statuses that endpoints of "
        "the kind hubspot write, of which no request has succeeded: with the reason and what to do, by the last attempt, newest first.",
        query=(STATE, *PAGE), success=(Success(200, "A page.", PushPage),), problems=(422,),
    ),
    Route(
        "POST", f"{_PATH}/retry", retry, scope=ADMIN, operation_id="retry_pushes", tag=TAG,
        summary="Send what a connected tool has not taken again",
        description="All that wait or failed, or the events that the body names, also skipped ones. A paused endpoint is resumed.",
        body=PushRetry, success=(Success(202, "How many events will be sent.", WebhooksReplayed),),
    ),
]  # fmt: skip
