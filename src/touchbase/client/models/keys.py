"""Types of keys. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


KeyScope = Literal["records:read", "records:write", "admin"]
"""What a key allows."""

KeyState = Literal["active", "expired", "revoked"]
"""Whether a key is valid."""


class KeyOut(TypedDict):
    """One key; responses contain its text only when it is new."""

    key_id: str
    prefix: str
    name: str
    client_id: str | None
    scopes: list[KeyScope]
    state: KeyState
    created_time: str
    expires_time: str | None
    revoked_time: str | None
    last_used_time: str | None
    replaces: str | None
    replaced_by: str | None


class KeyPage(TypedDict):
    """A page of keys, newest first; `next_cursor` is null on the last one."""

    data: list[KeyOut]
    next_cursor: str | None


class KeyRequest(TypedDict):
    """A new key."""

    name: str
    client_id: NotRequired[str | None]
    scopes: NotRequired[list[KeyScope]]
    env: NotRequired[str]
    expires_time: NotRequired[str | None]


class KeyRotation(TypedDict):
    """How long a key stays valid after it got a successor."""

    keep_old_seconds: NotRequired[int]


class NewKeyOut(TypedDict):
    """A new key."""

    key_id: str
    prefix: str
    name: str
    client_id: str | None
    scopes: list[KeyScope]
    state: KeyState
    created_time: str
    expires_time: str | None
    revoked_time: str | None
    last_used_time: str | None
    replaces: str | None
    replaced_by: str | None
    key: NotRequired[str]
