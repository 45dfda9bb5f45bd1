"""Calls that wait for a suspended client and tell of erased people: they are applied, without them, and their bodies go.

Whatever else waits for a suspended client stays as it is. What such a call tells of others is in the same body, so it must be
applied before the body goes; order does not matter, so their records come out as if all had been applied at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.clients.commands import FindClientByNumber
from touchbase.clients.models import SUSPENDED
from touchbase.common.timestamps import Clock
from touchbase.erasure.commands import FindErased, ReadBodies
from touchbase.events.work import ProcessingStore, Translate
from touchbase.history.identity_links import Ref
from touchbase.inbox.delivery import Delivery
from touchbase.suppression.pii_scan import mentions
from touchbase.suppression.suppression_keys import named_by

PAGE = 200


@dataclass(slots=True)
class Named:
    """Whom a call names."""

    refs: set[Ref]
    """Every identity: in its events, and as an address anywhere in it."""
    objects: set[Ref]
    """Objects of events that name no address: they may be of whoever was seen with the object in another call."""


@dataclass(slots=True)
class _Pass:
    """How far a pass has come, and whether it applied anything."""

    after: int = 0
    applied: bool = False


def whom(delivery: Delivery, translate: Translate) -> Named:
    """Whom a kept call names."""
    named = Named(mentions(delivery.headers, delivery.query, delivery.body), set())
    try:
        translation = translate(delivery)
    except Exception:  # an adapter may break on any body; the addresses were found without it
        return named
    for event in translation.events:
        refs = named_by(translation.tool or "unknown", event)
        named.refs |= refs
        if all(tool for tool, _, _ in refs):
            named.objects |= refs
    return named


def named_in(delivery: Delivery, translate: Translate) -> set[Ref]:
    """Every identity of a person that a kept call names."""
    return whom(delivery, translate).refs


class PendingDeliveries:
    """Looks through what waits for suspended clients, page by page, again and again until nothing tells of anybody erased.

    A call may name an erased person by nothing but an object that a later one shows to be theirs, hence another pass. Where we
    are is remembered by this process only: whoever goes on after it was killed begins anew.
    """

    def __init__(self, store: ProcessingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._passes: dict[tuple[int, int], _Pass] = {}

    async def page(self, client: int, search: int, translate: Translate) -> tuple[int, bool]:
        """Look through the next page for this search: how many calls were applied, and whether this is its end."""
        found = await self._store.read(FindClientByNumber(client))
        if found is None or found.state != SUSPENDED:
            self._passes.pop((client, search), None)
            return 0, True
        at = self._passes.setdefault((client, search), _Pass())
        page = await self._store.read(ReadBodies(client, at.after, PAGE, waiting=True))
        theirs = await self._theirs(client, page.deliveries, translate)
        applied = (await self._store.work_on(client, theirs, translate, self._clock())).taken if theirs else 0
        at.applied |= applied > 0
        if page.last is not None:
            at.after = page.last
            return applied, False
        del self._passes[client, search]
        if at.applied:
            self._passes[client, search] = _Pass()
        return applied, not at.applied

    async def _theirs(self, client: int, deliveries: Sequence[Delivery], translate: Translate) -> list[int]:
        """Those of these calls that tell of somebody erased."""
        named = await asyncio.to_thread(lambda: {each.id: whom(each, translate) for each in deliveries})
        outright = await self._erased(client, [each.refs for each in named.values()], derived=False)
        derived = await self._erased(client, [each.objects for each in named.values()], derived=True)
        return [number for number, one in named.items() if one.refs & outright or one.objects & derived]

    async def _erased(self, client: int, refs: Sequence[set[Ref]], *, derived: bool) -> set[Ref]:
        every = sorted(set[Ref]().union(*refs))
        return await self._store.read(FindErased(client, every, derived)) if every else set()
