"""Proofs by public key: Ed25519, ECDSA and RSA signatures. The connection's "secret" is then the tool's public key.

The library that does the mathematics is loaded when the first such signature comes.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from touchbase.adapters.kit.proof import Scheme, in_time, unbase64
from touchbase.domain.connection import Arrival
from touchbase.domain.times import Micros

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes

# How the binary form (SubjectPublicKeyInfo) of each kind begins: a sequence, then the kind's number.
_KINDS = (b"\x06\x03\x2b\x65\x70", b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01", b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01")
_PEM = "-----BEGIN PUBLIC KEY-----"


def is_public_key(secret: str) -> bool:
    """Whether a connection's secret is a public key, which proves nothing by being known."""
    return _binary(secret) is not None


def _signed_body(kind: str, header: str) -> Scheme:
    """A header holds the signature of the body, in base64 or hex; of which kind it is says the key."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        return _holds(secret, arrival.headers.get(header), arrival.body)

    return Scheme(f"header `{header}`: {kind} signature of the body; the secret is the vendor's public key", check)


ed25519_body = partial(_signed_body, "Ed25519")
rsa_body = partial(_signed_body, "RSA-SHA256")


def ecdsa_timed_body(header: str, time_header: str) -> Scheme:
    """A header holds the ECDSA-SHA256 signature of time and body, in base64."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        at = arrival.headers.get(time_header)
        if at is None or not in_time(at, now):
            return False
        return _holds(secret, arrival.headers.get(header), at.encode("ascii") + arrival.body)

    return Scheme(f"header `{header}`: ECDSA-SHA256 signature of `{time_header}` and body; the secret is the public key; 5 minutes", check)


def _holds(secret: str, given: str | None, message: bytes) -> bool:
    key, signature = _loaded(secret), _signature(given)
    if key is None or signature is None:
        return False
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, message)
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, message, ec.ECDSA(SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, message, padding.PKCS1v15(), SHA256())
        else:
            return False
    except InvalidSignature:
        return False
    return True


def _signature(given: str | None) -> bytes | None:
    if given is None:
        return None
    try:
        return bytes.fromhex(given)
    except ValueError:
        return unbase64(given)


@lru_cache(maxsize=1000)
def _loaded(secret: str) -> PublicKeyTypes | None:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    binary = _binary(secret)
    try:
        return None if binary is None else load_der_public_key(binary)
    except (ValueError, UnsupportedAlgorithm):
        return None


def _binary(secret: str) -> bytes | None:
    """A public key's binary form, out of PEM or base64; None when the text is no public key."""
    text = secret.strip()
    if text.startswith(_PEM):
        text = text.removeprefix(_PEM).partition("-----END")[0]
    joined = "".join(text.split())
    binary = unbase64(joined) if len(joined) >= 40 else None
    return binary if binary is not None and binary[:1] == b"\x30" and any(kind in binary[:24] for kind in _KINDS) else None
