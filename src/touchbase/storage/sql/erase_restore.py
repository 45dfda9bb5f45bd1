"""Erasures brought along from elsewhere: a restored backup is told of those that came after it."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.domain.erasure import RECORDS_FIRST, AddErasures, ErasedKey
from touchbase.domain.errors import Conflict
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.erase import open_erasure
from touchbase.storage.sql.erased import FIND_ERASED, SAVE_ERASED
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Ask, Plan, Step
from touchbase.storage.sql.server_secret import find_erasure_key, make_erasure_key, take_over


def add_erasures(commands: Sequence[AddErasures], ids: Ids) -> Plan[list[object]]:
    """Remember keys, and open the search for what they name."""
    answers: list[object] = []
    for command in commands:
        answers.append((yield from _add(command, ids)))
    return answers


def _add(command: AddErasures, ids: Ids) -> Plan[int | Conflict]:
    yield Step(sql.CLIENT_BY_NUMBER, [(command.client,)])
    key = (yield from find_erasure_key()) or (yield from make_erasure_key(command.secret))
    if key != command.secret:
        if (yield Ask("SELECT 1 FROM erased LIMIT 1", ())):
            return Conflict("this store has erased people under a secret of its own; add erasures before anybody is erased here")
        yield from take_over(command.secret)
    wanted = {each.digest: each for each in command.keys}
    rows = (yield Step(FIND_ERASED, [(command.client, each) for each in wanted])) if wanted else []
    known = {bytes(row[0]) for row in rows}
    if wanted:
        yield Step(SAVE_ERASED, [_row(command.client, each) for each in wanted.values()])
    yield from open_erasure(command.client, ids.take("erasure"), command.at, {}, swept_to=RECORDS_FIRST)
    return len(wanted.keys() - known)


def _row(client: int, key: ErasedKey) -> tuple[object, ...]:
    return (client, key.digest, key.erasure, int(key.derived), key.erased_us)
