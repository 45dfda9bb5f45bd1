"""The cipher that a store encrypts secrets with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Cipher(Protocol):
    """Encrypts what must not be read from the store's files, bound to the place where it is kept."""

    @property
    def can_seal(self) -> bool:
        """Whether there is an encryption key to seal with."""
        ...

    def seal(self, text: str, bound_to: Sequence[object]) -> str:
        """The text sealed for this place: table, column, and the row's key. `Invalid`, naming the column, without an encryption key."""
        ...

    def open(self, sealed: str, bound_to: Sequence[object]) -> str:
        """The text that was sealed for this very place; `Overloaded` when it cannot be opened, never an empty text instead."""
        ...

    def current_id(self) -> str:
        """The id of the encryption key that seals; empty when there is none."""
        ...
