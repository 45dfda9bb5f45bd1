"""The command and the query by which the full-text index follows the writes."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.sql.command import Command, Query


@dataclass(slots=True)
class IndexRecords(Command[int]):
    """Bring up to `most` noted records of a client into the index; fewer if they have very many custom fields.

    The result is less than `most` only if no other notes were waiting.
    """

    client: int
    most: int = 100


@dataclass(slots=True)
class NextToIndex(Query[int | None]):
    """The number of the next client after `after` with records to index."""

    after: int = 0
