"""Suppression guard: refuse writes that would store an erased person again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from touchbase.errors import PersonErased, TouchbaseError
from touchbase.history.identity_links import Ref
from touchbase.records.models import Contact
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan
from touchbase.suppression.server_secret import erasure_key_of
from touchbase.suppression.sql import DELETE_ERASURE, LOCK_CLIENT, find_marks
from touchbase.suppression.suppression_keys import EMAIL, LINKEDIN

Guarded = Creation[Contact] | RecordUpdate[Contact]
Run = Callable[[Any, Ids], Plan[list[object]]]


def guarded(run: Run) -> Run:
    """Return the plan with a check for erased persons before it, in the same transaction.

    An update is checked if it sets an address. A creation is checked if its client was known to have erasures; else its own
    statement detects the first erasure, and the result `NEEDS_TRANSACTION` requests another run.
    """

    def checked(commands: Sequence[Guarded], ids: Ids) -> Plan[list[object]]:
        return _check(run, commands, ids) if any(map(_needs_check, commands)) else run(commands, ids)

    return checked


def _needs_check(command: Guarded) -> bool:
    return command.guarded or (isinstance(command, RecordUpdate) and bool(_refs(command)))


def _check(run: Run, commands: Sequence[Guarded], ids: Ids) -> Plan[list[object]]:
    refused: dict[int, PersonErased] = {}
    lifted: dict[int, set[tuple[int, int]]] = {}
    for command in commands:
        command.guarded = True
    for client in sorted({command.client for command in commands}):
        # The lock on the client blocks erasures until this transaction ends.
        yield Execute(LOCK_CLIENT, [(client,)])
        key = yield from erasure_key_of(client)
        if key is None:
            continue
        refs_by_command = {index: _refs(command) for index, command in enumerate(commands) if command.client == client}
        marks = yield from find_marks(key, client, set().union(*refs_by_command.values()))
        for index, refs in refs_by_command.items():
            hit = sorted(refs & marks.keys())
            if hit and commands[index].restore:
                lifted[index] = {(client, marks[ref].erasure) for ref in hit}
            elif hit:
                refused[index] = _refusal(hit[0])
    allowed = [command for index, command in enumerate(commands) if index not in refused]
    allowed_results = iter((yield from run(allowed, ids)) if allowed else [])
    results = [refused[index] if index in refused else next(allowed_results) for index in range(len(commands))]
    erasures = [lifted[index] for index in lifted if not isinstance(results[index], TouchbaseError)]
    if erasures:
        yield Execute(DELETE_ERASURE, sorted(set().union(*erasures)))
    return results


def _refs(command: Guarded) -> set[Ref]:
    if isinstance(command, Creation):
        keys: tuple[object, object] = (command.record.email_key, command.record.linkedin_key)
    else:
        keys = (command.changes.get("email_key"), command.changes.get("linkedin_key"))
    return {("", word, key) for word, key in zip((EMAIL, LINKEDIN), keys, strict=True) if isinstance(key, str)}


def _refusal(ref: Ref) -> PersonErased:
    what = "e-mail" if ref[1] == EMAIL else "LinkedIn"
    return PersonErased(
        f"the person with this {what} address was erased; to store them again, create them with restore_erased=true "
        "or lift the erasure with `touchbase persons erase --lift`"
    )
