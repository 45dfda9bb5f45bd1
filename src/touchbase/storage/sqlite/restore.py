"""Restore a SQLite store from a backup, atomically; the previous store is moved aside."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from touchbase.common.atomic_file import SQLITE_SUFFIXES, part_of
from touchbase.errors import UnusableStore
from touchbase.storage.sqlite.backup import INFO, applied, check_integrity, describe_error, flush, is_backup, read_backup, refuse_newer

STORE_IN_USE = "a server, or another command, has the store {} open: stop it, then restore again"


@contextmanager
def staged_backup(backup: Path, target: Path) -> Iterator[Path]:
    """Check the backup and copy it to a file in the target's folder, which is removed afterwards unless `replace_store` took it.

    Raises `UnusableStore` when it is damaged, not a backup, or newer than this program.
    """
    if backup.resolve() == target.resolve():
        raise UnusableStore(f"{target} is the store itself, not a backup of it")
    try:
        read_backup(backup)
        check_integrity(backup)
        refuse_newer(backup)
        with part_of(target) as part:
            shutil.copyfile(backup, part)
            copy = apsw.Connection(str(part))
            copy.execute(f"DROP TABLE IF EXISTS {INFO}")
            copy.close()
            yield part
    except (OSError, apsw.Error) as error:
        raise UnusableStore(f"cannot restore {target} from {backup}: {describe_error(error)}") from error


def is_readable(target: Path) -> bool:
    """Return whether the store to be replaced can be read. Raises `UnusableStore` while another process has it open."""
    with _exclusive(target) as readable:
        return readable


def is_store(file: Path) -> bool:
    """Return whether this is a store, whose erasures can be read. Raises `UnusableStore` if the file cannot be read."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return bool(applied(connection))
    except apsw.Error as error:
        raise UnusableStore(f"cannot read the erasures of {file}: {describe_error(error)}") from error
    finally:
        connection.close()


@contextmanager
def readable_file(store: Path) -> Iterator[Path]:
    """Return the file to open for reading a store: of a backup a copy, because opening would change it; else the file itself."""
    if not is_backup(store):
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="touchbase-") as folder:
        yield Path(shutil.copyfile(store, Path(folder) / "store.db"))


def replace_store(part: Path, target: Path, aside: Path) -> bool:
    """Replace the store by the staged file; return whether there was a store before, which is at `aside` then.

    At every moment a complete store has the target's name. Raises `UnusableStore`, with nothing changed, while
    another process has the store open.
    """
    if target.exists() and aside.exists():
        raise UnusableStore(f"{aside} exists already; move it away")
    _make_one_file(part)
    with _exclusive(target):
        was_there = target.exists()
        if was_there:
            _link_aside(part, target, aside)
        for ending in SQLITE_SUFFIXES:  # left by a store that could not be locked, or is gone: its log must not apply to the new store
            with suppress(FileNotFoundError):
                os.replace(f"{target}{ending}", f"{aside}{ending}")
        flush(part)
        os.replace(part, target)
        flush(target.resolve().parent)
    return was_there


@contextmanager
def _exclusive(target: Path) -> Iterator[bool]:
    """Lock the store exclusively; yield whether it can be read. A damaged store cannot be locked."""
    if not target.exists():
        yield False
        return
    connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        yield _lock(connection, target)
    finally:
        with suppress(apsw.Error):
            connection.close()


def _lock(connection: apsw.Connection, target: Path) -> bool:
    try:
        # Leaving WAL mode needs exclusive access; it also checkpoints the log.
        connection.pragma("journal_mode", "delete")
        connection.execute("BEGIN EXCLUSIVE")
    except apsw.BusyError:
        raise UnusableStore(STORE_IN_USE.format(target)) from None
    except apsw.Error:
        return False
    return True


def _link_aside(part: Path, target: Path, aside: Path) -> None:
    status = target.stat()
    os.chmod(part, status.st_mode & 0o777)
    with suppress(PermissionError):
        os.chown(part, status.st_uid, status.st_gid)
    try:
        os.link(target, aside)
    except OSError:  # a file system without links
        shutil.copy2(target, aside)


def _make_one_file(part: Path) -> None:
    """Checkpoint the log that opening the store has left."""
    connection = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.pragma("journal_mode", "delete")
    connection.close()
