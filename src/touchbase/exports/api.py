"""HTTP resources of exports: a streamed file, and a job with a result file."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import msgspec

from touchbase.auth.authentication import READ
from touchbase.clients.models import Client
from touchbase.common.fair_quota import FairQuota
from touchbase.common.misspelt import suggest
from touchbase.common.parquet import check_installed
from touchbase.common.timestamps import to_text
from touchbase.errors import COUNTED, MOST_FAULTS, RateLimited
from touchbase.exports.encoders import SUPPRESSED
from touchbase.exports.job import ExportPosition, ExportSettings, custom_columns, pages
from touchbase.exports.parquet_file import not_installed
from touchbase.exports.writer import FORMATS, MEDIA, NDJSON, PARQUET, ExportFormat, members
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.page_turns import STREAM_BYTES
from touchbase.http.query_parameters import YES_OR_NO, Parameter, Parameters
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import named_enum
from touchbase.jobs.api import JobOut, job_response
from touchbase.jobs.models import QUEUED, Job
from touchbase.jobs.sql import create_job
from touchbase.records.api.parameters import UPDATED_SINCE
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS, ResourceType
from touchbase.search.api.parameters import FILTERS, Q, filters_of, query_of, search_for

named_enum("ExportFormat", "How an export is written.", FORMATS)
FORMAT = query.choice("format", FORMATS, "The form of the file. Default: `ndjson`. `parquet` needs the extra `touchbase[parquet]`.")
FORMULAS = query.flag("formulas", "CSV: write texts that a spreadsheet would compute as they are. Default: an apostrophe before them.")
BOM: Parameter[bool] = Parameter(
    "bom",
    lambda parameters, name: parameters.choice(name, YES_OR_NO) != "false",
    {"type": "boolean", "default": True},
    "CSV: begin with the byte order mark by which spreadsheets recognise UTF-8; `false` for programs that do not expect it.",
)
FIELDS = query.text(
    "fields",
    "Members that the records have, separated by commas; the id is always there. `suppressed`, why a record must not be contacted or "
    "null, is there only on request.",
)  # fmt: skip
SUPPRESSED_FILTER = query.yes_or_no(SUPPRESSED, "`false`: leave out the records that are on a do-not-contact list; `true`: only these.")


MOST_PARQUET = 4
"""Parquet exports that are read at once in a server process; one client has at most three of them."""
RETRY_SECONDS = 5
_parquet_readers = FairQuota(MOST_PARQUET)
OPTIONS: tuple[Parameter[Any], ...] = (FORMAT, FORMULAS, BOM, FIELDS, SUPPRESSED_FILTER, Q)
"""The parameters of an export that are not filters of the list."""


async def _settings(call: Call, record: str, client: Client) -> ExportSettings:
    kind: ResourceType[Any, Any, Any] = CONTACTS if record == "contact" else COMPANIES
    parameters, now = Parameters(await query_of(call), (*OPTIONS, *kind.filters)), call.api.dependencies.clock()
    fields = _fields(parameters, record)
    form = ExportFormat(parameters[FORMAT] or NDJSON, parameters[FORMULAS], fields, parameters[BOM])
    settings = ExportSettings(form, {}, MEDIA[form.format], parameters[SUPPRESSED_FILTER], now)
    # Filters that only searches have, and a status, whose spellings they find.
    if parameters.unknown or parameters[Q] is not None or parameters.filters.get("status") is not None:
        since = parameters[UPDATED_SINCE]
        settings.q, settings.search = parameters[Q], filters_of(parameters, (*OPTIONS, UPDATED_SINCE))
        if since is not None:
            settings.search.append(("updated_time[gte]", to_text(since)))
        search_for(kind.type, client, parameters, now, (*OPTIONS, UPDATED_SINCE), parameters[Q])  # raises its faults
    else:
        parameters.done()
        settings.filters = {name: value for name, value in parameters.filters.items() if value is not None}
    if form.format == PARQUET:
        check_installed(not_installed)
    return settings


def _fields(parameters: Parameters, record: str) -> tuple[str, ...]:
    listed = parameters[FIELDS]
    if listed is None:
        return ()
    names = tuple(name.strip() for name in listed.split(","))
    for name in names:
        if name not in members(record):
            if len(parameters.faults) >= MOST_FAULTS:
                parameters.faults.append(COUNTED)
                continue
            near = suggest(name, members(record))
            hint = f"did you mean {near!r}?" if near else f"there are {', '.join(members(record))}"
            parameters.fault(FIELDS.name, "unknown", f"there is no field {name[:100]!r}; {hint}")
    return ("id", *names)


def stream(record: str, many: str) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler of a streamed export."""

    async def handle(call: Call) -> Response:
        client = await call.client()
        await call.require_export(client)
        settings = await _settings(call, record, client)
        disposition = f'attachment; filename="{many}.{settings.format.format}"'.encode()
        position = ExportPosition(custom_fields=await custom_columns(call.api.dependencies.store, record, client, settings.format))
        with _parquet_place(client, settings.format):  # refused here, while a problem can still be sent; `_bodies` takes the place
            await call.record("export.read", "records", many, client.number)
            body = _bodies(call, record, client, settings, position)
        return Response(content_type=settings.media_type.encode(), headers=[(b"content-disposition", disposition)], stream=body)

    return handle


