"""Commands and queries about idempotency keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from touchbase.common.timestamps import Micros
from touchbase.idempotency.models import KnownResponse, RequestKey, StoredResponse
from touchbase.sql.command import Command, Query, T


@dataclass(slots=True)
class Idempotent(Command[T | StoredResponse], Generic[T]):
    """Carry out another command and keep the answer to it, in one transaction, unless that was done for this key.

    Then it changes nothing and answers what was kept; `KeyReused` when that belongs to another request.
    """

    request: RequestKey
    command: Command[T] | None
    """None only keeps an answer."""
    answer: Callable[[object], StoredResponse | None]
    """The answer to keep for the command's result or error; None keeps nothing, so the key stays free.

    Called inside the transaction, and again when that is run again: it must be quick and change nothing.
    """

    @property
    def client(self) -> int:
        """The client that the key belongs to."""
        return self.request.client


@dataclass(slots=True)
class DeleteResponses(Command[int]):
    """Take away those of these kept answers whose time is over by `now_us`; answers how many were."""

    client: int
    keys: list[str]
    now_us: Micros


@dataclass(slots=True)
class FindResponse(Query[KnownResponse | None]):
    """The answer that is kept for a request's key, whatever request it belongs to; None when its time is over."""

    request: RequestKey


@dataclass(slots=True)
class ExpiredResponses(Query[list[tuple[int, str]]]):
    """Client and key of kept answers whose time is over by `now_us`, those that ended first."""

    now_us: Micros
    limit: int
