"""The key file of a SQLite store: made beside it with the first secret, so that a first run needs no set-up.

Its first line is the key that seals, the lines after it keys that only open. Whoever replaces it renames a whole
new file into its place, and processes that run look again: before they seal, and when they meet a key they do not know.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from touchbase.encryption.keys import Key, new_key, read_key, text_of
from touchbase.errors import UnusableStore

LOG = logging.getLogger("touchbase.storage")

_Seen = tuple[int, int, int]


class KeyFile:
    """Keys in a file, after those that the settings give."""

    def __init__(self, path: Path, given: Sequence[Key] = ()) -> None:
        self.path = path
        self._given = given
        self._kept: list[Key] = []
        self._seen: _Seen | None = None

    @property
    def can_seal(self) -> bool:
        """Always, as a key is made when there is none."""
        return True

    def current(self) -> Key:
        """The key that seals: one that the settings give, else the file's first, made now if there is no file."""
        if self._given:
            return self._given[0]
        if not self.kept():
            make(self.path)
        return self.kept()[0]

    def find(self, key_id: str) -> Key | None:
        """The key of this id."""
        known = next((key for key in (*self._given, *self._kept) if key.id == key_id), None)
        return known or next((key for key in self.kept() if key.id == key_id), None)

    def kept(self) -> list[Key]:
        """The keys in the file as it is now; none when there is no file."""
        seen = _look(self.path)
        if seen is None or seen != self._seen:
            self._kept = [] if seen is None else _read(self.path)
            self._seen = seen
        return self._kept

    def begin_rotation(self) -> None:
        """Put a new key first, unless one is given or an interrupted rotation has put it there already."""
        kept = self.kept()
        if not self._given and len(kept) == 1:
            replace(self.path, [new_key(), *kept])

    def end_rotation(self) -> Path | None:
        """Let go of the keys that nothing is sealed with any more; answers the file where they are kept for old backups.

        Where the settings give the key the file only opens, and that is left to its owner.
        """
        kept = self.kept()
        if self._given or len(kept) < 2:
            return None
        aside = self.path.with_name(f"{self.path.name}.old-{kept[1].id}")
        replace(aside, kept[1:])
        replace(self.path, kept[:1])
        return aside


def make(path: Path) -> None:
    """Make the file with a new key, on disk before this returns; one that another process makes meanwhile stays."""
    part = _written(path, [new_key()])
    try:
        os.link(part, path)
    except FileExistsError:
        return
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink()
    _flush_folder(path)
    LOG.warning("made %s, the key that seals the secrets in this store; keep a copy of it, but not beside the backups", path)


def replace(path: Path, keys: Sequence[Key]) -> None:
    """Put these keys into the file, all or nothing."""
    os.replace(_written(path, keys), path)
    _flush_folder(path)


def _written(path: Path, keys: Sequence[Key]) -> Path:
    part = path.with_name(f"{path.name}.{token_hex(8)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write("".join(f"{text_of(key)}\n" for key in keys))
            file.flush()
            os.fsync(file.fileno())
        _give_to_owner_of_store(part, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)  # it may hold a key
        raise _unwritable(path, error) from error
    return part


def _give_to_owner_of_store(part: Path, path: Path) -> None:
    """An administrator's command must not leave a key that the server's own user cannot read."""
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


def _look(path: Path) -> _Seen | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    return found.st_ino, found.st_mtime_ns, found.st_size


def _read(path: Path) -> list[Key]:
    try:
        lines = path.read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error
    if not lines:
        raise UnusableStore(f"the key file {path} is empty: put back a copy of it")
    return [read_key(line, f"the key file {path}") for line in lines]


def _unwritable(path: Path, error: OSError) -> UnusableStore:
    return UnusableStore(f"cannot write the key file {path}: {error.strerror}; make its folder writable, or set TOUCHBASE_ENCRYPTION_KEY")


def _unreadable(path: Path, error: Exception) -> UnusableStore:
    return UnusableStore(f"cannot read the key file {path}: {getattr(error, 'strerror', None) or error}")
