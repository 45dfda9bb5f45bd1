"""Encryption keys: 32 random bytes each, from the settings or from a file beside the store, each known by its id."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from touchbase.errors import UnusableStore

BYTES = 32
HOW = "`touchbase encryption-keys generate` prints one"


@dataclass(frozen=True, slots=True)
class Key:
    """An encryption key. Its id tells which key has sealed something, and nothing about the key."""

    id: str
    material: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class EncryptionKeys:
    """The keys that the settings name, as text: the one that seals, and those that only open, by white space apart."""

    current: str = field(default="", repr=False)
    old: str = field(default="", repr=False)
    file: Path | None = None
    """The key file of a SQLite store, where it is not the one beside it."""

    def read(self) -> list[Key]:
        """The keys, the one that seals first; `UnusableStore` says which setting is wrong."""
        if self.old and not self.current:
            raise UnusableStore("TOUCHBASE_ENCRYPTION_KEY_OLD is set without TOUCHBASE_ENCRYPTION_KEY: set the present key too")
        texts = [("TOUCHBASE_ENCRYPTION_KEY", self.current)] if self.current else []
        texts += [("TOUCHBASE_ENCRYPTION_KEY_OLD", text) for text in self.old.split()]
        return [read_key(text, where) for where, text in texts]


NO_KEYS = EncryptionKeys()


class Keys(Protocol):
    """Where a sealer finds its keys."""

    @property
    def can_seal(self) -> bool:
        """Whether there is a key that seals, or one can be made."""
        ...

    def current(self) -> Key | None:
        """The key that seals; None: there is none, so nothing can be sealed."""
        ...

    def find(self, key_id: str) -> Key | None:
        """The key of this id."""
        ...


class GivenKeys:
    """Keys that stay as they are while the process runs; the first one seals."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys

    @property
    def can_seal(self) -> bool:
        """Whether there are any."""
        return bool(self._keys)

    def current(self) -> Key | None:
        """The first."""
        return self._keys[0] if self._keys else None

    def find(self, key_id: str) -> Key | None:
        """The key of this id."""
        return next((key for key in self._keys if key.id == key_id), None)


def key_of(material: bytes) -> Key:
    """The key made of these bytes."""
    return Key(sha256(b"touchbase master key\0" + material).hexdigest()[:12], material)


def new_key() -> Key:
    """A new random key."""
    return key_of(secrets.token_bytes(BYTES))


def text_of(key: Key) -> str:
    """The key as it is written into a setting or a file."""
    return base64.urlsafe_b64encode(key.material).decode()


def read_key(text: str, where: str) -> Key:
    """The key of its text; `UnusableStore` names `where` it stood, and never shows it."""
    try:
        material = base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        material = b""
    if len(material) != BYTES:
        raise UnusableStore(f"{where} holds no encryption key: it must be {BYTES} bytes in base64; {HOW}") from None
    return key_of(material)
