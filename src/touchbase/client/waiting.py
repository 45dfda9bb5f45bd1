"""Wait for jobs with the synchronous client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.calls import Group
from touchbase.client.job_watch import JobWatch, Progress
from touchbase.client.requests.jobs import get_job

if TYPE_CHECKING:
    from touchbase.client.models import JobOut


class JobsGroup(Group):
    """What looks at a job more than once."""

    def wait(self, id: int, *, seconds: float | None = None, progress: Progress | None = None) -> JobOut:
        """Wait until a job has succeeded, and return it.

        `progress` is called with the job whenever its state or its counts have changed. Raises `JobFailed` if the job fails, is
        cancelled or waits for its start, and `JobTimeout` after `seconds`; without them it waits for ever.
        """
        watch = JobWatch(progress, seconds)
        while True:
            job = (self.sender.send(get_job(id))).data
            pause = watch.look(job)
            if pause is None:
                return job
            self.sender.sleep(pause)
