"""Operations for tests: of their own, in place of others, and the list of all that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

import touchbase.app
import touchbase.consistency.sql  # with it every module with operations is loaded
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Needs, Operation, Options, Query, no_ids
from touchbase.sql.statement import Plan

assert touchbase.app
assert touchbase.consistency.sql


def handler(run: Callable[[Sequence[Any], Ids], Plan[list[object]]], needs: Needs = no_ids, **options: Unpack[Options]) -> Operation:
    """An operation that executes a batch with this plan."""

    def execute(calls: Sequence[Any], ids: Ids, cipher: Any) -> Plan[list[object]]:
        return run(calls, ids)

    def run_one(call: Any, ids: Ids, cipher: Any) -> Plan[Any]:
        return (yield from run([call], ids))[0]

    def client_of(call: Any) -> int | None:
        client: int | None = getattr(call, "client", None)
        return client

    options.setdefault("clients", lambda call: (client_of(call),))
    return Operation(execute, run_one, needs, client_of, **options)


@contextmanager
def executed_by(operations: Mapping[type, Operation]) -> Iterator[None]:
    """Execute calls of these types with these operations."""
    before = {kind: getattr(kind, "operation", None) for kind in operations}
    for kind, operation in operations.items():
        kind.operation = operation  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for kind, operation in before.items():
            kind.operation = operation  # type: ignore[attr-defined]


def all_commands() -> list[type]:
    """The types of all calls that write."""
    return _below(Command)


def all_queries() -> list[type]:
    """The types of all calls that read."""
    return _below(Query)


def _below(base: type) -> list[type]:
    kinds = {kind for kind in _subclasses(base) if hasattr(kind, "operation") and kind.__module__.startswith("touchbase.")}
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__name__))


def _subclasses(base: type) -> Iterator[type]:
    for kind in base.__subclasses__():
        yield kind
        yield from _subclasses(kind)
