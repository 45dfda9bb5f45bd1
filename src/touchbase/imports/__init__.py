"""Imports: files of contacts and companies, read, mapped, checked and written by a job."""

from __future__ import annotations

from touchbase.imports.commands import ImportRows, ListMappings, RemoveMapping, SaveMapping, StoredMapping
from touchbase.imports.job import KINDS

__all__ = ["KINDS", "ImportRows", "ListMappings", "RemoveMapping", "SaveMapping", "StoredMapping"]
