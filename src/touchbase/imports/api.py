"""HTTP resources of imports: upload with a preview, start, and stored mappings."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, BinaryIO, Literal, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.clients.stored_bytes import check_space
from touchbase.common.field_limits import NAME, why_not_storable
from touchbase.common.timestamps import DAY
from touchbase.errors import Fault, Invalid, NotFound, Overloaded, TouchbaseError, WrongState
from touchbase.http import query_parameters as query
from touchbase.http.dependencies import AppKey
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import Parameter
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode, example, named_enum
from touchbase.idempotency.service import ReplayedResponse
from touchbase.imports import sql as imports_sql
from touchbase.imports.columns import MATCHES, Mapping, resolve
from touchbase.imports.job import ImportSettings
from touchbase.imports.preview import FilePreview, PreviewRequest, Previews
from touchbase.imports.report import MODES, Mode, StoredMapping
from touchbase.imports.sql import save_mapping
from touchbase.jobs.api import PATH as JOBS
from touchbase.jobs.api import JobOut, find_job, job_response
from touchbase.jobs.models import FAILED, INPUT, PREVIEW, QUEUED, SUCCEEDED, UPLOADING, Job
from touchbase.jobs.runner import PIECE, pieces_of
from touchbase.jobs.sql import append_to_file, change_job, create_job, import_tested_file
from touchbase.records.api.bodies import find_owners
from touchbase.records.api.resource import COMPANY_TAG, CONTACT_TAG
from touchbase.records.fields import OWNER_ID
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.lookup import used_statuses
from touchbase.sql.operation import Command

LOG = logging.getLogger("touchbase.imports")
PREVIEWS: AppKey[Previews] = AppKey()
"""Reads uploaded files."""
RecordName = Literal["contact", "company"]
MEMORY = 4 * 1024 * 1024
"""Bytes of an upload that stay in memory while it arrives; a longer one is on disk until the response."""
LONGEST_FILE_NAME = 255
"""Characters; file systems have no longer ones."""
KINDS: dict[str, tuple[RecordName, str]] = {
    "contacts.import": ("contact", "contacts"),
    "companies.import": ("company", "companies"),
}
named_enum("ImportMode", "What an import does with a row: only create, only update, or both.", MODES)
named_enum("OtherColumns", "What becomes of a column without a field: a custom field, or nothing.", ("custom", "ignore"))
named_enum("DayOrder", "The order in dates such as 11/12/2026; blank: that of most dates of the file.", ("", "day_first", "month_first"))
named_enum("RepeatedRows", "Which value counts where rows are about one record.", ("first", "last"))


class MappingBody(Struct, forbid_unknown_fields=True):
    """Roles of a file's columns in an import."""

    columns: Annotated[
        dict[str, str],
        Meta(
            description="Column of the file -> field: `email`, `first_name`, `full_name`, `last_reply_received`, `cf.Segment`, "
            "`company.domain`, ... Blank ignores the column."
        ),
    ] = {}
    others: Annotated[
        Literal["custom", "ignore"], Meta(description="What becomes of a column that `columns` leaves out: a custom field, or nothing.")
    ] = "custom"
    day_order: Annotated[
        Literal["", "day_first", "month_first"],
        Meta(description="The order in dates such as 11/12/2026; blank: that of most dates of the file, as the preview says."),
    ] = ""
    time_zone: Annotated[str, Meta(description="IANA zone of times without one.")] = "UTC"
    without_key: Annotated[
        bool, Meta(description="Create contacts without e-mail and LinkedIn address; twice the file makes them twice.")
    ] = False
    repeated: Annotated[
        Literal["first", "last"],
        Meta(description="Which value counts where rows are about the same record: the first one that is filled, or the last."),
    ] = "first"
    join_statuses: Annotated[
        bool, Meta(description="Statuses that differ only in case, underscores or spaces are one, spelled as the client does.")
    ] = True
    opt_outs: Annotated[
        list[str] | None,
        Meta(description="Columns that say who opted out; null: the ones whose names say so, and states such as `Unsubscribed`."),
    ] = None

    def mapping(self, record: RecordName) -> Mapping:
        """Return the mapping for a type of record."""
        return Mapping(record, **{name: getattr(self, name) for name in self.__struct_fields__})


