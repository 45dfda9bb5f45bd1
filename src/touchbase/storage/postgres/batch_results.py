"""What becomes of a group whose members share a transaction: one that fails harms none of its neighbours."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from touchbase.encryption.cipher import DecryptionFailed
from touchbase.errors import Overloaded
from touchbase.storage.postgres.connection import again

T = TypeVar("T")


async def outcomes(group: Sequence[T], attempt: Callable[[Sequence[T]], Awaitable[list[object]]]) -> list[object]:
    """One result or exception for each; an unforeseen failure is halved until it is alone with its cause."""
    try:
        return await again(lambda: attempt(group))
    except Exception as error:
        if len(group) == 1:
            return [error]
        if isinstance(error, Overloaded) and not isinstance(error, DecryptionFailed):
            return [_copy(error) for _ in group]
        half = len(group) // 2
        return await outcomes(group[:half], attempt) + await outcomes(group[half:], attempt)


def _copy(error: Overloaded) -> Overloaded:
    """One for each who waits; what it came of can be asked of every one."""
    copy = type(error)(error.detail, retry_after=error.retry_after)
    copy.__cause__ = error.__cause__
    return copy
