"""The job `contacts.link_companies`: links the contacts that a client had when it turned the setting on, page by page."""

from __future__ import annotations

from typing import Any

import msgspec

from touchbase.common.threads import on_thread
from touchbase.company_links.domains import lists
from touchbase.company_links.plans import LinkedPage, count_contacts, link_page
from touchbase.jobs.models import CANCELLED, RUNNING, Checkpoint, JobLost
from touchbase.jobs.runner import JobKind, JobRun
from touchbase.jobs.sql import change_job

PAGE = 200
"""Contacts of one step."""
STOPPED = "the client's setting link_companies_by_email was changed"


class LinkingPosition(msgspec.Struct):
    """How far a job is, and its counts."""

    after: int = 0
    scanned: int = 0
    linked: int = 0
    companies: int = 0
    total: int | None = None
    done: bool = False

    def and_then(self, page: LinkedPage) -> LinkingPosition:
        """Return the position after a page; the same one if companies must be created first."""
        if page.stopped or page.linked.wanted:
            return self
        return LinkingPosition(
            page.last or 0, self.scanned + page.scanned, self.linked + page.linked.contacts, self.companies + page.linked.companies,
            self.total, page.last is None,
        )  # fmt: skip

    def progress(self) -> dict[str, Any]:
        """Return the counts that responses show."""
        percent = min(99, self.scanned * 100 // max(self.total or 0, 1))
        counts = {"contacts": self.total, "scanned": self.scanned, "linked": self.linked, "companies_created": self.companies}
        return {**counts, "percent": percent}


class LinkKind:
    """The only kind of this job."""

    name = "contacts.link_companies"

    async def run(self, run: JobRun) -> None:
        """Link the contacts after the last checkpoint, until the last one or until the setting changes."""
        at = msgspec.convert(run.job.position, LinkingPosition)
        if at.total is None:
            at.total = await run.store.read(count_contacts(run.job.client))
        await on_thread("company_links", lists)
        new = 0
        while not at.done:
            page, at = await self._step(run, at, new)
            if page.stopped:
                await self._cancel(run)
            new = page.linked.wanted

    async def _step(self, run: JobRun, at: LinkingPosition, new: int) -> tuple[LinkedPage, LinkingPosition]:
        def checkpoint(results: list[Any]) -> Checkpoint:
            reached = at.and_then(results[0])
            return Checkpoint(msgspec.to_builtins(reached), reached.progress())

        [page] = await run.step([link_page(run.job.client, run.job.id, at.after, PAGE, run.clock(), new)], checkpoint)
        return page, at.and_then(page)

    async def _cancel(self, run: JobRun) -> None:
        """End the job; raises `JobLost`."""
        job, at = run.job, run.clock()
        await run.store.write(change_job(job.client, job.id, (RUNNING,), CANCELLED, at, error=STOPPED, token=job.token))
        raise JobLost(STOPPED)


KINDS: tuple[JobKind, ...] = (LinkKind(),)
