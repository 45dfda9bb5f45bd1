"""EspoCRM's signature scheme, and the webhook id in it.

The signature is the webhook's id, a colon and the HMAC of the body, all in base64. `Signature` has the HMAC in hex; the
older `X-Signature` has its bytes (as built by a public integration; the vendor's page says only that it is built
differently).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.adapters.kit.signatures import Scheme, equals_any, hmac_digest, unbase64
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_HEADERS = ("signature", "x-signature")
_BOUND = re.compile(r"([0-9a-z]{10,24}):(.{8,})")


def webhook_of(headers: Mapping[str, str]) -> str | None:
    """Return the webhook id in a request's signature."""
    for name in _HEADERS:
        number, colon, _ = (unbase64(headers.get(name, "")) or b"").partition(b":")
        if colon and number.isalnum():
            return number.decode("ascii", "replace")
    return None


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    webhook, key = bound_to(secret)
    if webhook is not None and webhook != webhook_of(arrival.headers):
        return False
    digest = hmac_digest(key, arrival.body)
    hashes = [(unbase64(arrival.headers.get(name, "")) or b"").partition(b":")[2] for name in _HEADERS]
    return equals_any(hashes, digest.hex()) or equals_any(hashes, digest)


def bound_to(secret: str) -> tuple[str | None, str]:
    """Return the webhook id of a secret written `ID:KEY`, or None, and the key."""
    match = _BOUND.fullmatch(secret)
    return (None, secret) if match is None else (match[1], match[2])


def key_in(secret: str) -> str:
    """Return the key of a secret."""
    return bound_to(secret)[1]


ESPOCRM = Scheme(
    "header `signature` (or `x-signature`): base64 of the webhook's id, `:` and HMAC-SHA256 of the body; each webhook has a key of "
    "its own, so up to 50 secrets, written `KEY` or `ID:KEY`",
    _check,
)
