"""Outgoing webhooks: endpoints that get a client's events, signed, in order, at least once."""

from __future__ import annotations

from touchbase.outgoing.attempts import Outbox
from touchbase.outgoing.commands import (
    AddEndpoint,
    Backlog,
    ChangeEndpoint,
    CountOutgoing,
    EndpointVersions,
    FindWriteBack,
    ForgetAttempts,
    GetEndpoint,
    LeadShards,
    ListAttempts,
    ListEndpoints,
    ListMailEndpoints,
    ListTroubles,
    LowestNeeded,
    MailEndpoint,
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
from touchbase.outgoing.hubspot_client import HubSpotClient, hubspot_of, why_not_written
from touchbase.outgoing.mail_client import MailClient, Sender, recipients, why_not_mailed
from touchbase.outgoing.models import (
    ACTIVE,
    DELIVERED,
    DISABLED,
    HUBSPOT,
    KINDS,
    MAX_ENDPOINTS,
    NOWHERE,
    OUTCOMES,
    PAUSED,
    STATES,
    TESTS_A_MINUTE,
    TIMEOUT,
    WEBHOOK,
    Attempt,
    Endpoint,
    Installation,
    Progress,
    Secret,
)
from touchbase.outgoing.shown import Shown
from touchbase.outgoing.signatures import new_secret, signature_headers
from touchbase.outgoing.validation import USUAL_RATES, completed, endpoint_faults

__all__ = [
    "ACTIVE", "DELIVERED", "DISABLED", "HUBSPOT", "KINDS", "MAX_ENDPOINTS", "NOWHERE", "OUTCOMES", "PAUSED", "STATES", "TESTS_A_MINUTE",
    "TIMEOUT", "USUAL_RATES", "WEBHOOK", "AddEndpoint", "Answer", "Attempt", "Backlog", "ChangeEndpoint", "CountOutgoing", "Dispatcher",
    "Endpoint", "EndpointVersions", "FindWriteBack", "ForgetAttempts", "GetEndpoint", "HubSpotClient", "Installation", "LeadShards",
    "ListAttempts", "ListEndpoints", "ListMailEndpoints", "ListTroubles", "LowestNeeded", "MailClient", "MailEndpoint", "OldAttempts",
    "Outbox", "Progress", "ReadServed", "RemoveEndpoint", "Replay", "ResumeEndpoint", "RotateSecret", "Secret", "Sender", "Shown",
    "StoreAttempt", "StoreProgress", "Trouble", "WebhookClient", "completed", "cut_envelope", "endpoint_faults", "hubspot_of", "new_secret",
    "recipients", "signature_headers", "webhook_origin", "why_not_mailed", "why_not_written",
]  # fmt: skip
