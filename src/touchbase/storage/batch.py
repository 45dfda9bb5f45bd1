"""Group commit: commands of several senders share one transaction, as one plan."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, Protocol, TypeVar

from touchbase.common.fair_quota import FairQuota
from touchbase.errors import StoreBusy
from touchbase.sql import operation
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.operation import MAX_COMMANDS, Command, Commands, Weight
from touchbase.sql.statement import Execute, Plan, Statement

T = TypeVar("T")
W = TypeVar("W")
MEMORY_TRIES = 3
MEMORY_RETRY_SECONDS = 0.05
"""Seconds until a step that had no memory is tried again."""
Waiter = asyncio.Future[Any]

MAX_BODY_BYTES = 16 * 1024 * 1024
"""Bytes of webhook bodies in one batch."""
MAX_FIELDS = 4_096
"""Custom fields in one batch: each is a row, and a record can have hundreds."""


class FairQueue(Generic[W]):
    """Commands that wait for a transaction. Clients take turns, command by command; the commands of one client stay in their order."""

    __slots__ = ("_by_client", "_length")

    def __init__(self) -> None:
        self._by_client: OrderedDict[int | None, deque[tuple[Command[Any], W, Weight]]] = OrderedDict()
        """The client whose turn is next comes first; None: commands without a client."""
        self._length = 0

    def __len__(self) -> int:
        """Return the number of commands."""
        return self._length

    def append(self, client: int | None, command: Command[Any], weight: Weight, waiter: W) -> None:
        """Add a command behind the others of its client."""
        queue = self._by_client.get(client)
        if queue is None:
            queue = self._by_client[client] = deque()
        queue.append((command, waiter, weight))
        self._length += 1

    def take_batch(self) -> tuple[list[Command[Any]], list[W], int]:
        """Remove the next batch; return its commands, their waiters, and the bytes of their bodies.

        It has up to `MAX_COMMANDS`, `MAX_FIELDS` and `MAX_BODY_BYTES`, but at least one command. The commands of a command that
        consists of others count one by one, and a large command as a whole batch. A client whose next command does not fit is first in
        the next batch, unless this one has a command of it.
        """
        batch: list[Command[Any]] = []
        waiters: list[W] = []
        taken: dict[int | None, int] = {}
        turns = [(client, iter(queue)) for client, queue in islice(self._by_client.items(), MAX_COMMANDS)]
        size = count = fields = 0
        while turns:
            next_turns = []
            for client, commands in turns:
                item = next(commands, None)
                if item is None:
                    continue
                command, waiter, (bytes_added, count_added, fields_added) = item
                if batch and (
                    size + bytes_added > MAX_BODY_BYTES or count + count_added > MAX_COMMANDS or fields + fields_added > MAX_FIELDS
                ):
                    continue
                size, count, fields = size + bytes_added, count + count_added, fields + fields_added
                batch.append(command)
                waiters.append(waiter)
                taken[client] = taken.get(client, 0) + 1
                next_turns.append((client, commands))
            turns = next_turns
        self._remove(taken)  # only now, so that no command is lost if there is no memory for the batch
        return batch, waiters, size

    def take_all(self) -> tuple[list[Command[Any]], list[W]]:
        """Remove all commands and return them and their waiters, for a writer that cannot take a batch."""
        items = [item for queue in self._by_client.values() for item in queue]
        commands, waiters = [command for command, _, _ in items], [waiter for _, waiter, _ in items]
        self._by_client.clear()
        self._length = 0
        return commands, waiters

    def _remove(self, taken: Mapping[int | None, int]) -> None:
        """Remove as many commands of each client; clients with more commands are last in the next batch."""
        for client, number in taken.items():
            queue = self._by_client[client]
            for _ in range(number):
                queue.popleft()
            if queue:
                self._by_client.move_to_end(client)
            else:
                del self._by_client[client]
            self._length -= number


def settle(waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
    """Set each waiter's result or exception, in the event loop. A waiter that is done, because its request was cancelled, is skipped."""
    if len(outcomes) != len(waiters):  # none of them may wait for ever
        outcomes = [RuntimeError(f"{len(waiters)} commands had {len(outcomes)} results") for _ in waiters]
    for waiter, outcome in zip(waiters, outcomes, strict=True):
        for _ in range(MEMORY_TRIES):
            if waiter.done():
                break
            try:
                if isinstance(outcome, StopIteration):  # a future does not take it
                    waiter.set_exception(RuntimeError("a command raised StopIteration"))
                elif isinstance(outcome, BaseException):
                    waiter.set_exception(outcome)
                else:
                    waiter.set_result(outcome)
            except MemoryError:  # one that cannot be settled must not affect the others
                continue


Committed = Callable[[], None]
"""To be called after the commit of a transaction."""


class Around(Protocol):
    """Additions of the rooms above the engine to a plan that writes."""

    def __call__(self, plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the plan to execute in place of this one, and the callback after its commit."""
        ...


def unchanged(plan: Plan[T]) -> tuple[Plan[T], Committed]:
    """Add nothing to a plan."""
    return plan, _nothing


def _nothing() -> None: ...


def client_of(command: Command[Any]) -> int | None:
    """Return the number of a command's client; None for a command without one, or whose client has no number yet."""
    return command.operation.client_of(command)


def release(quota: FairQuota, commands: Commands) -> None:
    """Take back the clients' units of these commands."""
    for command in commands:
        client = client_of(command)
        if client is not None:
            quota.release(client)


def client_queue_full() -> StoreBusy:
    """Return the error for a client whose share of the queue is full."""
    return StoreBusy("too many writes of this client are waiting; send this again in a moment")


def queue_refused(stopping: bool) -> StoreBusy:
    """Return the error for a command that cannot be queued."""
    return StoreBusy("the server is stopping" if stopping else "too many writes are waiting; send this again in a moment")


# SQLite: it increments, because an update that changes nothing is not written.
# PostgreSQL: a message in the log of changes, which a commit flushes as it does a row. A row that all processes write would make each of
# them wait for one that stopped while it had the row. The update finds no row, and is refused where the server is read-only.
_PROBE = Statement(
    "probe",
    (("name", "text"),),
    sqlite="INSERT INTO id_block (name, next) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE SET next = next + 1",
    body=", w AS (UPDATE id_block t SET next = t.next FROM p WHERE t.name = 'nothing' AND p.name = t.name) "
    "SELECT pg_logical_emit_message(true, p.name, '') FROM p",
)


@operation.command(solo=True, quick=True)
def probe() -> Plan[None]:
    """Write something that belongs to no record, to check that the store can write."""
    yield Execute(_PROBE, [("check",)])


def reserve(name: str, count: int, unused: tuple[int, int]) -> Plan[int]:
    """Reserve a block of ids; return the first. It begins with the `unused` rest of the caller's block if no block follows that one.

    With a count of 0 the rest is only returned.
    """
    rows = yield Execute(RESERVE_IDS, [(name, count, *unused)])
    first: int = rows[0][0]
    return first
