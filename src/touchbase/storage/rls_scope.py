"""Scopes: which clients' rows a command or a query may access.

PostgreSQL's row-level security limits every transaction to its scope, in addition to the client condition in each
statement. Only the types listed here may access several clients at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NewType

from touchbase.auth.commands import AnyKey, FindKey, ListKeys, RevokeKey, RotateKey, StoreFirstKey, StoreKey, StoreKeyUses
from touchbase.cells.commands import ReadDirectory, ReservePlace
from touchbase.clients.commands import (
    CreateClient,
    DeletingClients,
    EnsureClient,
    FindClient,
    FindClientByHandle,
    FindClientByNumber,
    ListClientPage,
    ListClients,
    RotateClientId,
    SetClientSettings,
)
from touchbase.clients.stored_bytes import CountStored, DueCounts, ListNearLimit
from touchbase.company_links.commands import ClientsToLink
from touchbase.connections.commands import AddConnection, DueFetches
from touchbase.connections.silence import ClaimCheck, CountSilent, DueJudgements
from touchbase.encryption.commands import CheckEncryption, Reencrypt, ReplaceLost, RetireKeys
from touchbase.erasure.commands import AddErasures, ClientsWithErasures, OpenErasures
from touchbase.event_log.commands import FindNewEvents, ListNewestEvents
from touchbase.exports.commands import ExportRecords
from touchbase.idempotency.commands import ExpiredResponses, FindResponse, Idempotent
from touchbase.inbox.commands import ReplayMany
from touchbase.inbox.queries import BusyClients, CountInbox, GetDelivery, GroupDeliveries, ListDeliveries, OldDedupeKeys
from touchbase.inbox.refused import ListRefusals
from touchbase.inbox.search_queries import GetEffects
from touchbase.jobs.commands import CreateJob, DueJobFiles, DueJobs, GetJob, ListJobs
from touchbase.outgoing.commands import (
    AddEndpoint,
    ChangeEndpoint,
    CountOutgoing,
    EndpointVersions,
    LeadShards,
    ListMailEndpoints,
    ListTroubles,
    OldAttempts,
    StoreAttempt,
)
from touchbase.records.commands import CreateCompany, CreateContact, FindOwner, UpsertCompany, UpsertContact
from touchbase.records.match import MatchEverywhere
from touchbase.search.commands import NextToIndex

Scope = NewType("Scope", str)
"""The clients' numbers in the format of the policies, such as `,1,5,9,`."""

NO_CLIENT = Scope("")
"""No client's rows: only tables without row-level security, such as blocks of ids."""
CLIENT_LIST = Scope("clients")
"""The list of clients: their ids, their settings and whether they have erasures, but none of their data."""
ALL_CLIENTS = Scope("all")
"""The rows of all clients, and those without a client."""

CLIENT_LIST_TYPES = frozenset(
    {
        EnsureClient, SetClientSettings, CreateClient, RotateClientId, DeletingClients, FindClient, FindClientByHandle, ListClients,
        ReservePlace,
        ReadDirectory,
    }
)  # fmt: skip
"""Types that find a client by its id, create one or list them: the client's number is not known yet, and an id is unique."""
CLIENT_LIST_UNLESS_NAMED = frozenset({ListClientPage})
"""Types with the scope `CLIENT_LIST` when they name no client; an administrator of one client sees that one only."""
CROSS_CLIENT = frozenset(
    {
        FindKey, AnyKey, BusyClients, CountInbox, StoreFirstKey, RotateKey, RevokeKey, StoreKeyUses, DueFetches,
        ExpiredResponses, OldDedupeKeys, OpenErasures, AddErasures, Reencrypt, RetireKeys, ReplaceLost, CheckEncryption,
        ClientsWithErasures,
        DueJobs, NextToIndex, ClaimCheck, DueJudgements, CountSilent,
        ClientsToLink, ListNewestEvents, CountOutgoing, EndpointVersions, LeadShards, ListMailEndpoints, ListTroubles,
        OldAttempts,
        DueCounts, CountStored, ListNearLimit,
    }
)  # fmt: skip
"""Types that always access all clients: a key's client is not known before the key is found; workers, metrics and
encryption search for work; and a store imports erasures only while it has none."""
CROSS_CLIENT_UNLESS_NAMED = frozenset(
    {
        StoreKey,
        ListKeys,
        ListDeliveries,
        GroupDeliveries,
        GetDelivery,
        ListRefusals,
        MatchEverywhere,
        FindOwner,
        GetJob,
        ListJobs,
        DueJobFiles,
    }
)
"""Types with access to all clients when their `client` is None: requests of an administrator of all clients."""

Named = Callable[[Any], Iterable[int | None]]
_NAMED: dict[type, Named] = {
    CreateContact: lambda command: (command.record.client,),
    CreateCompany: lambda command: (command.record.client,),
    UpsertContact: lambda command: (command.create.client,),
    UpsertCompany: lambda command: (command.create.client,),
    AddConnection: lambda command: (command.connection.client,),
    CreateJob: lambda command: (command.job.client,),
    AddEndpoint: lambda command: (command.endpoint.client,),
    ChangeEndpoint: lambda command: (command.endpoint.client,),
    StoreAttempt: lambda command: (command.attempt.client,),
    ExportRecords: lambda query: (query.listing.client,),
    GetEffects: lambda query: (client for client, _ in query.deliveries),
    ReplayMany: lambda command: (client for client, _ in command.deliveries),
    FindNewEvents: lambda query: query.since,
    FindResponse: lambda query: (query.request.client,),
    FindClientByNumber: lambda query: (query.number,),
    ListClientPage: lambda query: (query.only,),
}
"""How to read the clients of types without a field `client`."""


def scope_for(*clients: int) -> Scope:
    """Return the scope of these clients."""
    return Scope(f",{','.join(f'{client:d}' for client in sorted(clients))},")


def scope_of(requests: Sequence[object]) -> Scope:
    """Return the scope of requests of one type. A type without a client that is not listed here may access no client's rows."""
    kind = type(requests[0])
    if kind is Idempotent:
        return _scope_of_idempotent(requests)
    if kind in CROSS_CLIENT:
        return ALL_CLIENTS
    if kind in CLIENT_LIST_TYPES:
        return CLIENT_LIST
    clients = clients_of(kind, requests)
    if None in clients:
        return ALL_CLIENTS if kind in CROSS_CLIENT_UNLESS_NAMED else CLIENT_LIST if kind in CLIENT_LIST_UNLESS_NAMED else NO_CLIENT
    return scope_for(*(client for client in clients if client is not None)) if clients else NO_CLIENT


def clients_of(kind: type, requests: Sequence[object]) -> set[int | None]:
    """Return the clients that the requests name; None stands for a request without one."""
    named = _NAMED.get(kind)
    if named is not None:
        return {client for one in requests for client in named(one)}
    return {getattr(one, "client", None) for one in requests}


def _scope_of_idempotent(requests: Sequence[object]) -> Scope:
    """Return the scope of the inner commands, and of the clients whose responses are stored."""
    clients: set[int] = set()
    for each in requests:
        assert isinstance(each, Idempotent)
        clients.add(each.client)
        if each.command is None:
            continue
        kind = type(each.command)
        inner = clients_of(kind, [each.command])
        if kind in CROSS_CLIENT or kind in CLIENT_LIST_TYPES or (None in inner and kind in CROSS_CLIENT_UNLESS_NAMED):
            return ALL_CLIENTS
        clients.update(client for client in inner if client is not None)
    return scope_for(*clients)
