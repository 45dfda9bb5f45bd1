"""Rate limits of clients and keys."""

from __future__ import annotations

from touchbase.rate_limit.rate_limiter import RateLimiter, Rates, limiter

__all__ = [
    "RateLimiter",
    "Rates",
    "limiter",
]
