"""The cells as administrators see them: how many clients live in each, and whether it answers; no addresses."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cells.test_routing import houses
from tests.clients.test_lifecycle import admin, create_client, key_of

from touchbase.auth.authentication import WRITE
from touchbase.cells.models import DRAINING
from touchbase.cells.sql import set_cell_state
from touchbase.errors import Overloaded, UnusableStore
from touchbase.routing.router import CellRouter
from touchbase.sql.store import Store

DATABASES = "/admin/v1/databases"
NAMES = ("name", "number", "state", "clients", "answers", "reason")


@pytest.fixture
def call(router: CellRouter, make_client: MakeClient) -> ApiClient:
    return make_client(router)


async def listed(call: ApiClient) -> list[tuple[Any, ...]]:
    reply = await call.get(DATABASES)
    assert reply.status == 200, reply.body
    assert all(tuple(cell) == NAMES for cell in reply.json()["data"])
    return [tuple(cell.values()) for cell in reply.json()["data"]]


async def test_list_cells__counts_the_clients_of_each(call: ApiClient, router: CellRouter) -> None:
    await houses(call, 5)
    await router.write(set_cell_state("us", DRAINING))
    await router.refresh()

    assert await listed(call) == [
        ("home", 0, "open", 2, True, None),
        ("eu", 1, "open", 2, True, None),
        ("us", 2, "draining", 1, True, None),
    ]


async def test_list_cells__shows_no_address(call: ApiClient, router: CellRouter, cell_urls: list[str]) -> None:
    body = (await call.get(DATABASES)).body.decode()

    assert "://" not in body
    assert not any(url.partition("?")[0].rpartition("/")[2] in body for url in cell_urls)


async def test_list_cells__says_why_one_does_not_answer(call: ApiClient, router: CellRouter) -> None:
    async def behind(address: str) -> Any:
        raise UnusableStore("the store has pending migrations: 0099_more; run touchbase migrate, then start again")

    async def full() -> None:
        raise Overloaded("the disk is full")

    await router.cells[1].close()
    await router.cells[1].open(behind)
    router.cells[2].store.check = full  # type: ignore[method-assign]
    await router.cells[2].check()

    assert [(name, answers, reason) for name, _, _, _, answers, reason in await listed(call)] == [
        ("home", True, None),
        ("eu", False, "the store has pending migrations: 0099_more; run touchbase migrate, then start again"),
        ("us", False, "the disk is full"),
    ]


async def test_list_cells__answers_while_the_home_store_does_not(
    call: ApiClient, router: CellRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full() -> None:
        raise Overloaded("the disk is full")

    await houses(call, 3)
    monkeypatch.setattr(router.home, "check", full)

    assert [item[3:] for item in await listed(call)] == [
        (1, False, "the disk is full"), (1, True, None), (1, True, None),
    ]  # fmt: skip


async def test_list_cells__without_cells_has_the_only_store(store: Store, make_client: MakeClient) -> None:
    call = make_client(store)
    await houses(call, 3)

    assert await listed(call) == [("home", 0, "open", 3, True, None)]


async def test_list_cells__is_refused_without_an_admin_key_for_all_clients(store: Store, make_client: MakeClient) -> None:
    guarded = make_client(store, auth="api-key")
    await create_client(guarded, **await admin(guarded))

    reported = [
        await guarded.get(DATABASES),
        await guarded.get(DATABASES, **await key_of(guarded, "ours")),
        await guarded.get(DATABASES, **await key_of(guarded, "ours", WRITE)),
    ]

    assert [(reply.status, reply.problem["code"]) for reply in reported] == [
        (401, "unauthorized"), (403, "forbidden"), (403, "insufficient_scope"),
    ]  # fmt: skip
