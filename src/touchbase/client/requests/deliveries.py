"""Requests of `deliveries`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request, Time

if TYPE_CHECKING:
    from touchbase.client.models.inbox import (
        DeliveryCounts, DeliveryDetail, DeliveryGroups, DeliveryOut, DeliveryPage, DeliveryRow, RecordEvent, RefusalCause, RefusalOut,
        RefusalPage, RefusedReplay, RefusedWebhookOut, ReplayOut, ReplayRequest, UnchangedState,
    )
    from touchbase.client.models.shared import Channel, DeliveryState


def list_deliveries(
    *, limit: int | None = None, cursor: str | None = None, client: str | None = None, email: str | None = None,
    linkedin_url: str | None = None, contact_id: int | None = None, text: str | None = None, event: RecordEvent | None = None,
    tool: str | None = None, channel: Channel | None = None, state: DeliveryState | None = None, received_since: Time | None = None,
    received_until: Time | None = None, problems: bool | None = None,
) -> Paged[DeliveryPage, DeliveryRow]:
    """List or search deliveries, newest first."""
    return Paged(
        "list_deliveries", "GET", "/admin/v1/deliveries", query={"limit": limit, "cursor": cursor, "client": client, "email": email,
        "linkedin_url": linkedin_url, "contact_id": contact_id, "text": text, "event": event, "tool": tool, "channel": channel,
        "state": state, "received_since": received_since, "received_until": received_until, "problems": problems},
    )


def get_delivery(id: int) -> Request[DeliveryDetail]:
    """Get one delivery with its body."""
    return Request("get_delivery", "GET", "/admin/v1/deliveries/{id}", in_path={"id": id})


def count_deliveries(
    *, client: str | None = None, tool: str | None = None, channel: Channel | None = None, received_since: Time | None = None,
) -> Request[DeliveryCounts]:
    """Count deliveries by tool and state."""
    return Request(
        "count_deliveries", "GET", "/admin/v1/deliveries/counts", query={"client": client, "tool": tool, "channel": channel,
        "received_since": received_since},
    )


def group_deliveries(
    *, limit: int | None = None, client: str | None = None, tool: str | None = None, channel: Channel | None = None,
    state: UnchangedState | None = None,
) -> Request[DeliveryGroups]:
    """Count similar deliveries that changed nothing."""
    return Request(
        "group_deliveries", "GET", "/admin/v1/deliveries/groups", query={"limit": limit, "client": client, "tool": tool,
        "channel": channel, "state": state},
    )


def replay_delivery(id: int, *, idempotency_key: str | None = None) -> Request[DeliveryOut]:
    """Apply one delivery again."""
    return Request(
        "replay_delivery", "POST", "/admin/v1/deliveries/{id}/replay", in_path={"id": id}, headers={"Idempotency-Key": idempotency_key},
        takes_key=True,
    )


def replay_deliveries(body: ReplayRequest, *, idempotency_key: str | None = None) -> Request[ReplayOut]:
    """Apply many deliveries again."""
    return Request(
        "replay_deliveries", "POST", "/admin/v1/deliveries/replay", headers={"Idempotency-Key": idempotency_key}, body=body,
        takes_key=True,
    )


def list_refusals(
    *, limit: int | None = None, cursor: str | None = None, client: str | None = None, tool: str | None = None,
    channel: Channel | None = None, cause: RefusalCause | None = None,
) -> Paged[RefusalPage, RefusalOut]:
    """List refused webhooks, newest first."""
    return Paged(
        "list_refusals", "GET", "/admin/v1/refusals", query={"limit": limit, "cursor": cursor, "client": client, "tool": tool,
        "channel": channel, "cause": cause},
    )


def get_refused_webhook(client_id: str, refused_id: str) -> Request[RefusedWebhookOut]:
    """Get one refused webhook with its body."""
    return Request(
        "get_refused_webhook", "GET", "/admin/v1/clients/{client_id}/refused-webhooks/{refused_id}", in_path={"client_id": client_id,
        "refused_id": refused_id},
    )


def replay_refused_webhook(
    client_id: str, refused_id: str, *, tool: str | None = None, idempotency_key: str | None = None,
) -> Request[RefusedReplay]:
    """Receive a refused webhook after all."""
    return Request(
        "replay_refused_webhook", "POST", "/admin/v1/clients/{client_id}/refused-webhooks/{refused_id}/replay",
        in_path={"client_id": client_id, "refused_id": refused_id}, query={"tool": tool}, headers={"Idempotency-Key": idempotency_key},
        takes_key=True,
    )
