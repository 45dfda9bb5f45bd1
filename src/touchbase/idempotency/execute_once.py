"""Idempotent commands: any command and the response to it, in one transaction.

A batch reads the responses of all its keys, executes the commands of new keys as one batch, and stores
their responses. If another transaction has used a key at the same time, the later one cannot store its
response: it is rolled back and run again, and then finds the stored response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from touchbase.common.cipher import Cipher
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.sql import STORE_RESPONSE, known_responses, response_row
from touchbase.sql.batches import needs_of, plan_of, weight_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import LIGHT, Command, T, Weight, executes
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, SerializationConflict


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


AnyIdempotent = Idempotent[Any]


def _needs(commands: Sequence[AnyIdempotent]) -> Mapping[str, int]:
    return needs_of([command.command for command in commands if command.command is not None])


def _weight(call: AnyIdempotent) -> Weight:
    return LIGHT if call.command is None else weight_of(call.command)


def _clients(call: AnyIdempotent) -> Iterable[int | None]:
    """Return the client whose response is stored, and those of the inner command; None if it may access others."""
    yield call.client
    if call.command is not None:
        inner = call.command.operation
        if inner.scope is not None:
            yield None
        yield from (client for client in inner.clients(call.command) if client is not None or inner.unnamed == ALL_CLIENTS)


@executes(Idempotent, ids=_needs, batch=True, cipher=True, clients=_clients, unnamed=ALL_CLIENTS, weight=_weight)
def execute_once(commands: Sequence[AnyIdempotent], ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    """Return one result for each command, as if they were executed one after the other."""
    results: list[object] = [None] * len(commands)
    waiting = list(range(len(commands)))
    while waiting:
        known = yield from known_responses([commands[index].request for index in waiting])
        first: dict[tuple[int, str], int] = {}
        for index in waiting:
            request = commands[index].request
            found = known.get((request.client, request.key))
            if found is not None:
                results[index] = found.to(request)
            else:
                first.setdefault((request.client, request.key), index)
        indexes = list(first.values())
        outcomes = yield from _execute_new([commands[index] for index in indexes], ids, cipher)
        done = set(indexes)
        waiting = [index for index in waiting if results[index] is None and index not in done]
        for index, outcome in zip(indexes, outcomes, strict=True):
            results[index] = outcome
    return results


def _execute_new(commands: Sequence[AnyIdempotent], ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    """Execute commands with new keys; no two of them have the same key."""
    inner: list[Command[Any]] = [command.command for command in commands if command.command is not None]
    outcomes = iter((yield from plan_of(inner, ids, cipher)))
    results = [None if command.command is None else next(outcomes) for command in commands]
    rows: list[Row] = []
    for each, result in zip(commands, results, strict=True):
        response = each.make_response(result)
        if response is not None:
            rows.append(response_row(each.request, response))
    # In the order of keys, so that two batches that share keys wait for each other instead of deadlocking.
    stored = yield Execute(STORE_RESPONSE, sorted(rows, key=lambda row: row[:2]))
    if len(stored) != len(rows):
        raise SerializationConflict("a concurrent request has used one of these keys")
    return results
