"""Silent connections: when one is recognised, who is left out, how it ends, and where it shows."""

from __future__ import annotations

import asyncio
import json
import logging
import os

import pytest
from tests.asgi_client import START, ApiClient, MakeClient
from tests.conftest import ExecuteSql
from tests.connections.silent import calls_until

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.clients.models import ACTIVE, SUSPENDED
from touchbase.clients.sql.clients import ensure_client, set_client_state
from touchbase.common.timestamps import DAY, SECOND, Micros, to_text
from touchbase.connections.models import Connection
from touchbase.connections.rhythm import CHECK_INTERVAL, HOUR, MAX_CHECK_GAP, ClientCalls, Silence
from touchbase.connections.silence import CallCounts, begin_silences
from touchbase.connections.sql.connections import add_connection, remove_connection
from touchbase.connections.sql.silence import claim_check, count_calls, count_silent, judge_connection, list_calls, list_silences
from touchbase.doctor import diagnose
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.maintenance import Maintenance
from touchbase.server.metrics import store_metrics
from touchbase.sql.store import Store

LAST = START - START % HOUR
"""The last call. Before, there were four an hour, day and night."""
SILENT = LAST + 7 * HOUR
"""20 calls are missing after five hours; one hour at each end does not count."""
HUBSPOT = ("crm", "hubspot")
HERE = "/admin/v1/clients/acme/connections/crm/hubspot"


async def connected(store: Store, client_id: str = "acme") -> int:
    """A client with a connection that has called four times an hour."""
    client = await store.write(ensure_client(client_id, 1))
    await store.write(add_connection(Connection(client.number, *HUBSPOT, 1, 1)))
    await store.write(calls_until(LAST, client.number))
    return client.number


