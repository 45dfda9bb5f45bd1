"""Rows of one file that are about the same record, found by the normal forms of their addresses.

A key takes 12 bytes, at half-full tables up to 48 while one grows: a million contacts with two addresses take some 70 MB
instead of 300 MB as a set of texts. Only a key's 64-bit hash is stored: with two million keys the chance that any two
differ and have one hash is 1 in 10 million. The hash is seeded per process, so a file cannot be made to collide.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

from touchbase.records.models import Company
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.address_book import keys_of as record_keys
from touchbase.records.writes import Creation

_START = 4_096
_NO_ROW = 0
KEYS: dict[object, tuple[tuple[str, str], ...]] = {
    kind.model: tuple((f"{field.name}:", field.key) for field in kind.keys) for kind in (CONTACT_TYPE, COMPANY_TYPE)
}
"""By type of record, the prefix and the column of each of its keys."""


class SeenKeys:
    """The keys of the rows so far, each with the number of the first row that has it: an open-addressing hash table."""

    def __init__(self) -> None:
        self._size, self._used = _START, 0
        self._hashes, self._rows = array("q", bytes(8 * _START)), array("I", [_NO_ROW]) * _START

    def __len__(self) -> int:
        return self._used

    def first_row(self, keys: Iterable[str], row: int) -> int | None:
        """Return the first row that has one of these keys; None if there is none, and then they are this row's."""
        mask, hashes, rows, free = self._size - 1, self._hashes, self._rows, []
        for key in keys:
            value = hash(key)
            slot = value & mask
            while rows[slot]:
                if hashes[slot] == value:
                    return rows[slot]
                slot = (slot + 1) & mask
            free.append(value)
        for value in free:
            slot = value & mask
            while rows[slot]:  # another key of this row may have taken it
                slot = (slot + 1) & mask
            hashes[slot], rows[slot] = value, row
        self._used += len(free)
        if self._used * 2 > self._size:
            self._grow()
        return None

    def find(self, key: str) -> int | None:
        """Return the first row that has this key; None if there is none."""
        value, slot = hash(key), hash(key) & (self._size - 1)
        while self._rows[slot]:
            if self._hashes[slot] == value:
                return self._rows[slot]
            slot = (slot + 1) & (self._size - 1)
        return None

    def _grow(self) -> None:
        old = zip(self._hashes, self._rows, strict=True)
        self._size *= 2
        mask, hashes, rows = self._size - 1, array("q", bytes(8 * self._size)), array("I", [_NO_ROW]) * self._size
        for value, row in old:
            if row:
                slot = value & mask
                while rows[slot]:
                    slot = (slot + 1) & mask
                hashes[slot], rows[slot] = value, row
        self._hashes, self._rows = hashes, rows


def keys_of(creation: Creation[Any]) -> list[str]:
    """Return the keys that identify its record: normal forms with the name of their field."""
    record = creation.record
    keys = [prefix + key for prefix, column in KEYS[type(record)] for key in record_keys(record, column)]
    if isinstance(record, Company) and not record.domain:
        keys.append(f"name:{fold_name(record.name or '')}")
    return keys


def fold_name(name: str) -> str:
    """Return the comparison key of a company's name: without case and white space."""
    return " ".join(name.casefold().split())
