"""What an operator sees of outgoing webhooks: doctor, metrics, a copied store."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.outgoing.conftest import Webhooks
from tests.outgoing.unsent import miss_an_event
from tests.storage.test_store_copy import KEYS, content, silent

from touchbase import doctor
from touchbase.clients.commands import EnsureClient
from touchbase.common.timestamps import DAY
from touchbase.outgoing import CountOutgoing, ListEndpoints
from touchbase.server.exposition import store_metrics
from touchbase.storage import copy_store, open_store


async def test_doctor__names_endpoints_that_fail_or_are_paused_and_what_to_do(webhooks: Webhooks) -> None:
    made = await webhooks.add()
    parts = webhooks.house.call.parts
    webhooks.receivers.answer = lambda sent: 500
    await webhooks.house.contact(email="ada@example.com")
    await webhooks.deliver()

    before = [found async for found in doctor._webhooks(parts.store, webhooks.clock())]
    failing = [found async for found in doctor._webhooks(parts.store, webhooks.clock() + DAY)]
    webhooks.receivers.answer = lambda sent: 410
    await webhooks.deliver(120)
    [disabled] = [found async for found in doctor._webhooks(parts.store, webhooks.clock())]

    assert [found[0] for found in before] == [doctor.OK]
    assert [(found[0], "has failed since" in found[1], "endpoints attempts" in (found[2] or "")) for found in failing] == [
        (doctor.PROBLEM, True, True)
    ]
    assert f"webhook endpoint {made['id']} of default" in disabled[1]
    assert "410 Gone" in disabled[1]
    assert f"endpoints test --client default {made['id']}" in (disabled[2] or "")


async def test_metrics__count_what_waits_and_endpoints_by_state(webhooks: Webhooks) -> None:
    await webhooks.add()
    webhooks.receivers.answer = lambda sent: 500
    for name in ("ada", "bob"):
        await webhooks.house.contact(email=f"{name}@example.com")
    await webhooks.deliver()
    now = webhooks.clock()

    found = store_metrics(0, None, {}, now + 3_000_000, await webhooks.house.call.parts.store.read(CountOutgoing()))

    values = {(each.name, *sample.labels.values()): sample.value for each in found for sample in each.samples}
    assert values["touchbase_webhooks_waiting",] == 2
    assert values["touchbase_webhooks_oldest_age_seconds",] >= 3
    assert values["touchbase_webhook_endpoints", "active"] == 1
    assert values["touchbase_webhook_endpoints", "failing"] == 1


@pytest.mark.parametrize("back", [False, True])
async def test_copied_store__has_the_log_endpoints_and_what_they_miss(back: bool, empty_postgres_url: str, tmp_path: Path) -> None:
    file = f"sqlite:///{tmp_path / 'first.db'}"
    source, target = (empty_postgres_url, file) if back else (file, empty_postgres_url)
    first = await open_store(source, encryption_keys=KEYS)
    client = await first.write(EnsureClient("acme", 5))
    await miss_an_event(first, client.number, 5, secret="whsec_c2VjcmV0")
    endpoints = await first.read(ListEndpoints(client.number, 10))
    await first.close()

    await copy_store(source, target, KEYS, silent)

    second = await open_store(target, encryption_keys=KEYS)
    assert await second.read(ListEndpoints(client.number, 10)) == endpoints
    await second.close()
    wanted, found = await content(source), await content(target)
    for table in ("webhook_position", "pending_webhook", "webhook_attempt"):
        assert (found[table], len(found[table])) == (wanted[table], 1)
