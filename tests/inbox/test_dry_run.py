"""Groups of deliveries that changed nothing, and rehearsals of applying them again."""

from __future__ import annotations

import gzip
import itertools
import json
from typing import Any

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.deliveries.delivery import IGNORED, MAX_ATTEMPTS, RECEIVED, UNRECOGNISED
from touchbase.deliveries.payload_fingerprint import fingerprint_parts
from touchbase.deliveries.work import DryRunDelivery, DryRunRecord
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.inbox import replay
from touchbase.inbox.queries import DeliveryGroup
from touchbase.inbox.replay import DryRunner, count, pages, replay_page
from touchbase.inbox.service import DeliveryFilter, group_deliveries
from touchbase.inbox.sql import queries as sql_queries
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import count_deliveries, get_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store

NOON = 1_795_000_000 * SECOND
COUNT = itertools.count()
ADAPTERS = load_adapters()
DEAL = {"subscriptionType": "deal.creation", "portalId": 1, "objectId": 5}
NAME = {"subscriptionType": "contact.propertyChange", "portalId": 1, "objectId": 7, "propertyName": "firstname", "propertyValue": "Ann"}
EMAIL = NAME | {"propertyName": "email", "propertyValue": "ann@example.com", "eventId": 9}
SENT = {"event_type": "email_sent", "lead_email": "ann@example.com", "email_account": "us@example.net", "timestamp": "2026-11-10T09:30:00Z"}


async def keep(store: Store, client: int, said: Any, channel: str = "crm", at: int = NOON, headers: str = "{}") -> int:
    body = said if isinstance(said, bytes) else json.dumps(said).encode()
    key = body_key(channel, str(next(COUNT)), "", body)
    return (await store.write(store_delivery(client, channel, key, headers.encode(), "", body, at))).id


async def client_of(store: Store, name: str = "acme") -> int:
    return (await store.write(ensure_client(name, NOON))).number


async def drain(store: Store, read: Any = ADAPTERS.translate, at: int = NOON) -> None:
    await InboxWorker(store, read, lambda: at).drain()


async def test_group_deliveries__groups_ignored_deliveries_by_event_and_keys(store: Store) -> None:
    client, second = await client_of(store), await client_of(store, "other")
    numbers = [await keep(store, client, [DEAL | {"objectId": place}], at=NOON + place) for place in range(12)]
    await keep(store, client, [DEAL | {"subscriptionType": "ticket.creation"}])
    await keep(store, second, [DEAL])
    await drain(store)

    result = await store.read(sql_queries.group_deliveries(IGNORED, 50, client))

    keys = "deal.creation\nobjectId, portalId, subscriptionType"
    reason = "understood, but not used: deal.creation"
    assert result[0] == DeliveryGroup(result[0].client, "acme", "crm", "hubspot", "ignored", keys, 12, NOON, NOON + 11, numbers[-1], reason)
    assert [(group_delivery.count, fingerprint_parts(group_delivery.fingerprint)[0]) for group_delivery in result[1:]] == [
        (1, "ticket.creation")
    ]
    assert [
        (group_delivery.client_id, group_delivery.count) for group_delivery in await store.read(sql_queries.group_deliveries(IGNORED, 1))
    ] == [("acme", 12)]
    assert len(await store.read(sql_queries.group_deliveries(IGNORED, 50))) == 3


