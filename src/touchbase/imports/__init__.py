"""Imports: files of contacts and companies, read, mapped, checked and written by a job."""

from __future__ import annotations

from touchbase.imports.columns import Mapping, resolve
from touchbase.imports.commands import ImportRows, ListMappings, RemoveMapping, SaveMapping, StoredMapping
from touchbase.imports.job import KINDS, ImportSettings
from touchbase.imports.preview import Preview, preview_file

__all__ = [
    "KINDS",
    "ImportRows",
    "ImportSettings",
    "ListMappings",
    "Mapping",
    "Preview",
    "RemoveMapping",
    "SaveMapping",
    "StoredMapping",
    "preview_file",
    "resolve",
]
