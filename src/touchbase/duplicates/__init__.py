"""Duplicates: pairs of records that may be one person or one company, with a score."""

from __future__ import annotations

from touchbase.duplicates.commands import ReadBlock

__all__ = ["ReadBlock"]
