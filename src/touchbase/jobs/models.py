"""Jobs: long work in the background, one row each, with a checkpoint from which another worker continues."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError

UPLOADING = "uploading"
PREVIEW = "preview"
QUEUED = "queued"
RUNNING = "running"
SUCCEEDED = "succeeded"
FAILED = "failed"
CANCELLED = "cancelled"
STATES = (UPLOADING, PREVIEW, QUEUED, RUNNING, SUCCEEDED, FAILED, CANCELLED)
DUE = (QUEUED, RUNNING)
"""States of jobs that a worker takes."""
ENDED = (SUCCEEDED, FAILED, CANCELLED)

INPUT, RESULT, BAD_ROWS, REPORT = "input", "result", "bad_rows", "report"
"""Names of a job's files."""

Json = dict[str, Any]


@dataclass(slots=True)
class Job:
    """One job of one client."""

    client: int
    id: int
    kind: str
    """Such as `contacts.import`; `JobKind` does its work."""
    state: str
    created_us: Micros
    updated_us: Micros
    settings: Json = field(default_factory=dict)
    """Settings of its kind."""
    position: Json = field(default_factory=dict)
    """Its last checkpoint, by its kind; empty before the first."""
    progress: Json = field(default_factory=dict)
    """Its counts, as responses show them."""
    started_us: Micros | None = None
    finished_us: Micros | None = None
    error: str | None = None
    attempts: int = 0
    """Claims since its last checkpoint."""
    token: str = ""
    """The worker that has it; blank: none."""
    lease_until_us: Micros = 0
    """No other worker takes it before this time."""
    files_until_us: Micros | None = None
    """When its files are removed; None: not decided."""
    made_by: str | None = None
    """Id of the API key."""


class JobLost(TouchbaseError):
    """The job was cancelled, or another worker has it."""


@dataclass(slots=True)
class Checkpoint:
    """Where a job is after a step; it is stored in the transaction of the step."""

    position: Json
    progress: Json
    files: list[tuple[str, bytes]] = field(default_factory=list)
    """Pieces to append to the job's files, by name."""
    removed: tuple[str, ...] = ()
    """Files to remove before that."""
