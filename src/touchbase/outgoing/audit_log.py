"""The audit log as the log of an endpoint of the kind audit.

Acts have no sequence: they stand in the databases of all cells, in the order of their times. An act's number here is its time with its
place among the acts of the same microsecond, which is fixed once the moment is over.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import astuple
from typing import Any

from msgspec import to_builtins

from touchbase.audit import SETTLED, AuditEvent, follow_audit_events, list_audit_events
from touchbase.clients.sql.clients import find_client_by_number
from touchbase.common.timestamps import Micros
from touchbase.event_log.models import LoggedEvent, LoggedPage
from touchbase.http.actors import ActorNames
from touchbase.http.acts import acts_out
from touchbase.outgoing.models import ACTS, EVERY_CLIENT, act_number
from touchbase.sql.store import Store


async def newest_act(store: Store, now: Micros) -> int:
    """Return a number up to which there are acts, those of the last moments left out; 0: there is none. `store`: of all cells."""
    newest = await store.read(list_audit_events(1, until_us=now - SETTLED))
    return act_number(newest[0].at_us + 1) - 1 if newest else 0


async def acts_after(store: Store, number: int, now: Micros, limit: int) -> LoggedPage:
    """Return the acts after a number, oldest first, without those of the last moments."""
    at, seen = divmod(number + 1, ACTS)
    acts = await store.read(follow_audit_events(limit + seen, (at, ""), now - SETTLED))
    places: Counter[Micros] = Counter()
    events: list[LoggedEvent] = []
    for act in acts:
        sequence = act_number(act.at_us) + places[act.at_us]
        places[act.at_us] += 1
        events.append(LoggedEvent(EVERY_CLIENT, f"audit.{act.action}", act.at_us, data={"act": astuple(act)}, sequence=sequence))
    last = events[-1].sequence if len(acts) == limit + seen else max(number, act_number(now - SETTLED) - 1)
    return LoggedPage([event for event in events if event.sequence > number], last, last, 0)


async def find_act(store: Store, number: int) -> LoggedEvent | None:
    """Return the act with this number; None: it is not stored any more."""
    page = await acts_after(store, number - 1, number // ACTS + 1 + SETTLED, 1)
    return page.events[0] if page.events and page.events[0].sequence == number else None


async def shown_act(store: Store, actors: ActorNames, event: LoggedEvent) -> dict[str, Any]:
    """Return an act as the API shows it. Raises `Overloaded` while its client's cell cannot be read."""
    act = AuditEvent(*event.data["act"])
    client = None if act.client is None else await store.read(find_client_by_number(act.client))
    [shown] = await acts_out([act], actors, {} if client is None else {client.number: client.client_id})
    built: dict[str, Any] = to_builtins(shown)
    return built
