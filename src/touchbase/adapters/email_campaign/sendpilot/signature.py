"""SendPilot's signature scheme: HMAC of timestamp and body, both in one header, `t=...,s=...`.

The vendor does not document the timestamp's unit, so both seconds and milliseconds are accepted. Retries continue for
an hour and a quarter, and it is not documented that they are signed again: the window covers them. Repeated events are
deduplicated by `eventId`.
"""

from __future__ import annotations

from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, hmac_digest, is_recent, window_of
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

RETRIED: Micros = 2 * 3600 * SECOND
"""Maximum age of a signature: 5 seconds to an hour between retries, plus transmission."""
_DIGITS_OF_SECONDS = 11
_MILLISECOND: Micros = 1_000


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    parts = dict(part.strip().partition("=")[::2] for part in arrival.headers.get("webhook-signature", "").split(","))
    at, signature = parts.get("t", ""), parts.get("s")
    unit = SECOND if len(at) <= _DIGITS_OF_SECONDS else _MILLISECOND
    if signature is None or not is_recent(at, now, unit, past=window_of(arrival, RETRIED)):
        return False
    return constant_time_equal(signature.lower(), hmac_digest(secret, at.encode("ascii") + b"." + arrival.body).hex())


SENDPILOT = Scheme(
    "header `webhook-signature`, `t=...,s=...`: HMAC-SHA256 in hex over `t`, `.` and body; 2 hours, for retries", _check, window=RETRIED
)
