"""Commands and queries of imports: rows of a file, and stored mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import Micros
from touchbase.history.events import NO_AUTHOR, Author
from touchbase.imports.rows import ValidRow
from touchbase.records.commands import CreateCompany, CreateContact
from touchbase.sql.operation import Command

Mode = Literal["create", "update", "upsert"]
MODES: tuple[Mode, ...] = ("create", "update", "upsert")
CREATED, UPDATED, UNCHANGED, DUPLICATE, INVALID, ERASED = (
    "created", "updated", "unchanged", "duplicate_in_file", "invalid", "erased",
)  # fmt: skip


class Outcome(NamedTuple):
    """What became of a row: one of the counts of `Report`, and the reason of a row that was not imported."""

    word: str
    reason: str = ""
    suppressed: str | None = None
    """Why the person or domain of an imported row must not be contacted."""


@dataclass(slots=True)
class ImportRows(Command[list[Outcome]]):
    """Create or update the records of these rows; returns the outcome of each, in their order."""

    client: int
    record: Literal["contact", "company"]
    rows: Sequence[ValidRow]
    mode: Mode
    match: str
    """The only field by which existing records are found; blank: all that identify one."""
    at: Micros
    settings: ClientSettings
    by: Author = NO_AUTHOR
    dry_run: bool = False
    """Return the outcomes without writing; an address of an erased person shows only when it is written."""

    @property
    def creations(self) -> list[CreateContact | CreateCompany]:
        """The commands of the rows."""
        return [row.command for row in self.rows]


MOST_MAPPINGS = 100
"""Stored mappings of one client, for each type of record."""
MAPPING_BYTES = 65_536
"""Bytes of one stored mapping: all of them are listed on one page."""


@dataclass(slots=True)
class StoredMapping:
    """A mapping of a source's files."""

    record: str
    name: str
    mapping: dict[str, Any]
    updated_us: Micros
