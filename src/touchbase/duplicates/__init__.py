"""Duplicates: pairs of records that may be one person or one company, with a score."""

from __future__ import annotations

from touchbase.duplicates.commands import ReadBlock
from touchbase.duplicates.service import find_duplicates

__all__ = ["ReadBlock", "find_duplicates"]
