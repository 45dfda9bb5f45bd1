"""Connections at work: kept at hand for a second, handed to whoever reads a call, and heeded when it is applied."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.models import ClientSettings
from touchbase.clients.service import Clients
from touchbase.clients.sql.clients import ensure_client, rotate_client_id, set_client_settings
from touchbase.common.timestamps import DAY, SECOND
from touchbase.connections.models import CACHE_TTL, Connection, ConnectionSettings
from touchbase.connections.service import Connections, new_secret
from touchbase.erasure.service import Eraser
from touchbase.errors import Conflict, NotFound, UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import delivery_events, get_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()
SENT = Event("email_sent", NOON - DAY, "ann@example.com", key="s")
CRM_UPDATE = Event("contact.updated", NOON - DAY, "ann@example.com", object_type="person", object_id="7")


class Clock:
    now = NOON

    def __call__(self) -> int:
        return self.now


async def client_of(store: Store, **settings: Any) -> int:
    client = await store.write(ensure_client("acme", NOON))
    await store.write(set_client_settings("acme", ClientSettings(**settings)))
    return client.number


def hubspot(client: int, **settings: Any) -> Connection:
    return Connection(client, "crm", "hubspot", NOON, NOON, ["a-secret-of-ours"], ConnectionSettings(**settings))


async def keep(store: Store, client: int, channel: str = "email_campaign", tool: str | None = None, verified: bool | None = False) -> int:
    key = body_key(channel, str(next(COUNT)), "", b"{}")
    return (await store.write(store_delivery(client, channel, key, b"{}", "", b"{}", NOON, tool, verified))).id


async def worked(store: Store, translation: Translation) -> None:
    await InboxWorker(store, lambda request: translation, Clock()).drain()


async def test_connection_cache__lasts_a_second_and_is_updated_by_its_own_changes(store: Store) -> None:
    client, clock = await client_of(store), Clock()
    here, elsewhere = Connections(store, clock), Connections(store, clock)

    before = (here.cached(client, NOON), await here.of(client), here.cached(client, NOON))
    await elsewhere.connect(hubspot(client))
    unseen = await here.of(client)
    clock.now += CACHE_TTL
    observed = await here.of(client)
    await here.disconnect(client, "crm", "hubspot")

    assert before == (None, [], [])
    assert unseen == []
    assert observed == [hubspot(client)]
    assert await here.of(client) == []


async def test_connections__are_changed_and_found_by_channel_and_tool(store: Store) -> None:
    client = await client_of(store)
    connections = Connections(store, Clock())
    connect = await connections.connect(hubspot(client))

    changed = await connections.change(connect, lambda now: (["another-secret"], ConnectionSettings(create_unknown=False), None))

    assert await connections.get(client, "crm", "hubspot") == changed
    assert (changed.secrets, changed.settings.create_unknown) == (["another-secret"], False)
    with pytest.raises(NotFound):
        await connections.get(client, "email_campaign", "hubspot")
    with pytest.raises(Conflict):
        await connections.connect(hubspot(client))


def test_new_secret__is_unique_and_long() -> None:
    secrets = {new_secret() for _ in range(100)}

    assert len(secrets) == 100
    assert min(map(len, secrets)) >= 40


async def test_translation__receives_the_clients_connections_and_the_verified_tool(store: Store) -> None:
    client = await client_of(store)
    connections = Connections(store, Clock())
    await connections.connect(hubspot(client))
    read: list[tuple[str | None, list[str]]] = []

    def reading(request: WebhookRequest) -> Translation:
        read.append((request.tool, [connection.tool for connection in request.connections]))
        return Translation("hubspot", [])

    for tool, verified in (("hubspot", True), (None, False), ("smartlead", False)):
        await keep(store, client, "crm", tool, verified)
    await InboxWorker(store, reading, Clock(), connections=connections.of).drain()

    assert read == [("hubspot", ["hubspot"]), (None, ["hubspot"]), (None, ["hubspot"])]


async def test_unrecognised_delivery__retains_its_verified_tool(store: Store) -> None:
    client = await client_of(store)
    proved, second = await keep(store, client, "crm", "hubspot", True), await keep(store, client, "crm")

    def reading(request: WebhookRequest) -> Translation:
        raise UnrecognisedPayload("nobody knows this")

    await InboxWorker(store, reading, Clock()).drain()

    deliveries = [await store.read(get_delivery(number)) for number in (proved, second)]
    assert [(delivery.state, delivery.tool, delivery.verified) for delivery in deliveries if delivery] == [
        ("unrecognised", "hubspot", True),
        ("unrecognised", None, False),
    ]


@pytest.mark.parametrize(
    ("of_client", "of_connection", "created"), [(True, None, 1), (True, False, 0), (False, None, 0), (False, True, 1), (False, False, 0)]
)
async def test_create_unknown__of_the_connection_overrides_the_client(
    store: Store, of_client: bool, of_connection: bool | None, created: int
) -> None:
    client = await client_of(store, create_unknown=of_client)
    number = await keep(store, client)

    await worked(store, Translation("instantly", [SENT], of_connection))

    delivery = await store.read(get_delivery(number))
    assert len(await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))) == created
    assert delivery is not None
    assert delivery.state == ("applied" if created else "ignored")


@pytest.mark.parametrize(("of_connection", "created"), [(None, 1), (True, 1), (False, 0)])
async def test_create_unknown__for_a_crm_depends_on_its_connection_only(store: Store, of_connection: bool | None, created: int) -> None:
    client = await client_of(store, create_unknown=False)
    await keep(store, client, "crm")

    await worked(store, Translation("hubspot", [CRM_UPDATE], of_connection))

    assert len(await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))) == created


async def test_create_unknown__parks_a_crm_delivery_and_a_replay_applies_it(store: Store) -> None:
    client = await client_of(store)
    number = await keep(store, client, "crm")
    translation = Translation("hubspot", [CRM_UPDATE], False)
    await worked(store, translation)
    barred = await store.read(get_delivery(number))

    await store.write(create_contact(Creation(Contact(client, 0, NOON, NOON, email="ann@example.com", email_key="ann@example.com"), [])))
    await store.write(replay_deliveries(client, [number], NOON))
    await worked(store, translation)

    replayed = await store.read(get_delivery(number))
    assert barred is not None
    assert (barred.state, barred.error) == (
        "parked", "about an unknown record, and the settings do not create records: replay this webhook once the record exists"
    )  # fmt: skip
    assert replayed is not None
    assert (replayed.state, replayed.error) == ("applied", None)


@pytest.mark.parametrize(
    ("of_client", "of_connection", "counts"), [(True, None, True), (True, False, False), (False, None, False), (False, True, True)]
)
async def test_linkedin_reply_counts__of_the_connection_overrides_the_client(
    store: Store, of_client: bool, of_connection: bool | None, counts: bool
) -> None:
    client = await client_of(store, linkedin_reply_counts=of_client)
    reply = Event("linkedin_replied", NOON - DAY, "ann@example.com", key="r", counts=of_connection)
    await keep(store, client)

    await worked(store, Translation("heyreach", [reply]))

    (contact,) = await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))
    assert (contact.last_reply_us is not None) is counts
    assert contact.status == ("replied" if counts else None)


async def test_replay__under_ignoring_settings_leaves_an_applied_delivery_applied(store: Store) -> None:
    client = await client_of(store)
    applied = await keep(store, client, "crm")
    await worked(store, Translation("hubspot", [CRM_UPDATE]))
    second = await keep(store, client, "crm")
    await store.write(replay_deliveries(client, [applied], NOON))

    await worked(store, Translation("hubspot", [Event("ignored", NOON - DAY, source_event="contact.updated")]))

    deliveries = [await store.read(get_delivery(number)) for number in (applied, second)]
    assert [delivery.state for delivery in deliveries if delivery] == ["applied", "ignored"]
    assert [len(await store.read(delivery_events(client, number))) for number in (applied, second)] == [1, 0]


async def test_connection_cache__reads_again_after_a_change_during_a_read(store: Store) -> None:
    class Slow:
        """A store whose first answer about connections comes after somebody has changed them."""

        def __init__(self) -> None:
            self.slow = True

        async def read(self, query: Any) -> Any:
            result = await store.read(query)
            if self.slow:
                self.slow = False
                await connections.connect(hubspot(client))
            return result

        async def write(self, command: Any) -> Any:
            return await store.write(command)

    client = await client_of(store)
    connections = Connections(Slow(), Clock())  # type: ignore[arg-type]

    assert [first.tool for first in await connections.of(client)] == ["hubspot"]
    assert [first.tool for first in await connections.of(client)] == ["hubspot"]


async def test_clients_forget__removes_the_client_under_its_former_ids(store: Store) -> None:
    clock = Clock()
    number = await client_of(store)
    await store.write(rotate_client_id(number, "present", NOON + DAY))
    clients = Clients(store, clock)
    before = [await clients.find(name) for name in ("acme", "present")]
    await Eraser(store, lambda request: Translation("test", []), clock).erase(number, refs=[("", "email", "ann@example.com")])

    clients.forget("present")
    after = [await clients.find(name) for name in ("acme", "present")]

    assert [first and first.has_erased for first in before] == [False, False]
    assert [first and first.has_erased for first in after] == [True, True]
