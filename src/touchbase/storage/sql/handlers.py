"""Which plan carries out which command: the one table that the engines read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from touchbase.domain import commands as c
from touchbase.domain import erasure as e
from touchbase.storage.sql import bodies, clients, connections, create, erase, erase_restore, inbox, update
from touchbase.storage.sql.apply import apply_batch, apply_needs
from touchbase.storage.sql.erased import guarded
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.inbox import claim, note_failure
from touchbase.storage.sql.op import Plan
from touchbase.storage.sql.reads import answer
from touchbase.storage.sql.statements import RESERVE_IDS

__all__ = ["COMMANDS", "RESERVE_IDS", "Handler", "answer", "apply_batch", "apply_needs", "claim", "note_failure"]


def _none(commands: Any) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Handler:
    """How a kind of command is carried out.

    `run` takes the group's commands of this kind and answers one result, or one `TouchbaseError`
    instance, for each in order. `needs` says how many ids it may take. Where `solo` is true the first
    step alone is the whole write and what follows only reads, so an engine may spare the transaction.
    """

    run: Callable[[Any, Ids], Plan[list[object]]]
    needs: Callable[[Any], Mapping[str, int]] = _none
    solo: bool = False


COMMANDS: dict[type, Handler] = {
    c.CreateContact: Handler(guarded(create.create_contacts), create.contact_needs, solo=True),
    c.CreateCompany: Handler(create.create_companies, create.company_needs, solo=True),
    c.UpdateContact: Handler(guarded(update.update_contacts), update.update_needs),
    c.UpdateCompany: Handler(update.update_companies, update.update_needs),
    c.KeepDelivery: Handler(inbox.keep_deliveries, inbox.keep_needs, solo=True),
    c.CountRepeat: Handler(inbox.count_repeats, solo=True),
    c.ReplayDeliveries: Handler(inbox.replay_deliveries),
    c.EnsureClient: Handler(clients.ensure_clients, clients.ensure_needs),
    c.SetClientSettings: Handler(clients.set_settings),
    c.AddConnection: Handler(connections.add_connections),
    c.ChangeConnection: Handler(connections.change_connections),
    c.RemoveConnection: Handler(connections.remove_connections),
    c.StoreKey: Handler(clients.store_keys, solo=True),
    e.ErasePerson: Handler(erase.erase_people, erase.erase_needs),
    e.SweepErasure: Handler(erase.sweep_erasures),
    e.LiftErasure: Handler(erase.lift_erasures),
    e.AddErasures: Handler(erase_restore.add_erasures, erase.erase_needs),
    e.RetainBodies: Handler(bodies.retain_bodies),
}
