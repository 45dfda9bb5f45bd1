"""Merges by request: preview, merge, undo."""

from __future__ import annotations

from touchbase.merging.commands import ForgetMerges, MergeRecords, PreviewMerge, UndoMerge
from touchbase.merging.models import Merge, Policy, Undone

__all__ = ["ForgetMerges", "Merge", "MergeRecords", "Policy", "PreviewMerge", "UndoMerge", "Undone"]
