"""Which plan carries out which command: the one table that the engines read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from touchbase.domain import client_life as cl
from touchbase.domain import commands as c
from touchbase.domain import erasure as e
from touchbase.domain import key_life as kl
from touchbase.domain import refusals as rf
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
    recent_calls,
    refusals,
    sealed,
    update,
)
from touchbase.storage.sql.apply import IN_USE, KEPT, apply_batch, apply_needs
from touchbase.storage.sql.erased import guarded
from touchbase.storage.sql.ids import Ids
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


def _one(name: str) -> Callable[[Any], Mapping[str, int]]:
    """Each command may take one id."""
    return lambda commands: {name: len(commands)}


def _record(name: str) -> Callable[[Any], Mapping[str, int]]:
    """Each may take an id for a record, and one for each of its custom fields."""
    return lambda commands: {name: len(commands), "custom_field": sum(len(command.custom) for command in commands)}


def _refused(commands: Any) -> Mapping[str, int]:
    """Each refused call takes an id."""
    return {"refusal": sum(len(command.refused) for command in commands)}


def _each(carry_out: Callable[..., Plan[Any]], *, takes_ids: bool = False) -> Callable[..., Plan[list[object]]]:
    """The plan of a group whose commands are carried out one after the other: what is rarely written."""

    def run(commands: Sequence[Any], ids: Ids, **sealer: Sealer) -> Plan[list[object]]:
        results: list[object] = []
        for command in commands:
            results.append((yield from carry_out(command, *([ids] if takes_ids else ()), **sealer)))
        return results

    return run


@dataclass(frozen=True, slots=True)
class Handler:
    """How a kind of command is carried out.

    `run` takes the group's commands of this kind and answers one result, or one `TouchbaseError`
    instance, for each in order. `needs` says how many ids it may take. Where `solo` is true one
    step alone is the whole write and the others only read, so an engine may spare the transaction; not
    where a command of the group is `guarded`, because then erasures are looked at before, and lifted after.
    Where `seals` is true, `run` takes the store's sealer too.
    """

    run: Callable[..., Plan[list[object]]]
    needs: Callable[[Any], Mapping[str, int]] = _none
    solo: bool = False
    seals: bool = False


COMMANDS: dict[type, Handler] = {
    c.CreateContact: Handler(guarded(create.create_contacts), _record("contact"), solo=True),
    c.CreateCompany: Handler(create.create_companies, _record("company"), solo=True),
    c.UpdateContact: Handler(guarded(update.update_contacts), update.update_needs),
    c.UpdateCompany: Handler(update.update_companies, update.update_needs),
    c.KeepDelivery: Handler(inbox.keep_deliveries, _one("delivery"), solo=True),
    c.CountRepeat: Handler(inbox.count_repeats, solo=True),
    c.ReplayDeliveries: Handler(_each(inbox.replay_deliveries)),
    c.ReplayMany: Handler(_each(inbox.replay_many)),
    c.ForgetCalls: Handler(_each(recent_calls.forget_calls)),
    rf.NoteRefusals: Handler(refusals.note_refusals, _refused),
    c.ForgetAnswers: Handler(_each(kept_answers.forget_answers)),
    c.EnsureClient: Handler(clients.ensure_clients, _one("client")),
    c.SetClientSettings: Handler(_each(clients.set_settings)),
    c.AddConnection: Handler(_each(connections.add_connection), seals=True),
    c.ChangeConnection: Handler(_each(connections.change_connection), seals=True),
    c.RemoveConnection: Handler(_each(connections.remove_connection)),
    seals.SealAgain: Handler(_each(sealed.seal_more), seals=True),
    seals.RetireKeys: Handler(_each(sealed.retire_keys), seals=True),
    seals.ReplaceLost: Handler(_each(sealed.replace_lost), seals=True),
    c.StoreKey: Handler(_each(keys.store_key)),
    cl.CreateClient: Handler(_each(client_life.create_client, takes_ids=True), _one("client")),
    cl.RenameClient: Handler(_each(client_life.rename_client)),
    cl.SetClientState: Handler(_each(client_life.set_state)),
    cl.RotateClientId: Handler(_each(client_life.rotate_id)),
    cl.BeginDeletion: Handler(_each(client_life.begin_deletion)),
    cl.RemoveClientRows: Handler(_each(client_removal.remove_rows)),
    kl.StoreFirstKey: Handler(_each(keys.store_first_key)),
    kl.RotateKey: Handler(_each(keys.rotate_key)),
    kl.RevokeKey: Handler(_each(keys.revoke_key)),
    kl.NoteKeyUses: Handler(keys.note_uses, solo=True),
    c.ClaimFetch: Handler(_each(fetching.claim_fetch)),
    c.FinishFetch: Handler(_each(fetching.finish_fetch)),
    e.ErasePerson: Handler(_each(erase.erase_person, takes_ids=True), _one("erasure")),
    e.SweepErasure: Handler(_each(erase.sweep_erasure)),
    e.LiftErasure: Handler(_each(erase.lift_erasures)),
    e.AddErasures: Handler(_each(erase_restore.add_erasures, takes_ids=True), erase_restore.add_needs),
    e.EraseWaiting: Handler(_each(erase_restore.erase_waiting_places)),
    e.RetainBodies: Handler(_each(bodies.retain_bodies)),
    e.DropUnrecognised: Handler(_each(bodies.drop_unrecognised)),
}


def with_sealer(handlers: Mapping[type, Handler], sealer: Sealer) -> dict[type, Handler]:
    """The same handlers, those that seal with this sealer in hand."""
    return {
        kind: replace(handler, run=partial(handler.run, sealer=sealer), seals=False) if handler.seals else handler
        for kind, handler in handlers.items()
    }
