"""Wait for jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase_client._async.calls import AsyncGroup
from touchbase_client.job_watch import JobWatch, Progress
from touchbase_client.requests import get_job

if TYPE_CHECKING:
    from touchbase_client.models import JobOut


class AsyncJobsGroup(AsyncGroup):
    """What looks at a job more than once."""

    async def wait(self, id: int, *, seconds: float | None = None, progress: Progress | None = None) -> JobOut:
        """Wait until a job has succeeded, and return it.

        `progress` is called with the job whenever its state or its counts have changed. Raises `JobFailed` if the job fails, is
        cancelled or waits for its start, and `JobTimeout` after `seconds`; without them it waits for ever.
        """
        watch = JobWatch(progress, seconds)
        while True:
            job = (await self._client.send(get_job(id))).data
            pause = watch.look(job)
            if pause is None:
                return job
            await self._client.sleep(pause)
