"""`Idempotent`: any command, and the answer to it, in one transaction.

A group looks for all its keys, carries out those that are new as one group of the commands inside, and
keeps their answers. Of two transactions that meet with one key, the later finds its answer not kept: it
is taken back whole and run again, and then finds what the other has kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchbase.idempotency.commands import Idempotent
from touchbase.idempotency.sql import KEEP_ANSWER, answer_row, known_answers
from touchbase.sql.command import Command
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row, SerializationConflict
from touchbase.storage.batch import Handlers, needs_of, plan_of
from touchbase.storage.command_handlers import Handler

OnceOf = Idempotent[Any]


def with_once(handlers: Handlers) -> Handlers:
    """These handlers, and that of `Idempotent`, which carries out commands of any of them."""

    def run(commands: Sequence[OnceOf], ids: Ids) -> Plan[list[object]]:
        return _carry_out(commands, ids, handlers)

    def needs(commands: Sequence[OnceOf]) -> Mapping[str, int]:
        return needs_of([once.command for once in commands if once.command is not None], handlers)

    return {**handlers, Idempotent: Handler(run, needs)}


def _carry_out(commands: Sequence[OnceOf], ids: Ids, handlers: Handlers) -> Plan[list[object]]:
    """One result for each, as if they came one after the other."""
    results: list[object] = [None] * len(commands)
    waiting = list(range(len(commands)))
    while waiting:
        known = yield from known_answers([commands[place].request for place in waiting])
        turn: dict[tuple[int, str], int] = {}
        for place in waiting:
            request = commands[place].request
            found = known.get((request.client, request.key))
            if found is not None:
                results[place] = found.to(request)
            else:
                turn.setdefault((request.client, request.key), place)
        places = list(turn.values())
        outcomes = yield from _first_time([commands[place] for place in places], ids, handlers)
        done = set(places)
        waiting = [place for place in waiting if results[place] is None and place not in done]
        for place, outcome in zip(places, outcomes, strict=True):
            results[place] = outcome
    return results


def _first_time(commands: Sequence[OnceOf], ids: Ids, handlers: Handlers) -> Plan[list[object]]:
    """Carry these out; no two of them have the same key."""
    inner: list[Command[Any]] = [once.command for once in commands if once.command is not None]
    outcomes = yield from plan_of(inner, handlers, ids)
    answered = iter(outcomes)
    results = [None if once.command is None else next(answered) for once in commands]
    rows: list[Row] = []
    for once, result in zip(commands, results, strict=True):
        kept = once.answer(result)
        if kept is not None:
            rows.append(answer_row(once.request, kept))
    # In the order of keys, so that two groups that share some wait for each other instead of dying.
    made = yield Execute(KEEP_ANSWER, sorted(rows, key=lambda row: row[:2]))
    if len(made) != len(rows):
        raise SerializationConflict("somebody else has used one of these keys at the same moment")
    return results
