"""Mandrill's signature scheme: HMAC of the URL and the sorted form fields."""

from __future__ import annotations

from base64 import b64encode
from urllib.parse import parse_qsl

from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, hmac_digest
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    signature = arrival.headers.get("x-mandrill-signature")
    if signature is None:
        return False
    try:
        fields = parse_qsl(arrival.body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=1_000)
    except ValueError:
        return False
    message = arrival.url + "".join(name + value for name, value in sorted(fields))
    return constant_time_equal(signature, b64encode(hmac_digest(secret, message.encode(), "sha1")))


MANDRILL = Scheme("header `x-mandrill-signature`: HMAC-SHA1 in base64 over the address and the form's fields", _check, reads_body=True)
