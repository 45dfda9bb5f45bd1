"""Exports: records as files of CSV, NDJSON or Parquet, streamed or as a job."""

from __future__ import annotations

from touchbase.exports.commands import CustomFieldNames, ExportRecords
from touchbase.exports.job import KINDS, ExportSettings, Position, pages
from touchbase.exports.writer import PARQUET, ExportFormat, members

__all__ = ["KINDS", "PARQUET", "CustomFieldNames", "ExportFormat", "ExportRecords", "ExportSettings", "Position", "members", "pages"]
