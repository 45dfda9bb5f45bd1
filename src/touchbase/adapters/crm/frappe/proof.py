"""How Frappe's webhooks prove who sends them: base64 of the keyed hash of the body, under the webhook's secret."""

from __future__ import annotations

from base64 import b64encode

from touchbase.adapters.kit.signatures import Scheme, keyed, same
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _check(arrival: Arrival, secret: str, now: Micros) -> bool:
    return same(arrival.headers.get("x-frappe-webhook-signature"), b64encode(keyed(secret, arrival.body)))


FRAPPE = Scheme("header `x-frappe-webhook-signature`: HMAC-SHA256 of the body in base64", _check)
