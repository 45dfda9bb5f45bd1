"""Requests of `admin.keys`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Request

if TYPE_CHECKING:
    from touchbase.client.models.keys import KeyOut, KeyPage, KeyRequest, KeyRotation, KeyState, NewKeyOut


def list_keys(
    *, limit: int | None = None, cursor: str | None = None, client: str | None = None, state: KeyState | None = None,
) -> Paged[KeyPage, KeyOut]:
    """List API keys, newest first."""
    return Paged("list_keys", "GET", "/admin/v1/keys", query={"limit": limit, "cursor": cursor, "client": client, "state": state})


def get_key(key_id: str) -> Request[KeyOut]:
    """Get one key."""
    return Request("get_key", "GET", "/admin/v1/keys/{key_id}", in_path={"key_id": key_id})


def create_key(body: KeyRequest, *, idempotency_key: str | None = None) -> Request[NewKeyOut]:
    """Create an API key."""
    return Request("create_key", "POST", "/admin/v1/keys", headers={"Idempotency-Key": idempotency_key}, body=body, takes_key=True)


def revoke_key(key_id: str) -> Request[None]:
    """Revoke a key."""
    return Request("revoke_key", "DELETE", "/admin/v1/keys/{key_id}", in_path={"key_id": key_id})


def rotate_key(key_id: str, body: KeyRotation, *, idempotency_key: str | None = None) -> Request[NewKeyOut]:
    """Create a key's successor, and let the key expire."""
    return Request(
        "rotate_key", "POST", "/admin/v1/keys/{key_id}/rotate", in_path={"key_id": key_id}, headers={"Idempotency-Key": idempotency_key},
        body=body, takes_key=True,
    )
