"""Commands and queries on statuses: define, remove, rename, merge, and the steps of their jobs."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.jobs.models import Job


@dataclass(frozen=True, slots=True)
class Changed:
    """A client with its new settings, and the job that brings its records up to date; None if none is needed."""

    client: Client
    job: Job | None


@dataclass(frozen=True, slots=True)
class OutdatedPage:
    """Records that still have a former name of a status, and how far the search came."""

    ids: list[int]
    scanned: int
    last: int | None
    """The last id that was looked at; None: there are no more records."""
    renamed_us: Micros
    """The time of the client's last rename."""


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
