"""The rows of a step as PostgreSQL is sent them: one parameter per column, the text of an array.

The driver looks at each element of a list several times, which was a third of the processor time of applying; a whole list becomes text
in one call. Bytes, which would be text of twice their size, go as a list.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from touchbase.sql.statement import Execute, Row

_encode = msgspec.json.Encoder().encode
_ODD = re.compile(r"\\[bfnrtu]")
"""What JSON writes for a control character. To PostgreSQL a backslash only says that what follows is meant as it is."""


def run_columns(step: Execute) -> list[object]:
    """The step's rows as columns; p's columns, then q's."""
    return _columns(step.rows, step.op.columns) + _columns(step.more, step.op.more_columns) + _columns(step.last, step.op.last_columns)


def _columns(rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> list[object]:
    given = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return [values if kind == "bytea" else as_array(values) for (_, kind), values in zip(columns, given, strict=True)]


def as_array(values: Sequence[object]) -> str:
    """Texts, whole numbers and None as the text of an array."""
    text = _encode(values).decode()
    # Between its brackets a JSON list is PostgreSQL's text of an array, `null` included.
    return f"{{{text[1:-1]}}}" if _ODD.search(text) is None else f"{{{','.join(map(_element, values))}}}"


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