@pytest.mark.parametrize(
    ("said", "headers", "event", "keys"),
    [
        ({"riddle": 1, "type": "thing.done"}, "{}", "thing.done", ["riddle", "type"]),
        ([1, {"b": 1, "a": {}}, {"c": 2}], "{}", None, ["a", "b"]),
        (b"contact[id]=4&what=x&empty", "{}", None, ["contact", "what"]),
        (b"\xff\x00 nothing", "{}", None, []),
        (b"<a b='1'/>", "{}", None, []),
        (b"{broken", "{}", None, []),
        (b"", "{}", None, []),
        (gzip.compress(b'{"event": "packed", "x": 1}', mtime=0), '{"content-encoding": "gzip"}', "packed", ["event", "x"]),
        (b"no gzip", '{"content-encoding": "gzip"}', None, []),
        (b'{"a": ' + b"[" * 100_000, "{}", None, []),
        (b'{"event": "' + b"x" * 300_000 + b'"}', "{}", None, []),
    ],
    ids=["json", "list", "form", "bytes", "xml", "broken", "empty", "gzip", "no gzip", "deep", "large"],
)
async def test_group_deliveries__groups_unrecognised_deliveries_by_event_and_keys(
    store: Store, said: Any, headers: str, event: str | None, keys: list[str]
) -> None:
    client = await client_of(store)
    await keep(store, client, said, headers=headers)

    def read(request: WebhookRequest) -> Translation:
        raise UnrecognisedPayload("a riddle")

    await drain(store, read)

    [group] = await store.read(sql_queries.group_deliveries(UNRECOGNISED, 50))
    assert (fingerprint_parts(group.fingerprint), group.tool, group.reason) == ((event, keys), None, group.reason)


async def test_unrecognised_delivery__reports_its_first_event_with_a_name(store: Store) -> None:
    client = await client_of(store)
    number = await keep(store, client, [NAME])

    await drain(store, lambda request: Translation("hubspot", [Event("unrecognised"), Event("unrecognised", source_event="contact.weird")]))

    delivery = await store.read(get_delivery(number))
    assert delivery is not None
    assert (delivery.state, delivery.error) == ("unrecognised", "hubspot sent an event that we do not know: contact.weird")


async def test_group_deliveries__includes_parked_and_failed_deliveries(store: Store) -> None:
    client = await client_of(store)
    await keep(store, client, [NAME])
    await drain(store)
    await keep(store, client, {"x": 1, "event": "odd"})

    def breaks(request: WebhookRequest) -> Translation:
        raise ZeroDivisionError

    for attempt in range(MAX_ATTEMPTS):
        await drain(store, breaks, NOON + attempt * DAY)

    result = await group_deliveries(store, DeliveryFilter(), 50)

    assert {(group_delivery.state, *map(str, fingerprint_parts(group_delivery.fingerprint))) for group_delivery in result} == {
        ("parked", "contact.propertyChange", "['objectId', 'portalId', 'propertyName', 'propertyValue', 'subscriptionType']"),
        ("failed", "odd", "['event', 'x']"),
    }


async def test_replay__goes_page_by_page_and_resumes_from_a_cursor(store: Store) -> None:
    first, second = await client_of(store, "a"), await client_of(store, "b")
    ids = [await keep(store, client, [DEAL], at=NOON + place) for place, client in enumerate([first] * 3 + [second] * 4)]
    await drain(store)
    await keep(store, second, {"riddle": 1})
    sought = DeliveryFilter(state=IGNORED, received_since_us=NOON + 1)

    full = [(page.client.client_id, [delivery.id for delivery in page.deliveries]) async for page in pages(store, sought, size=2)]
    stopped, left = [], []
    async for page in pages(store, sought, size=2):
        stopped += [await replay_page(store, page, NOON)]
        place = page.cursor
        if len(stopped) == 2:
            break
    left_count = await count(store, sought, place)
    async for page in pages(store, sought, place, size=2):
        left += [delivery.id for delivery in page.deliveries]

    assert full == [("a", [ids[2], ids[1]]), ("b", [ids[6], ids[5]]), ("b", [ids[4], ids[3]])]
    assert (stopped, left, left_count) == ([2, 2], [ids[4], ids[3]], 2)
    assert await store.read(count_deliveries(second, state=RECEIVED)) == 3
    assert await count(store, DeliveryFilter(state=IGNORED)) == 3


