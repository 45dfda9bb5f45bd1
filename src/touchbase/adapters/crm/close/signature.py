"""Close's signature scheme: HMAC of timestamp and body, with a hex-encoded key."""

from __future__ import annotations

from touchbase.adapters.kit.signatures import HEX, WINDOW, Scheme, constant_time_equal, hmac_digest, is_recent, window_of
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    at, signature = arrival.headers.get("close-sig-timestamp"), arrival.headers.get("close-sig-hash")
    if at is None or signature is None or not is_recent(at, now, past=window_of(arrival)):
        return False
    try:
        key = bytes.fromhex(secret)
    except ValueError:
        return False
    return constant_time_equal(signature.lower(), hmac_digest(key, at.encode() + arrival.body).hex())


CLOSE = Scheme(
    "header `close-sig-hash`: HMAC-SHA256 in hex over `close-sig-timestamp` and body, the key written in hex; 5 minutes",
    _check,
    form=HEX,
    window=WINDOW,
)
