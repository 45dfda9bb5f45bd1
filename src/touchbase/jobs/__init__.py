"""Jobs: long work in the background, with progress, checkpoints and files; other capabilities register their kinds."""

from __future__ import annotations

from touchbase.jobs.commands import (
    AppendToFile,
    ChangeJob,
    ClaimJob,
    CreateJob,
    DueJobFiles,
    DueJobs,
    FileSizes,
    GetJob,
    JobsAtWork,
    JobStep,
    ListJobs,
    ReadPiece,
    RemoveJobFiles,
    RenewLease,
)
from touchbase.jobs.models import (
    BAD_ROWS,
    CANCELLED,
    DUE,
    ENDED,
    FAILED,
    INPUT,
    PREVIEW,
    QUEUED,
    RESULT,
    RUNNING,
    STATES,
    SUCCEEDED,
    UPLOADING,
    Checkpoint,
    Job,
    JobLost,
)
from touchbase.jobs.runner import PIECE, JobKind, JobRun, Postponed, Stopping, pieces_of
from touchbase.jobs.worker import JobWorker

__all__ = [
    "BAD_ROWS", "CANCELLED", "DUE", "ENDED", "FAILED", "INPUT", "PIECE", "PREVIEW", "QUEUED", "RESULT", "RUNNING", "STATES", "SUCCEEDED",
    "UPLOADING", "AppendToFile", "ChangeJob", "Checkpoint", "ClaimJob", "CreateJob", "DueJobFiles", "DueJobs", "FileSizes", "GetJob",
    "Job", "JobKind", "JobLost", "JobRun", "JobStep", "JobWorker", "JobsAtWork",
    "ListJobs", "Postponed", "ReadPiece", "RemoveJobFiles", "RenewLease",
    "Stopping", "pieces_of",
]  # fmt: skip