async def test_dry_run__reports_the_changes_and_stores_nothing(store: Store, execute_sql: Any) -> None:
    client = await client_of(store)

    def ignorant(request: WebhookRequest) -> Translation:
        raise UnrecognisedPayload("not yet")

    strange = [await keep(store, client, [said]) for said in (EMAIL, NAME, DEAL)]
    await drain(store, ignorant)
    sent = await keep(store, client, SENT, "email_campaign")
    await drain(store)
    broken = await keep(store, client, b"{}")

    async def everything() -> list[Any]:
        tables = ("client", "contact", "company", "custom_field", "link", "event", "delivery", "id_block")
        return [sorted(await execute_sql(f"SELECT * FROM {table}"), key=repr) for table in tables]

    def knowing(request: WebhookRequest) -> Translation:
        if request.body == b"{}":
            raise ZeroDivisionError("a fault")
        return ADAPTERS.translate(request)

    before = await everything()
    reported = await DryRunner(store, knowing, lambda: NOON).dry_run(client, [*strange, sent, broken, 999_999])

    assert await everything() == before
    [[contact]] = await execute_sql("SELECT id FROM contact")
    named = DryRunRecord(CONTACT, contact, {"first_name": (None, "Ann")})
    assert reported.deliveries == [
        DryRunDelivery(strange[0], "unrecognised", "applied", 1, None, [named], "changes"),
        DryRunDelivery(strange[1], "unrecognised", "applied", 1, None, [named], "changes"),
        DryRunDelivery(strange[2], "unrecognised", "ignored", 0, "understood, but not used: deal.creation", effect="no_effect"),
        DryRunDelivery(sent, "applied", "applied", 1, None, [named], "changes"),
        DryRunDelivery(broken, "received", "failed", 0, "ZeroDivisionError: a fault", effect="not_recognised"),
    ]
    assert (reported.created, reported.changed, reported.fields) == (0, 1, {"first_name": 1})


async def test_dry_run__predicts_the_result_of_the_replay(store: Store) -> None:
    client = await client_of(store)

    def ignorant(request: WebhookRequest) -> Translation:
        raise UnrecognisedPayload("not yet")

    ids = [await keep(store, client, said, channel) for said, channel in (([NAME], "crm"), ([EMAIL], "crm"), (SENT, "email_campaign"))]
    await drain(store, ignorant)
    reported = await DryRunner(store, ADAPTERS.translate, lambda: NOON).dry_run(client, ids)

    async for page in pages(store, DeliveryFilter(state=UNRECOGNISED)):
        await replay_page(store, page, NOON)
    await drain(store)

    states = [result.state for item in ids if (result := await store.read(get_delivery(item))) is not None]
    assert [delivery.state for delivery in reported.deliveries] == states == ["applied"] * 3
    assert reported.created == 1
    assert [item async for item in verify(store, client, Verified())] == []


async def test_dry_run__reads_few_large_bodies_at_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand webhooks of a megabyte took a gigabyte of the server."""
    monkeypatch.setattr(replay, "DRY_RUN_BYTES", 100)
    client = (await store.write(ensure_client("acme", NOON))).number
    groups: list[list[int]] = []

    class Noting:
        read = store.read

        async def dry_run(self, client: int, sample: list[int], *more: Any) -> Any:
            groups.append(sample)
            return await store.dry_run(client, sample, *more)

    runner = DryRunner(Noting(), ADAPTERS.translate, lambda: NOON)  # type: ignore[arg-type]
    await runner.dry_run(client, [1, 2, 3, 4, 5], sizes={1: 60, 2: 40, 3: 1, 4: 500, 5: 7})

    assert groups == [[1, 2], [3], [4], [5]]


async def test_dry_run__limits_a_failure_to_its_own_delivery(store: Store) -> None:
    client = await client_of(store)
    ids = [await keep(store, client, {"n": place}) for place in range(5)]

    class Breaking:
        """A store that cannot apply one of them."""

        async def dry_run(self, client: int, sample: list[int], *more: Any) -> Any:
            if ids[3] in sample:
                raise LookupError("no")
            return await store.dry_run(client, sample, *more)

        async def read(self, query: Any) -> Any:
            return await store.read(query)

    def read(request: WebhookRequest) -> Translation:
        return Translation("test", [Event("email_sent", email="ann@example.com", occurred_us=NOON - json.loads(request.body)["n"])])

    reported = await DryRunner(Breaking(), read, lambda: NOON).dry_run(client, ids)  # type: ignore[arg-type]

    assert {delivery.id: delivery.state for delivery in reported.deliveries} == dict.fromkeys(ids, "applied") | {ids[3]: "failed"}
