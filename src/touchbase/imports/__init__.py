"""Imports: files of contacts and companies, read, mapped, checked and written by a job."""

from __future__ import annotations

from touchbase.imports.commands import ImportRows, ListMappings, RemoveMapping, SaveMapping, StoredMapping

__all__ = ["ImportRows", "ListMappings", "RemoveMapping", "SaveMapping", "StoredMapping"]
