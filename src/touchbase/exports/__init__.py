"""Exports: records as files of CSV or NDJSON, streamed or as a job."""

from __future__ import annotations

from touchbase.exports.commands import CustomFieldNames, ExportRecords
from touchbase.exports.job import KINDS, ExportSettings, Position, pages
from touchbase.exports.writer import ExportFormat, members

__all__ = ["KINDS", "CustomFieldNames", "ExportFormat", "ExportRecords", "ExportSettings", "Position", "members", "pages"]
