"""Endpoints of all clients and of the audit log, in an installation with cells: clients in each, one that moves, a cell that is down."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cells.test_move import Steps, no_pause, router, steps
from tests.house import House, read
from tests.outgoing.conftest import PLACE, URL, Receivers, Sent
from tests.outgoing.test_shared import OF_ALL

from touchbase.outgoing.api.event_objects import AS_IN_API
from touchbase.outgoing.dispatcher import Dispatcher
from touchbase.routing.router import CellRouter

__all__ = ["no_pause", "router", "steps"]


@dataclass
class Cells:
    """Clients in three cells, and a dispatcher for each cell."""

    call: ApiClient
    router: CellRouter
    receivers: Receivers
    dispatchers: dict[int, Dispatcher]
    houses: list[House] = field(default_factory=list)

    async def add(self, **values: Any) -> Any:
        reply = await self.call("POST", OF_ALL, {"url": URL, **values})
        assert reply.status == 201, reply.body
        return reply.json()

    async def deliver(self, seconds: float = 2, *cells: int) -> list[Sent]:
        self.call.clock.move(seconds)
        for cell in cells or self.dispatchers:
            await self.dispatchers[cell].drain()
        return self.receivers.take()

    async def told(self, email: str) -> list[str]:
        """Create a contact at each client; return the clients whose events were sent."""
        for house in self.houses:
            await house.contact(email=email)
        return sorted(sent.body["data"]["client_id"] for sent in await self.deliver())


@pytest.fixture
async def cells(router: CellRouter, make_client: MakeClient) -> Cells:
    receivers = Receivers()
    call = make_client(router, read=read, send_webhook=receivers.post, installation=PLACE)
    of = partial(Dispatcher, client=receivers, clock=call.clock, show=AS_IN_API, place=PLACE, home=router)
    cells = Cells(call, router, receivers, {cell: of(store) for cell, store in router.stores().items()})
    cells.houses = [await House.of(call, client_id) for client_id in ("acme", "bolt", "crest")]
    assert {router.placement.cell_of(house.number) for house in cells.houses} == {0, 1, 2}
    return cells


async def test_endpoint_of_all_clients__follows_a_client_that_moves(cells: Cells, steps: Steps) -> None:
    added = await cells.add(types=["contact.created"])
    before = await cells.told("ann@x.example")
    cells.receivers.answer = lambda sent: 503
    missed = await cells.told("bob@x.example")

    await steps.run("eu")
    cells.receivers.answer = lambda sent: 200
    after = [sent.body["data"] for sent in await cells.deliver(30)]
    told = await cells.told("eve@x.example")
    await cells.call("PATCH", f"{OF_ALL}/{added['id']}", {"url": f"{URL}/other"})
    await cells.deliver()
    for house in cells.houses:
        await house.contact(email="dan@x.example")
    urls = {sent.url for sent in await cells.deliver()}
    shown = (await cells.call("GET", f"{OF_ALL}/{added['id']}")).json()
    assert (await cells.call("DELETE", f"{OF_ALL}/{added['id']}")).status == 204

    everybody = ["acme", "bolt", "crest"]
    assert (before, missed, told) == (everybody, everybody, everybody)
    assert sorted((data["client_id"], data["object"]["email"]) for data in after) == [(name, "bob@x.example") for name in everybody]
    assert (urls, shown["copies"]["clients"], shown["copies"]["active"]) == ({f"{URL}/other"}, 3, 3)
    assert await cells.told("fay@x.example") == []


async def test_acts__of_all_cells_are_sent_by_the_home_store_in_their_order(cells: Cells) -> None:
    cells.call.clock.move(1)
    await cells.add(kind="audit")
    for name in ("Acme", "Bolt", "Crest", "Acme & Co"):
        cells.call.clock.move(0.5)
        client_id = name.split()[0].lower()
        assert (await cells.call("PATCH", f"/admin/v1/clients/{client_id}", {"name": name})).status == 200

    of_cells = await cells.deliver(6, 1, 2)
    sent = await cells.deliver(0, 0)

    assert of_cells == []
    acts = [(one.body["data"]["object"]["action"], one.body["data"]["client_id"]) for one in sent]
    assert acts == [("endpoint.created", None), *(("client.renamed", name) for name in ("acme", "bolt", "crest", "acme"))]


async def test_acts__wait_for_a_cell_that_is_down_and_other_events_do_not(cells: Cells) -> None:
    await cells.add(kind="audit")
    await cells.add(types=["contact.created"])
    await cells.deliver(6)
    acme = next(house for house in cells.houses if cells.router.placement.cell_of(house.number) == 0)
    await cells.router.cells[1].close()
    assert (await cells.call("PATCH", "/admin/v1/clients/acme", {"name": "Acme"})).status == 200
    await acme.contact(email="ann@x.example")

    sent = await cells.deliver(6, 0)

    assert [one.body["type"] for one in sent] == ["contact.created"]
