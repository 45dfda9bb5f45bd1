"""The job of an export: pages of records become pieces of the result file, each stored with the place behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from touchbase.clients import Client
from touchbase.common.timestamps import Micros
from touchbase.exports.commands import CustomFieldNames, EncodedPage, ExportRecords
from touchbase.exports.writer import CSV, SUPPRESSED, ExportFormat, encoder
from touchbase.history import COMPANY, CONTACT
from touchbase.jobs import RESULT, Checkpoint, JobRun
from touchbase.records import ListCompanies, ListContacts
from touchbase.sql.store import Store

PAGE = 1_000
"""Records of one page."""
LISTINGS: dict[str, type[ListContacts] | type[ListCompanies]] = {"contact": ListContacts, "company": ListCompanies}
RECORD_KINDS = {"contact": CONTACT, "company": COMPANY}


class ExportSettings(msgspec.Struct):
    """What an export does, as its job stores it."""

    format: ExportFormat
    filters: dict[str, Any] = {}
    """Members of the list's query."""
    media_type: str = ""
    suppressed: bool | None = None
    """Only records that must not be contacted, or only others."""
    at_us: Micros = 0
    """The time of the request, for which suppressions are looked up."""

    @property
    def suppressed_at(self) -> Micros | None:
        """The time for which suppressions are looked up; None if the export does not need them."""
        return self.at_us if self.suppressed is not None or SUPPRESSED in self.format.fields else None


class Position(msgspec.Struct):
    """How far an export is: where the next page begins, and the names of the custom fields that are columns."""

    after: tuple[Micros, int] | None = None
    rows: int = 0
    custom_fields: list[str] = []


async def pages(
    store: Store, record: str, client: Client, settings: ExportSettings, position: Position
) -> AsyncIterator[tuple[EncodedPage, Position]]:
    """Yield the pages from a position on, each with the position behind it; at least one."""
    if settings.format.format == CSV and position.after is None:
        position.custom_fields = await store.read(CustomFieldNames(client.number, RECORD_KINDS[record]))
    while True:
        is_first = position.after is None
        encode = encoder(record, settings.format, client.settings, position.custom_fields, with_header=is_first)
        listing = LISTINGS[record](client.number, PAGE, position.after, **settings.filters)
        page = await store.read(ExportRecords(listing, encode, settings.suppressed_at, settings.suppressed))
        position = Position(page.after, position.rows + page.rows, position.custom_fields)
        yield page, position
        if page.after is None:
            return


class ExportKind:
    """The jobs `contacts.export` and `companies.export`."""

    def __init__(self, record: str, name: str) -> None:
        self._record = record
        self.name = name

    async def run(self, run: JobRun) -> None:
        """Write the pages behind the last checkpoint."""
        settings = msgspec.convert(run.job.settings, ExportSettings)
        position = msgspec.convert(run.job.position, Position)
        if position.rows and position.after is None:
            return  # it stopped after its last page
        async for page, reached in pages(run.store, self._record, run.client, settings, position):
            at = Checkpoint(msgspec.to_builtins(reached), {"rows": reached.rows}, [(RESULT, page.body)])
            await run.step([], lambda results, at=at: at)  # type: ignore[misc]


KINDS = (ExportKind("contact", "contacts.export"), ExportKind("company", "companies.export"))