async def one_call(store: Store, number: int, at: Micros) -> list[Silence]:
    return await store.write(count_calls(ClientCalls(number, {(*HUBSPOT, at // HOUR): 1}, {HUBSPOT: at})))


async def noticed(store: Store, at: Micros, since: Micros = 0) -> list[tuple[int, Micros]]:
    """The clients whose connections are silent from this time on, with the last calls."""
    return [(begin_silence.client, begin_silence.since_us) for begin_silence in await begin_silences(store, at, since)]


async def stored(store: Store, number: int) -> list[tuple[Micros, Micros, Micros | None]]:
    return [(silence.since_us, silence.noticed_us, silence.ended_us) for silence in await store.read(list_silences(number))]


async def test_silence__begins_once_when_twenty_usual_calls_are_missing(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    number = await connected(store)

    early, begun, again = [await noticed(store, at) for at in (SILENT - HOUR, SILENT + SECOND, SILENT + HOUR)]

    assert (early, begun, again) == ([], [(number, LAST)], [])
    assert await stored(store, number) == [(LAST, SILENT + SECOND, None)]
    (said,) = [record.getMessage() for record in caplog.records if record.name == "touchbase.connections"]
    assert said == f"client {number}: nothing from hubspot (crm) for 7 hours; usually every 15 minutes at this hour; see `touchbase doctor`"


async def test_silence__ends_at_the_next_call_and_may_begin_again(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "touchbase.connections")
    number, back = await connected(store), SILENT + 30 * HOUR
    await noticed(store, SILENT + SECOND)

    ended = await one_call(store, number, back)
    early, begun = [await noticed(store, at) for at in (back + 5 * HOUR, back + 9 * HOUR)]

    assert [item.ended_us for item in ended] == [back]
    assert (early, begun) == ([], [(number, back)])
    assert await stored(store, number) == [(back, back + 9 * HOUR, None), (LAST, SILENT + SECOND, back)]
    events = (await store.read(list_logged_events(number, 0, 10))).events
    assert [(event.type, event.at) for event in events] == [
        ("connection.silent", SILENT + SECOND), ("connection.resumed", back), ("connection.silent", back + 9 * HOUR),
    ]  # fmt: skip
    assert events[0].data["last_call_at"] == to_text(LAST)


async def test_silence__of_an_irregular_or_new_connection_is_not_recognised(store: Store) -> None:
    number = (await store.write(ensure_client("acme", 1))).number
    await store.write(add_connection(Connection(number, *HUBSPOT, 1, 1)))
    await store.write(count_calls(ClientCalls(number, {(*HUBSPOT, LAST // HOUR - hour): 4 for hour in range(13 * 24)}, {HUBSPOT: LAST})))

    assert await noticed(store, LAST + 60 * DAY) == []
    (last,) = await store.read(list_calls(number, LAST))
    assert (last.week, last.usual_interval_seconds, last.silent_since_us) == (672, None, None)


async def test_silence__of_a_suspended_client_is_not_recognised(store: Store) -> None:
    number = await connected(store)
    await store.write(set_client_state(number, SUSPENDED, LAST))

    suspended = await noticed(store, LAST + DAY)
    await store.write(set_client_state(number, ACTIVE, LAST + DAY))

    assert (suspended, await noticed(store, LAST + DAY)) == ([], [(number, LAST)])


async def test_silence__is_not_decided_while_deliveries_wait_for_the_worker(store: Store) -> None:
    number = await connected(store)
    await store.write(store_delivery(number, "crm", os.urandom(16), b"{}", "", b"{}", SILENT))

    assert await noticed(store, SILENT + HOUR) == []
    await store.work(number, 10, lambda delivery: Translation("hubspot", []), SILENT + HOUR)
    assert await noticed(store, SILENT + HOUR) == [], "its call was not counted: the process was killed"
    assert await noticed(store, SILENT + 8 * HOUR) == [(number, SILENT)]


async def test_silence__counts_from_the_start_after_an_outage_of_touchbase(store: Store) -> None:
    number, started = await connected(store), LAST + 2 * DAY

    early, begun = [await noticed(store, at, started) for at in (started + 6 * HOUR, started + 8 * HOUR)]

    assert (early, begun) == ([], [(number, LAST)])


async def test_check__is_claimed_by_one_process_and_knows_outages(store: Store) -> None:
    step, later = CHECK_INTERVAL, START + CHECK_INTERVAL + MAX_CHECK_GAP + SECOND

    claimed = await asyncio.gather(*(store.write(claim_check(START)) for _ in range(5)))
    soon, next_, after_outage = [await store.write(claim_check(at)) for at in (START + step - 1, START + step, later)]

    assert sorted(claimed, key=lambda first_claimed: first_claimed is None) == [START, None, None, None, None]
    assert (soon, next_, after_outage) == (None, START, later)


async def test_judgement__by_several_processes_at_once_makes_one_silence(store: Store) -> None:
    number = await connected(store)

    results = await asyncio.gather(*(store.write(judge_connection(number, *HUBSPOT, SILENT + n, 0)) for n in range(1, 6)))

    assert len([result for result in results if result is not None]) == 1
    assert len(await stored(store, number)) == 1


async def test_counts__written_in_parts_at_once_add_up(store: Store) -> None:
    number = await connected(store)

    await asyncio.gather(*(one_call(store, number, LAST - n * SECOND) for n in range(10)))

    (last,) = await store.read(list_calls(number, LAST))
    assert (last.week, last.last_us) == (672 + 10, LAST)


async def test_counts__of_a_tool_that_is_not_connected_are_left_out(store: Store) -> None:
    number = (await store.write(ensure_client("acme", 1))).number

    await store.write(calls_until(LAST, number))

    assert await store.read(list_calls(number, LAST)) == []


async def test_disconnect__forgets_rhythm_and_silences(store: Store, execute_sql: ExecuteSql) -> None:
    number, second = await connected(store), await connected(store, "other")
    await noticed(store, SILENT + SECOND)

    await store.write(remove_connection(number, *HUBSPOT))

    for table in ("connection_calls", "connection_rhythm", "connection_silence"):
        assert await execute_sql(f"SELECT DISTINCT client FROM {table}") == [(second,)]
    assert await store.read(count_silent()) == {HUBSPOT: 1}


async def test_hours__older_than_six_weeks_are_forgotten(store: Store, execute_sql: ExecuteSql) -> None:
    number, later = await connected(store), LAST + 60 * DAY
    await one_call(store, number, later)

    await noticed(store, later + SECOND)

    assert await execute_sql("SELECT hour FROM connection_calls") == [(later // HOUR,)]


@pytest.fixture
async def api(store: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(store, senders=load_adapters())
    await client.settings("acme")
    return client


async def test_alarm__turned_off_ends_the_silence_and_begins_none(api: ApiClient) -> None:
    store = api.parts.store
    number = await connected(store)
    await noticed(store, SILENT + SECOND)
    api.clock.now = SILENT + HOUR

    off = (await api.patch(HERE, {"settings": {"silence_alarm": False}})).json()
    while_off = await noticed(store, SILENT + 3 * DAY)
    on = (await api.patch(HERE, {"settings": {"silence_alarm": None}})).json()

    assert (off["settings"]["silence_alarm"], off["calls"]["silent_since_time"], while_off) == (False, None, [])
    assert on["settings"]["silence_alarm"] is True
    assert await stored(store, number) == [(LAST, SILENT + SECOND, SILENT + HOUR)]
    assert await noticed(store, SILENT + 3 * DAY) == [(number, LAST)]


async def test_connection__shows_its_calls_and_silences(api: ApiClient) -> None:
    store = api.parts.store
    number = await connected(store)
    api.clock.now = SILENT + SECOND
    before = (await api.get(HERE)).json()["calls"]
    await noticed(store, api.clock())

    during, (listed,) = (await api.get(HERE)).json()["calls"], (await api.get("/admin/v1/clients/acme/connections")).json()["data"]
    await one_call(store, number, SILENT + HOUR)
    after, silences = (await api.get(HERE)).json()["calls"], (await api.get(f"{HERE}/silences")).json()

    usual = {"last_time": to_text(LAST), "per_day": 96.0, "usual_interval_seconds": 900}
    assert before == {**usual, "silent_since_time": None}
    assert during == listed["calls"] == {**usual, "silent_since_time": to_text(LAST)}
    assert (after["last_time"], after["silent_since_time"]) == (to_text(SILENT + HOUR), None)
    times = {"since_time": to_text(LAST), "noticed_time": to_text(SILENT + SECOND), "ended_time": to_text(SILENT + HOUR)}
    assert silences == {"data": [{**times, "calls_per_day": 96.0, "usual_interval_seconds": 900}], "next_cursor": None}


async def test_silences__of_a_missing_connection_are_a_404_and_unknown_parameters_a_422(api: ApiClient) -> None:
    missing = await api.get("/admin/v1/clients/acme/connections/crm/attio/silences")
    await connected(api.parts.store)
    wrong = await api.get(f"{HERE}/silences?limt=3")

    assert (missing.status, missing.problem["code"], wrong.status) == (404, "not_found", 422)


def translated(request: WebhookRequest) -> Translation:
    return Translation("hubspot", [Event("contact.updated", email="a@example.com")])


async def test_worker__counts_webhooks_of_the_tool_but_neither_replays_nor_fetched_records(api: ApiClient) -> None:
    store, counts = api.parts.store, CallCounts(api.clock)
    number = (await store.write(ensure_client("acme", 1))).number
    await store.write(add_connection(Connection(number, *HUBSPOT, 1, 1)))
    worker = InboxWorker(store, translated, api.clock, on_report=lambda report: counts.record(report.calls))
    keeper = Maintenance(store, api.clock, calls=counts)
    for headers in ({}, {"x-touchbase-fetched": "contact"}):
        await store.write(store_delivery(number, "crm", os.urandom(16), json.dumps(headers).encode(), "", b"{}", START))
    await worker.drain()
    api.clock.move(60)
    known_ids = [delivery.id for delivery in await store.read(list_deliveries(10, number))]
    assert await store.write(replay_deliveries(number, known_ids, api.clock())) == 2
    assert (await worker.drain()).taken == 2

    await keeper.round()

    (start,) = await store.read(list_calls(number, START))
    assert (start.last_us, start.week) == (START, 1)


async def test_maintenance__recognises_a_silence_and_its_end(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    number, now, counts = await connected(store), LAST, CallCounts(lambda: now)
    keeper = Maintenance(store, lambda: now, calls=counts)
    for minutes in range(0, 9 * 60, 9):
        now = LAST + minutes * 60 * SECOND
        await keeper.round()
    silences = await stored(store, number)

    counts.record([(number, *HUBSPOT, now)])
    await keeper.round()

    ((since, began, ended),) = silences
    assert (since, ended) == (LAST, None)
    assert SILENT <= began <= SILENT + 10 * 60 * SECOND
    assert await stored(store, number) == [(LAST, began, now)]


async def test_doctor_and_metrics__name_a_silent_connection(store: Store) -> None:
    await connected(store)
    await noticed(store, SILENT + SECOND)
    now = LAST + 26 * HOUR

    results = [item async for item in diagnose(store, now, silent=7 * DAY, keys_needed=False)]
    (quiet,) = [metric for metric in store_metrics(0, None, await store.read(count_silent()), now) if "silent" in metric.name]

    (first,) = [item for item in results if item.check == "connections"]
    assert (first.level, first.detail) == (
        "problem",
        "nothing from hubspot (crm) for acme for 26 hours; usually every 15 minutes at this hour",
    )
    assert first.next is not None
    assert "touchbase refusals list --client acme --channel crm --tool hubspot" in first.next
    assert [(sample.labels, sample.value) for sample in quiet.samples] == [({"channel": "crm", "tool": "hubspot"}, 1)]
