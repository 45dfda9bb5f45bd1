"""Reports of all clients at once, for administrators."""

from __future__ import annotations

from functools import partial

import pytest
from tests.asgi_client import MakeClient
from tests.house import House, read
from tests.reports.test_campaigns import columns_of, mail

from touchbase.reports import campaigns as service
from touchbase.reports.sql.campaigns import report_messages
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


async def test_client_with_too_many_rows__is_left_out_and_named(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.reports.sql.statuses.MOST_ROWS", 1)
    monkeypatch.setattr("touchbase.reports.sql.campaigns.MOST_ROWS", 1)
    monkeypatch.setattr("touchbase.reports.sql.closed.MOST_ROWS", 1)
    call = make_client(store, read=read)
    for name in ("acme", "beta"):
        house = await House.of(call, name)
        for person, tool in (("ann", "camp"), ("bob", "camp2"))[: 2 if name == "acme" else 1]:
            await house.contact(email=f"{person}@example.com", contact_status=tool)
            await house.hook(tool, mail(person, -60))
    call.clock.move(1)

    for path in ("contacts/statuses?since=1d", "campaigns?group_by=tool"):
        report = (await call.get(f"/admin/v1/reports/{path}")).json()
        assert ({row["client_id"] for row in report["data"]}, report["left_out"], report["next_cursor"]) == ({"beta"}, ["acme"], None)


async def test_page__ends_with_the_client_that_brings_it_to_the_limit(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.reports.api.resource.MOST_ROWS", 2)
    call = make_client(store, read=read)
    for name in ("acme", "beta", "gamma"):
        await (await House.of(call, name)).contact(email=f"{name}@example.com", contact_status="new")
    call.clock.move(1)

    path = "/admin/v1/reports/contacts/statuses?since=1d"
    first = (await call.get(path)).json()
    second = (await call.get(f"{path}&cursor={first['next_cursor']}")).json()

    assert [[row["client_id"] for row in page["data"]] for page in (first, second)] == [["acme", "beta"], ["gamma"]]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("group", ["step", "label"])
async def test_page_by_message__ends_with_the_client_that_brings_it_to_the_limit(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setattr("touchbase.reports.api.resource.PAGE_MESSAGES", 2)
    call = make_client(store, read=read)
    for name in ("acme", "beta", "gamma"):
        await (await House.of(call, name)).hook("camp", mail("ann", -60, event="email_replied"))

    path = f"/admin/v1/reports/campaigns?group_by={group}"
    first = (await call.get(path)).json()
    second = (await call.get(f"{path}&cursor={first['next_cursor']}")).json()
    of_tools = (await call.get("/admin/v1/reports/campaigns?group_by=tool")).json()

    assert [columns_of(page["data"], "client_id", "replied") for page in (first, second)] == [[("acme", 1), ("beta", 1)], [("gamma", 1)]]
    assert (second["next_cursor"], of_tools["next_cursor"]) == (None, None)


@pytest.mark.parametrize("group", ["step", "label"])
async def test_report_by_message__of_too_many_events_is_refused(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setattr(service, "report_messages", partial(report_messages, most=1))
    call = make_client(store, read=read)
    acme, beta = await House.of(call, "acme"), await House.of(call, "beta")
    await acme.hook("camp", mail("ann", -60, event="email_replied"), mail("bob", -50, event="email_replied"))
    await beta.hook("camp", mail("ann", -60, event="email_replied"))

    alone = await acme.request("GET", f"/public/v2/reports/campaigns?group_by={group}")
    together = (await call.get(f"/admin/v1/reports/campaigns?group_by={group}")).json()

    assert alone.status == 422
    assert alone.json()["errors"][0]["detail"].startswith("the report would read the messages of more than 1,000,000 events: send a later")
    assert ({row["client_id"] for row in together["data"]}, together["left_out"]) == ({"beta"}, ["acme"])
