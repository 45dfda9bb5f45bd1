"""Reports of all clients at once, for administrators."""

from __future__ import annotations

from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.reports.test_campaigns import columns_of, mail

from touchbase.sql.store import Store


async def test_admin_campaigns__name_the_client_of_each_row(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, read=read)
    acme, beta = await House.of(call, "acme"), await House.of(call, "beta")
    await acme.hook("camp", mail("ann", -60), mail("bob", -50))
    await beta.hook("camp", mail("ann", -60))

    reply = await call.get("/admin/v1/reports/campaigns?group_by=tool")

    assert columns_of(reply.json()["data"], "client_id", "tool", "mailed") == [("acme", "camp", 2), ("beta", "camp", 1)]
    assert reply.json()["next_cursor"] is None


async def test_admin_statuses__come_in_pages_of_clients(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, read=read)
    for name in ("acme", "beta", "gamma"):
        await (await House.of(call, name)).contact(email=f"{name}@example.com", contact_status="new")
    call.clock.move(1)

    rows, path = [], "/admin/v1/reports/contacts/statuses?limit=2&since=1d"
    reply = await call.get(path)
    rows += reply.json()["data"]
    reply = await call.get(f"{path}&cursor={reply.json()['next_cursor']}")
    rows += reply.json()["data"]

    assert columns_of(rows, "client_id", "status", "records") == [("acme", "new", 1), ("beta", "new", 1), ("gamma", "new", 1)]
    assert reply.json()["next_cursor"] is None
