"""Mailgun's signature scheme: HMAC of a timestamp and a random token, all three in the body.

The body itself is not signed, so only the timestamp limits replay of a captured signature. A retry has the timestamp of
the first attempt, and the last retry comes after more than eight hours: the usual window would lose events during a
server outage. Repeated events are deduplicated. Legacy webhooks are forms with the three at the top level; a
subaccount's webhooks also have its parent's signature.
"""

from __future__ import annotations

from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.signatures import Scheme, equals_any, hmac_digest, is_recent, window_of
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival

RETRIED: Micros = 12 * 3600 * SECOND
"""Maximum age of a signature: 10 + 10 + 15 + 30 minutes and 1 + 2 + 4 hours of retries, plus transmission."""


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    top = fields(arrival)
    nested = top.get("signature")
    signed = nested if isinstance(nested, dict) else top
    at, token = text(signed.get("timestamp")), text(signed.get("token"))
    if at is None or token is None or not is_recent(at, now, past=window_of(arrival, RETRIED)):
        return False
    wanted = hmac_digest(secret, (at + token).encode()).hex()
    return equals_any([text(signed.get(name)) for name in ("signature", "parent-signature")], wanted)


MAILGUN = Scheme(
    "`signature` in the body: HMAC-SHA256 in hex over its `timestamp` and `token`; 12 hours, for retries",
    _check,
    reads_body=True,
    window=RETRIED,
)
