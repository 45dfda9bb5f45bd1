"""Frappe's signature scheme: HMAC of the body in base64, with the webhook's secret."""

from __future__ import annotations

from base64 import b64encode

from touchbase.adapters.kit.signatures import Scheme, constant_time_equal, hmac_digest
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    return constant_time_equal(arrival.headers.get("x-frappe-webhook-signature"), b64encode(hmac_digest(secret, arrival.body)))


FRAPPE = Scheme("header `x-frappe-webhook-signature`: HMAC-SHA256 of the body in base64", _check)
