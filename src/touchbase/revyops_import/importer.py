"""The import: pages of companies, then of contacts and of e-mails, each written and journaled; then once more, to compare."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from touchbase.clients.models import Client
from touchbase.common.timestamps import Clock
from touchbase.imports.commands import CREATED, DUPLICATE, ERASED, INVALID, ImportRows, Outcome
from touchbase.imports.rows import InvalidRow, ValidRow
from touchbase.revyops_import.client_map import ClientMap
from touchbase.revyops_import.comparison import Pair, differences
from touchbase.revyops_import.emails import EmailImport
from touchbase.revyops_import.journal import Journal
from touchbase.revyops_import.list_pages import ListPage
from touchbase.revyops_import.list_reader import ListReader
from touchbase.revyops_import.models import (
    COMPARE,
    EMAILS,
    IMPORT,
    LISTS,
    RECORD_LISTS,
    RECORDS,
    Counts,
    Difference,
    Entry,
    ListName,
    Refused,
    Stage,
)
from touchbase.revyops_import.progress import Progress
from touchbase.revyops_import.seen import Seen
from touchbase.revyops_import.their_records import RowMaker, TheirRecord, company_key, their_record
from touchbase.sql.store import Store

SAMPLE = 20
"""Pages of each list that a comparison of a sample reads."""
ROUND = 50
"""Lengths at which servers cut a list are multiples of it."""
WITH, ONLY, WITHOUT = "with", "only", "without"
"""Whether e-mails are read."""
_COUNTED = {DUPLICATE: "duplicates", INVALID: "refused"}


@dataclass(slots=True)
class ImportOptions:
    """What an import does."""

    mode: str = "upsert"
    """`upsert`, or `create`: records that exist here stay as they are."""
    compare: str = "all"
    """`all`, `sample` or `none`."""
    dry_run: bool = False
    workspace: str | None = None
    """The client of all records, for lists that name none."""
    emails: str = WITH
    """`with`, `only` or `without` e-mails; the list of them is of one workspace."""
    email_types: Mapping[str, str] = field(default_factory=dict)
    """Directions of messages by `email_type`."""

    @property
    def lists(self) -> tuple[ListName, ...]:
        """The lists that are read."""
        if self.workspace is None or self.emails == WITHOUT:
            return RECORD_LISTS
        return (EMAILS,) if self.emails == ONLY else LISTS


@dataclass(slots=True)
class _Group:
    """The records of one client on one page."""

    client: Client
    records: list[TheirRecord] = field(default_factory=list)
    lines: list[list[object]] = field(default_factory=list)
    """What the journal holds of each: number and digests."""


class RevyOpsImport:
    """Copies their lists into the store; continues behind the last page of the journal."""

    def __init__(
        self, store: Store, clock: Clock, reader: ListReader, clients: ClientMap, journal: Journal, options: ImportOptions,
        on_page: Callable[[Entry], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._store, self._clock, self._reader = store, clock, reader
        self._clients, self._journal, self._options, self._on_page = clients, journal, options, on_page
        self.progress = Progress()
        self._seen: dict[tuple[Stage, ListName], Seen] = {(stage, name): Seen(name) for stage in (IMPORT, COMPARE) for name in LISTS}
        self._emails = EmailImport(
            store, clock, reader, options.email_types, self._seen[IMPORT, "contacts"].has, dry_run=options.dry_run
        )  # fmt: skip
        self._before: dict[tuple[Stage, ListName], list[Any]] = {}
        """The records of the page before, as this process has read it."""

    async def run(self) -> Progress:
        """Import and compare; return the counts of this run and of the runs that it continues."""
        for entry in self._journal.entries():
            self._seen[entry.stage, entry.name].add_journaled(entry.seen)
            self.progress.add(entry)
            for theirs in filter(None, entry.counts):
                await self._clients.find(theirs)
        for name in self._options.lists:
            await self._read(IMPORT, name)
        if self._options.compare != "none" and not self._options.dry_run:
            for name in self._options.lists:
                await self._read(COMPARE, name)
        return self.progress

    async def _read(self, stage: Stage, name: ListName) -> None:
        """Read the pages of a list that are left."""
        done = self.progress.page(stage, name)
        for number in self._pages(stage, name, done.last):
            if done.is_ended:
                break
            page = await self._reader.page(name, number)
            entry = await self._page(stage, name, number, page)
            self._journal.append(entry)
            self.progress.add(entry)
            self._on_page(entry)

    def _pages(self, stage: Stage, name: ListName, last: int) -> Iterable[int]:
        """Return the numbers of the pages behind the last: all, or those of a sample, from the first to the last of the list."""
        total = self.progress.page(IMPORT, name).last
        if stage == COMPARE and self._options.compare == "sample" and total > SAMPLE:
            chosen = {1 + round(index * (total - 1) / (SAMPLE - 1)) for index in range(SAMPLE)}
            return sorted(number for number in chosen if number > last)
        return itertools.count(last + 1)

    async def _page(self, stage: Stage, name: ListName, number: int, page: ListPage) -> Entry:
        entry = Entry(stage, name, number, is_last=page.is_last(number), pages=page.pages or 0, count=page.count, is_cut=page.is_cut)
        if page.note:
            _notice(entry, f"{name}, page {number}: {page.note}")
        groups = await self._groups(stage, name, page, entry)
        if page.pages is None and page.records and page.records == self._before.get((stage, name)):
            # A server that sends the last page for ever, or ignores `page` and sends the first one. A page whose records were all
            # read before proves nothing: new ones have moved the list since.
            entry.is_last, entry.is_cut = True, self._may_go_on(stage, name, len(page.records))
        self._before[stage, name] = page.records
        for theirs, group in groups.items():
            counts = entry.counts.setdefault(theirs, Counts())
            entry.seen += group.lines
            if name == EMAILS:
                await self._store_emails(stage, group, counts, entry)
                continue
            pairs = self._checked(stage, name, group, counts, entry)
            outcomes = await self._write(stage, name, group.client, [row for _, row in pairs])
            imported = _count(stage, pairs, outcomes, counts, entry)
            if stage == COMPARE:
                await self._compare(name, group.client, imported, counts, entry)
            if name == "companies":
                _add_domains(imported, entry)
        return entry

    def _may_go_on(self, stage: Stage, name: ListName, size: int) -> bool:
        """Return whether a list of which only one page was given may have more: its length is that of a page, or another round number."""
        is_only_one = self.progress.page(stage, name).read <= size
        return is_only_one and (size == self._reader.page_size or size % ROUND == 0)

    async def _groups(self, stage: Stage, name: ListName, page: ListPage, entry: Entry) -> dict[str, _Group]:
        """Return the records of a page that are new and not left out, by their id of the client."""
        groups: dict[str, _Group] = {}
        for value in page.records:
            record = their_record(value, name, self.progress.domains, self._options.workspace)
            client = await self._clients.find(record.client) if record.client else None
            line: list[object] = [record.number]
            if not self._seen[stage, name].is_new(record, line):
                entry.repeated += 1
                continue
            record.is_reported = stage == IMPORT or (bool(record.id) and self._seen[IMPORT, name].is_new(record, []))
            if client is None:
                entry.seen.append(line)
                if record.client:
                    entry.left_out += 1
                else:
                    _refuse(stage, record, record.fault, entry.counts.setdefault("", Counts()), entry)
            else:
                group = groups.setdefault(record.client, _Group(client))
                group.records.append(record)
                group.lines.append(line)
        return groups

    def _checked(self, stage: Stage, name: ListName, group: _Group, counts: Counts, entry: Entry) -> list[Pair]:
        """Return the records that can be imported, with their rows."""
        pairs: list[Pair] = []
        rows = RowMaker(name, group.client).rows(group.records, self._clock())
        for record, row, line in zip(group.records, rows, group.lines, strict=True):
            if isinstance(row, InvalidRow):
                _refuse(stage, record, row.reason, counts, entry)
            elif other := self._seen[stage, name].duplicate_of(group.client.client_id or record.client, record, row, line):
                reason = f"is the same {RECORDS[name]} as {other}, which has this address"
                _refuse(stage, record, reason, counts, entry, "duplicates")
            else:
                pairs.append((record, row))
                for notice in record.notices if record.is_reported else ():
                    _notice(entry, notice)
        return pairs

    async def _write(self, stage: Stage, name: ListName, client: Client, rows: Sequence[ValidRow]) -> Sequence[Outcome]:
        """Write the rows. A comparison only creates what is missing: other changes since then are not undone."""
        options = self._options
        if not rows:
            return []
        if client.number == 0:  # a dry run, for a client that does not exist yet
            return [Outcome(CREATED)] * len(rows)
        mode = "create" if stage == COMPARE or options.mode == "create" else "upsert"
        return await self._store.write(
            ImportRows(client.number, RECORDS[name], rows, mode, "", self._clock(), client.settings, dry_run=options.dry_run)  # type: ignore[arg-type]
        )

    async def _compare(self, name: ListName, client: Client, pairs: Sequence[Pair], counts: Counts, entry: Entry) -> None:
        _count_differences(await differences(self._store, client.number, name, pairs), counts, entry)

    async def _store_emails(self, stage: Stage, group: _Group, counts: Counts, entry: Entry) -> None:
        """Store e-mails; a comparison creates what is missing, too."""
        outcomes = await self._emails.store_all(group.client, group.records)
        for outcome in outcomes:
            for notice in outcome.record.notices if outcome.record.is_reported else ():
                _notice(entry, notice)
            if outcome.word == "refused":
                _refuse(stage, outcome.record, outcome.reason, counts, entry)
            else:
                setattr(counts, outcome.word, getattr(counts, outcome.word) + 1)
            if stage == COMPARE and outcome.word == CREATED and outcome.record.id in self.progress.refused_emails:
                counts.late_refused -= 1  # its contact has come since
                entry.accepted.append(outcome.record.id)
        if stage == COMPARE:
            _count_differences(await self._emails.compare(group.client, outcomes), counts, entry)


def _count(stage: Stage, pairs: Sequence[Pair], outcomes: Sequence[Outcome], counts: Counts, entry: Entry) -> list[Pair]:
    """Count what became of the rows; return the pairs whose record is in the store now."""
    imported: list[Pair] = []
    for (record, row), outcome in zip(pairs, outcomes, strict=True):
        counts.suppressed += outcome.suppressed is not None
        if outcome.word in _COUNTED:
            _refuse(stage, record, outcome.reason, counts, entry, _COUNTED[outcome.word])
            continue
        setattr(counts, outcome.word, getattr(counts, outcome.word) + 1)
        if outcome.word != ERASED:
            imported.append((record, row))
    return imported


def _count_differences(found: Iterable[list[Difference]], counts: Counts, entry: Entry) -> None:
    """Count the records that were compared, with the differences of each."""
    for each in found:
        counts.compared += 1
        if each:
            counts.missing += not each[0].field
            counts.different += bool(each[0].field)
        entry.differences += each


def _refuse(stage: Stage, record: TheirRecord, reason: str, counts: Counts, entry: Entry, word: str = "refused") -> None:
    """Count a record that is not imported, and list it with the reason."""
    setattr(counts, word, getattr(counts, word) + 1)
    if record.is_reported:
        counts.late_refused += stage == COMPARE
        entry.refused.append(Refused(record.client, record.id, record.values, reason))


def _add_domains(pairs: Sequence[Pair], entry: Entry) -> None:
    """Add the domains of imported companies, by which contacts find them."""
    for record, row in pairs:
        domain = getattr(row.command.record, "domain", "")
        if record.id and domain:
            entry.domains[company_key(record.client, record.id)] = domain


def _notice(entry: Entry, text: str) -> None:
    entry.notices[text] = entry.notices.get(text, 0) + 1
