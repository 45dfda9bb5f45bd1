"""Queries of duplicates."""

from __future__ import annotations

Place = tuple[str, str, int]
"""The place of a record in a block's order: its two sort keys and its id."""

SURNAME = "surname"
ADDRESS = "address"
NAME = "name"
DOMAIN = "domain"
BLOCKS = {1: (SURNAME, ADDRESS), 2: (NAME, DOMAIN)}
"""The orders in which records of a kind are walked; duplicates are near each other in one of them."""
