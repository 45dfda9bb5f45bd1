"""HubSpot's signature schemes, versions 1 to 3.

Reference: the pages on request validation, and the vendor's libraries (read 2026-11-20). Versions 2 and 3 sign the URL.
A request may have several versions; then the third is checked, because only it has a timestamp.
"""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256

from touchbase.adapters.kit.signatures import WINDOW, Scheme, constant_time_equal, hmac_digest, is_recent, window_of
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival

_MILLISECOND: Micros = 1_000
# Version 3 signs the query with exactly these characters decoded.
_PLAIN = {f"%{ord(char):02X}": char for char in ":/?@!$'()*,;"}
_ENCODED = re.compile("|".join(_PLAIN), re.IGNORECASE)


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    third = arrival.headers.get("x-hubspot-signature-v3")
    if third is not None:
        return _third(arrival, secret, third, now)
    signature, key = arrival.headers.get("x-hubspot-signature"), secret.encode()
    if signature is None:
        return False
    if arrival.headers.get("x-hubspot-signature-version", "").lower() == "v2":
        return constant_time_equal(
            signature.lower(), sha256(key + arrival.method.encode() + _without_fragment(arrival.url) + arrival.body).hexdigest()
        )
    # Version 1 covers neither the URL nor a time, so a captured request could be replayed to any other webhook URL.
    return arrival.settings.allow_v1_signatures and constant_time_equal(signature.lower(), sha256(key + arrival.body).hexdigest())


def _third(arrival: Arrival, secret: str, signature: str, now: Micros) -> bool:
    at = arrival.headers.get("x-hubspot-request-timestamp")
    if at is None or not is_recent(at, now, _MILLISECOND, past=window_of(arrival)):
        return False
    place, mark, query = _without_fragment(arrival.url).decode().partition("?")
    plain = _ENCODED.sub(lambda match: _PLAIN[match[0].upper()], query)
    message = arrival.method.encode() + f"{place}{mark}{plain}".encode() + arrival.body + at.encode()
    return constant_time_equal(signature, b64encode(hmac_digest(secret, message)))


def _without_fragment(url: str) -> bytes:
    return url.partition("#")[0].encode()


HUBSPOT = Scheme(
    "headers `x-hubspot-signature-v3` (5 minutes), else `x-hubspot-signature` (v2; v1 with the setting `allow_v1_signatures`): "
    "the app's client secret, over the address and body",
    _check,
    window=WINDOW,
)
