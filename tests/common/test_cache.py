"""The cache: time to live, single flight, invalidation and bounds."""

from __future__ import annotations

import asyncio

import pytest

from touchbase.common.cache import Cache


class Source:
    """A source of values that answers when the test lets it, with the value that it has then or had at the start."""

    def __init__(self, value: str | None = "old") -> None:
        self.value = value
        self.loads = 0
        self.started = asyncio.Event()
        self.answer = asyncio.Event()

    async def load(self) -> str | None:
        self.loads += 1
        value = self.value
        self.started.set()
        await self.answer.wait()
        return value


class Clock:
    now = 100

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> Cache[str, str]:
    return Cache(clock, 10, most=4)


async def test_get__returns_a_value_from_the_start_of_its_read_for_the_ttl(cache: Cache[str, str], clock: Clock) -> None:
    source = Source()
    reading = asyncio.create_task(cache.read("a", source.load))
    await source.started.wait()
    clock.now = 105
    source.answer.set()

    assert await reading == "old"

    assert [cache.get("a", now) for now in (99, 100, 109, 110)] == [None, "old", "old", None]
    assert cache.peek("a") == "old"


async def test_read__concurrent_reads_share_one_load_also_if_the_first_is_cancelled(cache: Cache[str, str]) -> None:
    source = Source()
    reads = [asyncio.create_task(cache.read("a", source.load)) for _ in range(50)]
    await source.started.wait()
    reads[0].cancel()
    source.answer.set()

    results = await asyncio.gather(*reads, return_exceptions=True)

    assert source.loads == 1
    assert isinstance(results[0], asyncio.CancelledError)
    assert results[1:] == ["old"] * 49


async def test_read__an_error_reaches_all_waiting_reads_and_is_not_cached(cache: Cache[str, str]) -> None:
    async def fail() -> str:
        raise OSError("away")

    results = await asyncio.gather(cache.read("a", fail), cache.read("a", fail), return_exceptions=True)

    assert [str(item) for item in results] == ["away"] * 2
    source = Source()
    source.answer.set()
    assert await cache.read("a", source.load) == "old"


@pytest.mark.parametrize("forget", [lambda cache: cache.forget("a"), lambda cache: cache.forget_where(lambda key, _: key == "a")])
async def test_forget__repeats_a_load_that_began_before_the_change(cache: Cache[str, str], forget: object) -> None:
    source = Source()
    reading = asyncio.create_task(cache.read("a", source.load))
    await source.started.wait()
    source.value = "new"
    forget(cache)  # type: ignore[operator]
    source.answer.set()

    assert await reading == "new"

    assert (cache.get("a", 100), source.loads) == ("new", 2)


async def test_forget_where__removes_the_changed_values_only(cache: Cache[str, str]) -> None:
    for key in ("a1", "a2", "b1"):
        cache.put(key, key, 100)

    cache.forget_where(lambda key, _: key.startswith("a"))

    assert [cache.peek(key) for key in ("a1", "a2", "b1")] == [None, None, "b1"]


async def test_read__a_missing_value_is_not_cached_and_removes_the_old_one(cache: Cache[str, str]) -> None:
    cache.put("a", "old", 50)
    source = Source(None)
    source.answer.set()

    assert await cache.read("a", source.load) is None

    assert cache.peek("a") is None


def test_put__evicts_the_older_half_when_full(cache: Cache[str, str]) -> None:
    for key in "abcd":
        cache.put(key, key, 100)
    cache.put("a", "again", 100)

    cache.put("e", "e", 100)

    assert [cache.peek(key) for key in "abcde"] == ["again", None, None, "d", "e"]


def test_put__valid_until_shortens_the_validity_or_prevents_caching(clock: Clock) -> None:
    cache: Cache[str, int] = Cache(clock, 10, valid_until=lambda value, _: value)
    for key, until in (("early", 104), ("late", 900), ("over", 100)):
        cache.put(key, until, 100)

    assert [key for key in ("early", "late", "over") if cache.get(key, 103)] == ["early", "late"]
    assert [key for key in ("early", "late", "over") if cache.get(key, 109)] == ["late"]
    assert cache.get("late", 110) is None


def test_put__without_a_ttl_values_do_not_expire(clock: Clock) -> None:
    cache: Cache[str, str] = Cache(clock, None)

    cache.put("a", "token", 100)

    assert (cache.get("a", 0), cache.get("a", 10**18)) == ("token", "token")
