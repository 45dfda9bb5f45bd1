"""Who uses a SQLite file: each part is for one process, and a second one that plays it says so.

Two servers on one file lose nothing: each writes in transactions of its own, and every command may write beside a server. But one waits for
the other, and each counts limits for itself. So it is a warning and no refusal.

The lock is on a file beside the store, not on the store's: to close a descriptor of that would take away the locks that SQLite
has on it. It ends with the process, however that ends; the file stays, because whoever removed it could remove another's.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum


class Role(Enum):
    """What one process at a time should do with a SQLite file; the value is its place in the file that is locked."""

    SERVER = 0
    WORKER = 1


_TOLD = {
    Role.SERVER: "another server uses {} too: they wait for each other's writes, and each counts limits for itself; "
    "stop one of them and start the other anew, or use PostgreSQL, which several servers may share",
    Role.WORKER: "another process applies the inbox of {} too (a server does, unless it was started with --no-inbox-worker): every call is "
    "read twice; stop one of them, or start the server anew with --no-inbox-worker",
}


class ProcessLock:
    """The parts that this process plays on a file, until it is let go of."""

    def __init__(self, path: str, parts: Sequence[Role]) -> None:
        self._descriptor = _opened(f"{path}.lock") if parts else None
        taken = [part for part in parts if self._descriptor is not None and not _lock(self._descriptor, part)]
        self.warnings = [_TOLD[part].format(path) for part in taken[:1]]

    def close(self) -> None:
        """Let others play them."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _opened(path: str) -> int | None:
    """The file to lock; None where it cannot be made or is another user's: it is for a warning only."""
    with suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    return None


def _lock(descriptor: int, part: Role) -> bool:
    """Whether this process may play a part; True where the file system has no locks."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, part.value)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True
