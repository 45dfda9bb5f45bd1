"""What SQLite and PostgreSQL spell in different ways, where grown stores are made in bulk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the engines spell in different ways. `i` is the contact's number, from the range that is asked for."""

    numbers: str
    blob: Callable[[str], str]
    digest: Callable[[str], str]
    mark: Callable[[int], str]
    hex: Callable[[str], str]
    """Thirteen hexadecimal digits of a number."""


SQLITE = Dialect(
    "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)",
    lambda text: f"CAST({text} AS BLOB)",
    lambda number: "randomblob(16)",
    lambda n: f"?{n}",
    lambda number: f"printf('%013x', {number})",
)
POSTGRES = Dialect(
    "WITH n(i) AS (SELECT generate_series($1::bigint, $2::bigint))",
    lambda text: f"convert_to({text}, 'UTF8')",
    lambda number: f"decode(md5(CAST({number} AS text)), 'hex')",
    lambda n: f"${n}::bigint",
    lambda number: f"lpad(to_hex({number}), 13, '0')",
)
