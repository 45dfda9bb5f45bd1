"""Encryption at rest: keys, and the cipher for secrets."""

from __future__ import annotations

from touchbase.encryption.cipher import (
    NO_CIPHER,
    NO_ENCRYPTION_KEY,
    PREFIX,
    AesGcmCipher,
    Cipher,
    DecryptionFailed,
    is_encrypted,
    key_id_of,
)
from touchbase.encryption.commands import CheckEncryption, EncryptionState, LostSecret, Reencrypt, ReplaceLost, RetireKeys, SecretLocation
from touchbase.encryption.key_file import KeyFile
from touchbase.encryption.keys import NO_KEYS, EncryptionKeys, KeySource, StaticKeys, encode_key, new_key

__all__ = [
    "NO_CIPHER",
    "NO_ENCRYPTION_KEY",
    "NO_KEYS",
    "PREFIX",
    "AesGcmCipher",
    "CheckEncryption",
    "Cipher",
    "DecryptionFailed",
    "EncryptionKeys",
    "EncryptionState",
    "KeyFile",
    "KeySource",
    "LostSecret",
    "Reencrypt",
    "ReplaceLost",
    "RetireKeys",
    "SecretLocation",
    "StaticKeys",
    "encode_key",
    "is_encrypted",
    "key_id_of",
    "new_key",
]
