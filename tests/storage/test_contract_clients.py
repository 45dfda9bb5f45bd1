"""What every engine promises about clients and keys."""

from __future__ import annotations

import asyncio

import pytest

from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import any_key, find_key, store_key
from touchbase.clients.models import Client, ClientLimits, ClientSettings, FieldType, StatusSet
from touchbase.clients.sql.clients import ensure_client, find_client, list_clients, set_client_settings
from touchbase.errors import Forbidden, NotFound
from touchbase.sql.store import Store


async def test_ensure_client__creates_a_client_once_among_concurrent_commands(engine_url: str, open_with) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]

    results = await asyncio.gather(*(stores[n % 3].write(ensure_client(f"client{n % 4}", n)) for n in range(24)))

    listed = await stores[0].read(list_clients())
    assert [client.client_id for client in listed] == ["client0", "client1", "client2", "client3"]
    assert {client.number for client in results} == {client.number for client in listed}
    assert await stores[1].read(find_client("client2")) == listed[2]
    assert await stores[1].read(find_client("nobody")) is None


async def test_ensure_client__creates_a_client_with_default_settings(store: Store) -> None:
    client = await store.write(ensure_client("acme", 5))

    assert client == Client(client.number, "acme", 5, ClientSettings(), made_by="call", handle=client.handle)


async def test_set_client_settings__replaces_all_settings(store: Store) -> None:
    settings = ClientSettings(
        on_duplicate="update", contact_statuses=StatusSet(["new", "won"], {"new": ["won"]}), contact_fields={"size": FieldType("number")},
        create_unknown=False,
    )  # fmt: skip
    await store.write(ensure_client("acme", 5))

    changed = await store.write(set_client_settings("acme", settings))
    client = await store.read(find_client("acme"))

    assert changed.settings == settings
    assert client == changed
    assert await store.write(ensure_client("acme", 6)) == changed


async def test_set_client_settings__with_keep_limits_leaves_the_limits_and_refuses_others(store: Store) -> None:
    await store.write(ensure_client("acme", 5))
    lowered = ClientLimits(requests=5)
    await store.write(set_client_settings("acme", ClientSettings(limits=lowered)))

    stored = await store.write(set_client_settings("acme", ClientSettings(create_unknown=False), keep_limits=True))
    named = await store.write(set_client_settings("acme", ClientSettings(limits=ClientLimits(requests=5)), keep_limits=True))
    with pytest.raises(Forbidden):
        await store.write(set_client_settings("acme", ClientSettings(limits=ClientLimits(requests=1000)), keep_limits=True))

    assert stored.settings == ClientSettings(create_unknown=False, limits=lowered)
    assert (await store.read(find_client("acme"))) == named
    assert named.settings == ClientSettings(limits=lowered)


async def test_set_client_settings__raises_not_found_for_an_unknown_client(store: Store) -> None:
    with pytest.raises(NotFound):
        await store.write(set_client_settings("nobody", ClientSettings()))


async def test_store_key__stores_an_api_key_with_all_its_values(store: Store) -> None:
    before = await store.read(any_key())
    client = (await store.write(ensure_client("acme", 1))).number

    await store.write(store_key(ApiKey("k1", b"\x00\xffdigest", ("records:read", "admin"), client, "for the importer", 5, "test", 9)))
    await store.write(store_key(ApiKey("k2", b"other", (), None, "", 5)))

    assert (before, await store.read(any_key())) == (False, True)
    assert await store.read(find_key("k1")) == ApiKey(
        "k1", b"\x00\xffdigest", ("records:read", "admin"), client, "for the importer", 5, "test", 9
    )
    assert await store.read(find_key("k2")) == ApiKey("k2", b"other", (), None, "", 5)
    assert await store.read(find_key("k3")) is None
