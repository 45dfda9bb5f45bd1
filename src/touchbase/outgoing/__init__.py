"""Outgoing webhooks: endpoints that get a client's events, signed, in order, at least once."""

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
from touchbase.outgoing.content import cut_envelope
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.outgoing.http_client import Answer, WebhookClient, webhook_origin
from touchbase.outgoing.models import (
    ACTIVE,
    DELIVERED,
    DISABLED,
    MAX_ENDPOINTS,
    OUTCOMES,
    PAUSED,
    STATES,
    Attempt,
    Endpoint,
    Progress,
    Secret,
)
from touchbase.outgoing.signatures import new_secret, signature_headers
from touchbase.outgoing.validation import endpoint_faults

__all__ = [
    "ACTIVE", "DELIVERED", "DISABLED", "MAX_ENDPOINTS", "OUTCOMES", "PAUSED", "STATES", "AddEndpoint", "Answer", "Attempt", "Backlog",
    "ChangeEndpoint", "CountOutgoing", "Dispatcher", "Endpoint", "EndpointVersions", "ForgetAttempts", "GetEndpoint", "LeadShards",
    "ListAttempts", "ListEndpoints", "ListTroubles", "LowestNeeded", "OldAttempts", "Outbox", "Progress", "ReadServed", "RemoveEndpoint",
    "Replay", "ResumeEndpoint", "RotateSecret", "Secret", "Shown", "StoreAttempt", "StoreProgress", "Trouble", "WebhookClient",
    "cut_envelope", "endpoint_faults", "new_secret", "signature_headers", "webhook_origin",
]  # fmt: skip
