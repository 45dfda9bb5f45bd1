"""Run a batch that shares a transaction, so that a failing member does not affect the others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from touchbase.encryption.cipher import DecryptionFailed
from touchbase.errors import ClientMoving, Overloaded
from touchbase.storage.postgres.connection import retry

T = TypeVar("T")


async def run_batch(batch: Sequence[T], attempt: Callable[[Sequence[T]], Awaitable[list[object]]]) -> list[object]:
    """Return one result or exception for each member; after an unexpected error the batch is bisected."""
    try:
        return await retry(lambda: attempt(batch))
    except Exception as error:
        if len(batch) == 1:
            return [error]
        if isinstance(error, Overloaded) and not isinstance(error, DecryptionFailed | ClientMoving):
            return [_copy(error) for _ in batch]
        half = len(batch) // 2
        return await run_batch(batch[:half], attempt) + await run_batch(batch[half:], attempt)


def _copy(error: Overloaded) -> Overloaded:
    """Copy the error with its cause: several waiters must not raise the same exception."""
    copy = type(error)(error.detail, retry_after=error.retry_after)
    copy.__cause__ = error.__cause__
    return copy
