"""Scopes: whose rows a command or a query may touch.

PostgreSQL's row-level security holds every transaction to its scope: a second wall behind the statements,
each of which names its client by itself. What is named here is all that may see several clients at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NewType

from touchbase.domain import commands as c
from touchbase.domain import queries as q

Scope = NewType("Scope", str)
"""The clients' numbers as the policies read them, such as `,1,5,9,`."""

NOBODY = Scope("")
"""No client's rows: what is left are blocks of ids, which are behind no wall."""
CLIENTS = Scope("clients")
"""Which clients there are and what they have decided; nothing that they have."""
EVERYBODY = Scope("all")
"""The rows of all clients, and those of none."""

ABOUT_CLIENTS = frozenset({c.EnsureClient, c.SetClientSettings, q.FindClient, q.ListClients})
"""What finds a client by its name, or lists them: a request does not know its client's number yet."""
SPANNING = frozenset({q.FindKey, q.AnyKey, q.BusyClients, q.CountInbox})
"""What looks at all clients by its nature: a key says whose it is only when it is found; the worker and the metrics look for work."""
SPANNING_UNLESS_NAMED = frozenset({c.StoreKey, q.ListDeliveries, q.GroupDeliveries, q.GetDelivery})
"""What is about all clients when its `client` is None: an administrator of all of them asks, or keeps a key of no client."""

_HELD_BY: dict[type, Callable[[Any], int]] = {
    c.CreateContact: attrgetter("contact.client"),
    c.CreateCompany: attrgetter("company.client"),
    c.AddConnection: attrgetter("connection.client"),
}
"""Where a command names its client, if not as `client`."""


def of(*clients: int) -> Scope:
    """The scope of these clients."""
    return Scope(f",{','.join(f'{client:d}' for client in sorted(clients))},")


def scope_of(asked: Sequence[object]) -> Scope:
    """The scope of commands of one type, or of one query. What names no client, and is not listed here, may touch nobody's rows."""
    kind = type(asked[0])
    if kind in SPANNING:
        return EVERYBODY
    if kind in ABOUT_CLIENTS:
        return CLIENTS
    client_of = _HELD_BY.get(kind)
    if client_of is None:
        if not hasattr(asked[0], "client"):
            return NOBODY
        client_of = attrgetter("client")
    clients = {client_of(one) for one in asked}
    if None in clients:
        return EVERYBODY if kind in SPANNING_UNLESS_NAMED else NOBODY
    return of(*clients)
