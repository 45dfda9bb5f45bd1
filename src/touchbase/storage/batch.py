"""Groups: commands that share one transaction, whoever sent them, as one plan."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from touchbase.errors import Overloaded
from touchbase.records.suppression_guard import GUARD_NEEDED
from touchbase.sql.command import Command
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, SerializationConflict, Statement
from touchbase.storage.command_handlers import RESERVE_IDS, Handler

Commands = Sequence[Command[Any]]
Handlers = Mapping[type, Handler]
W = TypeVar("W")
TRIES_WITHOUT_MEMORY = 3
WITHOUT_MEMORY = 0.05
"""Seconds until what had no memory to go on tries again."""
Waiter = asyncio.Future[Any]

MOST = 256
"""Commands in one group: more would make each wait longer for its answer and save nothing."""
HEAVY = 16 * 1024 * 1024
"""Bytes of webhook bodies in one group."""


def take(waiting: deque[tuple[Command[Any], W]]) -> list[tuple[Command[Any], W]]:
    """Remove from the queue what goes together now: at most `MOST` commands, of `HEAVY` bytes unless one alone is heavier."""
    group: list[tuple[Command[Any], W]] = []
    weight = 0
    for each in islice(waiting, MOST):
        weight += len(getattr(each[0], "body", b""))
        if group and weight > HEAVY:
            break
        group.append(each)
    for _ in group:  # only now, so that nothing is lost where there is no memory for the group
        waiting.popleft()
    return group


def plan_of(commands: Commands, handlers: Handlers, ids: Ids, *, alone: bool = False) -> Plan[list[object]]:
    """One plan that carries out all commands; one result or `TouchbaseError` for each, in their order.

    Only where it runs `alone`, outside of a transaction, may a result be `GUARD_NEEDED`.
    """
    results: list[object] = [None] * len(commands)
    for kind, places in _by_kind(commands).items():
        answers = yield from handlers[kind].run([commands[place] for place in places], ids)
        for place, answer in zip(places, answers, strict=True):
            results[place] = answer
    if not alone and any(result is GUARD_NEEDED for result in results):
        raise SerializationConflict("the client's first erasure came between the request and this transaction")
    return results


def needs_of(commands: Commands, handlers: Handlers) -> dict[str, int]:
    """The ids that a group may take, by the name of their block."""
    total: dict[str, int] = {}
    for kind, places in _by_kind(commands).items():
        for name, count in handlers[kind].needs([commands[place] for place in places]).items():
            total[name] = total.get(name, 0) + count
    return total


def _by_kind(commands: Commands) -> dict[type, list[int]]:
    kinds: dict[type, list[int]] = {}
    for place, command in enumerate(commands):
        kinds.setdefault(type(command), []).append(place)
    return kinds


def settle(waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
    """Give each waiter its result or exception; in the event loop. A waiter that is done, as its caller went away, is passed over."""
    for waiter, outcome in zip(waiters, outcomes, strict=True):
        for _ in range(TRIES_WITHOUT_MEMORY):
            if waiter.done():
                break
            with suppress(MemoryError):  # of one that cannot be answered the others must not suffer
                if isinstance(outcome, BaseException):
                    waiter.set_exception(outcome)
                else:
                    waiter.set_result(outcome)


def client_of(command: Command[Any]) -> int | None:
    """The number of the client that a command is for; None where it is for none, or none that has a number yet."""
    client: int | None = getattr(command, "client", None)
    return client


def over_its_share() -> Overloaded:
    """The error for a client that has as many commands waiting as the others can bear."""
    return Overloaded("too many writes of this client are waiting; send this again in a moment")


def refusal(stopping: bool) -> Overloaded:
    """The error for a command that cannot be queued."""
    return Overloaded("the server is stopping" if stopping else "too many writes are waiting; send this again in a moment")


# It counts, because SQLite does not touch the disk for an update that changes nothing.
_PROBE = Statement(
    "probe",
    (("name", "text"),),
    "INSERT INTO id_block (name, next) SELECT p.name, 1 FROM p WHERE true ON CONFLICT (name) DO UPDATE SET next = id_block.next + 1",
)


@dataclass(slots=True)
class Probe(Command[None]):
    """Writes something that no record shows, to see whether the store can write."""


def _probe(commands: Commands, ids: Ids) -> Plan[list[object]]:
    yield Execute(_PROBE, [("check",)])
    return [None] * len(commands)


PROBES: Handlers = {Probe: Handler(_probe, solo=True)}


def reserve(name: str, count: int) -> Plan[int]:
    """Reserve a block of ids; answers the first of them."""
    rows = yield Execute(RESERVE_IDS, [(name, count)])
    first: int = rows[0][0]
    return first
