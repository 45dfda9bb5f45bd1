"""What an operator sees of outgoing webhooks: doctor, metrics, a copied store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.outgoing.conftest import Webhooks
from tests.outgoing.unsent import miss_an_event
from tests.storage.test_store_copy import KEYS, content, silent

from touchbase import doctor
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.outgoing.line import SCHEDULE
from touchbase.outgoing.sql.backlog import count_outgoing
from touchbase.outgoing.sql.endpoints import list_endpoints
from touchbase.server.metrics import store_metrics
from touchbase.stores import copy_store, open_store


async def test_doctor__names_endpoints_that_fail_or_are_paused_and_what_to_do(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    store, began = webhooks.house.call.parts.store, webhooks.clock()
    idle = [webhook async for webhook in doctor._webhooks(store, began + 9 * DAY)]
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.deliver()

    early = [webhook async for webhook in doctor._webhooks(store, began + 300 * SECOND)]
    later = [webhook async for webhook in doctor._webhooks(store, began + 3_600 * SECOND)]
    webhooks.receivers.answer = lambda sent: 410
    await webhooks.deliver(120)
    [disabled] = [webhook async for webhook in doctor._webhooks(store, webhooks.clock())]

    assert [item[0] for item in idle] == [doctor.OK]
    named = f"webhook endpoint {created['id']} of default ({created['url']}) has failed since "
    assert [(result[0], result[1].startswith(named), result[2]) for result in (*early, *later)] == [
        (level, True, f"`touchbase endpoints attempts --client default --endpoint {created['id']}` shows the responses")
        for level in (doctor.NOTE, doctor.PROBLEM)
    ]
    assert "(5 minutes), the receiver answers 500: 1 event waiting for another attempt" in early[0][1]
    assert (
        "(60 minutes), the receiver answers 500: 1 event waiting for another attempt; if nothing succeeds it is paused at " in later[0][1]
    )
    assert f"webhook endpoint {created['id']} of default" in disabled[1]
    assert "410 Gone" in disabled[1]
    assert f"endpoints test --client default {created['id']}" in (disabled[2] or "")


async def test_doctor__names_events_whose_attempts_have_all_failed_while_the_endpoint_works(webhooks: Webhooks) -> None:
    created = await webhooks.add()
    webhooks.receivers.answer = lambda sent: 400 if "ada@example.com" in str(sent.body) else 200
    await webhooks.house.contact(email="ada@example.com")
    for wait in SCHEDULE:
        await webhooks.deliver(1.25 * wait / SECOND)
    [failing] = [webhook async for webhook in doctor._webhooks(webhooks.house.call.parts.store, webhooks.clock())]
    await webhooks.house.contact(email="bob@example.com")
    await webhooks.deliver(61)
    [works] = [webhook async for webhook in doctor._webhooks(webhooks.house.call.parts.store, webhooks.clock())]

    replay = f"`touchbase endpoints replay --client default {created['id']} --failed-since 30d` sends them again"
    assert (failing[0], works[0], works[2]) == (doctor.PROBLEM, doctor.PROBLEM, replay)
    assert "the receiver answers 400: nothing waits for another attempt, 1 event with all attempts failed" in failing[1]
    assert "works, but 1 event failed in all attempts" in works[1]


async def test_doctor__names_endpoints_whose_recipients_are_outside_the_allowed_domains(webhooks: Webhooks) -> None:
    created = await webhooks.add(kind="email", to=["sam@agency.example"])
    stopped = await webhooks.add(kind="email", to=["bob@agency.example"])
    await webhooks.ask("PATCH", f"/{stopped['id']}", {"disabled": True})
    store, now = webhooks.house.call.parts.store, webhooks.clock()

    [outside] = [webhook async for webhook in doctor._webhooks(store, now, ["other.example"])]
    fine = [webhook[0] for domains in ([], ["agency.example"], ["*"]) async for webhook in doctor._webhooks(store, now, domains)]

    assert (outside[0], fine) == (doctor.PROBLEM, [doctor.OK] * 3)
    assert outside[1] == (
        f"webhook endpoint {created['id']} of default: no e-mail may be sent to 'sam@agency.example': "
        "the allowed domains are other.example; its events wait"
    )
    assert "TOUCHBASE_MAIL_DOMAINS" in (outside[2] or "")


async def test_metrics__count_what_waits_and_endpoints_by_state(webhooks: Webhooks) -> None:
    await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500
    for name in ("ada", "bob"):
        await webhooks.house.contact(email=f"{name}@example.com")
    await webhooks.deliver()
    now = webhooks.clock()

    metrics = store_metrics(0, None, {}, now + 3_000_000, await webhooks.house.call.parts.store.read(count_outgoing(now)))

    values = {(metric.name, *sample.labels.values()): sample.value for metric in metrics for sample in metric.samples}
    assert values["touchbase_webhooks_waiting",] == 2
    assert values["touchbase_webhooks_oldest_age_seconds",] >= 3
    assert values["touchbase_webhook_endpoints", "active"] == 1
    assert values["touchbase_webhook_endpoints", "failing"] == 1


@pytest.mark.parametrize("back", [False, True])
async def test_copied_store__has_the_log_endpoints_and_what_they_miss(back: bool, empty_postgres_url: str, tmp_path: Path) -> None:
    file = f"sqlite:///{tmp_path / 'first.db'}"
    source, target = (empty_postgres_url, file) if back else (file, empty_postgres_url)
    first = await open_store(source, encryption_keys=KEYS)
    client = await first.write(ensure_client("acme", 5))
    await miss_an_event(first, client.number, 5, secret="whsec_c2VjcmV0")
    endpoints = await first.read(list_endpoints([client.number], 10, 5))
    await first.close()

    await copy_store(source, target, KEYS, silent)

    second = await open_store(target, encryption_keys=KEYS)
    assert await second.read(list_endpoints([client.number], 10, 5)) == endpoints
    await second.close()
    wanted, result = await content(source), await content(target)
    for table in ("webhook_position", "pending_webhook", "webhook_attempt"):
        assert (result[table], len(result[table])) == (wanted[table], 1)


async def backlog(webhooks: Webhooks) -> tuple[int, float]:
    """The waiting events and the age of the oldest in seconds, as the metrics have them."""
    count = await webhooks.house.call.parts.store.read(count_outgoing(webhooks.clock()))
    return count.waiting, 0 if count.oldest_us is None else (webhooks.clock() - count.oldest_us) / SECOND


async def waiting(webhooks: Webhooks, endpoint: int) -> int:
    count: int = (await webhooks.ask("GET", f"/{endpoint}"))["progress"]["waiting"]
    return count


async def stored_position(webhooks: Webhooks) -> int:
    [(_, progress)] = await webhooks.house.call.parts.store.read(list_endpoints([webhooks.house.number], 1, webhooks.clock()))
    return progress.position


async def test_waiting__counts_no_event_whose_type_the_endpoint_does_not_want(webhooks: Webhooks) -> None:
    replies = await webhooks.add(types=["contact.replied"])
    for number in range(5):
        await webhooks.house.contact(email=f"{number}@example.com")
    webhooks.clock.move(1_200)

    before = await backlog(webhooks), await waiting(webhooks, replies["id"])
    await webhooks.deliver()

    assert before == ((0, 0), 0)
    assert await backlog(webhooks) == (0, 0)


async def test_waiting__counts_wanted_events_among_others_with_their_age(webhooks: Webhooks) -> None:
    replies = await webhooks.add(types=["contact.replied"])
    await webhooks.house.contact(email="ada@example.com")
    webhooks.clock.move(600)
    await webhooks.reply("bob@example.com")
    webhooks.clock.move(60)

    assert await backlog(webhooks) == (1, 60)
    assert await waiting(webhooks, replies["id"]) == 1


async def test_waiting__of_an_endpoint_that_fails_counts_what_it_wants(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add(types=["contact.replied"], filter={"contact": {"first_name": "Bob"}})
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.reply("bob@example.com", first_name="Bob")
    await webhooks.deliver()
    for number in range(5):
        await webhooks.house.contact(email=f"{number}@example.com", first_name="Bob")
    await webhooks.reply("eve@example.com", first_name="Eve")

    assert (await backlog(webhooks))[0] == 1
    assert await waiting(webhooks, endpoint["id"]) == 1


async def test_waiting__of_a_paused_endpoint_counts_what_it_gets_when_it_is_resumed(webhooks: Webhooks) -> None:
    endpoint = await webhooks.add(types=["contact.replied"])
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.reply("ada@example.com")
    for _ in range(14):
        await webhooks.deliver(86_400 / 2)
    await webhooks.house.contact(email="bob@example.com")
    await webhooks.reply("eve@example.com")

    assert (await webhooks.ask("GET", f"/{endpoint['id']}"))["state"] == "paused"
    assert await waiting(webhooks, endpoint["id"]) == 2
    assert (await backlog(webhooks))[0] == 2


async def test_waiting__of_a_suspended_client_raises_no_alarm(webhooks: Webhooks) -> None:
    await webhooks.add()
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.house.call.post("/admin/v1/clients/default/suspend")

    assert await backlog(webhooks) == (0, 0)


async def test_unwanted_events__are_passed_over_with_one_write_in_a_while(webhooks: Webhooks) -> None:
    await webhooks.add(types=["contact.replied"])
    positions = []
    for number in range(5):
        await webhooks.house.contact(email=f"{number}@example.com")
        await webhooks.deliver(12)
        positions.append(await stored_position(webhooks))

    assert positions == [0, 0, 0, 4, 4]


async def test_events_that_a_filter_leaves_out__are_passed_over_with_one_write_in_a_while(webhooks: Webhooks) -> None:
    await webhooks.add(filter={"contact": {"first_name": "Bob"}})
    positions = []
    for number in range(5):
        await webhooks.house.contact(email=f"{number}@example.com", first_name="Eve")
        await webhooks.deliver(12)
        positions.append(await stored_position(webhooks))

    assert positions == [0, 0, 0, 4, 4]
    assert await backlog(webhooks) == (0, 0)


async def test_restart__after_unwanted_events_sends_what_follows_once(webhooks: Webhooks) -> None:
    await webhooks.add(types=["contact.replied"])
    for number in range(3):
        await webhooks.house.contact(email=f"{number}@example.com")
    await webhooks.deliver(31)
    webhooks.restarted()
    await webhooks.reply("ada@example.com")

    sent = await webhooks.deliver() + await webhooks.deliver(60)

    assert [item.body["type"] for item in sent] == ["contact.replied"]
