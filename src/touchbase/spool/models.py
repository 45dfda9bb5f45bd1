"""A spooled webhook: the whole request, so that it can be received again as if it came then."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.encryption.cipher import is_encrypted

_PLACE = ("spool", "webhook")
"""Location that the ciphertext is bound to."""


@dataclass(frozen=True, slots=True)
class SpooledWebhook:
    """A request to a webhook address, and when it came."""

    received_us: Micros
    path: str
    raw_path: bytes
    query: bytes
    scheme: str
    headers: list[tuple[bytes, bytes]]
    peer: str
    body: bytes

    @property
    def client_id(self) -> str:
        """The id in the address."""
        return client_id_of(self.path)


def client_id_of(path: str) -> str:
    """Return the client's id in the path of a webhook address."""
    return path.split("/", 3)[3].removesuffix("/")


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(SpooledWebhook).decode


def to_bytes(webhook: SpooledWebhook, cipher: Cipher) -> bytes:
    """Return a webhook as it is spooled: encrypted, because headers and bodies have secrets of tools; in clear if there is no key."""
    text = _encode(webhook)
    return cipher.encrypt(text.decode(), _PLACE).encode() if cipher.can_encrypt else text


def from_bytes(data: bytes, cipher: Cipher) -> SpooledWebhook:
    """Return the webhook that `to_bytes` has written. Raises `DecryptionFailed`."""
    text = data.decode()
    return _decode(cipher.decrypt(text, _PLACE) if is_encrypted(text) else text)
