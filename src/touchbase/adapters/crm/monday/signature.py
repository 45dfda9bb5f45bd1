"""monday.com's signature scheme for app webhooks: a JSON Web Token, signed with the app's signing secret.

The token does not cover the body; only its signature and expiry are checked. Webhooks created without an app have no token.
"""

from __future__ import annotations

import msgspec

from touchbase.adapters.kit.signatures import WINDOW, Scheme, constant_time_equal, hmac_digest, unbase64
from touchbase.common.timestamps import SECOND, Micros
from touchbase.connections.models import Arrival


class _Head(msgspec.Struct):
    alg: str


class _Claims(msgspec.Struct):
    exp: float


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    token = arrival.headers.get("authorization", "").removeprefix("Bearer ").strip()
    signed, dot, signature = token.rpartition(".")
    if not dot or not constant_time_equal(unbase64(signature, of_urls=True), hmac_digest(secret, signed.encode())):
        return False
    head, _, claims = signed.partition(".")
    try:
        payload = msgspec.json.decode(unbase64(claims, of_urls=True) or b"", type=_Claims)
        algorithm = msgspec.json.decode(unbase64(head, of_urls=True) or b"", type=_Head).alg
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return algorithm == "HS256" and payload.exp * SECOND > now - WINDOW


MONDAY = Scheme("header `authorization`: a JSON Web Token (HS256) of the app's signing secret, not past its end", _check)
