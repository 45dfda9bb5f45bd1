"""Imports: files of contacts and companies, read, mapped, checked and written by a job."""

from __future__ import annotations

from touchbase.imports.columns import Mapping, resolve
from touchbase.imports.commands import (
    CREATED,
    DUPLICATE,
    ERASED,
    INVALID,
    UNCHANGED,
    UPDATED,
    ImportRows,
    ListMappings,
    Outcome,
    RemoveMapping,
    SaveMapping,
    StoredMapping,
)
from touchbase.imports.duplicates import SeenKeys, keys_of
from touchbase.imports.job import KINDS, ImportSettings
from touchbase.imports.ndjson_rows import value_text
from touchbase.imports.preview import Preview, preview_file
from touchbase.imports.report import BadRows
from touchbase.imports.rows import InvalidRow, RowChecker, RowFault, ValidRow
from touchbase.imports.table import Row

__all__ = [
    "CREATED",
    "DUPLICATE",
    "ERASED",
    "INVALID",
    "KINDS",
    "UNCHANGED",
    "UPDATED",
    "BadRows",
    "ImportRows",
    "ImportSettings",
    "InvalidRow",
    "ListMappings",
    "Mapping",
    "Outcome",
    "Preview",
    "RemoveMapping",
    "Row",
    "RowChecker",
    "RowFault",
    "SaveMapping",
    "SeenKeys",
    "StoredMapping",
    "ValidRow",
    "keys_of",
    "preview_file",
    "resolve",
    "value_text",
]
