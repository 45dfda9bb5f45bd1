"""Clients: the organisations that records belong to, their settings and their life."""

from __future__ import annotations

from touchbase.clients.commands import (
    BeginDeletion,
    CountClientRows,
    CreateClient,
    DeletingClients,
    EnsureClient,
    FindClient,
    FindClientByNumber,
    FormerIds,
    ListClientPage,
    ListClients,
    Removal,
    RemoveClientRows,
    RenameClient,
    RotateClientId,
    SetClientSettings,
    SetClientState,
)
from touchbase.clients.models import (
    ACTIVE,
    CLIENT_STATES,
    DELETING,
    ON_DUPLICATE,
    SUSPENDED,
    Client,
    ClientLimits,
    ClientSettings,
    FieldType,
    StatusSet,
)
from touchbase.clients.removal import removal_of
from touchbase.clients.service import Clients, is_client_id, new_client_id

__all__ = [
    "ACTIVE",
    "CLIENT_STATES",
    "DELETING",
    "ON_DUPLICATE",
    "SUSPENDED",
    "BeginDeletion",
    "Client",
    "ClientLimits",
    "ClientSettings",
    "Clients",
    "CountClientRows",
    "CreateClient",
    "DeletingClients",
    "EnsureClient",
    "FieldType",
    "FindClient",
    "FindClientByNumber",
    "FormerIds",
    "ListClientPage",
    "ListClients",
    "Removal",
    "RemoveClientRows",
    "RenameClient",
    "RotateClientId",
    "SetClientSettings",
    "SetClientState",
    "StatusSet",
    "is_client_id",
    "new_client_id",
    "removal_of",
]
