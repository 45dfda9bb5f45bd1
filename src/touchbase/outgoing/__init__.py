"""Outgoing webhooks: endpoints that are told of a client's events, signed, in order, at least once."""

from __future__ import annotations

from touchbase.outgoing.attempts import Outbox, Shown
from touchbase.outgoing.commands import (
    AddEndpoint,
    Backlog,
    ChangeEndpoint,
    CountOutgoing,
    EndpointVersions,
    ForgetAttempts,
    GetEndpoint,
    LeadShards,
    ListAttempts,
    ListEndpoints,
    ListTroubles,
    LowestNeeded,
    OldAttempts,
    ReadServed,
    RemoveEndpoint,
    Replay,
    ResumeEndpoint,
    RotateSecret,
    StoreAttempt,
    StoreProgress,
    Trouble,
)
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import Answer, WebhookClient
from touchbase.outgoing.models import ACTIVE, DISABLED, OUTCOMES, PAUSED, STATES, Attempt, Endpoint, Progress

__all__ = [
    "ACTIVE", "DISABLED", "OUTCOMES", "PAUSED", "STATES", "AddEndpoint", "Answer", "Attempt", "Backlog", "ChangeEndpoint", "CountOutgoing",
    "Dispatcher", "Endpoint", "EndpointVersions", "ForgetAttempts", "GetEndpoint", "LeadShards", "ListAttempts", "ListEndpoints",
    "ListTroubles", "LowestNeeded", "OldAttempts", "Outbox", "Progress", "ReadServed", "RemoveEndpoint", "Replay", "ResumeEndpoint",
    "RotateSecret", "Shown", "StoreAttempt", "StoreProgress", "Trouble", "WebhookClient",
]  # fmt: skip
