"""`Prefer`: what a caller would like of a response (RFC 7240). A preference that an operation does not know is ignored."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from touchbase.http.asgi_types import Scope

HEADER = "Prefer"
APPLIED = b"preference-applied"
HANDLING = "handling"
STRICT = "strict"
_PREFER = b"prefer"
_NONE: Mapping[str, str] = MappingProxyType({})
MOST_PREFERENCES = 20
"""Preferences of one request that are read."""


def preferences(scope: Scope) -> Mapping[str, str]:
    """Return the preferences of a request by name in lower case; of a repeated name the first value counts."""
    given = [value for name, value in scope["headers"] if name == _PREFER]
    if not given:
        return _NONE
    found: dict[str, str] = {}
    for each in b",".join(given).decode("latin-1").split(",", MOST_PREFERENCES)[:MOST_PREFERENCES]:
        name, _, value = each.partition(";")[0].partition("=")
        found.setdefault(name.strip().lower(), value.strip().strip('"'))
    return found


def is_strict(scope: Scope) -> bool:
    """Return whether the caller asks for `handling=strict`."""
    given = preferences(scope)
    return bool(given) and given.get(HANDLING, "").lower() == STRICT


def applied(*preferences: str) -> list[tuple[bytes, bytes]]:
    """Return the header that lists the preferences that a response follows; none without any."""
    return [(APPLIED, ", ".join(preferences).encode("latin-1"))] if preferences else []


def described(about: str) -> dict[str, Any]:
    """Return the header as the OpenAPI document has it."""
    return {"name": HEADER, "in": "header", "required": False, "schema": {"type": "string"}, "description": about}
