"""Crash points: a server that kills itself at a chosen step between storing a delivery and recording its outcome.

Each point wraps code of both engines: storing a delivery, the plan that applies a batch, the report after it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from typing import Any

from fault_tests import mutants
from touchbase import fleet
from touchbase.answering.worker import AnswerWorker
from touchbase.conversations import answers
from touchbase.conversations import api as conversations
from touchbase.http.endpoint import Call
from touchbase.inbox import worker as events_worker
from touchbase.inbox.api import webhooks
from touchbase.stores import postgres, sqlite

HALFWAY = 3
"""Statements of a batch that run before the server dies inside it."""


_passes_left: Iterator[int] = iter(())


def kill_self() -> None:
    """Send SIGKILL to this process, unless it has passes left; no `finally` runs."""
    if next(_passes_left, None) is None:
        os.kill(os.getpid(), signal.SIGKILL)


def kept() -> None:
    """Die after the delivery is stored, before the response."""
    keep: Callable[..., Any] = webhooks.receive_webhook

    async def then_die(*value: Any, **named: Any) -> Any:
        result = await keep(*value, **named)
        kill_self()
        return result

    mutants.replace(webhooks, "receive_webhook", then_die)


def claimed() -> None:
    """Die after deliveries are claimed, before one is translated."""
    translator: Callable[..., Any] = events_worker.translator

    def dying(*value: Any) -> Any:
        translate = translator(*value)
        return lambda delivery: (kill_self(), translate(delivery))[1]

    mutants.replace(events_worker, "translator", dying)


def applying() -> None:
    """Die in the middle of the transaction that applies a batch."""
    _die_in_transaction(HALFWAY)


def applied() -> None:
    """Die after the last statement of the transaction, before its commit."""
    _die_in_transaction(None)


def committed() -> None:
    """Die after the commit, before the worker knows of it."""
    mutants.replace(fleet, "count_report", lambda *_: kill_self())


def _die_in_transaction(most: int | None) -> None:
    for engine in (sqlite, postgres):
        mutants.replace(engine, "apply_batch", _dying_plan(engine.apply_batch, most))  # type: ignore[attr-defined]


def _dying_plan(plan_of: Callable[..., Any], most: int | None) -> Callable[..., Any]:
    def plan(*value: Any) -> Any:
        steps, rows, count = plan_of(*value), None, 0
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


def _die_after(owner: Any, name: str) -> Callable[[], None]:
    """Return a point after a coroutine function of a class or module has ended."""

    def install() -> None:
        full_callable: Callable[..., Any] = getattr(owner, name)

        async def then_die(*value: Any, **named: Any) -> Any:
            result = await full_callable(*value, **named)
            kill_self()
            return result

        mutants.replace(owner, name, then_die)

    return install


def _die_in(owner: Any, name: str) -> Callable[[], None]:
    """Return a point in place of a function, inside a transaction if a plan calls it."""
    return lambda: mutants.replace(owner, name, lambda *_, **__: kill_self())


ANSWER_POINTS: dict[str, Callable[[], None]] = {
    "queueing": _die_in(conversations, "answer_out"),
    "queued": _die_after(Call, "write_and_respond"),
    "claiming": _die_in(answers, "ClaimedAnswer"),
    "claimed-answer": _die_in(AnswerWorker, "_request"),
    "requested": _die_after(AnswerWorker, "_request"),
    "settling": _die_in(answers, "answer_message"),
    "settled": _die_after(AnswerWorker, "_settle"),
}
"""Steps of an answer: before and after the commits that queue it, note that it is being sent, and note the result; and its request."""


def die_at(place: str) -> None:
    """Install a crash point; `applied*3` dies at the fourth pass."""
    global _passes_left  # noqa: PLW0603 - counted in the one process that dies
    name, _, times = place.partition("*")
    _passes_left = iter(range(int(times or 0)))
    (POINTS | ANSWER_POINTS)[name]()
