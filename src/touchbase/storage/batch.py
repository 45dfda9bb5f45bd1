"""Group commit: commands of several senders share one transaction, as one plan."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from touchbase.common.cipher import Cipher
from touchbase.company_links.commands import LinkPage
from touchbase.do_not_contact.commands import SaveEntries
from touchbase.erasure.commands import ErasePerson
from touchbase.erasure.sql.commands import sweep_erasure
from touchbase.erasure.sql.texts import strike_texts
from touchbase.errors import Overloaded
from touchbase.imports.commands import ImportRows
from touchbase.merging.commands import MergeRecords, UndoMerge
from touchbase.records.bulk import ChangeMatching
from touchbase.records.sql.suppression_guard import GUARD_NEEDED
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, executes
from touchbase.sql.statement import Execute, Plan, SerializationConflict, Statement

Commands = Sequence[Command[Any]]
W = TypeVar("W")
MEMORY_TRIES = 3
MEMORY_RETRY_SECONDS = 0.05
"""Seconds until a step that had no memory is tried again."""
Waiter = asyncio.Future[Any]

MAX_COMMANDS = 256
"""Commands in one batch: more would delay each response and save nothing."""
MAX_BODY_BYTES = 16 * 1024 * 1024
"""Bytes of webhook bodies in one batch."""
MAX_FIELDS = 4_096
"""Custom fields in one batch: each is a row, and a record can have hundreds."""
LARGE_COMMANDS = frozenset(
    {ChangeMatching, ErasePerson, ImportRows, LinkPage, MergeRecords, SaveEntries, strike_texts, sweep_erasure, UndoMerge}
)
"""Commands that change many records each: one of them is a batch."""


def take_batch(waiting: deque[tuple[Command[Any], W]]) -> list[tuple[Command[Any], W]]:
    """Remove the next batch from the queue: up to `MAX_COMMANDS`, `MAX_FIELDS` and `MAX_BODY_BYTES`, but at least one command.

    The commands of a `WriteBatch` or `JobStep` count one by one, and one of the `LARGE_COMMANDS` as a whole batch.
    """
    batch: list[tuple[Command[Any], W]] = []
    size = count = fields = 0
    for each in islice(waiting, MAX_COMMANDS):
        command = getattr(each[0], "command", each[0])
        size += len(getattr(command, "body", b""))
        for part in getattr(command, "commands", (command,)):
            count += MAX_COMMANDS if type(part) in LARGE_COMMANDS else 1
            fields += len(getattr(getattr(part, "update", part), "custom", None) or ())
        if batch and (size > MAX_BODY_BYTES or count > MAX_COMMANDS or fields > MAX_FIELDS):
            break
        batch.append(each)
    for _ in batch:  # only now, so that no command is lost if there is no memory for the batch
        waiting.popleft()
    return batch


def plan_of(commands: Commands, ids: Ids, cipher: Cipher, *, alone: bool = False) -> Plan[list[object]]:
    """Execute all commands; return one result or `TouchbaseError` for each, in their order.

    A result can be `GUARD_NEEDED` only if the plan runs `alone`, outside of a transaction.
    """
    results: list[object] = [None] * len(commands)
    for kind, indexes in _by_kind(commands).items():
        outcomes = yield from kind.operation.run([commands[index] for index in indexes], ids, cipher)
        for index, outcome in zip(indexes, outcomes, strict=True):
            results[index] = outcome
    if not alone and any(result is GUARD_NEEDED for result in results):
        raise SerializationConflict("the client's first erasure came between the request and this transaction")
    return results


def needs_of(commands: Commands) -> dict[str, int]:
    """Return the number of ids that a batch may need, by the name of their block."""
    total: dict[str, int] = {}
    for kind, indexes in _by_kind(commands).items():
        for name, count in kind.operation.needs([commands[index] for index in indexes]).items():
            total[name] = total.get(name, 0) + count
    return total


def _by_kind(commands: Commands) -> dict[type[Command[Any]], list[int]]:
    kinds: dict[type[Command[Any]], list[int]] = {}
    for index, command in enumerate(commands):
        kinds.setdefault(type(command), []).append(index)
    return kinds


def settle(waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
    """Set each waiter's result or exception, in the event loop. A waiter that is done, because its request was cancelled, is skipped."""
    for waiter, outcome in zip(waiters, outcomes, strict=True):
        for _ in range(MEMORY_TRIES):
            if waiter.done():
                break
            with suppress(MemoryError):  # one that cannot be settled must not affect the others
                if isinstance(outcome, BaseException):
                    waiter.set_exception(outcome)
                else:
                    waiter.set_result(outcome)


def client_of(command: Command[Any]) -> int | None:
    """Return the number of a command's client; None for a command without one, or whose client has no number yet."""
    client: int | None = getattr(command, "client", None)
    return client


def client_queue_full() -> Overloaded:
    """Return the error for a client whose share of the queue is full."""
    return Overloaded("too many writes of this client are waiting; send this again in a moment")


def queue_refused(stopping: bool) -> Overloaded:
    """Return the error for a command that cannot be queued."""
    return Overloaded("the server is stopping" if stopping else "too many writes are waiting; send this again in a moment")


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


@dataclass(slots=True)
class Probe(Command[None]):
    """Write something that belongs to no record, to check that the store can write."""


@executes(Probe, batch=True, solo=True)
def _probe(commands: Commands, ids: Ids) -> Plan[list[object]]:
    yield Execute(_PROBE, [("check",)])
    return [None] * len(commands)


def reserve(name: str, count: int, unused: tuple[int, int]) -> Plan[int]:
    """Reserve a block of ids; return the first. It begins with the `unused` rest of the caller's block if no block follows that one.

    With a count of 0 the rest is only returned.
    """
    rows = yield Execute(RESERVE_IDS, [(name, count, *unused)])
    first: int = rows[0][0]
    return first
