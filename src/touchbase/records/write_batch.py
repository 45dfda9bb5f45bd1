"""Several writes of one client in one transaction: limits and results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from touchbase.errors import BatchFailed, Fault, Invalid, TouchbaseError

MAX_COMMANDS = 1_000
"""Commands in one batch: one transaction, for which all other writes wait on SQLite."""
MOST_FIELDS = 20_000
"""Custom fields in all commands of one batch: each is a row of that transaction."""

MOST_READ_FIELDS = 100_000
"""Custom fields of all existing records that one batch changes or returns: each is read in that transaction."""
MOST_READ_CHARACTERS = 16_777_216
"""Characters of their names and values."""


def batch_failed(outcomes: Sequence[object]) -> BatchFailed | None:
    """Return the error of an atomic batch with these results; None if all commands succeed."""
    failed = [(index, error) for index, error in enumerate(outcomes) if isinstance(error, TouchbaseError)]
    faults = (fault for index, error in failed for fault in faults_at(index, error))
    more = sum(error.more for _, error in failed if isinstance(error, Invalid))
    return BatchFailed([*faults], more) if failed else None


def faults_at(index: int, error: TouchbaseError) -> Iterator[Fault]:
    """Yield the faults of one command of a batch, as faults of the batch."""
    if isinstance(error, Invalid):
        for fault in error.faults:
            yield Fault(f"/commands/{index}{fault.pointer}", fault.code, fault.detail)
    else:
        yield Fault(f"/commands/{index}", error.code, error.detail)
