"""Rate limit headers of responses: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), `Retry-After`."""

from __future__ import annotations

from functools import lru_cache

from touchbase.common.token_bucket import TokenBucket
from touchbase.errors import RateLimited

Header = tuple[bytes, bytes]

UNITS = {"rows": "rows", "bytes": "content-bytes"}
"""The units of policies that do not count requests."""
RATE_LIMIT_HEADERS = "touchbase.standing"
"""Key in a request's scope: the rate limit headers of its response."""


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
