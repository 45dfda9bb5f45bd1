"""The key file of a SQLite store: created next to it with the first secret, so that a first run needs no set-up.

The first line is the key that encrypts; the keys of further lines only decrypt. The file is replaced atomically, by a
rename. Running processes read it again before they encrypt, and when they meet an unknown key id.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from touchbase.encryption.keys import Key, decode_key, encode_key, new_key
from touchbase.errors import UnusableStore

LOG = logging.getLogger("touchbase.storage")

_FileState = tuple[int, int, int]
"""Inode, modification time and size: they change when the file is replaced."""


class KeyFile:
    """The keys of the settings, then the keys of a file."""

    def __init__(self, path: Path, keys: Sequence[Key] = ()) -> None:
        self.path = path
        self._configured = keys
        self._stored: list[Key] = []
        self._state: _FileState | None = None

    @property
    def can_encrypt(self) -> bool:
        """True, because a missing key is created."""
        return True

    def current(self) -> Key:
        """Return the encrypting key: from the settings, else the file's first; a missing file is created."""
        if self._configured:
            return self._configured[0]
        if not self.stored():
            create_key_file(self.path)
        return self.stored()[0]

    def find(self, key_id: str) -> Key | None:
        """Return the key of this id, or None."""
        key = next((key for key in (*self._configured, *self._stored) if key.id == key_id), None)
        return key or next((key for key in self.stored() if key.id == key_id), None)

    def stored(self) -> list[Key]:
        """Return the keys in the file now; an empty list when there is no file."""
        state = _file_state(self.path)
        if state is None or state != self._state:
            self._stored = [] if state is None else _read(self.path)
            self._state = state
        return self._stored

    def begin_rotation(self) -> None:
        """Put a new key first, unless the settings give one or an interrupted rotation has added it already."""
        stored = self.stored()
        if not self._configured and len(stored) == 1:
            write_key_file(self.path, [new_key(), *stored])

    def end_rotation(self) -> Path | None:
        """Move the old keys, with which no secret is encrypted any more, to another file for old backups; return its path.

        Where the settings give the key, the file only decrypts, and is not changed.
        """
        stored = self.stored()
        if self._configured or len(stored) < 2:
            return None
        aside = self.path.with_name(f"{self.path.name}.old-{stored[1].id}")
        write_key_file(aside, stored[1:])
        write_key_file(self.path, stored[:1])
        return aside


def create_key_file(path: Path) -> None:
    """Create the file with a new key, flushed to disk; a file that another process creates at the same time is not replaced."""
    part = _write_part(path, [new_key()])
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink()
    _flush_folder(path)
    LOG.warning("created %s, the key that encrypts the secrets in this store; keep a copy of it, but apart from the backups", path)


def write_key_file(path: Path, keys: Sequence[Key]) -> None:
    """Replace the file atomically with these keys, flushed to disk."""
    os.replace(_write_part(path, keys), path)
    _flush_folder(path)


def _write_part(path: Path, keys: Sequence[Key]) -> Path:
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("".join(f"{encode_key(key)}\n" for key in keys))
            file.flush()
            os.fsync(file.fileno())
        _set_store_owner(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)  # it may contain a key
        raise _unwritable(path, error) from error
    return part


def _set_store_owner(part: Path, path: Path) -> None:
    """Set the file's owner to the store's: after a command of root the server's user must still read the key."""
    store = path.with_suffix("")
    with contextlib.suppress(OSError):
        owner = store.stat()
        os.chown(part, owner.st_uid, owner.st_gid)


def _flush_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _file_state(path: Path) -> _FileState | None:
    try:
        state = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return state.st_ino, state.st_mtime_ns, state.st_size


def _read(path: Path) -> list[Key]:
    try:
        lines = path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    if not lines:
        raise UnusableStore(f"the key file {path} is empty: restore a copy of it")
    return [decode_key(line, f"the key file {path}") for line in lines]


def _unwritable(path: Path, error: OSError) -> UnusableStore:
    return UnusableStore(f"cannot write the key file {path}: {error.strerror}; make its folder writable, or set TOUCHBASE_ENCRYPTION_KEY")


def _unreadable(path: Path, error: Exception) -> UnusableStore:
    return UnusableStore(f"cannot read the key file {path}: {getattr(error, 'strerror', None) or error}")
