"""Copying a SQLite store while servers write into it: one moment of it, checked, flushed, and only then under its name."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw

from touchbase.common.atomic_file import SQLITE_SUFFIXES, part_of
from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import APPLIED, packaged, pending
from touchbase.storage.sqlite.connection import BUSY_MS, advice

PAGES_IN_A_STEP = 2_000
BYTES_IN_A_STEP = 1024 * 1024
INFO = "backup_info"
"""A table that only backups have: when it was taken, and by which version."""

Progress = Callable[[int, int], None]
"""Told how many pages of how many are copied."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup says of itself."""

    made_us: Micros | None
    """The moment that it shows; None for a copy that `touchbase backup` has not made."""
    program: str | None
    schema: str
    """The last migration that ran in it."""
    bytes: int
    checksum: str
    """SHA-256 of the file, in hex."""
    checked: bool
    """Whether a checksum beside it said the same."""


def checksum_file(backup: Path) -> Path:
    """Where the checksum of a backup lies, in the words of `sha256sum --check`."""
    return backup.with_name(f"{backup.name}.sha256")


def back_up(source: Path, target: Path, program: str, now: Micros, progress: Progress) -> Backup:
    """Copy the store in `source` to `target`, replacing what is there; nothing stays of a copy that fails.

    Raises `UnusableStore`.
    """
    _refuse_own(source, target)
    try:
        with part_of(target) as part:
            _copy(source, part, progress)
            _finish(part, program, now)
            check_integrity(part)
            checksum = sha256_of(part)
            flush(part)
            checksum_file(target).unlink(missing_ok=True)  # never one that belongs to another file
            os.replace(part, target)
        _write_checksum(target, checksum)
        return read_backup(target)
    except (OSError, apsw.Error) as error:
        raise UnusableStore(f"cannot back up {source} to {target}: {why(error)}") from error


def copy_before(store: Path, migration: str) -> Path:
    """Copy a store to a file beside it, named by the migration that it is brought up to and by the time; answers the copy."""
    now = time.time_ns() // 1000
    copy = store.with_name(f"{store.name}.before-{migration[:4]}-{to_text(now - now % SECOND).replace(':', '')}")
    back_up(store, copy, version("touchbase"), now, lambda done, total: None)
    return copy


def _refuse_own(source: Path, target: Path) -> None:
    """Raise `UnusableStore` when a backup would take the place of the store, of its log or of its key file."""
    if target.resolve() == source.resolve():
        raise UnusableStore(f"{target} is the store itself: give the backup another name")
    if target.resolve() in [source.resolve().with_name(source.name + ending) for ending in (*SQLITE_SUFFIXES, ".key")]:
        raise UnusableStore(f"{target} belongs to the store itself: give the backup another name")


def read_backup(file: Path) -> Backup:
    """What a backup says of itself, its checksum compared; raises `UnusableStore` when it is damaged or none."""
    if not file.is_file():
        raise UnusableStore(f"there is no backup {file}: give the file that `touchbase backup` made")
    checksum, beside = sha256_of(file), checksum_file(file)
    checked = beside.exists()
    if checked and beside.read_text(encoding="utf-8").split()[:1] != [checksum]:
        raise UnusableStore(
            f"{file} is not as it was written: its SHA-256 is not the one in {beside.name}; take another backup. "
            f"If you know why it was changed, remove {beside.name}: then only its pages are checked"
        )
    try:
        with opened(file) as connection:
            schema = max(applied(connection), default="")
            told: list[Any] = connection.execute(f"SELECT made_us, program FROM {INFO}").fetchall() if _has(connection, INFO) else []
    except apsw.Error as error:
        raise UnusableStore(f"{file} is no backup of a store: {why(error)}; give the file that `touchbase backup` made") from error
    if not schema:
        raise UnusableStore(f"{file} is no backup of a store, as it has no migrations; give the file that `touchbase backup` made")
    made_us, program = told[0] if told else (None, None)
    return Backup(made_us, program, schema, file.stat().st_size, checksum, checked)


