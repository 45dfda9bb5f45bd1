"""WHERE clauses from the filters that were given."""

from __future__ import annotations

from touchbase.common.timestamps import Micros
from touchbase.sql.statement import Row


class Where:
    """Conditions joined with AND and their parameters; without any it is always true."""

    def __init__(self, condition: str = "", *params: object) -> None:
        self._conditions = [condition] if condition else []
        self._params = list(params)

    @property
    def params(self) -> Row:
        """The parameters in the order of their marks."""
        return tuple(self._params)

    def hold(self, condition: str, *params: object) -> None:
        """Only rows for which this holds."""
        self._add(condition, *params)

    def equal(self, column: str, value: object) -> None:
        """Only rows with this value, unless it is None: no filter."""
        if value is not None:
            self._add(f"{column} = ?", value)

    def less(self, column: str, value: object) -> None:
        """Only rows below this value, unless it is None."""
        if value is not None:
            self._add(f"{column} < ?", value)

    def at_least(self, column: str, value: object) -> None:
        """Only rows with this value or a greater one, unless it is None."""
        if value is not None:
            self._add(f"{column} >= ?", value)

    def page(self, updated_since_us: Micros | None, after: tuple[Micros, int] | None) -> str:
        """Begin after the last row of the page before; answers the order that pages go in.

        Not the order of ids: several processes take them from blocks of their own.
        """
        if updated_since_us is None:
            if after is not None:
                self._add("(created_us, id) > (?, ?)", *after)
            return "created_us, id"
        if after is not None and after[0] >= updated_since_us:  # else the page before was of another moment
            self._add("(updated_us, id) > (?, ?)", *after)
        else:
            self._add("updated_us >= ?", updated_since_us)
        return "updated_us, id"

    def _add(self, condition: str, *params: object) -> None:
        self._conditions.append(condition)
        self._params += params

    def __str__(self) -> str:
        return " AND ".join(self._conditions) or "1 = 1"
