"""Scopes: which clients' rows a command or a query may access.

PostgreSQL's row-level security limits every transaction to its scope, in addition to the client condition in each
statement. Only the types listed here may access several clients at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NewType

from touchbase.auth.commands import AnyKey, FindKey, ListKeys, RevokeKey, RotateKey, StoreKey, StoreKeyUses
from touchbase.auth.sql import store_first_key
from touchbase.cells.commands import ReadDirectory
from touchbase.cells.sql import reserve_place
from touchbase.clients.commands import (
    CreateClient,
    EnsureClient,
    FindClient,
    FindClientByNumber,
    ListClientPage,
    RotateClientId,
    SetClientSettings,
)
from touchbase.clients.sql.queries import deleting_clients, find_client_by_handle, list_clients
from touchbase.clients.sql.stored_bytes import due_counts, list_near_limit
from touchbase.clients.stored_bytes import CountStored
from touchbase.company_links.sql.follow import clients_to_link
from touchbase.connections.commands import AddConnection, DueFetches
from touchbase.connections.sql.encrypted_columns import check_encryption, replace_lost, retire_keys
from touchbase.connections.sql.silence import claim_check, count_silent, due_judgements
from touchbase.encryption.commands import Reencrypt
from touchbase.erasure.commands import AddErasures
from touchbase.erasure.sql.queries import clients_with_erasures, open_erasures
from touchbase.event_log.commands import FindNewEvents
from touchbase.event_log.sql.queries import list_newest_events
from touchbase.exports.commands import ExportRecords
from touchbase.idempotency.commands import FindResponse, Idempotent
from touchbase.idempotency.sql import expired_responses
from touchbase.inbox.commands import ReplayMany
from touchbase.inbox.queries import BusyClients, CountInbox, GroupDeliveries, ListDeliveries
from touchbase.inbox.refused import ListRefusals
from touchbase.inbox.search_queries import GetEffects
from touchbase.inbox.sql.queries import get_delivery, old_dedupe_keys
from touchbase.jobs.commands import CreateJob, ListJobs
from touchbase.jobs.sql import due_job_files, due_jobs, get_job
from touchbase.outgoing.commands import AddEndpoint, ChangeEndpoint, CountOutgoing, ListTroubles, StoreAttempt
from touchbase.outgoing.sql.dispatch import endpoint_versions, lead_shards, list_mail_endpoints, old_attempts
from touchbase.records.commands import CreateCompany, CreateContact, UpsertCompany, UpsertContact
from touchbase.records.match import MatchEverywhere
from touchbase.records.sql.lookup import find_owner
from touchbase.search.sql.index import next_to_index

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
        EnsureClient, SetClientSettings, CreateClient, RotateClientId, deleting_clients, FindClient, find_client_by_handle, list_clients,
        reserve_place,
        ReadDirectory,
    }
)  # fmt: skip
"""Types that find a client by its id, create one or list them: the client's number is not known yet, and an id is unique."""
CLIENT_LIST_UNLESS_NAMED = frozenset({ListClientPage})
"""Types with the scope `CLIENT_LIST` when they name no client; an administrator of one client sees that one only."""
CROSS_CLIENT = frozenset(
    {
        FindKey, AnyKey, BusyClients, CountInbox, store_first_key, RotateKey, RevokeKey, StoreKeyUses, DueFetches,
        expired_responses, old_dedupe_keys, open_erasures, AddErasures, Reencrypt, retire_keys, replace_lost, check_encryption,
        clients_with_erasures,
        due_jobs, next_to_index, claim_check, due_judgements, count_silent,
        clients_to_link, list_newest_events, CountOutgoing, endpoint_versions, lead_shards, list_mail_endpoints, ListTroubles,
        old_attempts,
        due_counts, CountStored, list_near_limit,
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
        get_delivery,
        ListRefusals,
        MatchEverywhere,
        find_owner,
        get_job,
        ListJobs,
        due_job_files,
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
