"""Queries of duplicates."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.records.models import Company, Contact
from touchbase.sql.operation import Query

Place = tuple[str, str, int]
"""The place of a record in a block's order: its two sort keys and its id."""

SURNAME = "surname"
ADDRESS = "address"
NAME = "name"
DOMAIN = "domain"
BLOCKS = {1: (SURNAME, ADDRESS), 2: (NAME, DOMAIN)}
"""The orders in which records of a kind are walked; duplicates are near each other in one of them."""


@dataclass(slots=True)
class ReadBlock(Query[list[tuple[Place, Contact | Company]]]):
    """Records in the order of a block, each with its place, from a place on (without it)."""

    client: int
    block: str
    limit: int
    after: Place | None = None
