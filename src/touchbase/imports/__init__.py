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
from touchbase.imports.preview import Preview, Previews, new_file_sandbox
from touchbase.imports.report import BadRows
from touchbase.imports.rows import InvalidRow, RowChecker, RowFault, ValidRow
from touchbase.imports.table import Row, value_text

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
    "Previews",
    "RemoveMapping",
    "Row",
    "RowChecker",
    "RowFault",
    "SaveMapping",
    "SeenKeys",
    "StoredMapping",
    "ValidRow",
    "keys_of",
    "new_file_sandbox",
    "resolve",
    "value_text",
]
