"""Mutants of moves of clients between cells: moves that break one promise, to prove that the fault tests detect it.

- `no-freeze`: writes are neither refused nor noted while the last changes are copied and the client's place is changed.
- `no-noted-changes`: what changed is forgotten, and not copied.
- `no-wait-for-switch`: the rows of the source are removed before the directory says that the client lives in the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from touchbase.routing.moving import ClientMove
from touchbase.sql.statement import Execute, delete
from touchbase.storage import client_rows
from touchbase.storage.postgres import moving as postgres_moving
from touchbase.storage.sqlite import moving as sqlite_moving

Move: Any = ClientMove
FORGET = delete("forget_unseen_changes", "moving_change", (("number", "bigint"), ("sequence", "bigint")))


def no_freeze() -> None:
    """Let the triggers refuse nothing; they note nothing either once the client is frozen."""
    setattr(sqlite_moving, "FROZEN", "thawed")  # noqa: B010
    setattr(postgres_moving, "FROZEN", "thawed")  # noqa: B010


def no_noted_changes() -> None:
    """Forget changes when they are read, and copy none."""
    for kind in (sqlite_moving.SqliteRows, postgres_moving.PostgresRows):
        setattr(kind, "read", _read_and_forget(kind.read))  # noqa: B010


def _read_and_forget(read: Callable[..., Any]) -> Callable[..., Any]:
    async def reading(self: Any, plan: Any) -> Any:
        found = await read(self, plan)
        if isinstance(found, client_rows.Noted) and found.sequences:
            await self.write(_forget(self._client, found.sequences))
            return client_rows.Noted((), {})
        return found

    return reading


def _forget(client: int, sequences: Sequence[int]) -> Any:
    yield Execute(FORGET, [(client, sequence) for sequence in sequences])


def no_wait_for_switch() -> None:
    """Remove the rows of the source before the switch."""
    whole = Move._switch

    async def switch(self: Any) -> None:
        await self._empty(self._copy.source.rows, client_rows.FROZEN)
        await whole(self)

    Move._switch = switch


MOVE_MUTANTS: dict[str, Callable[[], None]] = {
    "no-freeze": no_freeze,
    "no-noted-changes": no_noted_changes,
    "no-wait-for-switch": no_wait_for_switch,
}
