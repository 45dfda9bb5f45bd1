"""Search the inbox: deliveries by person, text in the body and event, newest first, within a budget of rows and time.

Deliveries about a person are found through the person's history. Others may name the person and have made no event about them
(parked, unrecognised, failed, ignored or waiting ones): their bodies are searched, as for a text. A page stops where its budget ends and
says where that is; the cursor goes on from there, so that nothing is left out and no read lasts long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import takewhile

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.history.identity_links import Ref
from touchbase.identity.pii_scan import find_identities
from touchbase.inbox.search_queries import DeliveryStep, SoughtPerson
from touchbase.inbox.service import DeliveryFilter
from touchbase.inbox.sql.search import find_sought_person, step_through_deliveries
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import Task, TaskStopped
from touchbase.sql.operation import Query
from touchbase.sql.store import Store

MOST_EXAMINED = 20_000
"""Deliveries that one page examines."""
MOST_SECONDS = 1.0
"""Seconds after which a page stops; at least one step, or one body of it, is examined."""
STEP = 500
"""Deliveries that one step examines."""
LARGEST_SEARCHED = 1024 * 1024
"""Bytes of a decompressed body that is searched."""
LONGEST_TEXT = 200
"""Characters of a text to search for."""
MATCH_BODIES: Task[[Sequence[Delivery], int, str | None, Collection[Ref] | None, float], list[bool | None]] = Task(
    "touchbase.inbox.body_search:match_bodies", 5.0
)
UNREADABLE = "unreadable"
"""Why a body cannot be searched: it is too large, cannot be decompressed, or takes too long. Else as in `Delivery.body_removed`."""
IN_HISTORY = "history"
IN_BODY = "body"
"""Place of a match: the person's history, or the body."""
Place = tuple[int, int]
"""Below which ids a search goes on, in the person's history and in the inbox; 0: all were examined."""
START: Place = (LARGEST_ID, LARGEST_ID)


@dataclass(frozen=True, slots=True)
class DeliverySearch:
    """Filter of a search; None means any. The filter names a client; there is one address or contact id at most."""

    filters: DeliveryFilter
    address: Ref | None = None
    contact_id: int | None = None
    text: str | None = None
    event: str | None = None

    @property
    def is_about_a_person(self) -> bool:
        """Whether it names a person."""
        return self.address is not None or self.contact_id is not None


@dataclass(slots=True)
class UnsearchedBodies:
    """Bodies that were not searched, and the newest of their deliveries."""

    count: int
    example_id: int


@dataclass(slots=True)
class FoundPage:
    """A page of found deliveries, newest first, and how far it searched."""

    deliveries: list[Delivery] = field(default_factory=list)
    found_in: dict[int, str] = field(default_factory=dict)
    """Where each delivery was found, by id; empty for a search by event alone."""
    cursor: Place | None = None
    """Where the next page goes on; None: all deliveries were examined."""
    back_to_us: Micros | None = None
    """When the last examined delivery of the inbox was received; None if only a person's history was."""
    unsearchable: dict[str, UnsearchedBodies] = field(default_factory=dict)
    """By cause."""

    def end_after(self, count: int) -> None:
        """Leave out the deliveries after the first so many; the next page finds them again."""
        history, inbox = self.cursor or (0, 0)
        for left in self.deliveries[count:]:
            if self.found_in.get(left.id) == IN_HISTORY:
                history = max(history, left.id + 1)
            else:
                inbox = max(inbox, left.id + 1)
        del self.deliveries[count:]
        self.cursor = (history, inbox) if history or inbox else None


