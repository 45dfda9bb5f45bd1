"""Queued deliveries that name erased people: apply them at once without those people, and remove their bodies.

Other queued deliveries stay queued, also those of a suspended client. A delivery may name other people in the same body, so it must be
applied before the body is removed. The projection does not depend on order, so their records are the same as if all had been applied at
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.clients.models import DELETING
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import Clock
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import ProcessingStore, Translate
from touchbase.erasure.sql.persons import find_erased, read_bodies
from touchbase.history.identity_links import Ref
from touchbase.identity.scan import scan_deliveries

PAGE = 200


@dataclass(slots=True)
class _Pass:
    """Progress of one pass, whether it has applied anything, and whether it has found a delivery that could not be applied."""

    after: int = 0
    applied: bool = False
    is_stuck: bool = False


@dataclass(frozen=True, slots=True)
class PendingPage:
    """The result of a page: deliveries applied, whether the search is finished, and whether it must wait for another process."""

    applied: int
    done: bool
    is_stuck: bool = False


class PendingDeliveries:
    """Searches the queued deliveries of a client, page by page, until a pass finds no erased person.

    A delivery may name an erased person only by an object that a later delivery shows to be theirs; hence several passes. The progress
    is in memory only: after a restart the search begins again.
    """

    def __init__(self, store: ProcessingStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._passes: dict[tuple[int, int], _Pass] = {}

    async def page(self, client: int, search: int, translate: Translate, until: int | None = None) -> PendingPage:
        """Search the next page of the deliveries up to the id `until`."""
        current_client = await self._store.read(find_client_by_number(client))
        if current_client is None or current_client.state == DELETING:
            self._passes.pop((client, search), None)
            return PendingPage(0, done=True)
        current = self._passes.setdefault((client, search), _Pass())
        page = await self._store.read(read_bodies(client, current.after, PAGE, until, waiting=True))
        naming = await self._naming_erased(client, page.deliveries, translate)
        applied = (await self._store.work_on(client, naming, translate, self._clock())).taken if naming else 0
        current.applied |= applied > 0
        current.is_stuck |= applied < len(naming)  # another process may be applying them
        if page.last is not None:
            current.after = page.last
            return PendingPage(applied, done=False)
        del self._passes[client, search]
        if current.applied or current.is_stuck:
            self._passes[client, search] = _Pass()
        return PendingPage(applied, not (current.applied or current.is_stuck), current.is_stuck and not current.applied)

    async def _naming_erased(self, client: int, deliveries: Sequence[Delivery], translate: Translate) -> list[int]:
        """Return the ids of the deliveries that name an erased person, or may name one."""
        named = await scan_deliveries(deliveries, translate)
        direct = await self._erased(client, [ids.refs for ids in named.values()], derived=False)
        derived = await self._erased(client, [ids.objects for ids in named.values()], derived=True)
        return [number for number, ids in named.items() if ids.refs & direct or ids.objects & derived or ids.unsearchable]

    async def _erased(self, client: int, refs: Sequence[set[Ref]], *, derived: bool) -> set[Ref]:
        every = sorted(set[Ref]().union(*refs))
        return await self._store.read(find_erased(client, every, derived)) if every else set()
