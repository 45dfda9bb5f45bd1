"""API keys: authentication, scopes, and their life cycle."""

from __future__ import annotations

from touchbase.auth.api_key import ACTIVE, KEY_STATES, KEY_TEXT, ApiKey
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.authentication import (
    ADMIN,
    CLIENT_HEADER,
    DEFAULT_CLIENT,
    FRESH,
    NO_SUCH_ADDRESS,
    READ,
    SCOPES,
    WRITE,
    Authenticator,
    Principal,
    key_id_of,
    key_scopes,
)
from touchbase.auth.commands import AnyKey, FindKey, ListKeys, RevokeKey, RotateKey, StoreFirstKey, StoreKey, StoreKeyUses
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import ENV, KEY_ID, add_first_key, add_key, get_key, list_keys, rotate_key
from touchbase.auth.sessions import CONSOLE_HEADER, COOKIE, LIFETIME, SESSION, Sessions, parse, require_same_origin, session_from_headers

__all__ = [
    "ACTIVE",
    "ADMIN",
    "CLIENT_HEADER",
    "CONSOLE_HEADER",
    "COOKIE",
    "DEFAULT_CLIENT",
    "ENV",
    "FRESH",
    "KEY_ID",
    "KEY_STATES",
    "KEY_TEXT",
    "LIFETIME",
    "NO_SUCH_ADDRESS",
    "READ",
    "SCOPES",
    "SESSION",
    "WRITE",
    "AnyKey",
    "ApiKey",
    "Authenticator",
    "FindKey",
    "KeyThrottle",
    "KeyUsage",
    "ListKeys",
    "Principal",
    "RevokeKey",
    "RotateKey",
    "Sessions",
    "StoreFirstKey",
    "StoreKey",
    "StoreKeyUses",
    "WebhookThrottle",
    "add_first_key",
    "add_key",
    "get_key",
    "key_id_of",
    "key_scopes",
    "list_keys",
    "parse",
    "require_same_origin",
    "rotate_key",
    "session_from_headers",
]