class StartImport(Struct, forbid_unknown_fields=True):
    """Import of an uploaded file. Members that are left out are as in the preview; after a test run as in that, without `dry_run`."""

    mapping: MappingBody | UnsetType = UNSET
    mapping_name: Annotated[str, Meta(description="A stored mapping, in place of `mapping`.")] = ""
    mode: Annotated[Mode, Meta(extra_json_schema={"enum": list(MODES)})] | UnsetType = UNSET
    match: (
        Annotated[str, Meta(description="The only field by which existing records are found; blank: all that identify one.")] | UnsetType
    ) = UNSET
    dry_run: Annotated[bool, Meta(description="Count the outcomes of the import, and write nothing.")] | UnsetType = UNSET
    save_as: Annotated[str, Meta(description="Store the mapping under this name.", max_length=NAME)] = ""


example(
    StartImport,
    {
        "mapping": {"columns": {"E-mail": "email", "Company": "company.name", "Website": "company.domain", "Owner": ""}},
        "mode": "upsert", "match": "email", "save_as": "Airtable leads",
    },
)  # fmt: skip


class StoredMappingOut(Struct):
    """A stored mapping."""

    name: str
    mapping: MappingBody


class MappingList(Struct):
    """The stored mappings, by name."""

    data: list[StoredMappingOut]


DELIMITER = query.text("delimiter", "Of a CSV file; left out: detected.")
ENCODING = query.text("encoding", "Of a CSV file, such as `windows-1252`; left out: detected.")
SHEET = query.text("sheet", "Of a workbook; left out: the first.")
HEADER_ROW = query.integer(
    "header_row", 1, 1_000_000, "The row with the names of the columns, as a spreadsheet counts; left out: detected."
)
START = query.flag("start", "Import at once, without a second request.")
DRY_RUN = query.flag("dry_run", "Count the outcomes of the import, and write nothing.")
MODE = query.choice("mode", MODES, "What becomes of rows whose record exists, or does not. Default: `upsert`.")
MATCH: Parameter[str | None] = query.text(
    "match", "The only field by which records are found: `email`, `linkedin_url`, `domain` or `external_id`."
)
MAPPING = query.text("mapping", "The name of a stored mapping, or a mapping as JSON; left out: guessed by the headers.")
FILE_NAME = query.text(
    "file_name", f"Name of the file, at most {LONGEST_FILE_NAME} characters: the import is listed under it. Folders before it are left out."
)
OPTIONS = (START, DRY_RUN, MODE, MATCH, MAPPING, DELIMITER, ENCODING, SHEET, HEADER_ROW, FILE_NAME)


def upload(kind: str) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler of an upload."""
    record, _ = KINDS[kind]

    async def handle(call: Call) -> Response:
        client = await call.client()
        check_space(client, call.api.dependencies.limits.stored_bytes)
        query = call.parameters()
        query.done()
        match = query[MATCH] or ""
        _check_match(record, match, "?match")
        parts = call.api.dependencies
        named = query[MAPPING]
        chosen = None if named is None else await _mapping_of(call, client, record, named, "?mapping")
        settings = ImportSettings(
            chosen or Mapping(record), cast("Mode", query[MODE] or "upsert"), match, query[DRY_RUN],
            _delimiter(query[DELIMITER] or ""), query[ENCODING] or "", query[SHEET] or "", query[HEADER_ROW] or 0,
            file_name=_file_name(query[FILE_NAME] or ""),
        )  # fmt: skip
        with call.api[PREVIEWS].uploading(client.number):
            at = parts.clock()
            job = Job(client.number, 0, kind, UPLOADING, at, at, msgspec.to_builtins(settings), files_until_us=at + DAY)
            job.made_by = await call.starter()
            job = await parts.store.write(create_job(job, most_uploads=0 if query[START] else parts.limits.import_previews))
            try:
                preview = await _read_upload(call, client, job, record, settings, chosen)
                settings.mapping = preview.mapping
                if chosen is not None or query[START]:
                    resolve(settings.mapping, preview.header)
                settings.owners = await _owners(call, client, settings.mapping)
            except Exception as error:
                detail = error.detail if isinstance(error, TouchbaseError) else "the upload was interrupted"
                at = parts.clock()
                await parts.store.write(change_job(job.client, job.id, (UPLOADING,), FAILED, at, error=detail, files_until_us=at))
                raise
            try:
                return await _uploaded(call, job, settings, preview, starts=query[START])
            except ReplayedResponse:
                detail = "another process received the file with the same Idempotency-Key first"
                await parts.store.write(change_job(job.client, job.id, (UPLOADING,), FAILED, at, error=detail, files_until_us=at))
                raise

    return handle


async def _read_upload(
    call: Call, client: Client, job: Job, record: RecordName, settings: ImportSettings, mapping: Mapping | None
) -> FilePreview:
    """Store the body as the job's file, and return its preview."""
    try:
        with cast("BinaryIO", tempfile.SpooledTemporaryFile(MEMORY)) as copied:
            await _receive(call, client, job, copied)
            client = await call.client()  # the key may have ended while the file arrived
            return await _preview(call, client, copied, record, settings, mapping)
    except OSError as error:
        LOG.exception("an upload cannot be written to the folder of temporary files")
        raise Overloaded(f"the server's folder of temporary files is full or has errors ({error.strerror}); try again later") from error


