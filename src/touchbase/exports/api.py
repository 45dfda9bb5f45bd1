"""HTTP resources of exports: a streamed file, and a job with a result file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from touchbase.auth import READ
from touchbase.clients import Client
from touchbase.exports.job import ExportSettings, Position, pages
from touchbase.exports.writer import FORMATS, MEDIA, NDJSON, ExportFormat
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import named_enum
from touchbase.jobs import QUEUED, CreateJob, Job
from touchbase.jobs.api import JobOut, job_response
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.api.resource_type import COMPANIES, CONTACTS
from touchbase.sql.store import Store

named_enum("ExportFormat", "How an export is written.", FORMATS)
FORMAT = query.choice("format", FORMATS, "Default: `ndjson`.")
FORMULAS = query.flag("formulas", "CSV: write texts that a spreadsheet would compute as they are. Default: an apostrophe before them.")


def _settings(call: Call) -> ExportSettings:
    asked = call.parameters()
    asked.done()
    form = ExportFormat(asked[FORMAT] or NDJSON, asked[FORMULAS])
    filters = {name: value for name, value in asked.filters.items() if value is not None}
    return ExportSettings(form, filters, MEDIA[form.format])


def stream(record: str, many: str) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler of a streamed export."""

    async def handle(call: Call) -> Response:
        client = await call.client()
        settings = _settings(call)
        disposition = f'attachment; filename="{many}.{settings.format.format}"'.encode()
        body = _bodies(call.api.dependencies.store, record, client, settings)
        return Response(content_type=settings.media_type.encode(), headers=[(b"content-disposition", disposition)], stream=body)

    return handle


async def _bodies(store: Store, record: str, client: Client, settings: ExportSettings) -> AsyncIterator[bytes]:
    async for page, _ in pages(store, record, client, settings, Position()):
        if page.body:
            yield page.body


def start(kind: str) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler that starts an export as a job."""

    async def handle(call: Call) -> Response:
        client = await call.client()
        parts, settings, at = call.api.dependencies, _settings(call), call.api.dependencies.clock()
        job = Job(client.number, 0, kind, QUEUED, at, at, msgspec.to_builtins(settings), made_by=call.scope.get("touchbase.key_id"))
        job = await parts.store.write(CreateJob(job))
        parts.on_job()
        return job_response(call, job, {}, 201)

    return handle


def _routes(record: str, many: str, filters: Any, tag: Tag) -> list[Route]:
    options, media = (FORMAT, FORMULAS, *filters), ("application/x-ndjson", "text/csv")
    return [
        Route(
            "GET", f"/public/v2/{many}/export", stream(record, many), scope=READ, operation_id=f"export_{many}", tag=tag,
            summary=f"Export {many} as CSV or NDJSON, streamed",
            description="All records that match the filters, as the list shows them with `structure=FLAT`. Custom fields are columns "
            "`cf.NAME` in CSV. A connection that ends early has lost the rest; an export as a job has not.",
            query=options, success=(Success(200, "The file.", media=media),),
        ),
        Route(
            "POST", f"/public/v2/{many}/exports", start(f"{many}.export"), scope=READ, operation_id=f"start_{many}_export", tag=tag,
            summary=f"Export {many} as CSV or NDJSON, as a job with a result file",
            query=options, success=(Success(201, "The job.", JobOut, headers=("Location",)),),
        ),
    ]  # fmt: skip


ROUTES = [
    *_routes("contact", "contacts", CONTACTS.filters, CONTACT_TAG),
    *_routes("company", "companies", COMPANIES.filters, COMPANY_TAG),
]
