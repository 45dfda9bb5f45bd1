"""Bring a SQLite store up to date when it is opened: its schema, after a copy of the file, and its encrypted secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from touchbase.common.cipher import Cipher
from touchbase.encryption.encrypted_columns import check_keys, reencrypt
from touchbase.sql.migrations import APPLIED, RECORD, TABLE, Migration, out_of_date, packaged, pending, refuse_foreign, refused_by
from touchbase.storage.sqlite.backup import copy_before_migration, end_migration, remove_backup
from touchbase.storage.sqlite.connection import open_writer, read, write

_FOREIGN = """SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration') ORDER BY name"""


def refuse_foreign_file(path: str) -> None:
    """Raise `UnusableStore` for a file of another application, without changing it."""
    if Path(path).exists():
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            refuse_foreign([str(name) for (name,) in connection.execute(_FOREIGN)])


def pending_migrations(cursor: apsw.Cursor, migrations: Sequence[Migration]) -> list[Migration]:
    """Return the migrations that have not run in this store."""
    return pending(migrations, _applied(cursor))


def _applied(cursor: apsw.Cursor) -> dict[str, str]:
    """Return name and digest of every migration that ran in this store; none for a new file."""
    exists = cursor.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'migration'").fetchall()
    return {str(name): str(digest) for name, digest in cursor.execute(APPLIED)} if exists else {}


def migrate(cursor: apsw.Cursor, migrations: Sequence[Migration], before: Callable[[Migration], None] = lambda last: None) -> list[str]:
    """Run pending migrations in one transaction; return their names. Safe while another process does the same.

    `before` is called with the last migration before an existing store changes; no other process can write at that time.
    """
    if not pending_migrations(cursor, migrations):
        return []
    cursor.execute("BEGIN IMMEDIATE")
    try:
        applied = _applied(cursor)  # read again: another process may have been faster
        pending_now = pending(migrations, applied)
        if applied and pending_now:
            before(pending_now[-1])
        cursor.execute(TABLE)
        for migration in pending_now:
            try:
                cursor.execute(migration.sql).fetchall()
            except apsw.ConstraintError as error:
                raise refused_by(migration, str(error).rpartition(": ")[2]) from error
            cursor.execute(RECORD.format("?1", "?2"), (migration.name, migration.digest))
        cursor.execute("COMMIT")
    except BaseException:
        if cursor.connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise
    return [migration.name for migration in pending_now]


@dataclass(frozen=True, slots=True)
class UpgradePolicy:
    """Changes allowed in a store when it is opened."""

    cipher: Cipher
    upgrade: bool
    """Whether migrations may run; if not, a store with pending migrations is refused."""
    copies: bool
    """Whether the store is copied before migrations run."""


def open_upgraded(path: str, policy: UpgradePolicy | None, *, durable: bool) -> tuple[apsw.Connection, Path | None]:
    """Open the connection that writes, and upgrade the store if there is a policy; return the connection and the copy's path."""
    refuse_foreign_file(path)
    connection = open_writer(path, durable=durable)
    copied = None
    try:
        if policy is not None:
            _, copied = upgrade(connection.cursor(), policy)
    except BaseException:
        connection.close()
        raise
    return connection, copied


def upgrade(cursor: apsw.Cursor, policy: UpgradePolicy) -> tuple[list[str], Path | None]:
    """Run pending migrations, refuse a store whose encryption key is missing, and encrypt secrets in plain text.

    Returns the migrations that ran, and the path of the copy of the previous state.
    """
    migrations = packaged("sqlite")
    waiting = pending_migrations(cursor, migrations)
    if waiting and not policy.upgrade:
        raise out_of_date(waiting)
    copied: list[Path] = []
    store = Path(cursor.connection.filename)

    def copy(last: Migration) -> None:
        if policy.copies:
            copied.append(copy_before_migration(store, last.name, _applied(cursor)))

    try:
        names = migrate(cursor, migrations, copy)
    except BaseException:
        for path in copied:  # the store is as before, and a service that starts again and again would fill the disk with copies
            remove_backup(path)
        raise
    finally:
        if copied:
            end_migration(store)
    if read(cursor, check_keys(policy.cipher)):
        # With `secure_delete` and an emptied log: the plain text must not remain in the file or in the log.
        write(cursor, reencrypt(policy.cipher))
        cursor.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return names, copied[0] if copied else None


def copy_warnings(copied: Path | None) -> list[str]:
    """Return a warning about the copy, if there is one."""
    return [] if copied is None else [f"a copy of the store from before its schema changed is in {copied}; remove it once all is well"]
