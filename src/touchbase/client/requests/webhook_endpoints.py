"""Requests of `webhook_endpoints`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from touchbase.client.models.endpoints import (
        WebhookAttemptOut, WebhookAttemptPage, WebhookEndpointChange, WebhookEndpointOut, WebhookEndpointPage, WebhookEndpointRequest,
        WebhookOutcome, WebhookPreviewOut, WebhookPreviewRequest, WebhookReplay, WebhookSecretRotation, WebhooksReplayed,
    )


def list_webhook_endpoints(*, limit: int | None = None, cursor: str | None = None) -> Paged[WebhookEndpointPage, WebhookEndpointOut]:
    """List webhook endpoints."""
    return Paged(
        "list_webhook_endpoints", "GET", "/public/v2/webhook-endpoints", query={"limit": limit, "cursor": cursor}, of_client=True,
    )


def get_webhook_endpoint(id: int) -> Request[WebhookEndpointOut]:
    """Get one webhook endpoint."""
    return Request("get_webhook_endpoint", "GET", "/public/v2/webhook-endpoints/{id}", in_path={"id": id}, of_client=True)


def add_webhook_endpoint(body: WebhookEndpointRequest, *, idempotency_key: str | None = None) -> Request[WebhookEndpointOut]:
    """Add a webhook endpoint."""
    return Request(
        "add_webhook_endpoint", "POST", "/public/v2/webhook-endpoints", headers={"Idempotency-Key": idempotency_key}, body=body,
        of_client=True, takes_key=True,
    )


def change_webhook_endpoint(id: int, body: WebhookEndpointChange) -> Request[WebhookEndpointOut]:
    """Update one webhook endpoint."""
    return Request("change_webhook_endpoint", "PATCH", "/public/v2/webhook-endpoints/{id}", in_path={"id": id}, body=body, of_client=True)


def remove_webhook_endpoint(id: int) -> Request[None]:
    """Remove a webhook endpoint."""
    return Request("remove_webhook_endpoint", "DELETE", "/public/v2/webhook-endpoints/{id}", in_path={"id": id}, of_client=True)


def preview_webhook(body: WebhookPreviewRequest) -> Request[WebhookPreviewOut]:
    """Show what an endpoint would send, without sending it."""
    return Request("preview_webhook", "POST", "/public/v2/webhook-endpoints/preview", body=body, of_client=True)


def rotate_webhook_secret(id: int, body: WebhookSecretRotation, *, idempotency_key: str | None = None) -> Request[WebhookEndpointOut]:
    """Give one webhook endpoint a new secret."""
    return Request(
        "rotate_webhook_secret", "POST", "/public/v2/webhook-endpoints/{id}/rotate-secret", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def resume_webhook_endpoint(id: int, *, idempotency_key: str | None = None) -> Request[WebhookEndpointOut]:
    """Resume one webhook endpoint."""
    return Request(
        "resume_webhook_endpoint", "POST", "/public/v2/webhook-endpoints/{id}/resume", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def test_webhook_endpoint(id: int, *, idempotency_key: str | None = None) -> Request[WebhookAttemptOut]:
    """Send a test to one webhook endpoint."""
    return Request(
        "test_webhook_endpoint", "POST", "/public/v2/webhook-endpoints/{id}/test", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, of_client=True, takes_key=True,
    )


def replay_webhooks(id: int, body: WebhookReplay, *, idempotency_key: str | None = None) -> Request[WebhooksReplayed]:
    """Send events to one webhook endpoint again."""
    return Request(
        "replay_webhooks", "POST", "/public/v2/webhook-endpoints/{id}/replay", in_path={"id": id},
        headers={"Idempotency-Key": idempotency_key}, body=body, of_client=True, takes_key=True,
    )


def list_webhook_attempts(
    *, endpoint: int | None = None, event: str | None = None, outcome: WebhookOutcome | None = None, limit: int | None = None,
    cursor: str | None = None,
) -> Paged[WebhookAttemptPage, WebhookAttemptOut]:
    """List attempts, newest first."""
    return Paged(
        "list_webhook_attempts", "GET", "/public/v2/webhook-attempts", query={"endpoint": endpoint, "event": event, "outcome": outcome,
        "limit": limit, "cursor": cursor}, of_client=True,
    )
