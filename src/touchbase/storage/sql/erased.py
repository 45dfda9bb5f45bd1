"""Erased keys: which identities were erased, and guarding what would bring them back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.domain.commands import CreateContact, UpdateContact
from touchbase.domain.erased_keys import EMAIL, LINKEDIN, digest
from touchbase.domain.errors import PersonErased, TouchbaseError
from touchbase.domain.links import Ref
from touchbase.domain.times import Micros
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Op, Plan, Step, delete
from touchbase.storage.sql.rows import Columns
from touchbase.storage.sql.server_secret import erasure_key_of

_KEY: Columns = (("client", "bigint"), ("digest", "bytea"))
_ERASED: Columns = (*_KEY, ("erasure", "bigint"), ("derived", "bigint"), ("erased_us", "bigint"))
FIND_ERASED = Op(
    "find_erased",
    _KEY,
    body="SELECT t.digest, t.erasure, t.derived FROM p CROSS JOIN erased t WHERE t.client = p.client AND t.digest = p.digest",
)
# What was only derived becomes erased outright, never the other way.
SAVE_ERASED = Op(
    "save_erased",
    _ERASED,
    body="INSERT INTO erased (client, digest, erasure, derived, erased_us) SELECT * FROM p WHERE true ON CONFLICT (client, digest) "
    "DO UPDATE SET derived = CASE WHEN excluded.derived = 0 THEN 0 ELSE erased.derived END, "
    "erasure = CASE WHEN excluded.derived <= erased.derived THEN excluded.erasure ELSE erased.erasure END",
)
DELETE_ERASED = delete("delete_erased", "erased", _KEY)
DELETE_ERASURE = delete("delete_erasure", "erased", (("client", "bigint"), ("erasure", "bigint")), "digest")
# Several who create may hold it at once; an erasure, which locks the client's row for itself, waits for them, and they for it.
HOLD_CLIENT = Op(
    "hold_client",
    (("id", "bigint"),),
    sqlite="SELECT id FROM client WHERE id = ?1",
    body="SELECT c.id FROM p JOIN client c ON c.id = p.id FOR SHARE OF c",
)


@dataclass(frozen=True, slots=True)
class Mark:
    """What is remembered of one erased identity: in which erasure, and whether it was only seen together with one."""

    erasure: int
    derived: bool


def marks_of(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[dict[Ref, Mark]]:
    """Those of these identities that were erased."""
    by_digest = {digest(key, client, ref): ref for ref in refs}
    if not by_digest:
        return {}
    rows = yield Step(FIND_ERASED, [(client, each) for each in by_digest])
    return {by_digest[bytes(row[0])]: Mark(row[1], bool(row[2])) for row in rows}


def save_marks(key: bytes, client: int, marks: dict[Ref, Mark], at: Micros) -> Plan[None]:
    """Remember identities as erased."""
    rows = [(client, digest(key, client, ref), mark.erasure, int(mark.derived), at) for ref, mark in sorted(marks.items())]
    if rows:
        yield Step(SAVE_ERASED, rows)


def lift_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[None]:
    """Forget these identities."""
    rows = [(client, digest(key, client, ref)) for ref in sorted(refs)]
    if rows:
        yield Step(DELETE_ERASED, rows)


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
        yield Step(HOLD_CLIENT, [(client,)])
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
        yield Step(DELETE_ERASURE, sorted(set().union(*kept)))
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
