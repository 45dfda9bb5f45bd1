"""Back up a SQLite store while servers write to it: a consistent snapshot, checked and flushed before it gets its name."""

from __future__ import annotations

import glob
import hashlib
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

import touchbase
from touchbase.common.atomic_file import SQLITE_SUFFIXES, part_of
from touchbase.common.timestamps import SECOND, Micros, to_text
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import APPLIED, packaged, pending
from touchbase.storage.sqlite.connection import BUSY_MS, advice

PAGES_PER_STEP = 2_000
BYTES_PER_READ = 1024 * 1024
INFO = "backup_info"
"""A table that only backups have: the time of the backup, and the version of the program."""

Progress = Callable[[int, int], None]
"""Receives the number of copied pages and of all pages."""


@dataclass(frozen=True, slots=True)
class Backup:
    """The properties of a backup."""

    made_us: Micros | None
    """The time of the snapshot; None for a copy that `touchbase backup` has not made."""
    program: str | None
    schema: str
    """The last migration that ran in it."""
    bytes: int
    checksum: str
    """SHA-256 of the file, in hex."""
    checked: bool
    """Whether a checksum file exists; it matches then."""


def checksum_file(backup: Path) -> Path:
    """Return the path of a backup's checksum, which has the format of `sha256sum --check`."""
    return backup.with_name(f"{backup.name}.sha256")


def back_up(source: Path, target: Path, program: str, now: Micros, progress: Progress) -> Backup:
    """Copy the store in `source` to `target`, replacing an existing file; a failed copy leaves no file.

    Raises `UnusableStore`.
    """
    _refuse_store_files(source, target)
    try:
        with part_of(target) as part:
            _copy(source, part, progress)
            _finish(part, program, now)
            check_integrity(part)
            checksum = sha256_of(part)
            flush(part)
            checksum_file(target).unlink(missing_ok=True)  # so that no checksum of another file remains
            os.replace(part, target)
        _write_checksum(target, checksum)
        return read_backup(target)
    except (OSError, apsw.Error) as error:
        raise UnusableStore(f"cannot back up {source} to {target}: {describe_error(error)}") from error


def copy_before_migration(store: Path, migration: str, has_run: Collection[str]) -> Path:
    """Copy a store to its own folder, under a name with the migration to run and the time; return the copy's path.

    Removes what killed processes have left of theirs, unless the migration is among those that have run: only one process at a time may
    change the schema. `end_migration` follows.
    """
    for left in store.parent.glob(f"{glob.escape(store.name)}.before-*.part*"):
        left.unlink(missing_ok=True)
    marker = _marker(store)
    left_copy, _, left_migration = marker.read_text(encoding="utf-8").partition("\n") if marker.exists() else ("", "", "")
    if left_copy and left_migration not in has_run:
        remove_backup(store.with_name(left_copy))
    now = time.time_ns() // 1000
    copy = store.with_name(f"{store.name}.before-{migration[:4]}-{to_text(now - now % SECOND).replace(':', '')}")
    with part_of(marker) as part:
        part.write_text(f"{copy.name}\n{migration}", encoding="utf-8")
        flush(part)
        os.replace(part, marker)
    back_up(store, copy, touchbase.__version__, now, lambda done, total: None)
    return copy


def end_migration(store: Path) -> None:
    """Forget that a copy was made for migrations, which have run, or failed and left the store as it was."""
    _marker(store).unlink(missing_ok=True)


def _marker(store: Path) -> Path:
    """Return the file that names the copy for migrations that run, and the last of them."""
    return store.with_name(f"{store.name}.migrating")


def remove_backup(file: Path) -> None:
    """Remove a backup and its checksum."""
    file.unlink(missing_ok=True)
    checksum_file(file).unlink(missing_ok=True)


def _refuse_store_files(source: Path, target: Path) -> None:
    """Raise `UnusableStore` when a backup would replace the store, its write-ahead log or its key file."""
    if target.resolve() == source.resolve():
        raise UnusableStore(f"{target} is the store itself: give the backup another name")
    if target.resolve() in [source.resolve().with_name(source.name + ending) for ending in (*SQLITE_SUFFIXES, ".key")]:
        raise UnusableStore(f"{target} belongs to the store itself: give the backup another name")


