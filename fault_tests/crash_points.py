"""The moments between which a delivery must not get lost, nor be applied twice: a server that dies at one of them.

Each point is put around something that both engines call: the service that keeps, the plan that applies, the report at its end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from fault_tests import mutants
from touchbase.events import worker as events_worker
from touchbase.events.work import WorkReport
from touchbase.inbox.api import webhooks
from touchbase.server.metrics import Metrics
from touchbase.storage.postgres import inbox_batch as postgres
from touchbase.storage.sqlite import inbox_batch as sqlite

HALFWAY = 3
"""Statements of a turn that are carried out before the server dies inside it."""


_passes_left: Iterator[int] = iter(())


def kill_self() -> None:
    """Nothing of this process runs any more, no `finally` either; unless the server is to come here some more times before."""
    if next(_passes_left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)


def kept() -> None:
    """The delivery is kept, and its caller has no answer yet."""
    keep: Callable[..., Any] = webhooks.receive_webhook

    async def then_die(*given: Any, **named: Any) -> Any:
        found = await keep(*given, **named)
        kill_self()
        return found

    mutants.replace(webhooks, "receive_webhook", then_die)


def claimed() -> None:
    """Deliveries are claimed, and the translation of one of them begins."""
    translator: Callable[..., Any] = events_worker.translator

    def dying(*given: Any) -> Any:
        translate = translator(*given)
        return lambda delivery: (kill_self(), translate(delivery))[1]

    mutants.replace(events_worker, "translator", dying)


def applying() -> None:
    """Some statements of the transaction that applies are carried out, others not."""
    _die_in_transaction(HALFWAY)


def applied() -> None:
    """All statements of the transaction that applies are carried out, and it is not committed."""
    _die_in_transaction(None)


def committed() -> None:
    """The transaction is committed, and the worker does not know it yet."""
    worked = Metrics.worked

    def then_die(self: Metrics, report: WorkReport) -> None:
        kill_self()
        worked(self, report)

    mutants.replace(Metrics, "worked", then_die)


def _die_in_transaction(most: int | None) -> None:
    for engine in (sqlite, postgres):
        mutants.replace(engine, "apply_batch", _dying_plan(engine.apply_batch, most))  # type: ignore[attr-defined]


def _dying_plan(plan_of: Callable[..., Any], most: int | None) -> Callable[..., Any]:
    def plan(*given: Any) -> Any:
        steps, rows, count = plan_of(*given), None, 0
        while True:
            try:
                wanted = steps.send(rows)
            except StopIteration as stop:
                kill_self()
                return stop.value
            if count == most:
                kill_self()
            rows, count = (yield wanted), count + 1

    return plan


POINTS: dict[str, Callable[[], None]] = {
    "kept": kept,
    "claimed": claimed,
    "applying": applying,
    "applied": applied,
    "committed": committed,
}


def die_at(place: str) -> None:
    """Let this process die when it has come to a point so many times and comes there again: `applied*3`."""
    global _passes_left  # noqa: PLW0603 - of one process that is going to die
    name, _, times = place.partition("*")
    _passes_left = iter(range(int(times or 0)))
    POINTS[name]()
