"""Mutants of outgoing webhooks: servers that break one promise of them, to prove that the fault tests detect it.

- `no-pending-webhooks`: the position of an endpoint passes events that are not delivered, and nothing else is stored of them.
- `no-failed-attempts`: a request without a complete response counts as delivered.
- `no-refused-results`: results that the store refused count as stored.
- `no-webhook-leases`: each process sends the events of all clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from touchbase.errors import Overloaded
from touchbase.outgoing import dispatcher
from touchbase.outgoing.line import EndpointQueue
from touchbase.outgoing.models import SHARDS
from touchbase.outgoing.results import Results

Dispatcher: Any = dispatcher.Dispatcher


def no_pending_webhooks() -> None:
    """Store no rows for events that were not delivered at the first attempt."""
    full_unstored = EndpointQueue.unstored

    def unstored(self: Any, now: int) -> Any:
        result = full_unstored(self, now)
        result.save.clear()
        return result

    EndpointQueue.unstored = unstored  # type: ignore[method-assign]


def no_failed_attempts() -> None:
    """Count a request as delivered also if its response did not come, or not whole."""
    full_judged = dispatcher.judged
    setattr(dispatcher, "judged", lambda answer, *more: None if answer.status is None else full_judged(answer, *more))  # noqa: B010


def no_refused_results() -> None:
    """Take results as stored when the store refuses them."""
    full = Results._store_one

    async def store_one(self: Any, line: Any) -> bool:
        now = self._clock()
        before = line.unstored(now)
        try:
            stored: bool = await full(self, line)
        except Overloaded:
            line.was_stored(before, now)
            return True
        return stored

    Results._store_one = store_one  # type: ignore[method-assign]


def no_webhook_leases() -> None:
    """Send for all shards, whichever process leads them, and store nothing of others' shards."""
    full_lead = Dispatcher._lead

    async def lead(self: Any) -> None:
        await full_lead(self)
        self._shards, self._surplus = frozenset(range(SHARDS)), frozenset()

    Dispatcher._lead = lead


WEBHOOK_MUTANTS: dict[str, Callable[[], None]] = {
    "no-pending-webhooks": no_pending_webhooks,
    "no-failed-attempts": no_failed_attempts,
    "no-refused-results": no_refused_results,
    "no-webhook-leases": no_webhook_leases,
}