async def _preview(
    call: Call, client: Client, file: BinaryIO, record: RecordName, settings: ImportSettings, mapping: Mapping | None
) -> FilePreview:
    kind, parts = CONTACT_TYPE if record == "contact" else COMPANY_TYPE, call.api.dependencies
    declared = client.settings.declared(kind.kind)
    spellings = [*(declared.statuses if declared else ()), *await parts.store.read(used_statuses(client.number, kind.kind))]
    owners = await find_owners(parts.store, client.number)
    request = PreviewRequest(record, settings.reading, mapping, spellings, owners, client, parts.clock())
    return await call.api[PREVIEWS].read(client.number, file, request)


async def _receive(call: Call, client: Client, job: Job, copied: BinaryIO) -> None:
    """Store the body in pieces, and copy it."""
    store, waiting = call.api.dependencies.store, bytearray()
    async for piece in call.file(client):
        waiting += piece
        copied.write(piece)
        while len(waiting) >= PIECE:
            await store.write(append_to_file(job.client, job.id, INPUT, bytes(waiting[:PIECE]), call.api.dependencies.clock()))
            del waiting[:PIECE]
    if waiting:
        await store.write(append_to_file(job.client, job.id, INPUT, bytes(waiting), call.api.dependencies.clock()))


async def _uploaded(call: Call, job: Job, settings: ImportSettings, preview: FilePreview, *, starts: bool) -> Response:
    parts = call.api.dependencies
    at = parts.clock()
    progress = {} if starts else {"preview": _shown(preview)}
    change = change_job(
        job.client, job.id, (UPLOADING,), QUEUED if starts else PREVIEW, at, settings=msgspec.to_builtins(settings), progress=progress,
        files_until_us=None if starts else at + parts.keep_job_files_us,
    )  # fmt: skip
    response = await call.write_and_respond(lambda writes: writes.write(change), lambda changed: job_response(call, changed, {}, 201))
    if starts:
        parts.on_job()
    return response


def _shown(preview: FilePreview) -> dict[str, Any]:
    shown: dict[str, Any] = msgspec.to_builtins(preview)
    del shown["mapping"]["record"]
    return shown


class ReadAgain(Struct, forbid_unknown_fields=True):
    """Format of an uploaded file; members that are left out are detected or guessed."""

    delimiter: Annotated[str, Meta(description="Of a CSV file: one character, or `tab`.")] = ""
    encoding: Annotated[str, Meta(description="Of a CSV file, such as `windows-1252`.")] = ""
    sheet: Annotated[str, Meta(description="Of a workbook; left out: the first.")] = ""
    header_row: Annotated[int, Meta(description="The row with the names of the columns, as a spreadsheet counts; 0: detected.", ge=0)] = 0
    mapping: (
        Annotated[MappingBody, Meta(description="What the preview asks and checks is that of this mapping; left out: guessed.")] | UnsetType
    ) = UNSET


example(ReadAgain, {"sheet": "Leads", "header_row": 3})


async def read_again(call: Call) -> Response:
    """Handle `POST` that reads an uploaded file in another way, for a new preview."""
    client = await call.client()
    call.parameters().done()
    request = await call.body(ReadAgain)
    parts, job = call.api.dependencies, await find_job(call, client.number)
    if job.kind not in KINDS or job.state != PREVIEW:
        raise WrongState(f"job {job.id} is {job.state}; only an import in the state preview can be read again")
    record, _ = KINDS[job.kind]
    settings = msgspec.convert(job.settings, ImportSettings)
    settings.delimiter, settings.encoding = _delimiter(request.delimiter), request.encoding
    settings.sheet, settings.header_row = request.sheet, request.header_row
    mapping = None if request.mapping is UNSET else request.mapping.mapping(record)
    with call.api[PREVIEWS].uploading(client.number), cast("BinaryIO", tempfile.SpooledTemporaryFile(MEMORY)) as copied:
        async for piece in pieces_of(parts.store, job.client, job.id, INPUT):
            copied.write(piece)
        preview = await _preview(call, client, copied, record, settings, mapping)
    if mapping is not None:
        _resolve(preview.mapping, preview.header)
    settings.mapping = preview.mapping
    progress = {"preview": _shown(preview)}
    change = change_job(job.client, job.id, (PREVIEW,), PREVIEW, parts.clock(), settings=msgspec.to_builtins(settings), progress=progress)
    return job_response(call, await parts.store.write(change), {}, 200)


