"""Encrypt secrets at rest with AES-256-GCM; each ciphertext is bound to its row and column.

A ciphertext reads `sealed:1:KEY ID:BASE64`. The base64 contains a random nonce of 12 bytes and the output of AES-GCM. The
location (table, column, client, channel, tool) is its associated data: a ciphertext copied into another row does not decrypt.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from touchbase.encryption.keys import Key, KeySource, StaticKeys
from touchbase.errors import Fault, Invalid, Overloaded, UnusableStore

LOG = logging.getLogger("touchbase.storage")

PREFIX = "sealed:1:"
NONCE_BYTES = 12
NO_ENCRYPTION_KEY = (
    "cannot be stored, as this server has no encryption key: make one with `touchbase encryption-keys generate`, "
    "set it on every server as TOUCHBASE_ENCRYPTION_KEY (or in a file, TOUCHBASE_ENCRYPTION_KEY_FILE), and restart them"
)


class DecryptionFailed(Overloaded):
    """A secret cannot be decrypted with the available keys; the request is refused and may be retried.

    The message is for clients; `why` is for the operator, and appears in the log.
    """

    def __init__(self, bound_to: Sequence[object], reason: str) -> None:
        super().__init__("a secret that this request needs cannot be decrypted now; the server's log says why")
        self.reason = reason
        self.why = f"{describe_location(bound_to)} {reason}"


class AesGcmCipher:
    """Encrypts with the present key, and decrypts with any available key."""

    def __init__(self, keys: KeySource) -> None:
        self._keys = keys

    @property
    def can_encrypt(self) -> bool:
        """Whether there is an encryption key, or one can be created."""
        return self._keys.can_encrypt

    def encrypt(self, text: str, bound_to: Sequence[object]) -> str:
        """Encrypt a text for this location. Raises `Invalid`, naming the column, without an encryption key."""
        key = self._present()
        if key is None:
            raise Invalid([Fault(f"/{bound_to[1]}", "no_encryption_key", NO_ENCRYPTION_KEY)])
        nonce = os.urandom(NONCE_BYTES)
        raw = nonce + AESGCM(key.material).encrypt(nonce, text.encode(), _associated_data(bound_to))
        return f"{PREFIX}{key.id}:{base64.urlsafe_b64encode(raw).decode()}"

    def decrypt(self, encrypted: str, bound_to: Sequence[object]) -> str:
        """Decrypt the text of this location. Raises `DecryptionFailed`."""
        key_id = key_id_of(encrypted)
        try:
            key = self._keys.find(key_id)
        except UnusableStore as error:
            raise DecryptionFailed(bound_to, f"cannot be decrypted: {error.detail}") from error
        if key is None:
            raise DecryptionFailed(bound_to, f"is encrypted with the key {key_id}, which is missing")
        try:
            raw = base64.urlsafe_b64decode(encrypted.rpartition(":")[2])
            return AESGCM(key.material).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], _associated_data(bound_to)).decode()
        except Exception:  # whatever the cause: the ciphertext and the text must not appear in a message
            raise DecryptionFailed(bound_to, "was changed or moved after it was encrypted, or the key is wrong") from None

    def current_id(self) -> str:
        """Return the id of the key that encrypts; empty when there is none. Creates a missing key file."""
        key = self._present()
        return "" if key is None else key.id

    def _present(self) -> Key | None:
        try:
            return self._keys.current()
        except UnusableStore as error:
            LOG.error("cannot encrypt a secret: %s", error.detail)
            raise Overloaded("a secret cannot be encrypted now; the server's log says why", retry_after=5) from error


def encrypt_bytes(material: bytes, content: bytes, bound_to: str) -> bytes:
    """Encrypt bytes with a key of 32 bytes for this location; a random nonce comes first."""
    nonce = os.urandom(NONCE_BYTES)
    return nonce + AESGCM(material).encrypt(nonce, content, bound_to.encode())


def decrypt_bytes(material: bytes, encrypted: bytes, bound_to: str) -> bytes | None:
    """Decrypt the bytes of this location; None if they were changed or moved, or the key is another."""
    try:
        return AESGCM(material).decrypt(encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:], bound_to.encode())
    except (InvalidTag, ValueError):
        return None


NO_CIPHER = AesGcmCipher(StaticKeys(()))
"""A cipher without an encryption key: it neither encrypts nor decrypts."""


def describe_location(bound_to: Sequence[object]) -> str:
    """Return the location as text: `connection.secrets of 1 crm hubspot`, where 1 is the client's number."""
    return f"{bound_to[0]}.{bound_to[1]} of {' '.join(map(str, bound_to[2:]))}"


def is_encrypted(text: str) -> bool:
    """Return whether this is a ciphertext."""
    return text.startswith(PREFIX)


def key_id_of(encrypted: str) -> str:
    """Return the id of the key that encrypted this."""
    return encrypted[len(PREFIX) :].partition(":")[0]


def _associated_data(bound_to: Sequence[object]) -> bytes:
    return json.dumps(["touchbase", *bound_to], separators=(",", ":")).encode()


SecretLocation = tuple[object, ...]
"""Table, column and row key of a secret; the row key begins with the client's number."""


@dataclass(frozen=True, slots=True)
class LostSecret:
    """A secret, or the canary of an encryption key, that no available key decrypts."""

    location: SecretLocation
    why: str
    """The reason as a predicate: `is encrypted with the key ..., which is missing`."""


@dataclass(slots=True)
class EncryptionState:
    """The state of every secret in the store."""

    by_key: dict[str, int] = field(default_factory=dict)
    """Number of encrypted secrets, by the id of their encryption key."""
    clear: int = 0
    """Number of secrets in plain text."""
    lost: list[LostSecret] = field(default_factory=list)
    """The first hundred."""
