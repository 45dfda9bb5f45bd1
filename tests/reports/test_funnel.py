"""The funnel over HTTP: who entered a status in the period, who went on, and how long it took."""

from __future__ import annotations

from typing import Any

from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.reports.test_campaigns import DAY, columns_of, report

from touchbase.sql.store import Store

FUNNEL = "/public/v2/reports/contacts/funnel"
ORDER = ("new", "replied", "meeting", "won", "lost")


async def order(house: House, *names: str) -> None:
    data = [{"name": name, "group": "lost" if name == "lost" else "active"} for name in names]
    await house.request("PUT", "/team/v1/statuses", {"data": data})


async def move(house: House, contact: int, status: str, days: float = 1) -> None:
    """Give a contact a status, some days later."""
    house.call.clock.move(days * DAY)
    await house.request("PATCH", f"/public/v2/contacts/{contact}", {"contact_status": status})


async def funnel(house: House, query: str = "since=30d") -> list[tuple[Any, ...]]:
    house.call.clock.move(1)
    return columns_of(await report(house, query, FUNNEL), "status", "entered", "went_on", "share", "left", "median_days")


async def test_funnel__counts_entries_those_who_went_on_and_their_days(house: House) -> None:
    await order(house, *ORDER)
    ann, bob, cat = [await house.contact(email=f"{name}@example.com", contact_status="new") for name in ("ann", "bob", "cat")]
    await move(house, ann, "replied", 2)
    await move(house, bob, "lost", 2)
    await move(house, ann, "won", 5)

    assert await funnel(house) == [
        ("new", 3, 1, 0.3333, 2, 3.0),
        ("replied", 1, 1, 1.0, 1, 7.0),
        ("won", 1, 0, 0.0, 0, None),
        ("lost", 1, 0, 0.0, 0, None),
    ]
    assert cat


async def test_funnel__counts_a_record_once_and_only_entries_of_the_period(house: House) -> None:
    await order(house, *ORDER)
    ann = await house.contact(email="ann@example.com", contact_status="new")
    await move(house, ann, "replied", 40)
    await move(house, ann, "new", 1)
    await move(house, ann, "replied", 1)

    assert await funnel(house) == [("new", 1, 1, 1.0, 1, 1.0), ("replied", 1, 0, 0.0, 1, 1.0)]
    assert await funnel(house, "since=50d&until=10d") == [("new", 1, 1, 1.0, 1, 40.0)]


async def test_funnel__has_statuses_outside_of_the_order_last(house: House) -> None:
    await order(house, "replied", "won")
    ann, _ = [await house.contact(email=f"{name}@example.com", contact_status="custom") for name in ("ann", "bob")]
    await move(house, ann, "won")

    assert await funnel(house) == [("won", 1, 0, 0.0, 0, None), ("custom", 2, 1, 0.5, 1, 1.0)]


async def test_funnel__of_a_renamed_status_stands_where_its_word_does(house: House) -> None:
    await order(house, "contacted", "replied", "won")
    rename = {"name": "Interested"}
    ann = await house.contact(email="ann@example.com", contact_status="replied")
    await house.request("PATCH", "/public/v2/statuses/contacts/replied", rename)
    await move(house, ann, "won")

    assert [row[:3] for row in await funnel(house)] == [("Interested", 1, 1), ("won", 1, 0)]


async def test_admin_funnel__names_the_client_of_each_row(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, read=read)
    for name in ("acme", "beta"):
        await (await House.of(call, name)).contact(email=f"{name}@example.com", contact_status="new")
    call.clock.move(1)

    first = (await call.get("/admin/v1/reports/contacts/funnel?limit=1&since=1d")).json()
    second = (await call.get(f"/admin/v1/reports/contacts/funnel?limit=1&since=1d&cursor={first['next_cursor']}")).json()

    assert columns_of(first["data"] + second["data"], "client_id", "status", "entered") == [("acme", "new", 1), ("beta", "new", 1)]
    wrong = await call.get("/admin/v1/reports/contacts/funnel?since=tomorrow")
    assert (wrong.status, wrong.problem["errors"][0]["pointer"]) == (422, "?since")
