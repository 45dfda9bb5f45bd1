"""Twenty's signature scheme: HMAC of timestamp and body."""

from __future__ import annotations

from touchbase.adapters.kit.signatures import WINDOW, Scheme, constant_time_equal, hmac_digest, is_recent, window_of
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_MILLISECOND: Micros = 1_000


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    at, signature = arrival.headers.get("x-twenty-webhook-timestamp"), arrival.headers.get("x-twenty-webhook-signature")
    if at is None or signature is None or not is_recent(at, now, _MILLISECOND, past=window_of(arrival)):
        return False
    return constant_time_equal(signature.lower(), hmac_digest(secret, at.encode() + b":" + arrival.body).hex())


TWENTY = Scheme(
    "header `x-twenty-webhook-signature`: HMAC-SHA256 in hex over `x-twenty-webhook-timestamp`, `:` and body; 5 minutes",
    _check,
    window=WINDOW,
)
