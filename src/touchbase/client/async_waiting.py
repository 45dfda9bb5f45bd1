"""Wait for jobs with the asynchronous client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.async_calls import AsyncGroup
from touchbase.client.job_watch import JobWatch, Progress
from touchbase.client.requests.jobs import get_job

if TYPE_CHECKING:
    from touchbase.client.models import JobOut


class AsyncJobsGroup(AsyncGroup):
    """What looks at a job more than once."""

    async def wait(self, id: int, *, seconds: float | None = None, progress: Progress | None = None) -> JobOut:
        """Wait until a job has succeeded, and return it.

        `progress` is called with the job whenever its state or its counts have changed. Raises `JobFailed` if the job fails, is
        cancelled or waits for its start, and `JobTimeout` after `seconds`; without them it waits for ever.
        """
        watch = JobWatch(progress, seconds)
        while True:
            job = (await self.sender.send(get_job(id))).data
            pause = watch.look(job)
            if pause is None:
                return job
            await self.sender.sleep(pause)
