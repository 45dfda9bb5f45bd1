"""Plans of batches: commands of several operations in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.sql.ids import Ids
from touchbase.sql.operation import LIGHT, Command, Weight
from touchbase.sql.statement import Plan, SerializationConflict

Commands = Sequence[Command[Any]]

MAX_COMMANDS = 256
"""Commands in one batch: more would delay each response and save nothing."""
NEEDS_TRANSACTION = object()
"""Result of a `solo` command that has changed nothing and is not `solo` any more: run it again, in a transaction."""


def plan_of(commands: Commands, ids: Ids, cipher: Cipher, *, alone: bool = False) -> Plan[list[object]]:
    """Execute all commands; return one result or `TouchbaseError` for each, in their order.

    A result can be `NEEDS_TRANSACTION` only if the plan runs `alone`, outside of a transaction.
    """
    results: list[object] = [None] * len(commands)
    for kind, indexes in _by_kind(commands).items():
        outcomes = yield from kind.operation.run([commands[index] for index in indexes], ids, cipher)
        for index, outcome in zip(indexes, outcomes, strict=True):
            results[index] = outcome
    if not alone and any(result is NEEDS_TRANSACTION for result in results):
        raise SerializationConflict("another transaction came between the request and this one")
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


def weight_of(command: Command[Any]) -> Weight:
    """Return a command's bytes of bodies, commands and custom fields; a large command weighs as much as a batch."""
    operation = command.operation
    if operation.weight is not None:
        return operation.weight(command)
    return (0, MAX_COMMANDS, 0) if operation.large else LIGHT


def weight_of_all(commands: Iterable[Command[Any]]) -> Weight:
    """Return the weight of a command that consists of these."""
    size = count = fields = 0
    for command in commands:
        bytes_added, count_added, fields_added = weight_of(command)
        size, count, fields = size + bytes_added, count + count_added, fields + fields_added
    return size, count, fields
