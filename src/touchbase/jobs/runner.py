"""One run of a job: tools for its kind, and the protocol of kinds.

A kind reads `run.job.position`, the last checkpoint, and continues from there in steps. Each step's commands and its checkpoint
are one transaction, so that a crash between two steps neither repeats nor loses anything. To add a kind: a class
with `name` and `run`, and its entry in `workers.job_kinds`.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from typing import Any, BinaryIO, Protocol, TypeVar

from touchbase.clients.models import Client
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.event_log.models import JOB, LoggedEvent
from touchbase.event_log.sql.log import with_cause
from touchbase.jobs.models import Checkpoint, Job, JobLost
from touchbase.jobs.sql import begin_step, end_step, read_piece
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Commands, command, needs_of, plan_of, weight_of_all
from touchbase.sql.statement import Plan
from touchbase.sql.store import Store

T = TypeVar("T")


def _needs(steps: Sequence[Any]) -> Mapping[str, int]:
    return needs_of([inner for step in steps for inner in step.commands])


@command(ids=_needs, cipher=True, background=True, weight=lambda step: weight_of_all(step.commands))
def execute_step(
    ids: Ids,
    cipher: Cipher,
    client: int,
    id: int,
    token: str,
    at: Micros,
    lease_until_us: Micros,
    commands: Commands,
    checkpoint: Callable[[list[Any]], Checkpoint],
) -> Plan[list[Any] | JobLost]:
    """Execute commands and store the job's checkpoint, in one transaction; return the commands' results.

    `JobLost` if the worker does not have the job any more: then nothing is stored. `checkpoint` gets the results, or errors, in the
    order of the commands. It runs inside the transaction, perhaps on another thread, and again when the transaction is
    retried: it must be quick and without side effects.
    """
    job = yield from begin_step(client, id, token)
    if job is None:
        return JobLost(f"job {id} is not this worker's any more")

    before: Mapping[str, Any] = {}
    cause: Mapping[str, Any] = {}

    def by_job(event: LoggedEvent) -> LoggedEvent:
        nonlocal before, cause
        if event.cause is not before:  # usually all events of a statement share one
            before, cause = event.cause, {**event.cause, "origin": JOB, "job_id": id}
        event.cause = cause
        return event

    results: list[Any] = yield from with_cause(plan_of(commands, ids, cipher), by_job)
    yield from end_step(job, checkpoint(results), at, lease_until_us)
    return results


LEASE: Micros = 30 * SECOND
"""How long a worker has a job without a sign of life; after a crash another one takes it then."""
PIECE = 256 * 1024
"""Bytes of a piece of a file."""
MEMORY = 4 * 1024 * 1024
"""Bytes of a copied file that stay in memory; a longer one is on disk."""


class Stopping(Exception):
    """The worker stops; the job continues later from its last checkpoint."""


class Postponed(Exception):
    """The kind has nothing to do until this time; the job continues then from its last checkpoint."""

    def __init__(self, until: Micros) -> None:
        super().__init__(until)
        self.until = until


class JobKind(Protocol):
    """The work of one kind of job."""

    @property
    def name(self) -> str:
        """The kind's name, such as `contacts.import`."""
        ...

    async def run(self, run: JobRun) -> None:
        """Continue the job from its position to its end. An error with a message for people (`TouchbaseError`) fails the job."""
        ...


class JobRun:
    """One claim of a job."""

    def __init__(
        self,
        job: Job,
        client: Client,
        store: Store,
        clock: Clock,
        stopping: Callable[[], bool],
        sandbox: Sandbox,
        outside: Callable[[Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]],
    ) -> None:
        self.job = job
        self.client = client
        self.store = store
        self.clock = clock
        self.sandbox = sandbox
        """Where files that came from outside are read."""
        self._stopping = stopping
        self._outside = outside

    async def outside(self, request: Coroutine[Any, Any, T]) -> T:
        """Wait for another server while other jobs are at work; raises `Postponed` and `Stopping`, which the kind lets through."""
        response: T = await self._outside(request)
        return response

    async def step(self, commands: Sequence[Command[Any]], checkpoint: Callable[[list[Any]], Checkpoint]) -> list[Any]:
        """Execute commands and store the checkpoint that follows from their results, in one transaction; return the results.

        Raises `JobLost` and `Stopping`, which the kind lets through, and `Overloaded`, after which the job continues later.
        """
        self.check()
        at = self.clock()
        reached: list[Checkpoint] = []

        def checked(results: list[Any]) -> Checkpoint:
            reached[:] = [checkpoint(results)]
            return reached[0]

        job = self.job
        results = await self.store.write(execute_step(job.client, job.id, job.token, at, at + LEASE, commands, checked))
        job.position, job.progress = reached[0].position, reached[0].progress
        return results

    def check(self) -> None:
        """Raise `Stopping` if the worker stops."""
        if self._stopping():
            raise Stopping

    async def pieces(self, name: str) -> AsyncIterator[bytes]:
        """Yield the pieces of one of the job's files."""
        async for piece in pieces_of(self.store, self.job.client, self.job.id, name):
            yield piece

    async def copy(self, name: str) -> BinaryIO:
        """Return a copy of one of the job's files that can be read at any place; the caller closes it."""
        copied: BinaryIO = tempfile.SpooledTemporaryFile(MEMORY)  # type: ignore[assignment]  # noqa: SIM115
        try:
            async for piece in self.pieces(name):
                self.check()
                copied.write(piece)
            copied.seek(0)
        except BaseException:
            copied.close()
            raise
        return copied


async def pieces_of(store: Store, client: int, job_id: int, name: str) -> AsyncIterator[bytes]:
    """Yield the pieces of a job's file."""
    number = 0
    while (piece := await store.read(read_piece(client, job_id, name, number))) is not None:
        yield piece
        number += 1
