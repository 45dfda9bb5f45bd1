"""Statuses of contacts and companies as resources: declared sets, renames and merges, with the jobs that rewrite records."""

from __future__ import annotations

from touchbase.statuses.commands import (
    Changed,
    CountRecords,
    DefineStatus,
    FindOutdated,
    ListStatuses,
    PreviewRename,
    RemoveStatus,
    RenameStatus,
    RewriteStatuses,
)
from touchbase.statuses.job import KINDS
from touchbase.statuses.models import RECORD_KINDS, RENAME_JOBS, RenamePreview, StatusInfo

__all__ = [
    "KINDS",
    "RECORD_KINDS",
    "RENAME_JOBS",
    "Changed",
    "CountRecords",
    "DefineStatus",
    "FindOutdated",
    "ListStatuses",
    "PreviewRename",
    "RemoveStatus",
    "RenamePreview",
    "RenameStatus",
    "RewriteStatuses",
    "StatusInfo",
]
