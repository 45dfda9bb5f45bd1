"""Encryption keys: 32 random bytes each, from the settings or from a key file, each identified by its id."""

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

KEY_BYTES = 32
HOW = "`touchbase encryption-keys generate` prints one"


@dataclass(frozen=True, slots=True)
class Key:
    """An encryption key. The id identifies the key, and reveals nothing about its bytes."""

    id: str
    material: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class EncryptionKeys:
    """The keys of the settings, as text, separated by white space: the first encrypts, old ones only decrypt."""

    current: str = field(default="", repr=False)
    old: str = field(default="", repr=False)
    file: Path | None = None
    """The key file of a SQLite store, if it is not in the store's folder."""

    def read(self) -> list[Key]:
        """Return the keys, the encrypting one first. Raises `UnusableStore` with the name of the faulty setting."""
        if self.old and not self.current:
            raise UnusableStore("TOUCHBASE_ENCRYPTION_KEY_OLD is set without TOUCHBASE_ENCRYPTION_KEY: set the present key too")
        texts = [("TOUCHBASE_ENCRYPTION_KEY", self.current)] if self.current else []
        texts += [("TOUCHBASE_ENCRYPTION_KEY_OLD", text) for text in self.old.split()]
        return [decode_key(text, source) for source, text in texts]


NO_KEYS = EncryptionKeys()


class KeySource(Protocol):
    """The keys of a cipher."""

    @property
    def can_encrypt(self) -> bool:
        """Whether there is a key that encrypts, or one can be created."""
        ...

    def current(self) -> Key | None:
        """Return the key that encrypts, or None."""
        ...

    def find(self, key_id: str) -> Key | None:
        """Return the key of this id, or None."""
        ...


class StaticKeys:
    """Keys that do not change while the process runs; the first one encrypts."""

    def __init__(self, keys: Sequence[Key]) -> None:
        self._keys = keys

    @property
    def can_encrypt(self) -> bool:
        """Whether there are any keys."""
        return bool(self._keys)

    def current(self) -> Key | None:
        """Return the first key, or None."""
        return self._keys[0] if self._keys else None

    def find(self, key_id: str) -> Key | None:
        """Return the key of this id, or None."""
        return next((key for key in self._keys if key.id == key_id), None)


def key_from_bytes(material: bytes) -> Key:
    """Return the key made of these bytes."""
    return Key(sha256(b"touchbase master key\0" + material).hexdigest()[:12], material)


def new_key() -> Key:
    """Return a new random key."""
    return key_from_bytes(secrets.token_bytes(KEY_BYTES))


def encode_key(key: Key) -> str:
    """Return the key as text for a setting or a file: URL-safe base64."""
    return base64.urlsafe_b64encode(key.material).decode()


def decode_key(text: str, source: str) -> Key:
    """Return the key of a text, in either alphabet of base64. Raises `UnusableStore`, which names the `source` and never the text."""
    try:
        material = base64.b64decode(text.translate({ord("-"): "+", ord("_"): "/"}) + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        material = b""
    if len(material) != KEY_BYTES:
        raise UnusableStore(f"{source} is not an encryption key: it must be {KEY_BYTES} bytes in base64; {HOW}") from None
    return key_from_bytes(material)