@contextlib.contextmanager
def _parquet_place(client: Client, form: ExportFormat) -> Iterator[None]:
    """Take a place among the Parquet exports that are read now, as each holds a writer until its end; raises `RateLimited`."""
    if form.format != PARQUET:
        yield
        return
    if not _parquet_readers.acquire(client.number):
        raise RateLimited(
            "too many exports as Parquet are read at once; wait for the end of one, or start this one as a job",
            policy="parquet", quota=MOST_PARQUET, window=RETRY_SECONDS, retry_after=RETRY_SECONDS,
        )  # fmt: skip
    try:
        yield
    finally:
        _parquet_readers.release(client.number)


async def _bodies(call: Call, record: str, client: Client, settings: ExportSettings, position: ExportPosition) -> AsyncIterator[bytes]:
    parts, size = call.api.dependencies, min(call.api.dependencies.limits.page_bytes, STREAM_BYTES)
    following = pages(parts.store, record, client, settings, position, size)
    with contextlib.suppress(StopAsyncIteration), _parquet_place(client, settings.format):
        while True:
            async with parts.pages.place(client.number, size):
                body = (await anext(following))[0].body
            if body:
                yield body  # not the page: what waits for its receiver is in memory once


def start(record: str, kind: str) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler that starts an export as a job."""

    async def handle(call: Call) -> Response:
        client = await call.client()
        await call.require_export(client)
        parts, settings, at = call.api.dependencies, await _settings(call, record, client), call.api.dependencies.clock()
        await custom_columns(parts.store, record, client, settings.format)  # raises here what would fail the job
        job = Job(client.number, 0, kind, QUEUED, at, at, msgspec.to_builtins(settings), made_by=await call.starter())
        response = await call.write_and_respond(
            lambda writes: writes.write(create_job(job)), lambda created: job_response(call, created, {}, 201)
        )
        parts.on_job()
        return response

    return handle


def _routes(record: str, many: str, filters: Any, tag: Tag) -> list[Route]:
    options, media = (*OPTIONS, *filters, FILTERS), tuple(media_type.partition(";")[0] for media_type in MEDIA.values())
    return [
        Route(
            "GET", f"/public/v2/{many}/export", stream(record, many), scope=READ, operation_id=f"export_{many}", tag=tag,
            summary=f"Export {many} as CSV, NDJSON or Parquet, streamed",
            description="All records that match the filters, with the operators and the `q` of lists, as the list shows them with "
            "`structure=FLAT`. Custom fields are columns `cf.NAME` in CSV and Parquet. A connection that ends early has lost the rest; an "
            "export as a job has not.",
            query=options, success=(Success(200, "The file.", media=media),),
        ),
        Route(
            "POST", f"/public/v2/{many}/exports", start(record, f"{many}.export"), scope=READ, operation_id=f"start_{many}_export", tag=tag,
            summary=f"Export {many} as CSV, NDJSON or Parquet, as a job with a result file",
            query=options, success=(Success(201, "The job.", JobOut, headers=("Location",)),),
        ),
    ]  # fmt: skip


ROUTES = [
    *_routes("contact", "contacts", CONTACTS.filters, CONTACT_TAG),
    *_routes("company", "companies", COMPANIES.filters, COMPANY_TAG),
]
