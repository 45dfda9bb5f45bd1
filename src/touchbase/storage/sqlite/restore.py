"""Putting a backup into the place of a SQLite store, whole or not at all; the store that was there is kept aside."""

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
from touchbase.storage.sqlite.backup import INFO, applied, check_integrity, flush, is_backup, read_backup, refuse_newer, why

IN_USE = "a server, or another command, has the store {} open: stop it, then restore again"


@contextmanager
def laid_out(backup: Path, target: Path) -> Iterator[Path]:
    """The backup, checked and copied to a file beside the target, gone afterwards unless it was put in place.

    Raises `UnusableStore` when it is damaged, no backup, or newer than this program.
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
        raise UnusableStore(f"cannot restore {target} from {backup}: {why(error)}") from error


def is_readable(target: Path) -> bool:
    """Whether the store that is to be replaced can be read; raises `UnusableStore` while somebody has it open."""
    with _held(target) as readable:
        return readable


def is_store(file: Path) -> bool:
    """Whether this is a store, which can be asked who was erased there; raises `UnusableStore` when the file cannot be read."""
    connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return bool(applied(connection))
    except apsw.Error as error:
        raise UnusableStore(f"{file} cannot be asked who was erased: {why(error)}") from error
    finally:
        connection.close()


@contextmanager
def to_be_asked(store: Path) -> Iterator[Path]:
    """The file to open when a store is only asked: a copy of a backup, which opening would change; else the store's own."""
    if not is_backup(store):
        yield store
        return
    with tempfile.TemporaryDirectory(prefix="touchbase-") as folder:
        yield Path(shutil.copyfile(store, Path(folder) / "store.db"))


def put_in_place(part: Path, target: Path, aside: Path) -> bool:
    """Let the laid out file be the store; answers whether there was one before, which is at `aside` then.

    At every moment there is a whole store under the target's name. Raises `UnusableStore`, with nothing changed, while
    somebody has it open.
    """
    if target.exists() and aside.exists():
        raise UnusableStore(f"{aside} is there already; move it away")
    _make_one_file(part)
    with _held(target):
        was_there = target.exists()
        if was_there:
            _keep_aside(part, target, aside)
        for ending in SQLITE_SUFFIXES:  # of a store that could not be held, or is gone: its log must not be taken for the new one's
            with suppress(FileNotFoundError):
                os.replace(f"{target}{ending}", f"{aside}{ending}")
        flush(part)
        os.replace(part, target)
        flush(target.resolve().parent)
    return was_there


@contextmanager
def _held(target: Path) -> Iterator[bool]:
    """Nobody else has the store open meanwhile; tells whether it can be read. A damaged one cannot be held."""
    if not target.exists():
        yield False
        return
    connection = apsw.Connection(str(target), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        yield _hold(connection, target)
    finally:
        with suppress(apsw.Error):
            connection.close()


def _hold(connection: apsw.Connection, target: Path) -> bool:
    try:
        # Leaving the write-ahead log needs the file for oneself; it also folds the log into it.
        connection.pragma("journal_mode", "delete")
        connection.execute("BEGIN EXCLUSIVE")
    except apsw.BusyError:
        raise UnusableStore(IN_USE.format(target)) from None
    except apsw.Error:
        return False
    return True


def _keep_aside(part: Path, target: Path, aside: Path) -> None:
    was = target.stat()
    os.chmod(part, was.st_mode & 0o777)
    with suppress(PermissionError):
        os.chown(part, was.st_uid, was.st_gid)
    try:
        os.link(target, aside)
    except OSError:  # a file system without links
        shutil.copy2(target, aside)


def _make_one_file(part: Path) -> None:
    """Fold the log that an open store has left into its file."""
    connection = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.pragma("journal_mode", "delete")
    connection.close()