def read_backup(file: Path) -> Backup:
    """Read a backup's properties and compare its checksum. Raises `UnusableStore` when it is damaged or not a backup."""
    if not file.is_file():
        raise UnusableStore(f"there is no backup {file}: give the file that `touchbase backup` made")
    checksum, expected = sha256_of(file), checksum_file(file)
    checked = expected.exists()
    if checked and expected.read_text(encoding="utf-8").split()[:1] != [checksum]:
        raise UnusableStore(
            f"{file} has changed since it was written: its SHA-256 is not the one in {expected.name}; use another backup. "
            f"If the change was intended, remove {expected.name}: then only the pages are checked"
        )
    try:
        with open_read_only(file) as connection:
            schema = max(applied(connection), default="")
            info: list[Any] = connection.execute(f"SELECT made_us, program FROM {INFO}").fetchall() if _has(connection, INFO) else []
    except apsw.Error as error:
        raise UnusableStore(
            f"{file} is not a backup of a store: {describe_error(error)}; give the file that `touchbase backup` made"
        ) from error
    if not schema:
        raise UnusableStore(f"{file} is not a backup of a store, as it has no migrations; give the file that `touchbase backup` made")
    made_us, program = info[0] if info else (None, None)
    return Backup(made_us, program, schema, file.stat().st_size, checksum, checked)


def is_backup(file: Path) -> bool:
    """Return whether `touchbase backup` has made this file, and it was not opened as a store since."""
    try:
        with open_read_only(file) as connection:
            return _has(connection, INFO) and not _is_wal_mode(file)
    except apsw.Error:
        return False


def refuse_backup(file: Path) -> None:
    """Raise `UnusableStore` for a backup with a checksum file: opening it as a store would invalidate the checksum."""
    if checksum_file(file).exists() and is_backup(file):
        raise UnusableStore(
            f"{file} is a backup, and to open it would change it: restore it elsewhere with "
            f"`touchbase restore --database sqlite:///COPY {file}`, and open that"
        )


def check_integrity(file: Path) -> None:
    """Raise `UnusableStore` when a file's pages, indexes or references contradict each other."""
    try:
        with open_read_only(file) as connection:
            findings = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(3)")]
            broken = connection.execute("PRAGMA foreign_key_check").fetchall() if findings == ["ok"] else []
    except apsw.Error as error:  # a badly damaged file cannot even be checked
        findings, broken = [describe_error(error)], []
    if findings != ["ok"] or broken:
        problems = "; ".join(finding.strip() for finding in findings) if findings != ["ok"] else f"{len(broken)} references to missing rows"
        raise UnusableStore(f"{file} is damaged: {problems}; use another backup")


def refuse_newer(file: Path) -> None:
    """Raise `UnusableStore` when a backup comes from a newer program, or from one with other migrations."""
    with open_read_only(file) as connection:
        pending(packaged("sqlite"), applied(connection))


def applied(connection: apsw.Connection) -> dict[str, str]:
    """Return name and digest of the migrations that ran in a store."""
    return {str(name): str(digest) for name, digest in connection.execute(APPLIED)} if _has(connection, "migration") else {}


@contextmanager
def open_read_only(file: Path) -> Iterator[apsw.Connection]:
    """Open a file that no process writes to; no further files are created."""
    connection = apsw.Connection(f"{file.resolve().as_uri()}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        yield connection
    finally:
        connection.close()


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(BYTES_PER_READ):
            digest.update(piece)
    return digest.hexdigest()


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy(source: Path, part: Path, progress: Progress) -> None:
    reader = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READWRITE)  # removes the log if no other process uses the store
    reader.set_busy_timeout(BUSY_MS)
    copy = apsw.Connection(str(part))
    try:
        # One read transaction: else every write of a server would restart the copy.
        reader.execute("BEGIN")
        if not applied(reader):
            raise UnusableStore(f"{source} is not a store: it has no migrations")
        with copy.backup("main", reader, "main") as backup:
            while not backup.done:
                backup.step(PAGES_PER_STEP)
                progress(backup.page_count - backup.remaining, backup.page_count)
    finally:
        copy.close()
        reader.close()


def _finish(part: Path, program: str, now: Micros) -> None:
    """Turn off the write-ahead log, so that the copy is one file, and store its properties."""
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


def _is_wal_mode(file: Path) -> bool:
    """Return whether a SQLite file's header says WAL mode, as for every store that was opened."""
    with file.open("rb") as stream:
        return stream.read(20)[18:] == b"\x02\x02"


def _has(connection: apsw.Connection, table: str) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,)).fetchall())


def describe_error(error: Exception) -> str:
    """Return an error of the disk or of SQLite as text."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else advice(error)
