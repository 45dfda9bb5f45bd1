"""UniSender Go's signature scheme: `auth` is the MD5 of the body with the API key in place of `auth`."""

from __future__ import annotations

from hashlib import md5

from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.signatures import Scheme, constant_time_equal
from touchbase.adapters.kit.signatures_body import fields
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    auth = text(fields(arrival).get("auth"))
    if auth is None or len(auth) != 32 or not auth.isascii():
        return False
    body = arrival.body.replace(auth.encode(), secret.encode(), 1)
    return constant_time_equal(auth.lower(), md5(body, usedforsecurity=False).hexdigest())


UNISENDER = Scheme("field `auth` of the body: MD5 of the body with the secret in place of `auth`", _check, reads_body=True)
