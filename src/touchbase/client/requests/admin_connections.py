"""Requests of `admin.connections`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request

if TYPE_CHECKING:
    from touchbase.client.models.connections import ConnectionChange, ConnectionOut, ConnectionPage, ConnectionRequest, SilencePage
    from touchbase.client.models.shared import Channel


def list_connections(client_id: str) -> Request[ConnectionPage]:
    """List a client's connections."""
    return Request("list_connections", "GET", "/admin/v1/clients/{client_id}/connections", in_path={"client_id": client_id})


def get_connection(client_id: str, channel: Channel, tool: str) -> Request[ConnectionOut]:
    """Get one connection."""
    return Request(
        "get_connection", "GET", "/admin/v1/clients/{client_id}/connections/{channel}/{tool}", in_path={"client_id": client_id,
        "channel": channel, "tool": tool},
    )


def connect(client_id: str, body: ConnectionRequest, *, idempotency_key: str | None = None) -> Request[ConnectionOut]:
    """Connect a tool."""
    return Request(
        "connect", "POST", "/admin/v1/clients/{client_id}/connections", in_path={"client_id": client_id},
        headers={"Idempotency-Key": idempotency_key}, body=body, takes_key=True,
    )


def change_connection(client_id: str, channel: Channel, tool: str, body: ConnectionChange) -> Request[ConnectionOut]:
    """Update one connection."""
    return Request(
        "change_connection", "PATCH", "/admin/v1/clients/{client_id}/connections/{channel}/{tool}", in_path={"client_id": client_id,
        "channel": channel, "tool": tool}, body=body,
    )


def disconnect(client_id: str, channel: Channel, tool: str) -> Request[None]:
    """Disconnect a tool."""
    return Request(
        "disconnect", "DELETE", "/admin/v1/clients/{client_id}/connections/{channel}/{tool}", in_path={"client_id": client_id,
        "channel": channel, "tool": tool},
    )


def list_silences(client_id: str, channel: Channel, tool: str) -> Request[SilencePage]:
    """List the silences of one connection."""
    return Request(
        "list_silences", "GET", "/admin/v1/clients/{client_id}/connections/{channel}/{tool}/silences", in_path={"client_id": client_id,
        "channel": channel, "tool": tool},
    )
