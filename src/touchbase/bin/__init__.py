"""The bin: deleting contacts and companies, and restoring them."""

from __future__ import annotations

from touchbase.bin.commands import DeleteRecord, GetDeleted, ListDeleted, RemoveDeleted, RestoreRecord
from touchbase.bin.models import DeletedRecord, gone_before, gone_us

__all__ = ["DeleteRecord", "DeletedRecord", "GetDeleted", "ListDeleted", "RemoveDeleted", "RestoreRecord", "gone_before", "gone_us"]
