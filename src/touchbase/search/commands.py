"""The command and the query by which the full-text index follows the writes."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.sql.operation import Command, Query


@dataclass(slots=True)
class IndexRecords(Command[int]):
    """Bring up to `most` noted records of a client into the index; the result is how many notes were worked off."""

    client: int
    most: int = 100


@dataclass(slots=True)
class NextToIndex(Query[int | None]):
    """The number of the next client after `after` with records to index."""

    after: int = 0
