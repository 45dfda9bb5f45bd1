"""Mailgun: how it proves who it is: a keyed hash of a time and a random token, all three in the body.

The body itself is not hashed, so the time is what keeps an overheard signature from being used for ever. A
retry shows the time of the first try, and the last one comes after more than eight hours: a window as short
as that of others would lose what happened during an outage of ours. An event that comes twice counts once.
Older webhooks are forms with the three at the top; a subaccount's calls carry its parent's signature too.
"""

from __future__ import annotations

from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.signatures import Scheme, in_time, keyed, one_of, window_of
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

RETRIED: Micros = 12 * 3600 * SECOND
"""How long after its signature a call may come: 10 + 10 + 15 + 30 minutes and 1 + 2 + 4 hours of retries, and the way."""


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    top = fields(arrival)
    nested = top.get("signature")
    told = nested if isinstance(nested, dict) else top
    at, token = text(told.get("timestamp")), text(told.get("token"))
    if at is None or token is None or not in_time(at, now, past=window_of(arrival, RETRIED)):
        return False
    wanted = keyed(secret, (at + token).encode()).hex()
    return one_of([text(told.get(name)) for name in ("signature", "parent-signature")], wanted)


MAILGUN = Scheme(
    "`signature` in the body: HMAC-SHA256 in hex over its `timestamp` and `token`; 12 hours, for retries",
    _check,
    reads_body=True,
    window=RETRIED,
)
