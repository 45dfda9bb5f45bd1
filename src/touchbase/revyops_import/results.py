"""Results of an import: counts of each client, and the files of refused records and of differences."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

import msgspec

from touchbase.common.formulas import harmless
from touchbase.imports.report import BadRows
from touchbase.imports.table import Row
from touchbase.records.commands import ListCompanies, ListContacts
from touchbase.records.sql.bulk import count_matching
from touchbase.revyops_import.client_map import ClientMap
from touchbase.revyops_import.journal import Journal
from touchbase.revyops_import.models import COMPARE, EMAILS, IMPORT, LISTS, Counts, ListName, Refused
from touchbase.revyops_import.progress import Progress
from touchbase.revyops_import.their_records import LARGEST_NUMBER, TheirRecord
from touchbase.sql.store import Store

DIFFERENCES = "differences.csv"
_COLUMNS = ("client_id", "list", "their_id", "our_id", "address", "field", "theirs", "ours")
_OF_IMPORT = ("created", "updated", "unchanged", "duplicates", "refused", "erased", "deleted", "suppressed")
"""Counts that the first reading decides."""
_REFUSED = "refused-"
_OWNER_ONLY = 0o600


class ClientResult(msgspec.Struct):
    """What became of the records of one client in one list."""

    their_client: str
    client_id: str
    """Ours; blank: its records were not imported."""
    list: ListName
    read: int
    """Distinct records in their list."""
    created: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicates: int = 0
    refused: int = 0
    erased: int = 0
    deleted: int = 0
    """E-mails whose message was deleted here."""
    suppressed: int = 0
    late: int = 0
    """Created by the comparison."""
    compared: int = 0
    missing: int = 0
    different: int = 0
    here: int | None = None
    """Records that the client has here now; None for e-mails, which are not counted."""


class Result(msgspec.Struct):
    """The result of an import."""

    base_url: str
    dry_run: bool
    clients: list[ClientResult]
    created_clients: dict[str, str]
    """Their id -> ours."""
    unused_clients: list[str]
    """Clients that were given and have no record there."""
    left_out: int
    """Records of clients that are not imported."""
    repeated: int
    """Records that stood on two pages, because the list changed while it was read."""
    unread: dict[str, int]
    """By list: records that it counts more than its pages had, which therefore may be missing."""
    cut: list[str]
    """Lists that may have more records, which the server does not give."""
    emails_read: bool
    notices: dict[str, int]
    files: list[str]

    @property
    def is_complete(self) -> bool:
        """Whether every record was imported and is equal."""
        return (
            not self.unread and not self.cut and not any(one.refused + one.duplicates + one.missing + one.different for one in self.clients)
        )


async def result_of(
    store: Store, clients: ClientMap, progress: Progress, journal: Journal, base_url: str, *, dry_run: bool
) -> Result:  # fmt: skip
    """Count the records here, write the files, and return the result."""
    counted: list[ClientResult] = []
    for name in LISTS:
        done, compared = progress.page(IMPORT, name), progress.page(COMPARE, name).counts
        for theirs in sorted({*done.counts, *compared}):
            first, second = done.counts.get(theirs, Counts()), compared.get(theirs, Counts())
            client = clients.found.get(theirs)
            values = {each: getattr(first, each) for each in _OF_IMPORT}
            values["refused"] += second.late_refused
            late = second.created + second.late_refused
            here = await _count(store, client.number, name) if client is not None and client.number else None
            counted.append(
                ClientResult(
                    theirs, "" if client is None else client.client_id, name, first.read + late, **values, late=second.created,
                    compared=second.compared, missing=second.missing, different=second.different, here=here,
                )
            )  # fmt: skip
    stages = [progress.page(IMPORT, name) for name in LISTS]
    return Result(
        base_url, dry_run, counted, {theirs: client.client_id for theirs in clients.created if (client := clients.found[theirs])},
        sorted(set(clients.given) - {one.their_client for one in counted} - {theirs for theirs, ours in clients.given.items() if not ours}),
        sum(done.left_out for done in stages), sum(done.repeated for done in stages), dict(_unread(progress)),
        [name for name in LISTS if progress.page(IMPORT, name).is_cut], progress.page(IMPORT, EMAILS).is_ended, progress.notices,
        write_files(journal, progress),
    )  # fmt: skip


async def _count(store: Store, client: int, name: ListName) -> int | None:
    if name == EMAILS:
        return None
    listing = ListContacts(client, 1) if name == "contacts" else ListCompanies(client, 1)
    return await store.read(count_matching(client, listing))


def _unread(progress: Progress) -> Iterator[tuple[str, int]]:
    """Yield each list that counts more records than its pages had, in the last complete reading."""
    for name in LISTS:
        again = progress.page(COMPARE, name)
        done = again if again.is_ended and again.read >= progress.page(IMPORT, name).read else progress.page(IMPORT, name)
        if done.count is not None and done.count > done.read:
            yield name, done.count - done.read


def write_files(journal: Journal, progress: Progress) -> list[str]:
    """Write the refused records, a file for each client and list that an import can read, and the differences; remove older files."""
    for old in [*journal.folder.glob(f"{_REFUSED}*.csv"), *journal.folder.glob(DIFFERENCES)]:
        old.unlink()
    headers: dict[tuple[ListName, str], dict[str, None]] = {}
    for name, refused in _refused(journal, progress):
        headers.setdefault((name, refused.client), {}).update(dict.fromkeys(refused.values))
    made: list[str] = []
    for number, (key, header) in enumerate(headers.items(), 1):
        path = journal.folder / f"{_REFUSED}{number}-{_plain(key[1])}-{key[0]}.csv"
        with _opened(path) as file:
            writer = BadRows(file, list(header))
            for name, refused in _refused(journal, progress):
                if (name, refused.client) == key:
                    cells = [refused.values.get(target, "") for target in header]
                    writer.add(Row(TheirRecord("", refused.id).number % LARGEST_NUMBER, cells), refused.reason)
        made.append(str(path))
    return made + _write_differences(journal)


def _refused(journal: Journal, progress: Progress) -> Iterator[tuple[ListName, Refused]]:
    """Yield the records that were refused, without e-mails that were stored later."""
    for entry in journal.entries():
        for refused in entry.refused:
            if entry.name != EMAILS or refused.id in progress.refused_emails:
                yield entry.name, refused


def _write_differences(journal: Journal) -> list[str]:
    rows: Iterable[Any] = (difference for entry in journal.entries() for difference in entry.differences)
    path = journal.folder / DIFFERENCES
    with _opened(path) as file:
        writer = csv.writer(file)
        size = writer.writerow(_COLUMNS)
        for each in rows:
            field = each.field or "(the record is not here)"
            ours = "" if each.ours is None else str(each.ours)
            cells = (each.client, each.list, each.id, ours, each.key, field, each.theirs, each.here)
            writer.writerow([harmless(_storable(cell)) for cell in cells])
    if path.stat().st_size <= size:
        path.unlink()
        return []
    return [str(path)]


def _opened(path: Path) -> TextIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWNER_ONLY), "w", encoding="utf-8", newline="")


def _storable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _plain(client: str) -> str:
    return "".join(char if char.isalnum() and char.isascii() else "-" for char in client)[:40] or "no-client"
