"""Records that were read already: a page that moves brings some of them again, and two of them may be about the same person."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

from touchbase.imports.duplicates import SeenKeys, keys_of
from touchbase.imports.rows import ValidRow
from touchbase.revyops_import.models import ListName
from touchbase.revyops_import.their_records import LARGEST_NUMBER, TheirRecord


class Seen:
    """The records of one list so far, by digests of their ids and addresses, which the journal holds."""

    def __init__(self, name: ListName) -> None:
        self._name = name
        self._keys = SeenKeys()

    def add_journaled(self, lines: Iterable[list[Any]]) -> None:
        """Add the records of a finished page."""
        for number, *digests in lines:
            for digest in digests:
                self._keys.first_row([digest], number)

    def is_new(self, record: TheirRecord, line: list[Any]) -> bool:
        """Return whether this id was not read before; a record without an id always is new. Its digest is added to the line."""
        if not record.id:
            return True
        digest = _digest(self._name, record.client, f"id:{record.id}")
        if self._keys.first_row([digest], record.number) is not None:
            return False
        line.append(digest)
        return True

    def duplicate_of(self, client_id: str, record: TheirRecord, row: ValidRow, line: list[Any]) -> str:
        """Return how another record of a client here with an address of this row is called; blank if there is none.

        Two of their clients may be one here. The row's digests are added to the line.
        """
        digests = [_digest(self._name, client_id, key) for key in keys_of(row.command)]
        number = self._keys.first_row(digests, record.number)
        if number is None:
            line.extend(digests)
            return ""
        return "an earlier record" if number == LARGEST_NUMBER else f"the record {number}"

    def has(self, client_id: str, key: str) -> bool:
        """Return whether a record of a client here has this key, as `keys_of` has it."""
        return self._keys.find(_digest(self._name, client_id, key)) is not None


def _digest(name: ListName, client: str, key: str) -> str:
    return blake2b(f"{name}\0{client}\0{key}".encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
