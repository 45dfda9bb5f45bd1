"""Exports: records as files of CSV, NDJSON or Parquet, streamed or as a job."""

from __future__ import annotations

from touchbase.exports.commands import CustomFieldNames, ExportRecords
from touchbase.exports.job import ExportSettings, Position, export_kinds, pages
from touchbase.exports.writer import PARQUET, ExportFormat, members

__all__ = ["PARQUET", "CustomFieldNames", "ExportFormat", "ExportRecords", "ExportSettings", "Position", "export_kinds", "members", "pages"]
