"""Idempotent commands: any command and the response to it, in one transaction.

A batch reads the responses of all its keys, executes the commands of new keys as one batch, and stores
their responses. If another transaction has used a key at the same time, the later one cannot store its
response: it is rolled back and run again, and then finds the stored response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.errors import KeyReused, TouchbaseError
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.sql import STORE_RESPONSE, response_row, stored_responses
from touchbase.sql.ids import Ids
from touchbase.sql.operation import LIGHT, Command, Weight, command, needs_of, plan_of, weight_of
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, SerializationConflict


def _needs(calls: Sequence[Any]) -> Mapping[str, int]:
    return needs_of([call.command for call in calls if call.command is not None])


def _weight(call: Any) -> Weight:
    return LIGHT if call.command is None else weight_of(call.command)


def _clients(call: Any) -> Iterable[int | None]:
    """Return the client whose response is stored, and the inner command's clients; None if it may access others."""
    yield call.request.client
    if call.command is not None:
        inner = call.command.operation
        if inner.scope is not None:
            yield None
        yield from (client for client in inner.clients(call.command) if client is not None or inner.unnamed == ALL_CLIENTS)


def _execute_in_turn(commands: Sequence[Any], ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    """Return one result for each command, as if they were executed one after the other."""
    results: list[object] = [None] * len(commands)
    waiting = list(range(len(commands)))
    while waiting:
        stored = yield from stored_responses([commands[index].request for index in waiting])
        first: dict[tuple[int, str], int] = {}
        for index in waiting:
            request = commands[index].request
            response = stored.get((request.client, request.key))
            if response is not None:
                results[index] = response.to(request)
            else:
                first.setdefault((request.client, request.key), index)
        indexes = list(first.values())
        outcomes = yield from _execute_new([commands[index] for index in indexes], ids, cipher)
        done = set(indexes)
        waiting = [index for index in waiting if results[index] is None and index not in done]
        for index, outcome in zip(indexes, outcomes, strict=True):
            results[index] = outcome
    return results


def _execute_new(commands: Sequence[Any], ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    """Execute commands with new keys; no two of them have the same key."""
    inner: list[Command[Any]] = [command.command for command in commands if command.command is not None]
    outcomes = iter((yield from plan_of(inner, ids, cipher)))
    results = [None if command.command is None else next(outcomes) for command in commands]
    failed = [index for index, result in enumerate(results) if isinstance(result, TouchbaseError)]
    if failed:  # an equal request of another process may have made the change for which a command waited
        responses = yield from stored_responses([commands[index].request for index in failed])
        for index in failed:
            request = commands[index].request
            if (response := responses.get((request.client, request.key))) is not None:
                results[index] = response.to(request)
    rows: list[Row] = []
    for call, result in zip(commands, results, strict=True):
        response = None if isinstance(result, StoredResponse | KeyReused) else call.make_response(result)
        if response is not None:
            rows.append(response_row(call.request, response))
    # In the order of keys, so that two batches that share keys wait for each other instead of deadlocking.
    stored = yield Execute(STORE_RESPONSE, sorted(rows, key=lambda row: row[:2]))
    if len(stored) != len(rows):
        raise SerializationConflict("a concurrent request has used one of these keys")
    return results


@command(batch=_execute_in_turn, ids=_needs, cipher=True, client="request.client", clients=_clients, unnamed=ALL_CLIENTS, weight=_weight)
def execute_once(
    request: RequestKey, command: Command[Any] | None, make_response: Callable[[object], StoredResponse | None]
) -> Plan[Any | StoredResponse | TouchbaseError]:
    """Execute another command and store the response to it in one transaction, unless the key has a response already.

    In that case it changes nothing and returns the stored response, or `KeyReused` when that belongs to another request.

    `command`: None to store a response only. `make_response`: Returns the response to store for the command's result or error; with None
    nothing is stored, and the key stays free. It runs inside the transaction, and again when the transaction is retried: it must be quick
    and without side effects.
    """
    raise NotImplementedError
