"""Refusing writes that would bring an erased person back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from touchbase.errors import PersonErased, TouchbaseError
from touchbase.history.identity_links import Ref
from touchbase.records.commands import CreateContact, UpdateContact
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan
from touchbase.suppression.server_secret import erasure_key_of
from touchbase.suppression.sql import DELETE_ERASURE, HOLD_CLIENT, marks_of
from touchbase.suppression.suppression_keys import EMAIL, LINKEDIN

Guarded = CreateContact | UpdateContact
GUARD_NEEDED = object()
"""In the place of a result: the client has erased somebody since the command was made. The command is guarded now; run it again."""
Run = Callable[[Any, Ids], Plan[list[object]]]


def guarded(run: Run) -> Run:
    """The same plan, preceded by a check for erased persons in the same transaction.

    An update is checked where it sets an address. A create is checked where its client was known to have erasures; else its own
    statement finds out, and `GUARD_NEEDED` asks for another run.
    """

    def checked(commands: Sequence[Guarded], ids: Ids) -> Plan[list[object]]:
        return _check(run, commands, ids) if any(map(_needs_check, commands)) else run(commands, ids)

    return checked


def _needs_check(command: Guarded) -> bool:
    return command.guarded or (isinstance(command, UpdateContact) and bool(_refs(command)))


def _check(run: Run, commands: Sequence[Guarded], ids: Ids) -> Plan[list[object]]:
    refused: dict[int, PersonErased] = {}
    lifted: dict[int, set[tuple[int, int]]] = {}
    for command in commands:
        command.guarded = True
    for client in sorted({_client(command) for command in commands}):
        # Whom we find not erased is not erased before we are done.
        yield Execute(HOLD_CLIENT, [(client,)])
        key = yield from erasure_key_of(client)
        if key is None:
            continue
        mine = {place: _refs(command) for place, command in enumerate(commands) if _client(command) == client}
        marks = yield from marks_of(key, client, set().union(*mine.values()))
        for place, refs in mine.items():
            hit = sorted(refs & marks.keys())
            if hit and commands[place].restore:
                lifted[place] = {(client, marks[ref].erasure) for ref in hit}
            elif hit:
                refused[place] = _refusal(hit[0])
    left = [command for place, command in enumerate(commands) if place not in refused]
    answers = iter((yield from run(left, ids)) if left else [])
    results = [refused[place] if place in refused else next(answers) for place in range(len(commands))]
    kept = [lifted[place] for place in lifted if not isinstance(results[place], TouchbaseError)]
    if kept:
        yield Execute(DELETE_ERASURE, sorted(set().union(*kept)))
    return results


def _client(command: Guarded) -> int:
    return command.contact.client if isinstance(command, CreateContact) else command.client


def _refs(command: Guarded) -> set[Ref]:
    if isinstance(command, CreateContact):
        keys: tuple[object, object] = (command.contact.email_key, command.contact.linkedin_key)
    else:
        keys = (command.changes.get("email_key"), command.changes.get("linkedin_key"))
    return {("", word, key) for word, key in zip((EMAIL, LINKEDIN), keys, strict=True) if isinstance(key, str)}


def _refusal(ref: Ref) -> PersonErased:
    what = "e-mail" if ref[1] == EMAIL else "LinkedIn"
    return PersonErased(
        f"the person with this {what} address was erased; if they are to be kept again, create them with restore_erased=true "
        "or lift the erasure with `touchbase persons erase --lift`"
    )
