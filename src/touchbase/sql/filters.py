"""Build WHERE clauses from optional filters."""

from __future__ import annotations

from collections.abc import Collection

from touchbase.common.timestamps import Micros
from touchbase.sql.dialect import NUMBERS
from touchbase.sql.statement import Row

MOST_LISTED = 1_000
"""Numbers that are a parameter each: SQLite takes 32,766 parameters, PostgreSQL 32,767."""

ACTIVE_CLIENTS: tuple[str, Row] = ("IN (SELECT id FROM client WHERE state = 'active')", ())
"""As `among`, for all active clients: PostgreSQL checks row-level security against a list of 40,000 for each row, in seconds."""


def among(numbers: Collection[int]) -> tuple[str, Row]:
    """Return a condition behind a column, such as `IN (?, ?)`, and its parameters."""
    if len(numbers) > MOST_LISTED:
        return f"IN {NUMBERS}", (str([*numbers]),)
    return f"IN ({', '.join('?' * len(numbers)) or 'NULL'})", tuple(numbers)


class Where:
    """Conditions joined with AND, and their parameters; without conditions it is always true."""

    def __init__(self, condition: str = "", *params: object) -> None:
        self._conditions = [condition] if condition else []
        self._params = list(params)

    @property
    def params(self) -> Row:
        """The parameters, in the order of their placeholders."""
        return tuple(self._params)

    def copy(self) -> Where:
        """Return the same conditions, to add others to."""
        where = Where()
        where._conditions, where._params = [*self._conditions], [*self._params]
        return where

    def add(self, condition: str, *params: object) -> None:
        """Add a condition."""
        self._conditions.append(condition)
        self._params += params

    def equal(self, column: str, value: object) -> None:
        """Require this value; None adds no condition."""
        if value is not None:
            self.add(f"{column} = ?", value)

    def less(self, column: str, value: object) -> None:
        """Require a lower value; None adds no condition."""
        if value is not None:
            self.add(f"{column} < ?", value)

    def at_least(self, column: str, value: object) -> None:
        """Require this value or a greater one; None adds no condition."""
        if value is not None:
            self.add(f"{column} >= ?", value)

    def page(self, updated_since_us: Micros | None, after: tuple[Micros, int] | None) -> str:
        """Start after the last row of the previous page; return the order of the pages.

        The order is not that of ids, because several processes take ids from blocks of their own.
        """
        if updated_since_us is None:
            if after is not None:
                self.add("(created_us, id) > (?, ?)", *after)
            return "created_us, id"
        if after is not None and after[0] >= updated_since_us:  # else the cursor is of another `updated_since`
            self.add("(updated_us, id) > (?, ?)", *after)
        else:
            self.add("updated_us >= ?", updated_since_us)
        return "updated_us, id"

    def __str__(self) -> str:
        return " AND ".join(self._conditions) or "1 = 1"
