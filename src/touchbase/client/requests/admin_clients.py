"""Requests of `admin.clients`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from touchbase.client.models.clients import (
        ClientChange, ClientDetail, ClientOut, ClientPage, ClientRequest, ClientState, IdRotation, NewClient,
    )


def list_clients(
    *, limit: int | None = None, cursor: str | None = None, state: ClientState | None = None, name: str | None = None,
) -> Paged[ClientPage, ClientOut]:
    """List clients."""
    return Paged("list_clients", "GET", "/admin/v1/clients", query={"limit": limit, "cursor": cursor, "state": state, "name": name})


def get_client(client_id: str) -> Request[ClientDetail]:
    """Get one client."""
    return Request("get_client", "GET", "/admin/v1/clients/{client_id}", in_path={"client_id": client_id})


def create_client(body: NewClient, *, idempotency_key: str | None = None) -> Request[ClientDetail]:
    """Create a client."""
    return Request("create_client", "POST", "/admin/v1/clients", headers={"Idempotency-Key": idempotency_key}, body=body, takes_key=True)


def put_client(client_id: str, body: ClientRequest) -> Request[ClientDetail]:
    """Replace a client's settings, or create the client."""
    return Request("put_client", "PUT", "/admin/v1/clients/{client_id}", in_path={"client_id": client_id}, body=body)


def rename_client(client_id: str, body: ClientChange) -> Request[ClientDetail]:
    """Rename a client."""
    return Request("rename_client", "PATCH", "/admin/v1/clients/{client_id}", in_path={"client_id": client_id}, body=body)


def delete_client(client_id: str, *, confirm: str) -> Request[ClientDetail]:
    """Delete a client with all its data."""
    return Request(
        "delete_client", "DELETE", "/admin/v1/clients/{client_id}", in_path={"client_id": client_id}, query={"confirm": confirm},
    )


def suspend_client(client_id: str, *, idempotency_key: str | None = None) -> Request[ClientDetail]:
    """Close a client's records; its webhooks are still stored."""
    return Request(
        "suspend_client", "POST", "/admin/v1/clients/{client_id}/suspend", in_path={"client_id": client_id},
        headers={"Idempotency-Key": idempotency_key}, takes_key=True,
    )


def resume_client(client_id: str, *, idempotency_key: str | None = None) -> Request[ClientDetail]:
    """Open a suspended client again."""
    return Request(
        "resume_client", "POST", "/admin/v1/clients/{client_id}/resume", in_path={"client_id": client_id},
        headers={"Idempotency-Key": idempotency_key}, takes_key=True,
    )


def rotate_client_id(client_id: str, body: IdRotation, *, idempotency_key: str | None = None) -> Request[ClientDetail]:
    """Give a client a new id; the old one stays valid for a while."""
    return Request(
        "rotate_client_id", "POST", "/admin/v1/clients/{client_id}/rotate-id", in_path={"client_id": client_id},
        headers={"Idempotency-Key": idempotency_key}, body=body, takes_key=True,
    )
