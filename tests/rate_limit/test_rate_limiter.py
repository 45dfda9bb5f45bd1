"""What clients, keys and addresses may ask for."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.clients.models import Client, ClientLimits, ClientSettings
from touchbase.common.timestamps import SECOND
from touchbase.errors import Overloaded, RateLimited
from touchbase.rate_limit.rate_limiter import RateLimiter, Rates

NOON = 1_790_000_000 * SECOND


def client(number: int = 1, limits: ClientLimits | None = None) -> Client:
    return Client(number, f"client{number}", 0, ClientSettings(limits=limits))


def granted(ask: Callable[[], object], most: int = 1000) -> int:
    """How often it is granted before it is refused."""
    for count in range(most):
        try:
            ask()
        except (RateLimited, Overloaded):
            return count
    return most


def test_request_rate__is_separate_for_each_client() -> None:
    limiter, ours, theirs = RateLimiter(Rates(requests=5, burst_seconds=2)), client(1), client(2)

    assert granted(lambda: limiter.request(ours, None, NOON)) == 10
    assert granted(lambda: limiter.request(theirs, None, NOON)) == 10
    assert granted(lambda: limiter.request(ours, None, NOON + SECOND)) == 5


def test_key_request_rate__is_separate_for_each_key_within_the_clients_rate() -> None:
    limiter, ours = RateLimiter(Rates(requests=10, key_requests=4, burst_seconds=1)), client()

    counts = [granted(lambda key=key: limiter.request(ours, key, NOON)) for key in "abc"]  # type: ignore[misc]

    assert counts == [4, 4, 2]


def test_request_rate__returns_the_bucket_with_the_least_left() -> None:
    limiter, ours = RateLimiter(Rates(requests=10, key_requests=6, burst_seconds=1)), client()

    first = limiter.request(ours, "a", NOON)
    for _ in range(5):
        limiter.request(ours, "b", NOON)
    later = limiter.request(ours, "a", NOON)

    assert first is not None
    assert later is not None
    assert (first.name, later.name, later.left) == ("key-requests", "requests", 3)


def test_row_and_byte_rates__are_separate_from_the_request_rate() -> None:
    limiter, ours = RateLimiter(Rates(rows=10, bytes=1000, burst_seconds=1)), client()

    assert granted(lambda: limiter.storing(ours, 3, NOON)) == 3
    assert granted(lambda: limiter.body(ours.number, 400, NOON + SECOND)) == 2
    assert limiter.request(ours, None, NOON) is None


def test_byte_rate__of_a_file_without_a_length_is_owed_by_later_bodies() -> None:
    limiter, ours = RateLimiter(Rates(bytes=1000, burst_seconds=1)), client()
    limiter.request(ours, None, NOON)

    limiter.streamed(ours.number, 2500, NOON)

    with pytest.raises(RateLimited) as refused:
        limiter.body(ours.number, 500, NOON)
    assert refused.value.retry_after == 2
    limiter.body(ours.number, 500, NOON + 2 * SECOND)


def test_request_rate__refusal_for_the_client_uses_nothing_of_the_key() -> None:
    limiter, ours = RateLimiter(Rates(requests=1, key_requests=5, burst_seconds=1)), client()
    assert granted(lambda: limiter.request(ours, "key", NOON)) == 1

    assert granted(lambda: limiter.key("key", NOON)) == 4


def test_row_rate__admits_one_oversized_write_and_then_refuses_until_repaid() -> None:
    limiter, ours = RateLimiter(Rates(rows=10, burst_seconds=1)), client()

    limiter.storing(ours, 501, NOON)

    with pytest.raises(RateLimited) as refused:
        limiter.storing(ours, 1, NOON + 49 * SECOND)
    assert refused.value.retry_after == 1
    limiter.storing(ours, 1, NOON + 50 * SECOND)


def test_rate_limiter__without_rates_limits_nothing() -> None:
    limiter, ours = RateLimiter(), client()

    for _ in range(1000):
        assert limiter.request(ours, "key", NOON) is None
        limiter.storing(ours, 1000, NOON)
        limiter.body(ours.number, 1_000_000, NOON)
        limiter.webhook(ours, NOON)


def test_client_limits__override_the_rates_and_apply_at_once() -> None:
    limiter = RateLimiter(Rates(requests=5, webhooks=5, burst_seconds=1))

    own = client(1, ClientLimits(requests=2, webhooks=0))
    assert granted(lambda: limiter.request(own, None, NOON)) == 2
    assert granted(lambda: limiter.webhook(own, NOON)) == 1000
    changed = client(1, ClientLimits(requests=3))
    assert granted(lambda: limiter.request(changed, None, NOON)) == 3
    assert granted(lambda: limiter.webhook(changed, NOON)) == 5
    # The same limits read anew are no reason for a new bucket.
    assert granted(lambda: limiter.request(client(1, ClientLimits(requests=3)), None, NOON)) == 0


def test_webhook_rate__raises_overloaded_instead_of_rate_limited() -> None:
    limiter, ours = RateLimiter(Rates(webhooks=2, burst_seconds=1)), client()

    assert granted(lambda: limiter.webhook(ours, NOON)) == 2
    with pytest.raises(Overloaded) as refused:
        limiter.webhook(ours, NOON)
    assert refused.value.retry_after == 1


def test_requests_in_progress__are_shared_fairly_between_clients() -> None:
    limiter = RateLimiter(requests=100)

    assert granted(lambda: limiter.begin(1)) == 75
    assert granted(lambda: limiter.begin(2)) >= 10
    limiter.begin(3)
    limiter.end(1)
    assert granted(lambda: limiter.begin(1)) == 0


def test_key_throttle__limits_failed_checks_per_address() -> None:
    failed = KeyThrottle(3)

    assert granted(lambda: failed.check("a", NOON)) == 3
    assert granted(lambda: failed.check("b", NOON)) == 3
    assert granted(lambda: failed.check("a", NOON + 20 * SECOND)) == 1
    with pytest.raises(RateLimited) as refused:
        failed.check("a", NOON + 20 * SECOND)
    assert refused.value.retry_after == 20


def test_key_throttle__does_not_count_successful_checks() -> None:
    failed = KeyThrottle(3)

    for _ in range(100):
        failed.check("a", NOON)
        failed.succeeded("a", NOON)
