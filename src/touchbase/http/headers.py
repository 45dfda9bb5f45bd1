"""Headers of requests and responses: `Prefer` (RFC 7240), and rate limits (draft-ietf-httpapi-ratelimit-headers).

A preference that an operation does not know is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from touchbase.common.asgi import Scope
from touchbase.common.token_bucket import TokenBucket
from touchbase.errors import RateLimited

PREFER_HEADER = "Prefer"
APPLIED = b"preference-applied"
HANDLING = "handling"
STRICT = "strict"
_PREFER = b"prefer"
_NONE: Mapping[str, str] = MappingProxyType({})
MOST_PREFERENCES = 20
"""Preferences of one request that are read."""
Header = tuple[bytes, bytes]

UNITS = {"rows": "rows", "bytes": "content-bytes"}
"""The units of policies that do not count requests."""
RATE_LIMIT_HEADERS = "touchbase.standing"
"""Key in a request's scope: the rate limit headers of its response."""


def preferences(scope: Scope) -> Mapping[str, str]:
    """Return the preferences of a request by name in lower case; of a repeated name the first value counts."""
    values = [value for name, value in scope["headers"] if name == _PREFER]
    if not values:
        return _NONE
    by_name: dict[str, str] = {}
    for preference in b",".join(values).decode("latin-1").split(",", MOST_PREFERENCES)[:MOST_PREFERENCES]:
        name, _, value = preference.partition(";")[0].partition("=")
        by_name.setdefault(name.strip().lower(), value.strip().strip('"'))
    return by_name


def is_strict(scope: Scope) -> bool:
    """Return whether the caller asks for `handling=strict`."""
    preferred = preferences(scope)
    return bool(preferred) and preferred.get(HANDLING, "").lower() == STRICT


def applied(*preferences: str) -> list[tuple[bytes, bytes]]:
    """Return the header that lists the preferences that a response follows; none without any."""
    return [(APPLIED, ", ".join(preferences).encode("latin-1"))] if preferences else []


def described(about: str) -> dict[str, Any]:
    """Return the header as the OpenAPI document has it."""
    return {"name": PREFER_HEADER, "in": "header", "required": False, "schema": {"type": "string"}, "description": about}


@lru_cache(maxsize=1024)
def policy_header(name: str, quota: int, window: int) -> Header:
    """Return the header of a policy; cached, because it is the same in every response."""
    unit = f';qu="{UNITS[name]}"' if name in UNITS else ""
    return (b"ratelimit-policy", f'"{name}";q={quota}{unit};w={window}'.encode())


def rate_limit_headers(bucket: TokenBucket) -> tuple[Header, Header]:
    """Return the headers with the tokens left after this request; `t`: seconds until the bucket is full."""
    policy = policy_header(bucket.name, bucket.quota, bucket.window)
    return policy, (b"ratelimit", b'"%b";r=%d;t=%d' % (bucket.label, bucket.left, bucket.full_in))


def refusal_headers(error: RateLimited) -> list[Header]:
    """Return the headers of a 429 response, with the time to wait."""
    remaining = (b"ratelimit", b'"%b";r=0;t=%d' % (error.policy.encode(), error.retry_after))
    return [(b"retry-after", b"%d" % error.retry_after), policy_header(error.policy, error.quota, error.window), remaining]
