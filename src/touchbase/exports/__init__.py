"""Exports: records as files of CSV or NDJSON, streamed or as a job."""

from __future__ import annotations

from touchbase.exports.commands import CustomFieldNames, ExportRecords
from touchbase.exports.job import KINDS

__all__ = ["KINDS", "CustomFieldNames", "ExportRecords"]
