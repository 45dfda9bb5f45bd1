"""Commands and queries on statuses: define, remove, rename, merge, and the steps of their jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.jobs.models import Job
from touchbase.sql.operation import Command, Query
from touchbase.statuses.models import RenamePreview, StatusInfo


@dataclass(frozen=True, slots=True)
class Changed:
    """A client with its new settings, and the job that brings its records up to date; None if none is needed."""

    client: Client
    job: Job | None


@dataclass(slots=True)
class DefineStatus(Command[Changed]):
    """Add a status to the declared set. Without a set `WrongState`, unless `start_set`: then the set begins with all present statuses.

    `Conflict` for one that is declared, that differs from a declared one in spelling only, or that is a former name.
    """

    client: int
    kind: int
    name: str
    start_set: bool
    at: Micros
    by: str | None = None


@dataclass(slots=True)
class RemoveStatus(Command[Changed]):
    """Remove a status from the declared set. `NotFound`; `Conflict` if records have it, or if it is the last one."""

    client: int
    kind: int
    name: str


@dataclass(slots=True)
class RenameStatus(Command[Changed]):
    """Give a status another name, or with `merge` make it one with a status that exists; the job rewrites the records.

    A rename that was made already only gets a new job. `NotFound`, and `Conflict` as `RenamePreview` says.
    """

    client: int
    kind: int
    before: str
    after: str
    merge: bool
    at: Micros
    by: str | None = None


@dataclass(slots=True)
class PreviewRename(Query[RenamePreview | TouchbaseError]):
    """What `RenameStatus` would do, or its error."""

    client: int
    kind: int
    before: str
    after: str
    merge: bool


@dataclass(slots=True)
class ListStatuses(Query[list[StatusInfo]]):
    """All statuses of contacts or companies, with the numbers of their records."""

    client: int
    kind: int


@dataclass(frozen=True, slots=True)
class OutdatedPage:
    """Records that still have a former name of a status, and how far the search came."""

    ids: list[int]
    scanned: int
    last: int | None
    """The last id that was looked at; None: there are no more records."""
    renamed_us: Micros
    """The time of the client's last rename."""


@dataclass(slots=True)
class FindOutdated(Query[OutdatedPage]):
    """The next records by id that have a former name of a status, among `limit` records."""

    client: int
    kind: int
    after: int
    limit: int


@dataclass(slots=True)
class CountRecords(Query[int]):
    """The number of a client's contacts or companies."""

    client: int
    kind: int


@dataclass(slots=True)
class RewriteStatuses(Command[int]):
    """Give these records the present names of their statuses; return how many changed."""

    client: int
    kind: int
    ids: Sequence[int]
    at: Micros


@dataclass(slots=True)
class RecheckStatuses(Command[Job | None]):
    """Start a job that applies the statuses that events asked for and the declared set did not have then; None if it still has none."""

    client: int
    kind: int
    at: Micros
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What one step of such a job has done."""

    deliveries: int
    """Deliveries that were looked at."""
    events: int
    """Events that have a status now."""
    records: int
    """Records whose status changed."""
    last: int | None
    """The last id of the deliveries; None: there are no more."""


@dataclass(slots=True)
class ApplyRefused(Command[Rechecked]):
    """Give events of the next deliveries with refused statuses their status, if the declared set has it now, and fold their records."""

    client: int
    kind: int
    after: int
    limit: int
    at: Micros
