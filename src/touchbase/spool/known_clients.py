"""Ids of clients with stored webhooks, in a file next to the spool: so they are known after a restart without the store.

The file has hashes, one a line, because a client's id is as good as a password for webhooks.
"""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

MAX_CLIENTS = 100_000
"""Ids in the file; above, the older half goes."""
HASH_LENGTH = 32
"""Hexadecimal digits of a hash in the file."""


class KnownClients:
    """The known ids; before any is stored all ids count as known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names = set[str]()
        """Ids that this process has added, so that adding costs a look-up."""
        self._hashes: dict[str, None] = {}
        self._size = 0
        """Bytes of the file when it was read."""
        self._unsaved: list[str] = []
        self._read()

    def add(self, client_id: str) -> None:
        """Remember an id; the caller saves it later."""
        if client_id in self._names:
            return
        if len(self._names) >= MAX_CLIENTS:
            self._names.clear()
        self._names.add(client_id)
        name = _hash(client_id)
        if name not in self._hashes:
            self._hashes[name] = None
            self._unsaved.append(name)

    def is_known(self, client_id: str) -> bool:
        """Return whether a webhook of this client was stored, by any process that uses this folder."""
        name = _hash(client_id)
        if name not in self._hashes:
            self._read()
        return name in self._hashes or not self._hashes

    @property
    def has_unsaved(self) -> bool:
        """Whether ids were added that the file does not have."""
        return bool(self._unsaved)

    def save(self) -> None:
        """Append the new ids to the file; it blocks. Raises `OSError`, and then it can be called again."""
        new, self._unsaved = self._unsaved, []
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            is_full = len(self._hashes) > MAX_CLIENTS
            if is_full:
                self._hashes = dict.fromkeys(list(self._hashes)[-MAX_CLIENTS // 2 :])
            written = self._path.with_suffix(".part") if is_full else self._path
            descriptor = os.open(written, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_full else os.O_APPEND), 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.writelines(f"{name}\n" for name in (self._hashes if is_full else new))
            if is_full:
                written.replace(self._path)
        except OSError:
            self._unsaved = [*new, *self._unsaved]
            raise

    def _read(self) -> None:
        """Add the ids that other processes have saved since the last reading."""
        with suppress(OSError):
            size = self._path.stat().st_size
            if size != self._size:
                lines = self._path.read_text(encoding="ascii", errors="replace").splitlines()
                self._hashes |= dict.fromkeys(line for line in lines if len(line) == HASH_LENGTH)
                self._size = size


def _hash(client_id: str) -> str:
    return sha256(client_id.encode()).hexdigest()[:HASH_LENGTH]
