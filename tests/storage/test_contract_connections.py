"""What every engine promises about connections, and about what a delivery has proved."""

from __future__ import annotations

from dataclasses import replace

import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections, remove_connection
from touchbase.errors import Conflict, NotFound, PreconditionFailed
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.sql.store import Store

SETTINGS = ConnectionSettings(
    status_property={"contact": "hs_lead_status", "company": None}, status_labels={"Won": "customer", "Spam": None},
    objects={"17": "ignore"},
    create_unknown=False, linkedin_reply_counts=True, deals_set_status=True, deal_labels={"5": "won"}, fields={"email": "data.mail"},
)  # fmt: skip


async def client_of(store: Store, client_id: str = "acme") -> int:
    return (await store.write(ensure_client(client_id, 1))).number


def connection(client: int, tool: str = "hubspot", channel: str = "crm", **more: object) -> Connection:
    return replace(Connection(client, channel, tool, 5, 5), **more)


async def test_add_connection__stores_all_values(store: Store) -> None:
    client = await client_of(store)
    wanted = connection(client, secrets=["one é", 'two"'], settings=SETTINGS)

    new_connection = await store.write(add_connection(wanted))

    assert new_connection == wanted
    assert await store.read(list_connections(client)) == [wanted]


async def test_add_connection__refuses_a_second_connection_of_a_tool_on_a_channel(store: Store) -> None:
    first, second = await client_of(store), await client_of(store, "other")
    for client, channel in ((first, "crm"), (first, "email_campaign"), (second, "crm")):
        await store.write(add_connection(connection(client, "outreach", channel)))

    with pytest.raises(Conflict, match="outreach is already connected on the channel crm"):
        await store.write(add_connection(connection(first, "outreach", secrets=["another"])))

    listed = await store.read(list_connections(first))
    assert [(item.channel, item.secrets) for item in listed] == [("crm", []), ("email_campaign", [])]


async def test_list_connections__sorts_those_of_one_client_by_channel_and_tool(store: Store) -> None:
    first, second = await client_of(store), await client_of(store, "other")
    for client, channel, tool in ((first, "email_campaign", "a"), (first, "crm", "b"), (first, "crm", "a"), (second, "crm", "c")):
        await store.write(add_connection(connection(client, tool, channel)))

    listed = await store.read(list_connections(first))

    assert [(item.channel, item.tool) for item in listed] == [("crm", "a"), ("crm", "b"), ("email_campaign", "a")]


async def test_change_connection__replaces_settings_and_only_the_given_secrets(store: Store) -> None:
    client = await client_of(store)
    await store.write(add_connection(connection(client, secrets=["first secret"])))
    await store.write(add_connection(connection(client, "close", secrets=["its own"])))

    stored = await store.write(change_connection(client, "crm", "hubspot", None, SETTINGS, 9))
    rotated = await store.write(change_connection(client, "crm", "hubspot", ["second", "first secret"], ConnectionSettings(), 10))
    taken = await store.write(change_connection(client, "crm", "hubspot", [], ConnectionSettings(), 11))

    assert (stored.secrets, stored.settings, stored.created_us, stored.updated_us) == (["first secret"], SETTINGS, 5, 9)
    assert (rotated.secrets, rotated.settings) == (["second", "first secret"], ConnectionSettings())
    assert taken.secrets == []
    assert [item.secrets for item in await store.read(list_connections(client))] == [["its own"], []]


async def test_change_connection__refuses_a_change_based_on_an_outdated_connection(store: Store) -> None:
    client = await client_of(store)
    await store.write(add_connection(connection(client, secrets=["first secret"])))
    (expected,) = await store.read(list_connections(client))

    first = await store.write(change_connection(client, "crm", "hubspot", ["second", "first secret"], SETTINGS, 9, None, expected))
    with pytest.raises(PreconditionFailed):
        await store.write(change_connection(client, "crm", "hubspot", ["third", "first secret"], SETTINGS, 9, None, expected))
    second = await store.write(change_connection(client, "crm", "hubspot", ["third", "second"], SETTINGS, 9, None, first))

    assert await store.read(list_connections(client)) == [second]
    assert second.secrets == ["third", "second"]


async def test_remove_connection__allows_the_connection_to_be_added_again(store: Store) -> None:
    client = await client_of(store)
    await store.write(add_connection(connection(client)))

    await store.write(remove_connection(client, "crm", "hubspot"))
    left = await store.read(list_connections(client))
    await store.write(add_connection(connection(client)))

    assert left == []
    assert len(await store.read(list_connections(client))) == 1


@pytest.mark.parametrize("place", [("crm", "close"), ("email_campaign", "hubspot")])
async def test_change_and_remove_connection__raise_not_found_without_a_connection(store: Store, place: tuple[str, str]) -> None:
    client, second = await client_of(store), await client_of(store, "other")
    await store.write(add_connection(connection(client)))

    for owner, channel, tool in ((client, *place), (second, "crm", "hubspot")):
        with pytest.raises(NotFound):
            await store.write(change_connection(owner, channel, tool, ["x"], SETTINGS, 9))
        with pytest.raises(NotFound):
            await store.write(remove_connection(owner, channel, tool))

    assert await store.read(list_connections(client)) == [connection(client)]


@pytest.mark.parametrize(("tool", "verified"), [("hubspot", True), (None, False), (None, None)])
async def test_delivery__stores_its_tool_and_whether_it_is_verified(store: Store, tool: str | None, verified: bool | None) -> None:
    client = await client_of(store)

    stored = await store.write(store_delivery(client, "crm", b"k" * 16, b"{}", "", b"{}", 5, tool, verified))

    delivery = await store.read(get_delivery(stored.id))
    (listed,) = await store.read(list_deliveries(5))
    assert delivery is not None
    assert (delivery.tool, delivery.verified) == (listed.tool, listed.verified) == (tool, verified)


async def test_a_connection__tells_since_when_it_has_secrets(store: Store) -> None:
    client = await client_of(store)

    async def since() -> int | None:
        return (await store.read(list_connections(client)))[0].guarded_us

    await store.write(add_connection(connection(client)))
    results = [await since()]
    for at, secrets in ((6, ["first secret"]), (7, None), (8, ["second secret"]), (9, []), (10, ["third secret"])):
        await store.write(change_connection(client, "crm", "hubspot", secrets, ConnectionSettings(), at))
        results.append(await since())
    await store.write(add_connection(connection(client, "attio", secrets=["its own secret"])))

    assert results == [None, 6, 6, 6, None, 10]
    assert await since() == 5, "the other one's"
