"""GoHighLevel's signature scheme: one public key for all of its customers.

A signature therefore proves only that GoHighLevel sent the request. The customer is identified by the location at the
top level of the body, which GoHighLevel sets; the connection names the location that it accepts.
"""

from __future__ import annotations

from dataclasses import replace

from touchbase.adapters.kit.extract import text
from touchbase.adapters.kit.signatures import Scheme
from touchbase.adapters.kit.signatures_body import parsed_webhook
from touchbase.adapters.kit.signatures_public_key import ED25519_KEY, ed25519_body, rsa_body
from touchbase.common.timestamps import Micros
from touchbase.connections.models import Arrival


def _bound(signed: Scheme) -> Scheme:
    """Restrict a scheme to requests of the connection's own location."""

    def check(arrival: Arrival, secret: str, now: Micros) -> bool:
        location = arrival.settings.location_id
        return location is not None and signed.check(arrival, secret, now) and _locations(arrival) == {location}

    about = f"{signed.about}; `location_id` names the location that the body must name"
    return replace(signed, about=about, check=check, reads_body=True, form=ED25519_KEY)


def _locations(arrival: Arrival) -> set[str | None]:
    """Return the locations at the top level of a body, or of each object in a list; None stands for a missing one."""
    webhook = parsed_webhook(arrival)
    items = [] if webhook is None else webhook.data if isinstance(webhook.data, list) else [webhook.data]
    return {location for item in items for location in _named(item)}


def _named(item: object) -> set[str | None]:
    if not isinstance(item, dict):
        return {None}
    location = item.get("location")
    ids = [item.get("locationId"), item.get("location_id"), location.get("id") if isinstance(location, dict) else None]
    return {text(location_id) for location_id in ids if location_id is not None} or {None}


SIGNED = (_bound(ed25519_body("x-ghl-signature")), _bound(rsa_body("x-wh-signature")))
