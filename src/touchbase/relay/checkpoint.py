"""Checkpoint in a file: the last event that the sink has. It is replaced as a whole, so a kill leaves the old one or the new one."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import msgspec

from touchbase.relay.models import RelayPosition, RelayStopped


class CheckpointFile:
    """A checkpoint that belongs to one process until `close`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(f"{path.name}.new")
        self._lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise RelayStopped(f"another relay uses the checkpoint {path}: stop it, or give each relay its own --checkpoint") from None

    def load(self) -> RelayPosition | None:
        """Return the stored position; None without a file. Raises `RelayStopped` for a damaged one."""
        try:
            position = msgspec.json.decode(self._path.read_bytes(), type=RelayPosition)
            _ = position.sequence
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, ValueError):
            raise RelayStopped(f"{self._path} is no checkpoint of a relay: name another file, or remove it to begin at --after") from None
        return position

    def save(self, position: RelayPosition) -> None:
        """Store a position and return once it is on disk."""
        with os.fdopen(os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(position))
            file.flush()
            os.fsync(file.fileno())
        self._new.replace(self._path)

    def close(self) -> None:
        """Let another process use the checkpoint."""
        os.close(self._lock)
