"""Interface of the encryption of the store's secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Cipher(Protocol):
    """Encrypts secrets of the store; each ciphertext is bound to one location: table, column and key of its row."""

    @property
    def can_encrypt(self) -> bool:
        """Whether there is an encryption key."""
        ...

    def encrypt(self, text: str, bound_to: Sequence[object]) -> str:
        """Encrypt a text for this location. Raises `Invalid`, naming the column, without an encryption key."""
        ...

    def decrypt(self, encrypted: str, bound_to: Sequence[object]) -> str:
        """Decrypt the text of this location. Raises `Overloaded` when that fails; never returns an empty text instead."""
        ...

    def current_id(self) -> str:
        """Return the id of the key that encrypts; empty when there is none."""
        ...
