"""Commands and queries on jobs and their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.cells.pages import Before
from touchbase.common.timestamps import Micros
from touchbase.jobs.models import Checkpoint, Job, Json
from touchbase.sql.operation import Command, Query


@dataclass(slots=True)
class CreateJob(Command[Job]):
    """Store a new job; the store assigns its id. `WrongState` if the client has too many uploads."""

    job: Job
    most_uploads: int = 0
    """The most jobs in the states `uploading` and `preview` that the client may have with it; 0: no limit."""

    @property
    def client(self) -> int:
        """The client's number."""
        return self.job.client


@dataclass(slots=True)
class ChangeJob(Command[Job]):
    """Change a job that is in one of the states `of`; `NotFound`, and `WrongState` for another state. None leaves a value."""

    client: int
    id: int
    of: Sequence[str]
    state: str
    at: Micros
    settings: Json | None = None
    progress: Json | None = None
    error: str | None = None
    token: str = ""
    """With a token: only the worker that has the job may change it."""
    files_until_us: Micros | None = None
    """When its files are removed; a time in the past that the job has already stays, because it is of an erasure."""


@dataclass(slots=True)
class AppendToFile(Command[None]):
    """Append a piece to a file of a job that is in the state `uploading`; `WrongState` for another."""

    client: int
    id: int
    name: str
    body: bytes
    at: Micros


@dataclass(slots=True)
class ClaimJob(Command[Job | None]):
    """Take a due job until `lease_until_us`; None if another worker has it, or if it is not due."""

    client: int
    id: int
    token: str
    at: Micros
    lease_until_us: Micros


@dataclass(slots=True)
class RenewLease(Command[bool]):
    """Set the end of the lease; return False if this worker does not have the job any more. A time in the past releases it."""

    client: int
    id: int
    token: str
    lease_until_us: Micros


@dataclass(slots=True)
class JobStep(Command[list[Any]]):
    """Execute commands and store the job's checkpoint, in one transaction; returns the commands' results.

    `JobLost` if the worker does not have the job any more: then nothing is stored. `checkpoint` gets the results, or errors, in the
    order of the commands. It runs inside the transaction, perhaps on another thread, and again when the transaction is
    retried: it must be quick and without side effects.
    """

    client: int
    id: int
    token: str
    at: Micros
    lease_until_us: Micros
    commands: Sequence[Command[Any]]
    checkpoint: Callable[[list[Any]], Checkpoint]


@dataclass(slots=True)
class RemoveJobFiles(Command[int]):
    """Remove up to `limit` pieces of a job's files, if they are due; return how many. Without files left it clears the time."""

    client: int
    id: int
    limit: int
    at: Micros


@dataclass(slots=True)
class GetJob(Query[Job | None]):
    """One job; of one client, or (None) of any, for an operator."""

    client: int | None
    id: int


@dataclass(slots=True)
class ListJobs(Query[list[Job]]):
    """Jobs, newest first, before the id `before`; None: no filter. Without a client those of all, for an operator."""

    client: int | None
    limit: int
    before: Before | None = None
    kind: str | None = None
    state: str | None = None


@dataclass(slots=True)
class DueJobs(Query[list[tuple[int, int]]]):
    """Client and id of jobs of active clients that no worker has, the longest waiting first."""

    at: Micros
    limit: int


@dataclass(slots=True)
class DueJobFiles(Query[list[tuple[int, int]]]):
    """Client and id of jobs whose files are to be removed; of one client, or (None) of all."""

    at: Micros
    limit: int
    client: int | None = None


@dataclass(slots=True)
class JobsAtWork(Query[bool]):
    """Whether a queued or running job of the client has files that an erasure has ended: they go when the job ends."""

    client: int


@dataclass(slots=True)
class ReadPiece(Query[bytes | None]):
    """One piece of a file of a job, from 0; None after the last."""

    client: int
    id: int
    name: str
    number: int = 0


@dataclass(slots=True)
class FileSizes(Query[dict[str, int]]):
    """The bytes of each file of a job, by name."""

    client: int
    id: int
