"""What waiting for a job means; no I/O."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from touchbase_client.errors import JobFailed, JobTimeout

if TYPE_CHECKING:
    from touchbase_client.models import JobOut

Progress = Callable[["JobOut"], object]
FIRST_PAUSE, LONGEST_PAUSE, GROWTH = 0.1, 3.0, 1.5


@dataclass(slots=True)
class JobWatch:
    """The looks at one job until it ends."""

    progress: Progress | None
    seconds: float | None
    now: Callable[[], float] = monotonic
    _until: float | None = None
    _pause: float = FIRST_PAUSE
    _shown: Any = None

    def look(self, job: JobOut) -> float | None:
        """Return the pause before the next look; None: the job has succeeded. Raises `JobFailed` and `JobTimeout`."""
        if self._until is None and self.seconds is not None:
            self._until = self.now() + self.seconds
        news = (job["state"], job["progress"])
        if self.progress is not None and news != self._shown:
            self._shown = news
            self.progress(job)
        if job["state"] == "succeeded":
            return None
        _raise_if_ended(job)
        if self._until is not None and self.now() >= self._until:
            raise JobTimeout(f"job {job['id']} is still {job['state']} after {self.seconds:g} s; it goes on: wait for it again", job)
        pause, self._pause = self._pause, min(LONGEST_PAUSE, self._pause * GROWTH)
        return pause if self._until is None else max(0.0, min(pause, self._until - self.now()))


def _raise_if_ended(job: JobOut) -> None:
    number, state = job["id"], job["state"]
    if state == "failed":
        raise JobFailed(f"job {number} ({job['kind']}) failed: {job['error'] or 'the server gives no cause'}", job)
    if state == "cancelled":
        raise JobFailed(f"job {number} ({job['kind']}) was cancelled; what it has written stays", job)
    if state == "preview":
        raise JobFailed(f"job {number} is a preview, which waits for its start: call imports.start({number}, ...)", job)