async def start(call: Call) -> Response:
    """Handle `POST` that starts an uploaded import, or after a test run another job that imports its file."""
    client = await call.client()
    check_space(client, call.api.dependencies.limits.stored_bytes)
    call.parameters().done()
    request = await call.body(StartImport)
    parts, job = call.api.dependencies, await find_job(call, client.number)
    is_tested = job.state == SUCCEEDED and job.settings.get("dry_run") is True
    if job.kind not in KINDS or not (job.state == PREVIEW or is_tested):
        raise WrongState(f"job {job.id} is {job.state}; only an import in the state preview, or one that was a test run, can be started")
    if is_tested and (request.mapping_name or request.mapping is not UNSET):
        raise WrongState(f"job {job.id} was tested with its mapping; leave mapping out, or send the file again for another one")
    record, _ = KINDS[job.kind]
    settings = msgspec.convert(job.settings, ImportSettings)
    if request.mapping_name:
        settings.mapping = await _stored(call, client, record, request.mapping_name, "/mapping_name")
    elif request.mapping is not UNSET:
        order = request.mapping.day_order or settings.mapping.day_order
        settings.mapping = msgspec.structs.replace(request.mapping.mapping(record), day_order=order)
    settings.mode = settings.mode if request.mode is UNSET else request.mode
    settings.match = settings.match if request.match is UNSET else request.match
    if request.dry_run is not UNSET or is_tested:
        settings.dry_run = request.dry_run is True
    _check_match(record, settings.match, "/match")
    if not is_tested:
        _resolve(settings.mapping, job.progress["preview"]["header"])
    settings.owners = await _owners(call, client, settings.mapping)
    at = parts.clock()
    if request.save_as.strip():
        stored = StoredMapping(record, _name(request.save_as), _without_record(settings.mapping), at)
        await parts.store.write(save_mapping(client.number, stored))
    settings.test_id = job.id if is_tested else UNSET
    decided = msgspec.to_builtins(settings)
    change: Command[Job] = (
        import_tested_file(Job(job.client, 0, job.kind, QUEUED, at, at, decided, made_by=await call.starter()), job.id)
        if is_tested
        else change_job(job.client, job.id, (job.state,), QUEUED, at, settings=decided, progress={})
    )
    response = await call.write_and_respond(lambda writes: writes.write(change), lambda changed: job_response(call, changed, {}, 200))
    parts.on_job()
    return response


async def _owners(call: Call, client: Client, mapping: Mapping) -> dict[str, str]:
    is_named = OWNER_ID.name in mapping.columns.values()
    return await find_owners(call.api.dependencies.store, client.number) if is_named else {}


def _resolve(mapping: Mapping, header: list[str]) -> None:
    try:
        resolve(mapping, header)
    except Invalid as invalid:
        raise Invalid([Fault(f"/mapping{fault.pointer}", fault.code, fault.detail) for fault in invalid.faults], invalid.more) from None


def _name(text: str) -> str:
    why = why_not_storable(text)
    if why is not None:
        raise Invalid([Fault("/save_as", "unusable_text", why)])
    return text.strip()


def _without_record(mapping: Mapping) -> dict[str, Any]:
    members: dict[str, Any] = msgspec.to_builtins(mapping)
    del members["record"]
    return members


def _check_match(record: RecordName, match: str, pointer: str) -> None:
    if match and match not in MATCHES[record]:
        raise Invalid([Fault(pointer, "choice", f"must be one of {', '.join(MATCHES[record])}")])


def _delimiter(text: str) -> str:
    delimiter = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(delimiter) > 1:
        raise Invalid([Fault("?delimiter", "choice", "must be one character, such as ';', or tab")])
    return delimiter


def _file_name(text: str) -> str:
    name = text.replace("\\", "/").rstrip("/").rpartition("/")[2].strip()
    if len(name) > LONGEST_FILE_NAME:
        raise Invalid([Fault("?file_name", "too_long", f"must have at most {LONGEST_FILE_NAME} characters")])
    return name


async def _mapping_of(call: Call, client: Client, record: RecordName, text: str, pointer: str) -> Mapping:
    if not text.startswith("{"):
        return await _stored(call, client, record, text, pointer)
    try:
        return msgspec.json.decode(text, type=MappingBody).mapping(record)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Invalid([Fault(pointer, "mapping", f"is no mapping: {error}")]) from None


