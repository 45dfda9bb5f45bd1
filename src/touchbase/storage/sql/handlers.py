"""Which plan carries out which command: the one table that the engines read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from touchbase.domain import client_life as cl
from touchbase.domain import commands as c
from touchbase.domain import erasure as e
from touchbase.domain import key_life as kl
from touchbase.domain import seals
from touchbase.domain.ports import Sealer
from touchbase.storage.sql import (
    bodies,
    client_life,
    client_removal,
    clients,
    connections,
    create,
    erase,
    erase_restore,
    fetching,
    inbox,
    kept_answers,
    keys,
    sealed,
    update,
)
from touchbase.storage.sql.apply import IN_USE, KEPT, apply_batch, apply_needs
from touchbase.storage.sql.erased import guarded
from touchbase.storage.sql.inbox import claim, claim_named, hold, look_ahead, note_failure
from touchbase.storage.sql.op import Plan
from touchbase.storage.sql.reads import Answers
from touchbase.storage.sql.statements import RESERVE_IDS

__all__ = [
    "COMMANDS", "IN_USE", "KEPT", "RESERVE_IDS", "Answers", "Handler", "apply_batch", "apply_needs", "claim", "claim_named",
    "hold", "look_ahead", "note_failure", "with_sealer",
]  # fmt: skip


def _none(commands: Any) -> Mapping[str, int]:
    return {}


@dataclass(frozen=True, slots=True)
class Handler:
    """How a kind of command is carried out.

    `run` takes the group's commands of this kind and answers one result, or one `TouchbaseError`
    instance, for each in order. `needs` says how many ids it may take. Where `solo` is true one
    step alone is the whole write and the others only read, so an engine may spare the transaction; not
    where a command of the group is `guarded`, because then erasures are looked at before, and lifted after.
    Where `seals` is true, `run` takes the store's sealer as a third argument.
    """

    run: Callable[..., Plan[list[object]]]
    needs: Callable[[Any], Mapping[str, int]] = _none
    solo: bool = False
    seals: bool = False


COMMANDS: dict[type, Handler] = {
    c.CreateContact: Handler(guarded(create.create_contacts), create.contact_needs, solo=True),
    c.CreateCompany: Handler(create.create_companies, create.company_needs, solo=True),
    c.UpdateContact: Handler(guarded(update.update_contacts), update.update_needs),
    c.UpdateCompany: Handler(update.update_companies, update.update_needs),
    c.KeepDelivery: Handler(inbox.keep_deliveries, inbox.keep_needs, solo=True),
    c.KeepAnew: Handler(inbox.keep_anew, inbox.keep_needs),
    c.CountRepeat: Handler(inbox.count_repeats, solo=True),
    c.ReplayDeliveries: Handler(inbox.replay_deliveries),
    c.ReplayMany: Handler(inbox.replay_many),
    c.ForgetAnswers: Handler(kept_answers.forget_answers),
    c.EnsureClient: Handler(clients.ensure_clients, clients.ensure_needs),
    c.SetClientSettings: Handler(clients.set_settings),
    c.AddConnection: Handler(connections.add_connections, seals=True),
    c.ChangeConnection: Handler(connections.change_connections, seals=True),
    c.RemoveConnection: Handler(connections.remove_connections),
    seals.SealAgain: Handler(sealed.seal_more, seals=True),
    seals.RetireKeys: Handler(sealed.retire, seals=True),
    seals.ReplaceLost: Handler(sealed.replace_lost, seals=True),
    c.StoreKey: Handler(keys.store_keys),
    cl.CreateClient: Handler(client_life.create_clients, client_life.create_needs),
    cl.RenameClient: Handler(client_life.rename_clients),
    cl.SetClientState: Handler(client_life.set_states),
    cl.RotateClientId: Handler(client_life.rotate_ids),
    cl.BeginDeletion: Handler(client_life.begin_deletions),
    cl.RemoveClientRows: Handler(client_removal.remove_rows),
    kl.StoreFirstKey: Handler(keys.store_first_keys),
    kl.RotateKey: Handler(keys.rotate_keys),
    kl.RevokeKey: Handler(keys.revoke_keys),
    kl.NoteKeyUses: Handler(keys.note_uses, solo=True),
    c.ClaimFetch: Handler(fetching.claim_fetches),
    c.FinishFetch: Handler(fetching.finish_fetches),
    e.ErasePerson: Handler(erase.erase_people, erase.erase_needs),
    e.SweepErasure: Handler(erase.sweep_erasures),
    e.LiftErasure: Handler(erase.lift_erasures),
    e.AddErasures: Handler(erase_restore.add_erasures, erase_restore.add_needs),
    e.EraseWaiting: Handler(erase_restore.erase_waiting_places),
    e.RetainBodies: Handler(bodies.retain_bodies),
}


def with_sealer(handlers: Mapping[type, Handler], sealer: Sealer) -> dict[type, Handler]:
    """The same handlers, those that seal with this sealer in hand."""
    return {
        kind: replace(handler, run=partial(handler.run, sealer=sealer), seals=False) if handler.seals else handler
        for kind, handler in handlers.items()
    }
