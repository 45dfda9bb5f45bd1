"""Known keys cost nothing but their check, and their uses are written down later, for many at once."""

from __future__ import annotations

from typing import Any

import pytest

from touchbase.auth.authentication import Authenticator
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import KEY_ID, READ, WRITE, add_key
from touchbase.auth.sql import find_key, store_key_uses
from touchbase.clients.service import Clients
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.errors import Overloaded
from touchbase.maintenance import Maintenance
from touchbase.sql.store import Store

MINUTE = 60 * SECOND


class Clock:
    now = 1_790_000_000 * SECOND // MINUTE * MINUTE

    def __call__(self) -> int:
        return self.now


class Watched:
    """A store that notes what it is asked, and that can be overloaded."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.operations: list[Any] = []
        self.overloaded = False

    async def read(self, query: Any) -> Any:
        self.operations.append(query)
        return await self._store.read(query)

    async def write(self, command: Any) -> Any:
        self.operations.append(command)
        if self.overloaded:
            raise Overloaded("not now")
        return await self._store.write(command)


async def test_authenticator_cached__checks_a_known_key_without_the_store(store: Store) -> None:
    clock, watched = Clock(), Watched(store)
    clients = Clients(watched, clock)  # type: ignore[arg-type]
    door = Authenticator(watched, clients, clock, keys_needed=True)  # type: ignore[arg-type]
    ours = await store.write(ensure_client("ours", 1))
    own, any_client = [await add_key(store, number, [READ], "test", 1) for number in (ours.number, None)]

    unknown = door.cached(own.encode(), None, READ, clock())
    await door.client(own, None, READ)
    await door.client(any_client, "ours", READ)
    watched.operations.clear()

    assert unknown is None
    assert door.cached(own.encode(), None, READ, clock()) == ours
    assert door.cached(own.encode(), b"ours", READ, clock()) == ours
    assert door.cached(any_client.encode(), b"ours", READ, clock()) == ours
    for key, named, scope, now in (
        (own, None, WRITE, clock()),
        (own, b"theirs", READ, clock()),
        (any_client, None, READ, clock()),
        (any_client, b"\xff", READ, clock()),
        (own, None, READ, clock() + SECOND),
        (own[:-1], None, READ, clock()),
        (f" {own}", None, READ, clock()),
        (own.replace("live", "test"), None, READ, clock()),
        (any_client[:-86] + own[KEY_ID] + any_client[-74:], None, READ, clock()),
        ("", None, READ, clock()),
    ):
        assert door.cached(key.encode(), named, scope, now) is None
    assert watched.operations == []


async def test_authenticator__holds_no_key_text_in_memory(store: Store) -> None:
    clock = Clock()
    door = Authenticator(store, Clients(store, clock), clock, keys_needed=True)
    ours = await store.write(ensure_client("ours", 1))
    text = await add_key(store, ours.number, [READ], "test", 1)

    await door.client(text, None, READ)

    assert text.split("_")[3] not in repr({name: getattr(door, name) for name in vars(door)})


async def test_key_usage__is_stored_once_per_minute(store: Store) -> None:
    uses, watched = KeyUsage(), Watched(store)
    text = await add_key(store, None, [READ], "test", 1)
    began = Clock.now

    for seconds in (1, 2, 59, 59.9, 61, 62):
        uses.record(text[KEY_ID], began + int(seconds * SECOND))
        await uses.flush(watched)  # type: ignore[arg-type]

    assert watched.operations == [store_key_uses({text[KEY_ID]: began}), store_key_uses({text[KEY_ID]: began + MINUTE})]
    key = await store.read(find_key(text[KEY_ID]))
    assert key is not None
    assert key.last_used_us == began + MINUTE


async def test_key_usage__is_written_later_after_an_overload(store: Store) -> None:
    uses, watched = KeyUsage(), Watched(store)
    texts = [await add_key(store, None, [READ], "test", 1) for _ in range(2)]
    watched.overloaded = True
    uses.record(texts[0][KEY_ID], Clock.now)
    await uses.flush(watched)  # type: ignore[arg-type]
    uses.record(texts[1][KEY_ID], Clock.now)

    watched.overloaded = False
    await uses.flush(watched)  # type: ignore[arg-type]

    for text in texts:
        key = await store.read(find_key(text[KEY_ID]))
        assert key is not None
        assert key.last_used_us == Clock.now


@pytest.mark.parametrize("is_known", [False, True])
async def test_maintenance__writes_the_key_usage_of_the_authenticator(store: Store, is_known: bool) -> None:
    clock, uses = Clock(), KeyUsage()
    door = Authenticator(store, Clients(store, clock), clock, keys_needed=True, uses=uses)
    ours = await store.write(ensure_client("ours", 1))
    text = await add_key(store, ours.number, [READ], "test", 1)
    await door.client(text, None, READ)
    later = clock.now
    if is_known:
        later += MINUTE
        clock.now = later - 1
        await door.client(text, None, READ)
        assert door.cached(text.encode(), None, READ, later) is not None

    await Maintenance(store, clock, uses=uses).round()

    key = await store.read(find_key(text[KEY_ID]))
    assert key is not None
    assert key.last_used_us == later


async def test_key_usage__is_written_later_after_any_error(store: Store) -> None:
    class Broken:
        async def write(self, command: Any) -> Any:
            raise ZeroDivisionError

    ours, uses = await store.write(ensure_client("ours", 1)), KeyUsage()
    text = await add_key(store, ours.number, [READ], "test", 1)
    uses.record(text[KEY_ID], Clock.now)
    with pytest.raises(ZeroDivisionError):
        await uses.flush(Broken())  # type: ignore[arg-type]

    await uses.flush(store)

    key = await store.read(find_key(text[KEY_ID]))
    assert key is not None
    assert key.last_used_us == Clock.now