async def _stored(call: Call, client: Client, record: RecordName, name: str, pointer: str) -> Mapping:
    mappings = await call.api.dependencies.store.read(imports_sql.list_mappings(client.number, record))
    for mapping in mappings:
        if mapping.name == name.strip():
            return msgspec.convert({**mapping.mapping, "record": record}, Mapping)
    names = ", ".join(repr(mapping.name) for mapping in mappings[:10]) or "none"
    raise Invalid([Fault(pointer, "unknown_mapping", f"there is no stored mapping {name[:NAME]!r}; there are: {names}")])


def list_mappings(record: RecordName) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler of `GET` of stored mappings."""

    async def handle(call: Call) -> Response:
        client = await call.client()
        call.parameters().done()
        mappings = await call.api.dependencies.store.read(imports_sql.list_mappings(client.number, record))
        listed = [StoredMappingOut(mapping.name, msgspec.convert(mapping.mapping, MappingBody)) for mapping in mappings]
        return Response(body=encode(MappingList(listed)))

    return handle


def remove_mapping(record: RecordName) -> Callable[[Call], Awaitable[Response]]:
    """Return the handler of `DELETE` of a stored mapping."""

    async def handle(call: Call) -> Response:
        client, name = await call.client(), call.path("name")
        call.parameters().done()
        if not await call.api.dependencies.store.write(imports_sql.remove_mapping(client.number, record, name)):
            raise NotFound(f"there is no stored mapping {name!r}")
        return Response(204)

    return handle


MEDIA = (
    "text/csv", "application/x-ndjson", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.apache.parquet", "application/octet-stream",
)  # fmt: skip
FILE_BODY = {
    "required": True,
    "description": "The file. Its format is recognised by its content.",
    "content": {media: {"schema": {"type": "string", "format": "binary"}} for media in MEDIA},
}


def _routes(kind: str, tag: Any) -> list[Route]:
    record, many = KINDS[kind]
    path = f"/public/v2/{many}"
    mappings = f"/public/v2/import-mappings/{many}"
    return [
        Route(
            "POST", f"{path}/imports", upload(kind), scope=WRITE, operation_id=f"import_{many}", tag=tag,
            summary=f"Upload a file of {many} (CSV, XLSX, NDJSON or Parquet)",
            description="Responds with a job in the state `preview`, which shows the columns, the first rows and the guessed mapping; "
            "`POST /public/v2/jobs/{id}/start` imports it. With `start=true` the import starts at once.",
            query=OPTIONS, body=FILE_BODY, is_file=True, buffered=False, problems=(409,),
            success=(Success(201, "The job.", JobOut, headers=("Location",)),),
        ),
        Route(
            "GET", mappings, list_mappings(record), scope=READ, operation_id=f"list_{record}_import_mappings", tag=tag,
            summary=f"List the stored mappings of imports of {many}", success=(Success(200, "The mappings.", MappingList),),
        ),
        Route(
            "DELETE", f"{mappings}/{{name}}", remove_mapping(record), scope=WRITE, operation_id=f"delete_{record}_import_mapping", tag=tag,
            summary=f"Delete a stored mapping of imports of {many}", success=(Success(204, "It is deleted."),),
        ),
    ]  # fmt: skip


ROUTES = [
    *_routes("contacts.import", CONTACT_TAG),
    *_routes("companies.import", COMPANY_TAG),
    Route(
        "POST", f"{JOBS}/{{id}}/preview", read_again, scope=WRITE, operation_id="read_import_again", tag=CONTACT_TAG,
        summary="Read an uploaded file again, with another sheet, header row, encoding, delimiter or mapping",
        description="The job must be in the state `preview`, and has a new preview afterwards, with the mapping that the body states or a "
        "guessed one.",
        body=ReadAgain, success=(Success(200, "The job.", JobOut),),
    ),
    Route(
        "POST", f"{JOBS}/{{id}}/start", start, scope=WRITE, operation_id="start_import", tag=CONTACT_TAG,
        summary="Start the import of an uploaded file",
        description="The job must be in the state `preview`, or a test run (`dry_run`) whose file is stored until `files_until`: the "
        "file moves to a new job, the response, which imports it as it was tested; the test run stays with its results. `test_id` and "
        "`import_id` in their settings name the other. Faults of the mapping are a 422 that "
        "names each column.",
        body=StartImport, success=(Success(200, "The job.", JobOut),),
    ),
]  # fmt: skip
