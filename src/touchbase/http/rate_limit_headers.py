"""Rate limits as answers show them: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), `Retry-After`."""

from __future__ import annotations

from functools import lru_cache

from touchbase.common.token_bucket import TokenBucket
from touchbase.errors import RateLimited

Header = tuple[bytes, bytes]

UNITS = {"rows": "rows", "bytes": "content-bytes"}
"""What a policy counts, where that is not requests."""
STANDING = "touchbase.standing"
"""Where a request's scope holds the headers that say how much its caller has left."""


@lru_cache(maxsize=1024)
def policy_header(name: str, quota: int, window: int) -> Header:
    """What a policy allows; the same for every answer, so made once."""
    unit = f';qu="{UNITS[name]}"' if name in UNITS else ""
    return (b"ratelimit-policy", f'"{name}";q={quota}{unit};w={window}'.encode())


def standing(bucket: TokenBucket) -> tuple[Header, Header]:
    """How much a caller has left, as of its present request; `t` is when all of it is there again."""
    policy = policy_header(bucket.name, bucket.quota, bucket.window)
    return policy, (b"ratelimit", b'"%b";r=%d;t=%d' % (bucket.label, bucket.left, bucket.full_in))


def refusal_headers(error: RateLimited) -> list[Header]:
    """The headers of a refusal, which say when to come again."""
    told = (b"ratelimit", b'"%b";r=0;t=%d' % (error.policy.encode(), error.retry_after))
    return [(b"retry-after", b"%d" % error.retry_after), policy_header(error.policy, error.quota, error.window), told]
