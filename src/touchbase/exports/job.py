"""The job of an export: pages of records become pieces of the result file, each stored with the place behind it.

CSV and NDJSON continue after the last piece. The footer of a Parquet file needs what only its writer knows, so that an interrupted
one is written again from its beginning.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec

from touchbase.clients.models import Client
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, WrongState
from touchbase.exports.encoders import SUPPRESSED
from touchbase.exports.parquet_file import ParquetWriter
from touchbase.exports.sql import EncodedPage, custom_field_names, export_records
from touchbase.exports.writer import PARQUET, ExportFormat, encoder, has_custom_columns, parquet_columns
from touchbase.history.events import COMPANY, CONTACT
from touchbase.jobs.models import RESULT, Checkpoint
from touchbase.jobs.runner import PIECE, JobRun
from touchbase.records.record_type import RECORD_TYPES, RecordType
from touchbase.records.sql.reads import Listing
from touchbase.search.queries import RecordSearch
from touchbase.search.service import SearchRequest, index_all, prepare
from touchbase.search.sql.plans import search_page
from touchbase.sql.store import Store

PAGE = 1_000
"""Records of one page."""
MOST_COLUMNS = 2_000
"""Custom fields that are columns of CSV or Parquet: every record has a cell for each."""
BEGINNINGS = 10
"""How often a Parquet file is begun before its job fails; without an end, a server that such a job crashes would crash for ever."""
RECORD_KINDS = {"contact": CONTACT, "company": COMPANY}


class ExportSettings(msgspec.Struct):
    """Settings of an export, as its job stores them."""

    format: ExportFormat
    filters: dict[str, Any] = {}
    """Members of the list's query."""
    media_type: str = ""
    suppressed: bool | None = None
    """Only records that must not be contacted, or only others."""
    at_us: Micros = 0
    """The time of the request, for which suppressions are looked up, and from which relative times of filters count."""
    search: list[tuple[str, str]] | None = None
    """Filters as the list's parameters have them, where some of them have operators; then `filters` is empty."""
    q: str | None = None
    """Words of a full-text search."""

    @property
    def suppressed_at(self) -> Micros | None:
        """The time for which suppressions are looked up; None if the export does not need them."""
        return self.at_us if self.suppressed is not None or SUPPRESSED in self.format.fields else None


class ExportPosition(msgspec.Struct):
    """How far an export is: where the next page begins, and the names of the custom fields that are columns."""

    after: tuple[Micros, int] | None = None
    rows: int = 0
    custom_fields: list[str] = []
    begun: int = 0
    """Parquet: how often the file was begun."""


def search_of(record: str, client: Client, settings: ExportSettings) -> RecordSearch[Any] | None:
    """Return the search for the records of an export, in order of creation; None if a list finds them. Raises `Invalid`."""
    if settings.search is None and settings.q is None:
        return None
    request = SearchRequest(settings.search or (), q=settings.q, sort="created_time", limit=PAGE)
    kind: RecordType[Any] = RECORD_TYPES[RECORD_KINDS[record]]
    return replace(prepare(kind, client, request, settings.at_us).search, custom_fields=False)


async def pages(
    store: Store, record: str, client: Client, settings: ExportSettings, position: ExportPosition, page_bytes: int
) -> AsyncIterator[tuple[EncodedPage, ExportPosition]]:
    """Yield the pages from a position on, each with the position behind it; at least one.

    A page ends after `page_bytes` of custom fields.
    """
    if position.after is None:
        position.custom_fields = position.custom_fields or await custom_columns(store, record, client, settings.format)
    file = None
    if settings.format.format == PARQUET:
        file = await on_thread("exports", _parquet, record, settings.format, position.custom_fields)
    kind: RecordType[Any] = RECORD_TYPES[RECORD_KINDS[record]]
    search = search_of(record, client, settings)
    if search is not None and search.words:
        await index_all(store, client.number)
    while True:
        is_first = position.after is None
        encode = encoder(record, settings.format, client.settings, position.custom_fields, with_header=is_first)
        if search is None:
            listing = Listing(kind, client.number, PAGE, position.after, page_bytes=page_bytes, **settings.filters)
            page = await store.read(export_records(listing, encode, settings.suppressed_at, settings.suppressed))
        else:
            matches = await store.read(search_page(replace(search, after=position.after)))
            ids = [record.id for record in matches.records]
            listing = Listing(kind, client.number, PAGE, page_bytes=page_bytes)
            page = await store.read(export_records(listing, encode, settings.suppressed_at, settings.suppressed, ids))
            # In order of creation: the time and the id. If the page has ended for its bytes, it says where.
            page.after = page.after or matches.next  # type: ignore[assignment]
        if file is not None:
            page.body = await on_thread("exports", file.add, page.body, is_last=page.after is None)
        position = ExportPosition(page.after, position.rows + page.rows, position.custom_fields, position.begun)
        yield page, position
        if page.after is None:
            return


async def custom_columns(store: Store, record: str, client: Client, form: ExportFormat) -> list[str]:
    """Return the names of the custom fields that are columns. Raises `Invalid` for more than `MOST_COLUMNS`."""
    if not has_custom_columns(record, form):
        return []
    names = await store.read(custom_field_names(client.number, RECORD_KINDS[record], MOST_COLUMNS + 1))
    if len(names) > MOST_COLUMNS:
        detail = f"the records have more than {MOST_COLUMNS:,} custom fields, which are too many columns"
        raise Invalid([Fault("?format", "too_many", f"{detail}: export ndjson, or name the members without them in fields")])
    return names


def _parquet(record: str, form: ExportFormat, custom_fields: list[str]) -> ParquetWriter:
    return ParquetWriter(parquet_columns(record, form, custom_fields).schema)


class ExportKind:
    """The jobs `contacts.export` and `companies.export`."""

    def __init__(self, record: str, name: str, page_bytes: int) -> None:
        self._record = record
        self.name = name
        self._page_bytes = page_bytes

    async def run(self, run: JobRun) -> None:
        """Write the pages behind the last checkpoint."""
        settings = msgspec.convert(run.job.settings, ExportSettings)
        position = msgspec.convert(run.job.position, ExportPosition)
        if position.rows and position.after is None:
            return  # it stopped after its last page
        if settings.format.format == PARQUET:
            position = await _begin(run, position)
        async for page, reached in pages(run.store, self._record, run.client, settings, position, self._page_bytes):
            pieces = [(RESULT, page.body[start : start + PIECE]) for start in range(0, len(page.body), PIECE)]
            if not pieces and settings.format.format != PARQUET:
                pieces = [(RESULT, b"")]  # an export of no records is a file without lines
            at = Checkpoint(msgspec.to_builtins(reached), {"rows": reached.rows}, pieces)
            await run.step([], lambda results, at=at: at)  # type: ignore[misc]


async def _begin(run: JobRun, position: ExportPosition) -> ExportPosition:
    """Remove the parts of a Parquet file that an interrupted run has written; return the position before the first page."""
    if position.begun >= BEGINNINGS:
        detail = f"was interrupted {position.begun} times, and a Parquet file cannot be continued; start it again, or export CSV or NDJSON"
        raise WrongState(f"the export {detail}")
    start = ExportPosition(begun=position.begun + 1)
    await run.step([], lambda _: Checkpoint(msgspec.to_builtins(start), {"rows": 0}, removed=(RESULT,)))
    return start


def export_kinds(page_bytes: int) -> tuple[ExportKind, ExportKind]:
    """Return the kinds of exports, whose pages end after so many bytes of custom fields."""
    return ExportKind("contact", "contacts.export", page_bytes), ExportKind("company", "companies.export", page_bytes)
