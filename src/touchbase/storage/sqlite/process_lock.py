"""Process locks of a SQLite file: one process per role; a second process with the same role gets a warning.

Two servers on one file lose no data: each writes in transactions of its own, as commands do while a server runs. But each
waits for the other's writes, and counts rate limits by itself. So the second one is warned, and not refused.

The lock is on a separate file, `.lock`, not on the store: closing a descriptor of the store would release SQLite's own locks.
The lock ends with the process, even after a crash. The file stays, because a process that removed it could remove another's lock.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum


class Role(Enum):
    """A role that one process at a time should have on a SQLite file; the value is the byte of the lock file that is locked."""

    SERVER = 0
    WORKER = 1


_WARNINGS = {
    Role.SERVER: "another server uses {} too: each waits for the other's writes, and counts rate limits by itself; "
    "stop one of them and restart the other, or use PostgreSQL, which several servers may share",
    Role.WORKER: "another process applies the inbox of {} too (a server does, unless it was started with --no-inbox-worker): every webhook "
    "is read twice; stop one of them, or restart the server with --no-inbox-worker",
}


class ProcessLock:
    """The roles of this process on a file, until `close`."""

    def __init__(self, path: str, roles: Sequence[Role]) -> None:
        self._descriptor = _open(f"{path}.lock") if roles else None
        taken = [role for role in roles if self._descriptor is not None and not _lock(self._descriptor, role)]
        self.warnings = [_WARNINGS[role].format(path) for role in taken[:1]]

    def close(self) -> None:
        """Release the roles."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _open(path: str) -> int | None:
    """Open the lock file; None if it cannot be created or belongs to another user, as it serves for a warning only."""
    with suppress(OSError):
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    return None


def _lock(descriptor: int, role: Role) -> bool:
    """Lock a role; return False if another process has it. True where the file system has no locks."""
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, role.value)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        return True
    return True
