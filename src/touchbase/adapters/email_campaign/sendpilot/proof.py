"""SendPilot: how it proves who it is: a keyed hash of time and body, both in one header, `t=...,s=...`.

Its page does not say in which unit the time is, so both seconds and milliseconds are read. A call is tried again for
an hour and a quarter, and nothing says that it is then signed anew: the window is as long. `eventId` makes one call of two.
"""

from __future__ import annotations

from touchbase.adapters.kit.signatures import Scheme, in_time, keyed, same, window_of
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

RETRIED: Micros = 2 * 3600 * SECOND
"""How long after its signature a call may come: 5 seconds to an hour between retries, and the way."""
_DIGITS_OF_SECONDS = 11
_MILLISECOND: Micros = 1_000


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    parts = dict(part.strip().partition("=")[::2] for part in arrival.headers.get("webhook-signature", "").split(","))
    at, given = parts.get("t", ""), parts.get("s")
    unit = SECOND if len(at) <= _DIGITS_OF_SECONDS else _MILLISECOND
    if given is None or not in_time(at, now, unit, past=window_of(arrival, RETRIED)):
        return False
    return same(given.lower(), keyed(secret, at.encode("ascii") + b"." + arrival.body).hex())


SENDPILOT = Scheme(
    "header `webhook-signature`, `t=...,s=...`: HMAC-SHA256 in hex over `t`, `.` and body; 2 hours, for retries", _check, window=RETRIED
)
