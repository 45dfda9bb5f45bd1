"""Scan of stored deliveries for the people that they name: for an erasure, and before a client's deliveries are applied after one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from touchbase.common.frames import packs_by_position
from touchbase.common.threads import on_thread
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import IsolatedReader, Translate
from touchbase.erasure_marks import identities_of
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import Unsearchable, find_identities


@packs_by_position
@dataclass(slots=True)
class Identities:
    """Identities in one delivery."""

    refs: set[Ref] = field(default_factory=set)
    """All identities of its events, and all addresses anywhere in it."""
    objects: set[Ref] = field(default_factory=set)
    """Objects of events without an address; another delivery may show whose they are."""
    unsearchable: str | None = None
    """Why not all of it could be searched, so that it may name anybody; None: it was."""


def find_addresses(delivery: Delivery) -> Identities:
    """Return the addresses in a delivery."""
    if delivery.lost is not None:
        return Identities(unsearchable=delivery.lost)
    try:
        return Identities(find_identities(delivery.headers, delivery.query, delivery.body))
    except Unsearchable as error:
        return Identities(unsearchable=str(error))


def add_events(named: Identities, delivery: Delivery, translate: Translate) -> None:
    """Add the identities of a delivery's events."""
    try:
        translation = translate(delivery)
    except Exception:  # an adapter may fail on any body; the addresses were found without it
        return
    for event in translation.events:
        refs = identities_of(translation.tool or "unknown", event)
        named.refs |= refs
        if all(tool for tool, _, _ in refs):
            named.objects |= refs


async def scan_deliveries(deliveries: Sequence[Delivery], translate: Translate) -> dict[int, Identities]:
    """Return the identities in each delivery, by its id; in a translator process, if there is a pool of them."""
    if isinstance(translate, IsolatedReader):
        addresses = await translate.scan_many(deliveries)
    else:
        addresses = await on_thread("translate", _scan_here, deliveries, translate)
    return {delivery.id: named for delivery, named in zip(deliveries, addresses, strict=True)}


def _scan_here(deliveries: Sequence[Delivery], translate: Translate) -> list[Identities]:
    addresses = [find_addresses(delivery) for delivery in deliveries]
    for delivery, named in zip(deliveries, addresses, strict=True):
        add_events(named, delivery, translate)
    return addresses
