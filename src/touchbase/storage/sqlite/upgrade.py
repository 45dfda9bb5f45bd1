"""Bringing a SQLite store up to date when it is opened: its schema, after a copy of it, and its secrets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import apsw

from touchbase.connections.encrypted_columns import check_keys, reencrypt
from touchbase.encryption.protocol import Cipher
from touchbase.sql.migrations import Migration, out_of_date, packaged
from touchbase.storage.sqlite.backup import copy_before
from touchbase.storage.sqlite.connection import open_writer, read, write
from touchbase.storage.sqlite.schema import migrate, refuse_others, todo


@dataclass(frozen=True, slots=True)
class Change:
    """What may be done to a store that is opened."""

    sealer: Cipher
    upgrade: bool
    """Whether migrations may run; where they may not, a store that waits for some is refused."""
    copies: bool
    """Whether the store is copied before they run."""


def prepared(path: str, change: Change | None, *, durable: bool) -> tuple[apsw.Connection, Path | None]:
    """The connection that writes, and the copy that was made; with a change the schema and the secrets are brought up to date."""
    refuse_others(path)
    connection = open_writer(path, durable=durable)
    copied = None
    try:
        if change is not None:
            _, copied = bring_up_to_date(connection.cursor(), change)
    except BaseException:
        connection.close()
        raise
    return connection, copied


def bring_up_to_date(cursor: apsw.Cursor, change: Change) -> tuple[list[str], Path | None]:
    """Run what is pending, refuse a store whose encryption key is not at hand, and seal what lies there in clear.

    Answers what ran, and the copy of the store as it was before.
    """
    migrations = packaged("sqlite")
    waits = todo(cursor, migrations)
    if waits and not change.upgrade:
        raise out_of_date(waits)
    copied: list[Path] = []

    def copy(last: Migration) -> None:
        if change.copies:
            copied.append(copy_before(Path(cursor.connection.filename), last.name))

    names = migrate(cursor, migrations, copy)
    if read(cursor, check_keys(change.sealer)):
        write(cursor, reencrypt(change.sealer))  # with `secure_delete`: the clear text must not stay behind in the file, nor in its log
        cursor.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    return names, copied[0] if copied else None


def told_of(copied: Path | None) -> list[str]:
    """What is said about the copy."""
    return [] if copied is None else [f"the store as it was before its schema changed is in {copied}; remove it when all is well"]