def is_backup(file: Path) -> bool:
    """Whether `touchbase backup` has made this file, and nobody has served from it since."""
    try:
        with opened(file) as connection:
            return _has(connection, INFO) and not _keeps_log(file)
    except apsw.Error:
        return False


def refuse_backup(file: Path) -> None:
    """Raise `UnusableStore` for a backup beside its checksum: opened as a store it would not be what that says any more."""
    if checksum_file(file).exists() and is_backup(file):
        raise UnusableStore(
            f"{file} is a backup, and to open it would change it: lay it out elsewhere with "
            f"`touchbase restore --database sqlite:///COPY {file}`, and name that"
        )


def check_integrity(file: Path) -> None:
    """Raise `UnusableStore` when a file's pages, indexes or references contradict each other."""
    try:
        with opened(file) as connection:
            found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
            broken = connection.execute("PRAGMA foreign_key_check").fetchall() if found == ["ok"] else []
    except apsw.Error as error:  # what is damaged enough cannot even be looked through
        found, broken = [why(error)], []
    if found != ["ok"] or broken:
        told = "; ".join(one.strip() for one in found) if found != ["ok"] else f"{len(broken)} references lead nowhere"
        raise UnusableStore(f"{file} is damaged: {told}; take another backup")


def refuse_newer(file: Path) -> None:
    """Raise `UnusableStore` when a backup comes from a newer program, or from one that differs."""
    with opened(file) as connection:
        pending(packaged("sqlite"), applied(connection))


def applied(connection: apsw.Connection) -> dict[str, str]:
    """Name and digest of the migrations that ran in a store."""
    return {str(name): str(digest) for name, digest in connection.execute(APPLIED)} if _has(connection, "migration") else {}


@contextmanager
def opened(file: Path) -> Iterator[apsw.Connection]:
    """A file that nobody writes to, to be read; nothing beside it is made."""
    connection = apsw.Connection(f"{file.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        yield connection
    finally:
        connection.close()


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file, in hex."""
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(BYTES_IN_A_STEP):
            found.update(piece)
    return found.hexdigest()


def flush(path: Path) -> None:
    """Bring a file, or a folder's names, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: Path, part: Path, progress: Progress) -> None:
    reader = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)  # leaves no log behind when it is alone
    reader.set_busy_timeout(BUSY_MS)
    copy = apsw.Connection(str(part))
    try:
        # A reader that holds one state: else every write of a server would make the copy begin anew.
        reader.execute("BEGIN")
        if not applied(reader):
            raise UnusableStore(f"{source} is no store: it has no migrations")
        with copy.backup("main", reader, "main") as backup:
            while not backup.done:
                backup.step(PAGES_IN_A_STEP)
                progress(backup.page_count - backup.remaining, backup.page_count)
    finally:
        copy.close()
        reader.close()


def _finish(part: Path, program: str, now: Micros) -> None:
    """Make it one file that needs no log beside it, and write down what it is."""
    copy = apsw.Connection(str(part))
    try:
        copy.pragma("journal_mode", "delete")
        copy.pragma("synchronous", "EXTRA")
        with copy:
            copy.execute(f"CREATE TABLE {INFO} (made_us INTEGER NOT NULL, program TEXT NOT NULL) STRICT")
            copy.execute(f"INSERT INTO {INFO} VALUES (?, ?)", (now, program))
    finally:
        copy.close()


def _write_checksum(target: Path, checksum: str) -> None:
    file = checksum_file(target)
    with part_of(file) as part:
        part.write_text(f"{checksum}  {target.name}\n", encoding="utf-8")
        flush(part)
        os.replace(part, file)
    flush(target.parent)


def _keeps_log(file: Path) -> bool:
    """Whether a SQLite file is in WAL mode, as every store is that was opened: its header says so."""
    with file.open("rb") as stream:
        return stream.read(20)[18:] == b"\x02\x02"


def _has(connection: apsw.Connection, table: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchall())


def why(error: Exception) -> str:
    """An error of the disk or of SQLite in words."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else advice(error)
