"""Public-key schemes: Ed25519, ECDSA and RSA signatures. The connection's "secret" is the tool's public key.

The cryptography library is imported when the first such signature arrives.
"""

from __future__ import annotations

from base64 import b64encode
from functools import lru_cache
from string import hexdigits
from typing import TYPE_CHECKING

from touchbase.adapters.kit.signatures import WINDOW, Scheme, SecretForm, is_recent, unbase64, window_of
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

# Start of each key type's binary form (SubjectPublicKeyInfo): a sequence, then the algorithm's identifier.
_KINDS = (b"\x06\x03\x2b\x65\x70", b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01", b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01")
_PEM = "-----BEGIN PUBLIC KEY-----"
CERTIFICATE = "-----BEGIN CERTIFICATE-----"


def is_public_key(secret: str) -> bool:
    """Return whether a connection's secret is a public key, which authenticates nothing when sent."""
    return _binary(secret) is not None


PUBLIC_KEY = SecretForm("the tool's public key: PEM (`-----BEGIN PUBLIC KEY-----`) or its base64", is_public_key)


def is_raw_ed25519(secret: str) -> bool:
    """Return whether a secret is an Ed25519 key's 32 bytes: 64 hex digits, or 44 characters of base64 with their `=`."""
    return _raw(secret) is not None


ED25519_KEY = SecretForm(
    "the tool's public key: PEM (`-----BEGIN PUBLIC KEY-----`), its base64, or an Ed25519 key's 32 bytes in base64 or hex",
    lambda secret: is_public_key(secret) or is_raw_ed25519(secret),
)


def ed25519_body(header: str) -> Scheme:
    """A header holds the Ed25519 signature of the body, in base64 or hex."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        raw = _raw(secret)
        return holds(secret if raw is None else _wrapped(raw), arrival.headers.get(header), arrival.body)

    return Scheme(f"header `{header}`: Ed25519 signature of the body; the secret is the vendor's public key", check, form=ED25519_KEY)


def rsa_body(header: str, digest: str = "sha256") -> Scheme:
    """A header holds the RSA signature of the body, in base64 or hex."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        return holds(secret, arrival.headers.get(header), arrival.body, digest)

    about = f"header `{header}`: RSA-{digest.upper()} signature of the body; the secret is the sender's public key"
    return Scheme(about, check, form=PUBLIC_KEY)


def ecdsa_timed_body(header: str, time_header: str, window: Micros = WINDOW, shown: str = "5 minutes") -> Scheme:
    """A header holds the ECDSA-SHA256 signature of timestamp and body, in base64."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        at = arrival.headers.get(time_header)
        if at is None or not is_recent(at, now, past=window_of(arrival, window)):
            return False
        return holds(secret, arrival.headers.get(header), at.encode("ascii") + arrival.body)

    about = f"header `{header}`: ECDSA-SHA256 signature of `{time_header}` and body; the secret is the public key; {shown}"
    return Scheme(about, check, form=PUBLIC_KEY, window=window)


def holds(secret: str, signed: str | None, message: bytes, digest: str = "sha256") -> bool:
    """Return whether a signature in base64 or hex is one of a message by this public key or certificate."""
    key, signature = _loaded(secret), _signature(signed)
    if key is None or signature is None:
        return False
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA1, SHA256

    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), SHA1() if digest == "sha1" else SHA256())  # noqa: S303 (the vendors chose SHA-1)
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _signature(signature: str | None) -> bytes | None:
    if signature is None:
        return None
    try:
        return bytes.fromhex(signature)
    except ValueError:
        return unbase64(signature)


@lru_cache(maxsize=1000)
def _loaded(secret: str) -> PublicKeyTypes | None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key
    from cryptography.x509 import load_pem_x509_certificate

    binary = _binary(secret)
    try:
        if secret.startswith(CERTIFICATE):
            return load_pem_x509_certificate(secret.encode()).public_key()
        return None if binary is None else load_der_public_key(binary)
    except (ValueError, UnsupportedAlgorithm):
        return None


def _raw(secret: str) -> bytes | None:
    """Return an Ed25519 key's 32 bytes. Base64 needs its `=`: without it, the text may be a random shared secret."""
    text = secret.strip()
    if len(text) == 64 and not set(text) - set(hexdigits):
        return bytes.fromhex(text)
    raw = unbase64(text) if len(text) == 44 else None
    return raw if raw is not None and len(raw) == 32 else None


def _wrapped(raw: bytes) -> str:
    """Return an Ed25519 key as SubjectPublicKeyInfo, in base64."""
    return b64encode(b"\x30\x2a\x30\x05" + _KINDS[0] + b"\x03\x21\x00" + raw).decode()


def _binary(secret: str) -> bytes | None:
    """Return a public key's binary form, from PEM or base64; None if the text is not a public key."""
    text = secret.strip()
    if text.startswith(_PEM):
        text = text.removeprefix(_PEM).partition("-----END")[0]
    joined = "".join(text.split())
    binary = unbase64(joined) if len(joined) >= 40 else None
    return binary if binary is not None and binary[:1] == b"\x30" and any(kind in binary[:24] for kind in _KINDS) else None
