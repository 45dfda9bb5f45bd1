"""Repeats: rows of a file about the record of an earlier row, which they fill where it is blank."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

from touchbase.imports.duplicates import KEYS, SeenKeys, keys_of
from touchbase.imports.rows import ValidRow
from touchbase.records.models import Company, Contact
from touchbase.records.sql.address_book import keys_of as record_keys

_MOST_SETS = 65_536
"""Different sets of filled columns; beyond them a row counts as filled."""


class Repeats:
    """Rows of a file about the record of an earlier row: values added to it, and values left out.

    `names` are by column the targets that it fills. Of each row two bytes are stored, for one of few sets of filled columns.
    """

    def __init__(self, names: Mapping[int, tuple[str, ...]], *, keeps_first: bool) -> None:
        self._names, self._keeps_first = names, keeps_first
        self._all = frozenset(name for targets in names.values() for name in targets)
        self._rows_by_key = SeenKeys()
        self._sets, self._numbers = [self._all], {self._all: 0}
        self._by_columns: dict[tuple[bool, ...], frozenset[str]] = {}
        self._filled = array("H")
        """By row, the place of its filled targets in `_sets`."""

    def note(self, row: ValidRow, filled: tuple[bool, ...]) -> list[tuple[str, str]]:
        """Set `same_as` and `kept` of a row; return its addresses that are left out, by field, each with the reason."""
        record, number = row.creation.record, row.row.number
        own = self._by_columns.get(filled)
        if own is None:
            own = frozenset(name for index, is_filled in enumerate(filled) if is_filled for name in self._names.get(index, ()))
            if len(self._by_columns) < _MOST_SETS:
                self._by_columns[filled] = own
        if row.notice:
            own -= {"linkedin_url"}
        left_out = self._of_another(record)
        row.profile_left_out = bool(left_out)
        first = self._rows_by_key.first_row(keys_of(row.creation), number)
        if first is None:
            self._remember(number, own)
            return left_out
        had = self._sets[self._filled[first]]
        row.same_as, stays = first, set(had) if self._keeps_first else set()
        for prefix, column in KEYS[type(record)]:
            key, name = getattr(record, column), prefix[:-1]
            owner = self._rows_by_key.find(prefix + key) if key else first
            if owner is None and self._keeps_first and name in had:
                left_out.append((name, f"row {first} is about the same record and has another one, which is taken"))
            elif owner is None:
                self._rows_by_key.first_row([prefix + key], first)
            elif owner != first:
                left_out.append((name, f"row {owner} has it, and row {first} is the same record by another address"))
                stays.add(name)
                row.profile_left_out |= name == "linkedin_url"
        if row.company is not None and "company.domain" in own - stays and "company.name" in stays and row.company.record.name is None:
            left_out.append(("company.domain", f"row {first} is about the same record and names a company without it"))
            stays.add("company.domain")
        row.filled_before = frozenset(stays)
        row.adds = bool(own - stays) or bool(row.opt_out)
        self._remember(first, had | own)
        return left_out

    def _of_another(self, record: Contact | Company) -> list[tuple[str, str]]:
        """Take the profile from a contact whose addresses are not of the row that has it; return the field with the reason."""
        if not isinstance(record, Contact) or record.linkedin_key is None or record.email_key is None:
            return []
        owner = self._rows_by_key.find(f"linkedin_url:{record.linkedin_key}")
        if owner is None or "email" not in self._sets[self._filled[owner]]:
            return []
        keys = [f"email:{key}" for key in record_keys(record, "email_key")]
        keys += [f"external_id:{record.external_id}"] if record.external_id else []
        if any(self._rows_by_key.find(key) for key in keys):
            return []
        record.linkedin_url = record.linkedin_key = None
        return [("linkedin_url", f"row {owner} has it, and another email")]

    def _remember(self, number: int, filled: frozenset[str]) -> None:
        place = self._numbers.get(filled)
        if place is None:
            place = 0
            if len(self._sets) < _MOST_SETS:
                place = self._numbers[filled] = len(self._sets)
                self._sets.append(filled)
        if number >= len(self._filled):
            self._filled.extend([0] * (number - len(self._filled) + 1))
        self._filled[number] = place
