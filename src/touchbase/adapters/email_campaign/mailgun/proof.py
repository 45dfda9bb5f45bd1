"""Mailgun: how it proves who it is: a keyed hash of a time and a random token, all three in the body.

The body itself is not hashed, so the time is what keeps an overheard signature from being used for ever.
Older webhooks are forms with the three at the top; a subaccount's calls carry its parent's signature too.
"""

from __future__ import annotations

from touchbase.adapters.kit.proof import Scheme, in_time, keyed, one_of
from touchbase.adapters.kit.proof_body import fields
from touchbase.adapters.kit.reading import text
from touchbase.domain.connection import Arrival
from touchbase.domain.times import Micros


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    top = fields(arrival)
    nested = top.get("signature")
    told = nested if isinstance(nested, dict) else top
    at, token = text(told.get("timestamp")), text(told.get("token"))
    if at is None or token is None or not in_time(at, now):
        return False
    wanted = keyed(secret, (at + token).encode()).hex()
    return one_of([text(told.get(name)) for name in ("signature", "parent-signature")], wanted)


MAILGUN = Scheme("`signature` in the body: HMAC-SHA256 in hex over its `timestamp` and `token`; 5 minutes", _check)
