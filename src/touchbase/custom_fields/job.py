"""The job that carries out a change of a custom field on all records that have it, page by page.

It passes over the records until a pass finds none to change. Before the last pass of a renaming it waits until no process can still
write the old name: a client's settings may be a second old in another process, and an import there reads them when it starts.
"""

from __future__ import annotations

import asyncio

import msgspec

from touchbase.clients.sql.clients import find_client_by_number
from touchbase.custom_fields.changes import MERGE, RENAME, FieldJob
from touchbase.custom_fields.sql import change_page, count_values, job_kind, read_values
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.jobs.models import RUNNING, Checkpoint
from touchbase.jobs.runner import JobRun
from touchbase.jobs.sql import list_jobs
from touchbase.records.record_type import RECORD_TYPES

PAGE = 200
"""Records in one transaction; their histories are read too."""
SETTLING_SECONDS = 2.0
"""How long after a renaming another process may still use the old name: twice the age of its copy of the settings."""


class FieldJobPosition(msgspec.Struct):
    """How far a change is: the last record of the present pass, whether that has changed any, and whether writers have been waited for."""

    after: int = 0
    has_changed: bool = msgspec.field(default=False, name="found")
    settled: bool = False
    total: int = 0
    changed: int = 0


class FieldChangeKind:
    """The jobs `contacts.custom_fields` and `companies.custom_fields`."""

    def __init__(self, kind: int) -> None:
        self._kind = kind
        self.name = job_kind(kind)

    async def run(self, run: JobRun) -> None:
        """Continue the pass, and begin others until one changes nothing."""
        what = await self._change(run)
        at = msgspec.convert(run.job.position, FieldJobPosition)
        if not at.total:
            at.total = await run.store.read(count_values(run.job.client, self._kind, what))
        while True:
            numbers = await self._next(run, what, at.after)
            if numbers:
                at = await self._write(run, what, at, numbers)
            elif at.has_changed:
                at = await self._reached(run, msgspec.structs.replace(at, after=0, has_changed=False))
            elif what.action in (RENAME, MERGE) and not at.settled:
                await self._settle(run)
                at = await self._reached(run, msgspec.structs.replace(at, after=0, settled=True))
            else:
                return

    async def _change(self, run: JobRun) -> FieldJob:
        """Return the change; a field that was renamed since has its present name in it."""
        what = msgspec.convert(run.job.settings, FieldJob)
        client = await run.store.read(find_client_by_number(run.job.client))
        names = RECORD_TYPES[self._kind].field_names(run.client.settings if client is None else client.settings)
        if what.action not in (RENAME, MERGE):
            return msgspec.structs.replace(what, field=names.get(what.field, what.field))
        return msgspec.structs.replace(what, into=names.get(what.field, what.into))

    async def _next(self, run: JobRun, what: FieldJob, after: int) -> list[int]:
        run.check()
        query = read_values(run.job.client, self._kind, what, PAGE, after, with_removed=what.action == RENAME)
        return [record.record_id for record in await run.store.read(query)]

    async def _write(self, run: JobRun, what: FieldJob, at: FieldJobPosition, numbers: list[int]) -> FieldJobPosition:
        job = run.job
        by = Author(job.made_by, f"job:{job.id}")
        command = change_page(job.client, self._kind, what, numbers, f"{job.id:x}", run.clock(), by, job.created_us)
        reached = msgspec.structs.replace(at, after=numbers[-1], has_changed=True)

        def checkpoint(results: list[int]) -> Checkpoint:
            reached.changed = at.changed + results[0]
            return _checkpoint(reached)

        await run.step([command], checkpoint)
        return reached

    async def _reached(self, run: JobRun, at: FieldJobPosition) -> FieldJobPosition:
        await run.step([], lambda _: _checkpoint(at))
        return at

    async def _settle(self, run: JobRun) -> None:
        """Wait until no process uses settings from before the change, and no import that began before it is at work."""
        imports = f"{RECORD_TYPES[self._kind].plural}.import"
        while True:
            run.check()
            await asyncio.sleep(SETTLING_SECONDS)
            running = await run.store.read(list_jobs(run.job.client, 50, kind=imports, state=RUNNING))
            if not any(job.lease_until_us > run.clock() for job in running):
                return


def _checkpoint(at: FieldJobPosition) -> Checkpoint:
    percent = 99 if at.total <= at.changed else at.changed * 100 // at.total
    return Checkpoint(msgspec.to_builtins(at), {"records": at.changed, "total": at.total, "percent": percent})


KINDS = (FieldChangeKind(CONTACT), FieldChangeKind(COMPANY))
