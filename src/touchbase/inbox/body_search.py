"""Search of stored bodies for a text or for addresses: a task of the sandbox."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence

from touchbase.common.content_encoding import decoded
from touchbase.deliveries.delivery import Delivery
from touchbase.errors import UnrecognisedPayload
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import Unsearchable, contains_text, find_identities


def match_bodies(
    deliveries: Sequence[Delivery], largest: int, text: str | None, addresses: Collection[Ref] | None, seconds: float
) -> list[bool | None]:
    """Return for each delivery whether it matches, or None if it cannot be searched; ends early, after at least one, after `seconds`."""
    until = time.monotonic() + seconds
    matches: list[bool | None] = []
    for delivery in deliveries:
        matches.append(_matches(delivery, largest, text, addresses))
        if time.monotonic() >= until:
            break
    return matches


def _matches(delivery: Delivery, largest: int, text: str | None, addresses: Collection[Ref] | None) -> bool | None:
    if delivery.lost is not None:
        return None
    headers = {name: value for name, value in delivery.headers.items() if name != "content-encoding"}
    try:
        plain = decoded(delivery.headers.get("content-encoding", ""), delivery.body, largest)
        if len(plain) > largest:
            return None
        if addresses is not None and find_identities(headers, delivery.query, plain).isdisjoint(addresses):
            return False
    except (UnrecognisedPayload, Unsearchable):
        return None
    return text is None or contains_text(plain, text)
