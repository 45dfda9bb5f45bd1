"""What every engine promises about API keys: the first of a store, successors, ends, and when they were used."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from touchbase.auth.api_key import ACTIVE, EXPIRED, REVOKED, ApiKey
from touchbase.auth.sql import find_key, list_keys, revoke_key, rotate_key, store_first_key, store_key, store_key_uses
from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import NotFound, WrongState
from touchbase.sql.store import Store


async def key(store: Store, key_id: str) -> ApiKey:
    key = await store.read(find_key(key_id))
    assert key is not None
    return key


def rotation(of: str, to: str, at: int = 10, keep: int = 20, expires: int | None = None) -> rotate_key:
    return rotate_key(of, to, to.encode(), at, keep, expires)


async def test_store_first_key__succeeds_once_among_several_processes(engine_url: str, open_with: Any) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(4)]

    async with asyncio.timeout(60):
        firsts = [store_first_key(ApiKey(f"k{n}", b"d", ("admin",), None, "first", n)) for n in range(16)]
        stored = await asyncio.gather(*(stores[n % 4].write(first) for n, first in enumerate(firsts)))

    assert sorted(stored) == [False] * 15 + [True]
    assert [item.key_id for item in await stores[0].read(list_keys(100, 0))] == [f"k{stored.index(True)}"]


async def test_store_first_key__is_refused_where_any_api_key_exists(store: Store) -> None:
    await store.write(store_key(ApiKey("k1", b"d", (), None, "", 5)))
    await store.write(revoke_key("k1", 6))

    assert await store.write(store_first_key(ApiKey("k2", b"d", (), None, "", 7))) is False
    assert await store.read(find_key("k2")) is None


async def test_rotate_key__creates_an_equal_successor_and_expires_the_old_key(store: Store) -> None:
    client = (await store.write(ensure_client("acme", 1))).number
    await store.write(store_key(ApiKey("k1", b"d", ("records:read",), client, "importer", 5, "test")))

    successor = await store.write(rotation("k1", "k2"))

    assert successor == await key(store, "k2")
    assert successor == ApiKey("k2", b"k2", ("records:read",), client, "importer", 10, "test", replaces="k1")
    old = await key(store, "k1")
    assert (old.expires_us, old.replaced_by) == (20, "k2")
    assert [old.state(at) for at in (19, 20)] == [ACTIVE, EXPIRED]


async def test_rotate_key__leaves_an_earlier_expiry(store: Store) -> None:
    await store.write(store_key(ApiKey("k1", b"d", (), None, "", 5, "live", 15)))

    successor = await store.write(rotation("k1", "k2", expires=30))

    assert ((await key(store, "k1")).expires_us, successor.expires_us) == (15, 30)


async def test_rotate_key__leaves_at_most_two_active_api_keys(store: Store) -> None:
    await store.write(store_key(ApiKey("k1", b"d", (), None, "", 5)))
    await store.write(rotation("k1", "k2", at=10, keep=1000))
    await store.write(rotation("k2", "k3", at=11, keep=1000))

    assert [(await key(store, name)).state(11) for name in ("k1", "k2", "k3")] == [EXPIRED, ACTIVE, ACTIVE]


async def test_rotate_key__creates_one_successor_among_concurrent_requests(engine_url: str, open_with: Any) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    await stores[0].write(store_key(ApiKey("k1", b"d", (), None, "", 5)))

    async with asyncio.timeout(60):
        answers = await asyncio.gather(*(stores[n].write(rotation("k1", f"next{n}")) for n in range(3)), return_exceptions=True)

    assert sorted(type(answer).__name__ for answer in answers) == ["ApiKey", "WrongState", "WrongState"]
    assert len(await stores[0].read(list_keys(10, 10))) == 2


async def test_rotate_key__refuses_an_expired_revoked_or_unknown_api_key(store: Store) -> None:
    await store.write(store_key(ApiKey("expired", b"d", (), None, "", 5, "live", 9)))
    await store.write(store_key(ApiKey("revoked", b"d", (), None, "", 5)))
    await store.write(revoke_key("revoked", 6))

    for name in ("expired", "revoked"):
        with pytest.raises(WrongState):
            await store.write(rotation(name, "next"))
    with pytest.raises(NotFound):
        await store.write(rotation("nothing", "next"))
    assert await store.read(find_key("next")) is None


async def test_revoke_key__preserves_the_first_revocation_time_when_repeated(store: Store) -> None:
    await store.write(store_key(ApiKey("k1", b"d", (), None, "", 5)))

    first = await store.write(revoke_key("k1", 6))
    again = await store.write(revoke_key("k1", 9))

    assert first == again == await key(store, "k1")
    assert (first.revoked_us, first.state(6)) == (6, REVOKED)
    with pytest.raises(NotFound):
        await store.write(revoke_key("k2", 6))


async def test_store_key_uses__stores_only_later_times(store: Store) -> None:
    for name in ("k1", "k2", "k3"):
        await store.write(store_key(ApiKey(name, b"d", (), None, "", 5)))

    await store.write(store_key_uses({"k1": 60, "k2": 120, "gone": 60}))
    await asyncio.gather(store.write(store_key_uses({"k1": 180, "k2": 60})), store.write(store_key_uses({"k1": 120})))

    assert [(await key(store, name)).last_used_us for name in ("k1", "k2", "k3")] == [180, 120, None]


async def test_list_keys__pages_newest_first_and_filters_by_client_and_state(store: Store) -> None:
    client = (await store.write(ensure_client("acme", 1))).number
    for number, (name, owner, expires) in enumerate(
        [("a", None, None), ("b", client, 50), ("c", client, None), ("d", None, 200), ("e", client, None)]
    ):
        await store.write(store_key(ApiKey(name, b"d", (), owner, "", 5 + number // 2, "live", expires)))
    await store.write(revoke_key("e", 20))

    async def listed_keys(**wanted: Any) -> str:
        return "".join(item.key_id for item in await store.read(list_keys(**{"limit": 10, "at": 100, **wanted})))

    assert await listed_keys() == "edcba"
    assert await listed_keys(limit=2) == "ed"
    assert await listed_keys(before=(6, "d")) == "cba"
    assert await listed_keys(client=client) == "ecb"
    assert [await listed_keys(state=state) for state in (ACTIVE, EXPIRED, REVOKED)] == ["dca", "b", "e"]
    assert await listed_keys(state=ACTIVE, at=10) == "dcba"
    assert await listed_keys(client=client, state=ACTIVE, limit=1) == "c"
