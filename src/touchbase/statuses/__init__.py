"""Statuses of contacts and companies as resources: declared sets, renames and merges, with the jobs that rewrite records."""

from __future__ import annotations

from touchbase.statuses.commands import (
    ApplyRefused,
    Changed,
    CountRecords,
    DefineStatus,
    FindOutdated,
    ListStatuses,
    PreviewRename,
    RecheckStatuses,
    RemoveStatus,
    RenameStatus,
    RewriteStatuses,
)
from touchbase.statuses.job import KINDS
from touchbase.statuses.models import RECORD_KINDS, RENAME_JOBS, RenamePreview, StatusInfo
from touchbase.statuses.service import previewed

__all__ = [
    "KINDS",
    "RECORD_KINDS",
    "RENAME_JOBS",
    "ApplyRefused",
    "Changed",
    "CountRecords",
    "DefineStatus",
    "FindOutdated",
    "ListStatuses",
    "PreviewRename",
    "RecheckStatuses",
    "RemoveStatus",
    "RenamePreview",
    "RenameStatus",
    "RewriteStatuses",
    "StatusInfo",
    "previewed",
]
