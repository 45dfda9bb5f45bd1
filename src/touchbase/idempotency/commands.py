"""Commands and queries about idempotency keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.sql.operation import Command, T


@dataclass(slots=True)
class Idempotent(Command[T | StoredResponse], Generic[T]):
    """Execute another command and store the response to it in one transaction, unless the key has a response already.

    In that case it changes nothing and returns the stored response, or `KeyReused` when that belongs to another request.
    """

    request: RequestKey
    command: Command[T] | None
    """None to store a response only."""
    make_response: Callable[[object], StoredResponse | None]
    """Returns the response to store for the command's result or error; with None nothing is stored, and the key stays free.

    It runs inside the transaction, and again when the transaction is retried: it must be quick and without side effects.
    """

    @property
    def client(self) -> int:
        """The client that the key belongs to."""
        return self.request.client