async def search_deliveries(
    store: Store,
    sandbox: Sandbox,
    search: DeliverySearch,
    limit: int,
    place: Place | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> FoundPage:
    """Return the next page of matching deliveries, maybe with fewer than `limit` although there are more."""
    client = search.filters.client
    assert client is not None
    addresses = [] if search.address is None else [search.address]
    mentioned = sorted(find_identities({}, "", search.text.encode("utf-8", "replace"))) if search.text else []
    find_person = find_sought_person(client, addresses, search.contact_id, mentioned)
    return await _DeliverySearch(store, sandbox, search, limit, find_person, monotonic).page(place or START)


class _DeliverySearch:
    """One page of a search."""

    def __init__(
        self,
        store: Store,
        sandbox: Sandbox,
        search: DeliverySearch,
        limit: int,
        person: Query[SoughtPerson],
        monotonic: Callable[[], float],
    ) -> None:
        self._store = store
        self._sandbox = sandbox
        self._search = search
        self._limit = limit
        self._person = person
        self._monotonic = monotonic
        self._until = 0.0
        self._page = FoundPage()

    async def page(self, place: Place) -> FoundPage:
        """Return the page from this place on."""
        page, search = self._page, self._search
        sought = await self._store.read(self._person)
        if sought.erased:
            return page
        if search.text is not None or sought.addresses:
            # A process may have to be started, which takes longer than to examine many bodies.
            await self._sandbox.call(MATCH_BODIES, [], LARGEST_SEARCHED, None, None, MOST_SECONDS)
        self._until = self._monotonic() + MOST_SECONDS
        history, inbox = place
        if not search.is_about_a_person:
            deliveries, inbox = await self._examine(inbox, search.text is not None)
            self._add(deliveries, None if search.text is None else IN_BODY)
        elif sought.addresses:
            deliveries, inbox = await self._examine(inbox, True, about=sought)
            self._add(deliveries, IN_BODY)
            # The history comes second, and the person is read again, so that a delivery that is applied meanwhile is found in either.
            sought = await self._store.read(self._person)
        else:
            inbox = 0
        if sought.contacts:
            deliveries, history = await self._examine(history, search.text is not None, of_contacts=sought.contacts)
            self._add(deliveries, IN_HISTORY)
        else:
            history = 0
        page.deliveries.sort(key=lambda delivery: -delivery.id)
        page.cursor = (history, inbox) if history or inbox else None
        page.end_after(self._limit)
        return page

    def _add(self, deliveries: Sequence[Delivery], where: str | None) -> None:
        by_id = {delivery.id: delivery for delivery in (*self._page.deliveries, *deliveries)}
        self._page.deliveries = list(by_id.values())
        if where is not None:
            self._page.found_in.update((delivery.id, where) for delivery in deliveries)

    async def _examine(
        self, below: int, bodies: bool, *, of_contacts: list[int] | None = None, about: SoughtPerson | None = None
    ) -> tuple[list[Delivery], int]:
        """Examine deliveries below an id until the page is full or the budget is spent; return the found ones, and where to go on."""
        filters, deliveries, examined = self._search.filters, list[Delivery](), 0
        assert filters.client is not None
        while below:
            step = await self._store.read(
                step_through_deliveries(
                    filters.client, below, STEP, filters.channel, filters.tool, filters.state, filters.received_since_us,
                    filters.received_until_us, filters.problems, self._search.event, of_contacts,
                    None if about is None else about.contacts, bodies,
                )
            )  # fmt: skip
            examined += step.examined
            deliveries += [] if bodies else step.deliveries
            last = await self._look_into(step, deliveries, None if about is None else about.addresses) if bodies else None
            if len(deliveries) > self._limit:
                del deliveries[self._limit :]
                last = deliveries[-1]
            below = step.below if last is None else last.id
            if of_contacts is None and step.oldest_us is not None:
                self._page.back_to_us = step.oldest_us if last is None else last.received_us
            if len(deliveries) == self._limit or examined >= MOST_EXAMINED or self._monotonic() >= self._until:
                break
        return deliveries, below

    async def _look_into(self, step: DeliveryStep, deliveries: list[Delivery], addresses: Collection[Ref] | None) -> Delivery | None:
        """Add the deliveries of a step whose bodies match; return the last examined one if the page is full or the time is up."""
        waiting = step.deliveries
        while waiting:
            matches = await self._match(waiting, addresses)
            for delivery, is_match in zip(waiting, matches, strict=False):
                if is_match is None:
                    self._count_unsearchable(delivery.body_removed or UNREADABLE, delivery)
                elif is_match:
                    deliveries.append(delivery)
                if len(deliveries) == self._limit:
                    return delivery
            if self._monotonic() >= self._until:
                return waiting[len(matches) - 1]
            waiting = waiting[len(matches) :]
        return None

    async def _match(self, deliveries: Sequence[Delivery], addresses: Collection[Ref] | None) -> list[bool | None]:
        """Return for the first of these deliveries, at least one, whether it matches; None if it cannot be searched."""
        if deliveries[0].body_removed is not None:
            return [None]
        several = [*takewhile(lambda delivery: delivery.body_removed is None, deliveries)]
        for part in (several, several[:1]):
            with suppress(TaskStopped):
                return await self._sandbox.call(MATCH_BODIES, part, LARGEST_SEARCHED, self._search.text, addresses, MOST_SECONDS)
        return [None]

    def _count_unsearchable(self, cause: str, delivery: Delivery) -> None:
        self._page.unsearchable.setdefault(cause, UnsearchedBodies(0, delivery.id)).count += 1
