"""Scopes: whose rows a command or a query may touch.

PostgreSQL's row-level security holds every transaction to its scope: a second wall behind the statements,
each of which names its client by itself. What is named here is all that may see several clients at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NewType

from touchbase.auth.commands import AnyKey, FindKey, ListKeys, RevokeKey, RotateKey, StoreFirstKey, StoreKey, StoreKeyUses
from touchbase.clients.commands import (
    CreateClient,
    DeletingClients,
    EnsureClient,
    FindClient,
    FindClientByNumber,
    ListClientPage,
    ListClients,
    RotateClientId,
    SetClientSettings,
)
from touchbase.connections.commands import AddConnection, DueFetches
from touchbase.encryption.commands import CheckEncryption, Reencrypt, ReplaceLost, RetireKeys
from touchbase.erasure.commands import AddErasures, OpenErasures
from touchbase.idempotency.commands import ExpiredResponses, FindResponse, Idempotent
from touchbase.inbox.commands import ReplayMany
from touchbase.inbox.queries import BusyClients, CountInbox, GetDelivery, GroupDeliveries, ListDeliveries, OldDedupeKeys
from touchbase.inbox.refused import ListRefusals
from touchbase.records.commands import CreateCompany, CreateContact

Scope = NewType("Scope", str)
"""The clients' numbers as the policies read them, such as `,1,5,9,`."""

NOBODY = Scope("")
"""No client's rows: what is left are blocks of ids, which are behind no wall."""
CLIENTS = Scope("clients")
"""Which clients there are, their ids, what they have decided and whether they have erased anybody; nothing that they have."""
EVERYBODY = Scope("all")
"""The rows of all clients, and those of none."""

ABOUT_CLIENTS = frozenset(
    {
        EnsureClient, SetClientSettings, CreateClient, RotateClientId, DeletingClients, FindClient, ListClients,
    }
)  # fmt: skip
"""What finds a client by its name, makes one or lists them: a request does not know its number yet, and an id is nobody else's."""
ABOUT_CLIENTS_UNLESS_NAMED = frozenset({ListClientPage})
"""The same, when it names none; an administrator of one client sees that one only."""
SPANNING = frozenset(
    {
        FindKey, AnyKey, BusyClients, CountInbox, StoreFirstKey, RotateKey, RevokeKey, StoreKeyUses, DueFetches,
        ExpiredResponses, OldDedupeKeys, OpenErasures, AddErasures, Reencrypt, RetireKeys, ReplaceLost, CheckEncryption,
    }
)  # fmt: skip
"""What looks at all clients by its nature: a key says whose it is only when it is found; workers, the metrics and whoever
seals secrets look for work; and a store takes over erasures only while it has none of its own."""
SPANNING_UNLESS_NAMED = frozenset({StoreKey, ListKeys, ListDeliveries, GroupDeliveries, GetDelivery, ListRefusals})
"""What is about all clients when its `client` is None: an administrator of all of them asks, or keeps a key of no client."""

Named = Callable[[Any], Iterable[int | None]]
_NAMED: dict[type, Named] = {
    CreateContact: lambda command: (command.record.client,),
    CreateCompany: lambda command: (command.record.client,),
    AddConnection: lambda command: (command.connection.client,),
    ReplayMany: lambda command: (client for client, _ in command.deliveries),
    FindResponse: lambda query: (query.request.client,),
    FindClientByNumber: lambda query: (query.number,),
    ListClientPage: lambda query: (query.only,),
}
"""Where a command or a query names its clients, if not as `client`."""


def of(*clients: int) -> Scope:
    """The scope of these clients."""
    return Scope(f",{','.join(f'{client:d}' for client in sorted(clients))},")


def scope_of(asked: Sequence[object]) -> Scope:
    """The scope of commands of one type, or of one query. What names no client, and is not listed here, may touch nobody's rows."""
    kind = type(asked[0])
    if kind is Idempotent:
        return _of_once(asked)
    if kind in SPANNING:
        return EVERYBODY
    if kind in ABOUT_CLIENTS:
        return CLIENTS
    clients = _clients(kind, asked)
    if None in clients:
        return EVERYBODY if kind in SPANNING_UNLESS_NAMED else CLIENTS if kind in ABOUT_CLIENTS_UNLESS_NAMED else NOBODY
    return of(*(client for client in clients if client is not None)) if clients else NOBODY


def _clients(kind: type, asked: Sequence[object]) -> set[int | None]:
    """The clients that they name; None where one names none."""
    named = _NAMED.get(kind)
    if named is not None:
        return {client for one in asked for client in named(one)}
    return {getattr(one, "client", None) for one in asked}


def _of_once(asked: Sequence[object]) -> Scope:
    """The scope of what is carried out, and of those for whom answers are kept."""
    clients: set[int] = set()
    for once in asked:
        assert isinstance(once, Idempotent)
        clients.add(once.client)
        if once.command is None:
            continue
        kind = type(once.command)
        inner = _clients(kind, [once.command])
        if kind in SPANNING or kind in ABOUT_CLIENTS or (None in inner and kind in SPANNING_UNLESS_NAMED):
            return EVERYBODY
        clients.update(client for client in inner if client is not None)
    return of(*clients)
