"""The cache: freshness, single flight, eviction during a read, bounded size."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from touchbase.common.cache import Cache


@dataclass
class Reads:
    """A store with one value, which answers when it is released."""

    value: str = "first"
    count: int = 0
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, _now: int) -> str:
        self.count += 1
        found = self.value
        await self.release.wait()
        return found


def cache_of(now: int = 100, size: int = 10) -> Cache[str, str]:
    return Cache(10, lambda: now, size)


async def load(cache: Cache[str, str], reads: Reads) -> str:
    return await cache.load("a", reads.read, lambda found, now: cache.put("a", found, now))


def test_get__is_fresh_for_the_time_and_not_before_the_read() -> None:
    cache = cache_of()
    cache.put("a", "one", 100)

    assert [cache.get("a", now) for now in (99, 100, 109, 110)] == [None, "one", "one", None]
    assert cache.latest("a") == "one"


def test_put__ends_at_until() -> None:
    cache = cache_of()
    cache.put("a", "one", 100, until=105)
    cache.put("b", "two", 100, until=500)

    assert [cache.get("a", now) for now in (104, 105)] == ["one", None]
    assert [cache.get("b", now) for now in (109, 110)] == ["two", None]


async def test_load__of_many_calls_is_one_read() -> None:
    cache, reads = cache_of(), Reads()
    calls = [asyncio.ensure_future(load(cache, reads)) for _ in range(50)]
    await asyncio.sleep(0)
    reads.release.set()

    assert await asyncio.gather(*calls) == ["first"] * 50
    assert reads.count == 1
    assert cache.get("a", 100) == "first"


async def test_load__goes_on_when_a_call_is_cancelled() -> None:
    cache, reads = cache_of(), Reads()
    one, other = (asyncio.ensure_future(load(cache, reads)) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    reads.release.set()

    assert await other == "first"
    with pytest.raises(asyncio.CancelledError):
        await one


async def test_load__raises_the_error_in_every_call_and_reads_again_later() -> None:
    async def fails(_now: int) -> str:
        await asyncio.sleep(0)
        raise ConnectionError

    cache, reads = cache_of(), Reads()
    calls = [asyncio.ensure_future(cache.load("a", fails, lambda _found, _now: None)) for _ in range(3)]
    errors = await asyncio.gather(*calls, return_exceptions=True)
    reads.release.set()

    assert [type(each) for each in errors] == [ConnectionError] * 3
    assert await load(cache, reads) == "first"


async def test_evict__during_a_read_repeats_the_read() -> None:
    cache, reads = cache_of(), Reads()
    call = asyncio.ensure_future(load(cache, reads))
    await asyncio.sleep(0)
    reads.value = "second"
    cache.evict("a")
    reads.release.set()

    assert await call == "second"
    assert cache.get("a", 100) == "second"


def test_evict_where__removes_all_keys_of_a_value() -> None:
    cache = cache_of()
    for key, value in (("a", "one"), ("b", "one"), ("c", "two")):
        cache.put(key, value, 100)

    cache.evict_where(lambda _key, value: value == "one")

    assert cache.items() == [("c", "two")]


def test_put__empties_a_full_cache() -> None:
    cache = cache_of(size=2)
    for key in ("a", "b", "c"):
        cache.put(key, key, 100)

    assert cache.items() == [("c", "c")]
