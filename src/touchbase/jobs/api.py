"""HTTP resources of jobs: list, get, cancel, and the files that they made."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import READ, WRITE
from touchbase.common.timestamps import to_text, to_text_or_none
from touchbase.errors import Fault, Invalid, PayloadDeleted
from touchbase.history.events import Author
from touchbase.http import query_parameters as query
from touchbase.http.actors import Actor
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import MaybeTime, PageOf, Time, encode, example, fitting, named_enum
from touchbase.jobs import sql as jobs_sql
from touchbase.jobs.models import BAD_ROWS, CANCELLED, ENDED, PREVIEW, QUEUED, REPORT, RESULT, RUNNING, STATES, Job
from touchbase.jobs.runner import pieces_of
from touchbase.jobs.sql import change_job, file_sizes, no_such_job, read_piece
from touchbase.sql.page_budget import page_of

TAG = Tag("Jobs", "Imports, exports and other long work in the background: progress, cancelling, and the files that it makes.")
PATH = "/public/v2/jobs"
FILES = {RESULT: "result", BAD_ROWS: "bad-rows", REPORT: "report"}
"""Files that can be read -> the last segment of their addresses."""
CSV = b"text/csv; charset=utf-8"
LINE_END = b"\r\n"
_STATE = named_enum("JobState", "What a job waits for, or how it ended.", STATES)


class JobOut(Struct):
    """A job. `progress` has the counts of its kind; an import's are `ImportProgress`."""

    id: int
    kind: Annotated[str, Meta(description="Such as `contacts.import`.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    created_at: Time
    updated_at: Time
    started_at: Time | None
    finished_at: Time | None
    settings: Annotated[dict[str, Any], Meta(description="What the job does.")]
    progress: Annotated[dict[str, Any], Meta(description="Counts so far, and `percent`.")]
    error: Annotated[str | None, Meta(description="Why the job failed.")]
    files: Annotated[dict[str, str], Meta(description="Addresses of the files that it has made, by name: `result`, `bad_rows`, `report`.")]
    files_until: Annotated[MaybeTime, Meta(description="When its files are removed; null: not yet known.")]
    actor: Annotated[Actor, Meta(description="Who started the job.")]
    preview: Annotated[dict[str, Any], Meta(description="What an uploaded file looks like, until its import starts.")] | UnsetType = UNSET


class JobPage(PageOf[JobOut]):
    """A page of jobs, newest first."""


example(
    JobOut,
    {
        "id": 12, "kind": "contacts.import", "state": "running", "created_at": "2026-11-20T09:30:00Z",
        "updated_at": "2026-11-20T09:30:04Z",
        "started_at": "2026-11-20T09:30:01Z", "finished_at": None,
        "settings": {"mode": "upsert", "match": "email", "mapping": {"columns": {"E-mail": "email", "Segment": "cf.Segment"}}},
        "progress": {"rows": 21000, "percent": 42, "created": 20100, "updated": 700, "unchanged": 80, "duplicate_in_file": 15,
                     "invalid": 105, "erased": 0, "not_a_row": 0, "cells_left_out": 9, "opt_outs_taken": 12, "kept_opt_outs": 1,
                     "joined": 0, "suppressed": 3, "notices": {}},
        "error": None, "files": {"bad_rows": "/public/v2/jobs/12/bad-rows"}, "files_until": None,
        "actor": {"type": "user", "id": "u3f9a1c27b0d", "name": "Mira Sandoval", "via": "console"},
    },
)  # fmt: skip
KIND = query.text("kind", "Such as `contacts.import`.", member="kind")
STATE = query.choice("state", STATES, "Jobs in this state.", member="state")
OUTCOME = query.text("outcome", "Only lines with this outcome, a name of a count in `progress`; left out: all.")


def job_response(call: Call, job: Job, sizes: Mapping[str, int], status: int = 200) -> Response:
    """Return the response that shows a job."""
    headers = [(b"location", call.reached_at(f"{PATH}/{job.id}"))] if status in (201, 202) else []
    return Response(status, encode(job_out(call, job, sizes)), headers=headers)


def job_out(call: Call, job: Job, sizes: Mapping[str, int]) -> JobOut:
    """Return a job as responses show it."""
    progress = {name: value for name, value in job.progress.items() if name != "preview"}
    files = {name: call.reached_at(f"{PATH}/{job.id}/{end}").decode() for name, end in FILES.items() if name in sizes}
    return JobOut(
        job.id, job.kind, job.state, to_text(job.created_us), to_text(job.updated_us), to_text_or_none(job.started_us),
        to_text_or_none(job.finished_us), job.settings, progress, job.error, files, to_text_or_none(job.files_until_us),
        call.api.actors.of(Author(job.made_by)), job.progress.get("preview", UNSET),
    )  # fmt: skip


async def find_job(call: Call, client: int) -> Job:
    """Return the job that the path names; raises `NotFound`."""
    number = call.id("job")
    job = await call.api.dependencies.store.read(jobs_sql.get_job(client, number))
    if job is None:
        raise no_such_job(number)
    await call.api.actors.load([job.made_by])
    return job


async def list_jobs(call: Call) -> Response:
    """Handle `GET` of a page of jobs."""
    client = await call.client()
    parameters = call.parameters()
    before = parameters.cursor("jobs", int)
    parameters.done()
    parts = call.api.dependencies
    page_bytes = await call.page_bytes()
    jobs = await parts.store.read(
        jobs_sql.list_jobs(client.number, parameters[LIMIT] + 1, before, page_bytes=page_bytes, **parameters.filters)
    )
    page, has_more = page_of(jobs, parameters[LIMIT])
    await call.api.actors.load(job.made_by for job in page)
    data = fitting([job_out(call, job, await _sizes(call, job)) for job in page], page_bytes)
    cursor = cursor_text("jobs", page[len(data) - 1].id) if has_more or len(data) < len(page) else None
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def _sizes(call: Call, job: Job) -> Mapping[str, int]:
    return await call.api.dependencies.store.read(file_sizes(job.client, job.id))


async def get_job(call: Call) -> Response:
    """Handle `GET` of one job."""
    client = await call.client()
    call.parameters().done()
    job = await find_job(call, client.number)
    return job_response(call, job, await _sizes(call, job))


async def cancel_job(call: Call) -> Response:
    """Handle `POST` of a cancellation; a job that has ended stays as it is."""
    client = await call.client()
    call.parameters().done()
    parts, job = call.api.dependencies, await find_job(call, client.number)
    if job.state not in ENDED:
        at = parts.clock()
        change = change_job(job.client, job.id, (PREVIEW, QUEUED, RUNNING), CANCELLED, at, files_until_us=at + parts.keep_job_files_us)
        job = await parts.store.write(change)
    return job_response(call, job, await _sizes(call, job))


def _file(name: str) -> Any:
    async def get_file(call: Call) -> Response:
        client, parameters = await call.client(), call.parameters()
        parameters.done()
        if name == RESULT:
            await call.require_export(client)
        store, job = call.api.dependencies.store, await find_job(call, client.number)
        outcome = parameters[OUTCOME] if name == REPORT else None
        if outcome is not None and outcome not in (outcomes := _outcomes(job)):
            raise Invalid([Fault("?outcome", "choice", f"must be one of {', '.join(outcomes)}")])
        if await store.read(read_piece(job.client, job.id, name)) is None:
            if job.progress.get("files_removed"):
                raise PayloadDeleted(f"the files of job {job.id} have been removed; start it again")
            raise no_file(job, name)
        pieces = pieces_of(store, job.client, job.id, name)
        media = str(job.settings.get("media_type", "")).encode() if name == RESULT else CSV
        end = next((form for form in ("ndjson", "parquet") if form.encode() in media), "csv")
        disposition = f'attachment; filename="{job.kind.replace(".", "-")}-{job.id}-{FILES[name]}.{end}"'
        return Response(
            content_type=media or CSV,
            headers=[(b"content-disposition", disposition.encode())],
            stream=pieces if outcome is None else _lines_of(pieces, outcome),
        )

    return get_file


def _outcomes(job: Job) -> list[str]:
    """Return the names of the counts that a report has lines of."""
    return [name for name, count in job.progress.items() if isinstance(count, int) and name not in ("rows", "percent")]


async def _lines_of(pieces: AsyncIterator[bytes], outcome: str) -> AsyncIterator[bytes]:
    """Yield the header of a report and its lines with one outcome; a line break in a quoted cell ends no line."""
    open_line, marks = b"", {b"outcome", outcome.encode()}
    async for piece in pieces:
        chosen: list[bytes] = []
        *ended, tail = piece.split(LINE_END)
        for part in ended:
            open_line += part
            if open_line.count(b'"') % 2:
                open_line += LINE_END
                continue
            if open_line.split(b",", 2)[1] in marks:
                chosen.append(open_line + LINE_END)
            open_line = b""
        open_line += tail
        if chosen:
            yield b"".join(chosen)


def no_file(job: Job, name: str) -> Exception:
    """Return the error for a file that a job has not made."""
    error = no_such_job(job.id)
    error.detail = f"job {job.id} is {job.state} and has no {name.replace('_', ' ')}"
    return error


_job = Success(200, "The job.", JobOut)
ROUTES = [
    Route(
        "GET", PATH, list_jobs, scope=READ, operation_id="list_jobs", tag=TAG, summary="List jobs, newest first",
        query=(KIND, STATE, *PAGE), success=(Success(200, "A page.", JobPage),),
    ),
    Route(
        "GET", f"{PATH}/{{id}}", get_job, scope=READ, operation_id="get_job", tag=TAG, summary="Get one job with its progress",
        description="`state` is `succeeded`, `failed` or `cancelled` at the end.", success=(_job,),
    ),
    Route(
        "POST", f"{PATH}/{{id}}/cancel", cancel_job, scope=WRITE, operation_id="cancel_job", tag=TAG, summary="Cancel a job",
        description="Stops the job after its current step. What it has written stays; its counts and bad rows say what that is. A job that "
        "has ended is returned as it is.", success=(_job,),
    ),
    Route(
        "GET", f"{PATH}/{{id}}/result", _file(RESULT), scope=READ, operation_id="get_job_result", tag=TAG,
        summary="Get the file that a job has made", description="404 until the job has made it, 409 `payload_deleted` after its removal.",
        success=(Success(200, "The file.", media=("text/csv", "application/x-ndjson", "application/vnd.apache.parquet")),), problems=(409,),
    ),
    Route(
        "GET", f"{PATH}/{{id}}/bad-rows", _file(BAD_ROWS), scope=READ, operation_id="get_job_bad_rows", tag=TAG,
        summary="Get the rows that an import refused, each with the reason",
        description="CSV with the columns of the imported file, then `row` and `reason`. The corrected file can be imported as it is.",
        success=(Success(200, "The rows.", media=("text/csv",)),), problems=(409,),
    ),
    Route(
        "GET", f"{PATH}/{{id}}/report", _file(REPORT), scope=READ, operation_id="get_job_report", tag=TAG,
        summary="Get the outcome of every row of an import, and the cells that were left out",
        description="CSV with `row`, `outcome`, `id`, `column`, `value` and `reason`. An outcome is the name of a count in `progress`, "
        "such as `created`, `duplicate_in_file` or `cells_left_out`; a row has a line for each that it is in.", query=(OUTCOME,),
        success=(Success(200, "The lines.", media=("text/csv",)),), problems=(409,),
    ),
]  # fmt: skip
