"""Bringing a SQLite store's schema up to date."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import apsw

from touchbase.storage.sql.migrate import APPLIED, RECORD, TABLE, Migration, pending, refuse_foreign

_FOREIGN = """SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration') ORDER BY name"""


def refuse_others(path: str) -> None:
    """Raise `UnusableStore` for a file that another application uses; nothing of it is changed."""
    if Path(path).exists():
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            refuse_foreign([str(name) for (name,) in connection.execute(_FOREIGN)])


def todo(cursor: apsw.Cursor, migrations: Sequence[Migration]) -> list[Migration]:
    """The migrations that this store waits for."""
    known = cursor.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'").fetchall()
    applied = cursor.execute(APPLIED).fetchall() if known else []
    return pending(migrations, {str(name): str(digest) for name, digest in applied})


def migrate(cursor: apsw.Cursor, migrations: Sequence[Migration], before: Callable[[Migration], None] = lambda last: None) -> list[str]:
    """Run what is pending, in one transaction; answers the names. Safe beside another process doing the same.

    `before` is called before a store changes that is not new, with the last migration: no other process can write then.
    """
    if not todo(cursor, migrations):
        return []
    cursor.execute("BEGIN IMMEDIATE")
    try:
        pending_now = todo(cursor, migrations)  # asked again: another process may have been faster
        if 0 < len(pending_now) < len(migrations):
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
