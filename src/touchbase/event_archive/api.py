"""HTTP resources of the archive of events: its files, and the content of one."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta, Struct

from touchbase.auth.authentication import READ
from touchbase.common.timestamps import SECOND, to_text
from touchbase.errors import NotFound, PayloadDeleted
from touchbase.event_archive.plans import EventFile, find_event_file, list_event_files, read_event_file
from touchbase.event_log.models import event_id
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import PageOf, Time, encode, example
from touchbase.outgoing.api.events import PATH as EVENTS
from touchbase.outgoing.api.events import TAG

PATH = f"{EVENTS}/files"
MEDIA = "application/vnd.apache.parquet"
STORED, LOST = "stored", "lost"


class EventFileOut(Struct):
    """A Parquet file with the events of a month, or of a part of it."""

    id: int
    state: Annotated[str, Meta(description="`stored`; `lost`: the object storage does not have it any more.", examples=[STORED])]
    from_time: Annotated[Time, Meta(description="The time of its earliest event.")]
    to_time: Annotated[Time, Meta(description="The time of its latest event.")]
    first_event: Annotated[str, Meta(description="The id of its first event.", examples=["evt_1"])]
    last_event: Annotated[str, Meta(description="The id of its last event; the next file goes on behind it.", examples=["evt_4711"])]
    events: Annotated[int, Meta(description="Number of events; those of erased people are not in it any more.")]
    size: Annotated[int, Meta(description="Bytes of the file.")]
    sha256: Annotated[str, Meta(description="Checksum of the file, in hexadecimal; blank if it is lost.")]
    archived_at: Annotated[Time, Meta(description="When its events were archived.")]


class EventFilePage(PageOf[EventFileOut]):
    """A page of files, oldest first."""


example(
    EventFileOut,
    {
        "id": 1, "state": STORED, "from_time": "2026-10-01T06:12:40Z", "to_time": "2026-10-31T21:47:03Z", "first_event": "evt_1",
        "last_event": "evt_4711", "events": 4711, "size": 183220,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "archived_at": "2026-11-08T00:10:11Z",
    },
)  # fmt: skip


def _shown(file: EventFile) -> EventFileOut:
    return EventFileOut(
        file.id, LOST if file.object is None else STORED, to_text(file.from_us), to_text(file.until_us), event_id(file.id),
        event_id(file.last_sequence), file.events, file.size, file.digest, to_text(file.archived_us),
    )  # fmt: skip


async def list_files(call: Call) -> Response:
    """Handle `GET` of a page of files."""
    client, parameters = await call.client(), call.parameters()
    after = parameters.cursor("event_files", int)
    parameters.done()
    files = await call.api.dependencies.store.read(list_event_files(client.number, -1 if after is None else after, parameters[LIMIT] + 1))
    page = files[: parameters[LIMIT]]
    cursor = cursor_text("event_files", page[-1].id) if len(files) > len(page) else None
    return Response(body=encode({"data": [_shown(file) for file in page], "next_cursor": cursor}))


async def get_file(call: Call) -> Response:
    """Handle `GET` of a file's content."""
    client = await call.client()
    call.parameters().done()
    await call.require_export(client)
    parts, number = call.api.dependencies, call.id("event file")
    file = await parts.store.read(find_event_file(client.number, number))
    if file is None:
        raise NotFound(f"there is no file of events with id {number}")
    async with parts.pages.place(client.number, parts.limits.page_bytes):
        content = await parts.store.read(read_event_file(client.number, number))
    if content is None or content.lost is not None:
        why = "object storage does not have it any more" if content is None else content.lost
        raise PayloadDeleted(f"file {number} of events cannot be read: {why}")
    await call.record("export.read", "event_file", number, client.number)
    month = datetime.fromtimestamp(file.until_us / SECOND, UTC)
    disposition = f'attachment; filename="events-{month:%Y-%m}-{number}.parquet"'
    return Response(content_type=MEDIA.encode(), headers=[(b"content-disposition", disposition.encode())], body=content.body)


ROUTES = [
    Route(
        "GET", PATH, list_files, scope=READ, operation_id="list_event_files", tag=TAG,
        summary="List the files of archived events, oldest first",
        description="With `TOUCHBASE_OBJECTS_EVENTS_AFTER_DAYS` the events of a closed month are written to object storage, and are there "
        "after the log has removed them. A large month has several files; together they have every event once.",
        query=PAGE, success=(Success(200, "A page.", EventFilePage),),
    ),
    Route(
        "GET", f"{PATH}/{{id}}", get_file, scope=READ, operation_id="get_event_file", tag=TAG,
        summary="Get a file of archived events as Parquet",
        description="Columns: `client_id`, `id`, `sequence`, `type`, `timestamp`, `record` (`contact`, `company` or null), `record_id`, "
        "and as JSON `changed`, `cause` and `data`. 409 `payload_deleted` if the object storage has lost it, 503 while it is away.",
        success=(Success(200, "The file.", media=(MEDIA,)),), problems=(409,),
    ),
]  # fmt: skip
