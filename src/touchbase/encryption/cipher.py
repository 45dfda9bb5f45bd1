"""The sealer: AES-256-GCM, bound to the place where the text is kept.

A sealed text reads `sealed:1:KEY ID:BASE64`, the base64 being a random nonce of 12 bytes and what AES-GCM makes of the
text. The place (table, column, client, channel, tool) is authenticated with it: a sealed text that somebody copies into
another row does not open there.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Sequence

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from touchbase.encryption.keys import GivenKeys, Key, Keys
from touchbase.errors import Fault, Invalid, Overloaded, UnusableStore

LOG = logging.getLogger("touchbase.storage")

PREFIX = "sealed:1:"
NONCE = 12
NO_ENCRYPTION_KEY = (
    "cannot be kept, as this server has no encryption key to seal it with: make one with `touchbase encryption-keys generate`, "
    "give it to every server as TOUCHBASE_ENCRYPTION_KEY (or in a file, TOUCHBASE_ENCRYPTION_KEY_FILE), and start them again"
)


class DecryptionFailed(Overloaded):
    """Something sealed cannot be opened with the keys at hand: whoever needs it is refused and may come again.

    The message is for callers; `why` is for the operator, and stands in the log.
    """

    def __init__(self, place: Sequence[object], reason: str) -> None:
        super().__init__("a secret that this needs cannot be opened now; the server's log says why")
        self.reason = reason
        self.why = f"{place_of(place)} {reason}"


class AesGcmCipher:
    """Seals with the present encryption key, opens with any that is at hand."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    @property
    def can_seal(self) -> bool:
        """Whether there is a key that seals."""
        return self._keys.can_seal

    def seal(self, text: str, bound_to: Sequence[object]) -> str:
        """The text sealed for this place; `Invalid`, naming the place's field, when there is no key."""
        key = self._present()
        if key is None:
            raise Invalid([Fault(f"/{bound_to[1]}", "no_encryption_key", NO_ENCRYPTION_KEY)])
        nonce = os.urandom(NONCE)
        sealed = nonce + AESGCM(key.material).encrypt(nonce, text.encode(), _bound(bound_to))
        return f"{PREFIX}{key.id}:{base64.urlsafe_b64encode(sealed).decode()}"

    def open(self, sealed: str, bound_to: Sequence[object]) -> str:
        """The text that was sealed for this place; raises `DecryptionFailed`."""
        key_id = key_id_of(sealed)
        try:
            key = self._keys.find(key_id)
        except UnusableStore as error:
            raise DecryptionFailed(bound_to, f"cannot be opened: {error.detail}") from error
        if key is None:
            raise DecryptionFailed(bound_to, f"is sealed with the encryption key {key_id}, which is not at hand")
        try:
            raw = base64.urlsafe_b64decode(sealed.rpartition(":")[2])
            return AESGCM(key.material).decrypt(raw[:NONCE], raw[NONCE:], _bound(bound_to)).decode()
        except Exception:  # whatever is wrong with it, it does not open; its text must not come into a message
            raise DecryptionFailed(bound_to, "was changed or moved after it was sealed, or the key is not the true one") from None

    def current_id(self) -> str:
        """The id of the key that seals; empty when there is none. A key file that is not there yet is made."""
        key = self._present()
        return "" if key is None else key.id

    def _present(self) -> Key | None:
        try:
            return self._keys.current()
        except UnusableStore as error:
            LOG.error("a secret cannot be sealed: %s", error.detail)
            raise Overloaded("a secret cannot be sealed now; the server's log says why", retry_after=5) from error


NO_SEALER = AesGcmCipher(GivenKeys(()))
"""Seals nothing and opens nothing: there is no encryption key."""


def place_of(bound_to: Sequence[object]) -> str:
    """The place as people read it: `connection.secrets of 1 crm hubspot`, the client being its number."""
    return f"{bound_to[0]}.{bound_to[1]} of {' '.join(map(str, bound_to[2:]))}"


def is_sealed(text: str) -> bool:
    """Whether this is a sealed text."""
    return text.startswith(PREFIX)


def key_id_of(sealed: str) -> str:
    """The id of the key that sealed this."""
    return sealed[len(PREFIX) :].partition(":")[0]


def _bound(bound_to: Sequence[object]) -> bytes:
    return json.dumps(["touchbase", *bound_to], separators=(",", ":")).encode()
