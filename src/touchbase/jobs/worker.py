"""The worker of jobs: takes due jobs, one per client at a time, and gives them back when it stops.

Several processes may run it. A job belongs to the worker with its token until its lease ends; each step renews the lease, and
so does a timer while a step is prepared.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine, Sequence
from itertools import count
from typing import Any, TypeVar

from touchbase.clients.models import Client
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros
from touchbase.common.unique_ids import UniqueIds
from touchbase.errors import Conflict, Overloaded, TouchbaseError
from touchbase.jobs.models import FAILED, RUNNING, SUCCEEDED, Job, JobLost
from touchbase.jobs.runner import LEASE, JobKind, JobRun, Postponed, Stopping
from touchbase.jobs.sql import change_job, claim_job, due_jobs, renew_lease
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.jobs")
CLAIMING = "a job"
"""Label in the log of an outage."""
RENEW_SECONDS = 8.0
MAX_JOBS = 2
"""Jobs at work at once in one process."""
MAX_OUTSIDE = 16
"""Further jobs that wait for the response of another server."""
MOST_DUE = 1_000
"""Clients with due jobs among which a round chooses."""
MAX_ATTEMPTS = 5
"""Failures without progress after which a job fails."""
MAX_CLAIMS = 10
"""Claims without progress that did not end, as the process was killed: then a job fails, else it would kill each server that starts."""
RETRY: Micros = 5 * SECOND
_serials = UniqueIds()
T = TypeVar("T")


class JobWorker(Worker):
    """Runs due jobs until it is stopped."""

    log, label, failure = LOG, "looking for jobs", "looking for jobs failed and is tried again"
    poll_seconds, slows_down = 0.5, True

    def __init__(
        self,
        store: Store,
        clock: Clock,
        kinds: Sequence[JobKind],
        *,
        keep_files_us: Micros = 7 * DAY,
        outage: Outage | None = None,
        sandbox: Sandbox | None = None,
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._clock = clock
        self._sandbox = sandbox or Sandbox("jobs")
        self._kinds = {kind.name: kind for kind in kinds}
        self._keep_files: Micros = keep_files_us
        self._running: dict[int, asyncio.Task[None]] = {}
        """Jobs at work by client."""
        self._outside = 0
        """How many of them wait for another server."""
        self._begun: dict[int, int] = {}
        """The number of the last job that was begun for a client, so that clients take turns."""
        self._numbers = count(1)

    async def run(self) -> None:
        """Run jobs until stopped, and their current steps to the end."""
        await super().run()
        if self._running:
            await asyncio.wait([*self._running.values()])

    async def drain(self) -> int:
        """Run all due jobs to their ends; return how many were taken."""
        taken = 0
        while due := await self._store.read(due_jobs(self._clock(), 1)):
            taken += await self._take(*due[0])
        return taken

    async def run_job(self, client: int, job_id: int) -> bool:
        """Run one job to its end, if no other worker has it; return whether it was due."""
        return await self._take(client, job_id)

    async def _round(self) -> float:
        if not self._has_room:
            return self.poll_seconds
        due = await self._store.read(due_jobs(self._clock(), MOST_DUE))
        clients = {client for client, _ in due}
        if clients:
            self._idle_rounds = 0
        self._begun = {client: number for client, number in self._begun.items() if client in clients or client in self._running}
        for client, job_id in sorted(due, key=lambda job: self._begun.get(job[0], 0)):
            if client not in self._running and self._has_room:
                self._begun[client] = next(self._numbers)
                self._running[client] = task = asyncio.create_task(self._take_logged(client, job_id), name=f"job-{job_id}")
                task.add_done_callback(lambda _, client=client: self._done(client))  # type: ignore[misc]
        return self.poll_seconds

    @property
    def _has_room(self) -> bool:
        return len(self._running) - self._outside < MAX_JOBS

    async def _wait_outside(self, request: Coroutine[Any, Any, T]) -> T:
        """Wait for another server while other jobs are at work. Raises `Postponed` if very many wait, and `Stopping`."""
        if self._outside >= MAX_OUTSIDE:
            request.close()
            raise Postponed(self._clock() + RETRY)
        self._outside += 1
        self.wake()
        response, stop = asyncio.ensure_future(request), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((response, stop), return_when=asyncio.FIRST_COMPLETED)
            if not response.done():
                raise Stopping
            return response.result()
        finally:
            self._outside -= 1
            response.cancel()
            stop.cancel()

    def _done(self, client: int) -> None:
        del self._running[client]
        self.wake()

    async def _take_logged(self, client: int, job_id: int) -> None:
        with self._attempt(CLAIMING, f"job {job_id} could not be taken or given back; it is tried again later") as attempt:
            await self._take(client, job_id)
        if not attempt.succeeded:  # still due, perhaps: without a pause the next round would take it at once
            await self._pause(min(self.longest_retry, max(RETRY / SECOND, attempt.retry_after)))

    async def _take(self, client: int, job_id: int) -> bool:
        """Claim a job and run it; return whether it was due."""
        at, (process, number) = self._clock(), _serials.next()
        job = await self._store.write(claim_job(client, job_id, f"{process}{number:x}", at, at + LEASE))
        if job is None:
            return False
        job_client = await self._store.read(find_client_by_number(client))
        if job_client is not None:
            await self._run(job, job_client)
        return True

    async def _run(self, job: Job, client: Client) -> None:
        run = JobRun(job, client, self._store, self._clock, self._stopping.is_set, self._sandbox, self._wait_outside)
        renewing = asyncio.create_task(self._renew(job))
        try:
            kind = self._kinds.get(job.kind)
            if kind is None:
                raise Conflict(f"this server has no jobs of the kind {job.kind!r}; cancel it, or update the server")
            if job.attempts > MAX_CLAIMS:
                raise Conflict(f"{MAX_CLAIMS} attempts were started and none ended: the process was killed each time; start it again")
            await kind.run(run)
        except (JobLost, Stopping):
            await self._release(job, self._clock(), gives_back=True)
        except Postponed as postponed:
            await self._release(job, postponed.until, gives_back=True)
        except Overloaded as error:
            self._outage.waits(CLAIMING, error)
            await self._release(job, self._clock() + max(RETRY, int(error.retry_after * SECOND)), gives_back=True)
        except TouchbaseError as error:
            await self._finish(job, FAILED, error.detail)
        except Exception:
            LOG.exception("job %d failed", job.id)
            if job.attempts < MAX_ATTEMPTS:
                await self._release(job, self._clock() + RETRY)
            else:
                await self._finish(job, FAILED, "an internal error, which the server's log shows; start it again")
        else:
            await self._finish(job, SUCCEEDED)
        finally:
            renewing.cancel()

    async def _finish(self, job: Job, state: str, error: str | None = None) -> None:
        at = self._clock()
        with contextlib.suppress(TouchbaseError):  # cancelled, or removed, or taken by another worker
            await self._store.write(
                change_job(job.client, job.id, (RUNNING,), state, at, error=error, token=job.token, files_until_us=at + self._keep_files)
            )

    async def _release(self, job: Job, until: Micros, *, gives_back: bool = False) -> None:
        await self._store.write(renew_lease(job.client, job.id, job.token, until, gives_back))

    async def _renew(self, job: Job) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with contextlib.suppress(Overloaded):
                await self._release(job, self._clock() + LEASE)
