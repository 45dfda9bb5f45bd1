"""Bringing a SQLite store's schema up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from touchbase.sql.migrations import APPLIED, RECORD, TABLE, Migration, pending, refuse_foreign

_FOREIGN = """SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration') ORDER BY name"""


def refuse_others(path: str) -> None:
    """Raise `UnusableStore` for a file that another application uses; nothing of it is changed."""
    if Path(path).exists():
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            refuse_foreign([str(name) for (name,) in connection.execute(_FOREIGN)])


def todo(cursor: apsw.Cursor, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations that this store waits for."""
    return pending(migrations, _applied(cursor))


def _applied(cursor: apsw.Cursor) -> dict[str, str]:
    """Name and digest of every migration that ran here; none in a new file."""
    known = cursor.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'").fetchall()
    return {str(name): str(digest) for name, digest in cursor.execute(APPLIED)} if known else {}


def migrate(cursor: apsw.Cursor, migrations: Sequence[Migration], before: Callable[[Migration], None] = lambda last: None) -> list[str]:
    """Run what is pending, in one transaction; answers the names. Safe beside another process doing the same.

    `before` is called before a store changes that is not new, with the last migration: no other process can write then.
    """
    if not todo(cursor, migrations):
        return []
    cursor.execute("BEGIN IMMEDIATE")
    try:
        applied = _applied(cursor)  # asked again: another process may have been faster
        pending_now = pending(migrations, applied)
        if applied and pending_now:
            before(pending_now[-1])
        cursor.execute(TABLE)
        for migration in pending_now:
            cursor.execute(migration.sql).fetchall()
            cursor.execute(RECORD.format("?1", "?2"), (migration.name, migration.digest))
        cursor.execute("COMMIT")
    except BaseException:
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise
    return [migration.name for migration in pending_now]
