"""EspoCRM: how it proves who it is, and which of its webhooks a call belongs to.

The signature is the webhook's id, a colon and a keyed hash of the body, all in base64. `Signature` has the
hash in hex; the older `X-Signature` has its bytes (as a public integration builds it; the vendor's page
says only that it is built differently).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.adapters.kit.signatures import Scheme, keyed, one_of, unbase64
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_HEADERS = ("signature", "x-signature")
_BOUND = re.compile(r"([0-9a-z]{10,24}):(.{8,})")


def webhook_of(headers: Mapping[str, str]) -> str | None:
    """The id of the webhook that a call belongs to, out of its signature."""
    for name in _HEADERS:
        number, colon, _ = (unbase64(headers.get(name, "")) or b"").partition(b":")
        if colon and number.isalnum():
            return number.decode("ascii", "replace")
    return None


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    webhook, key = bound_to(secret)
    if webhook is not None and webhook != webhook_of(arrival.headers):
        return False
    digest = keyed(key, arrival.body)
    hashes = [(unbase64(arrival.headers.get(name, "")) or b"").partition(b":")[2] for name in _HEADERS]
    return one_of(hashes, digest.hex()) or one_of(hashes, digest)


def bound_to(secret: str) -> tuple[str | None, str]:
    """The webhook that a secret belongs to, where it is written `ID:KEY`, and its key."""
    found = _BOUND.fullmatch(secret)
    return (None, secret) if found is None else (found[1], found[2])


def key_in(secret: str) -> str:
    """The key itself."""
    return bound_to(secret)[1]


ESPOCRM = Scheme(
    "header `signature` (or `x-signature`): base64 of the webhook's id, `:` and HMAC-SHA256 of the body; each webhook has a key of "
    "its own, so up to 50 secrets, written `KEY` or `ID:KEY`",
    _check,
)
