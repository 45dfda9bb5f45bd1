"""The spool of a server: a webhook of a cell that is down is acknowledged, and stored with its own time when the cell is back."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.asgi_client import ApiClient, Clock, CountedMetrics, MakeClient
from tests.cells.conftest import OPEN, cell_urls, router
from tests.house import House

from touchbase.auth.auth_throttle import WebhookThrottle
from touchbase.encryption.cipher import NO_CIPHER, AesGcmCipher, DecryptionFailed
from touchbase.encryption.keys import StaticKeys, new_key
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.sql.refused import list_refusals
from touchbase.metrics import SPOOLED
from touchbase.routing.router import CellRouter
from touchbase.server.metrics import spool_metrics
from touchbase.spool.counting import SpoolCounts
from touchbase.spool.models import SpooledWebhook, from_bytes, to_bytes
from touchbase.spool.spool import Spool
from touchbase.sql.store import Store
from touchbase.storage.batch import client_queue_full, queue_refused
from touchbase.storage.postgres.writer import database_too_slow

__all__ = ["cell_urls", "router"]
CIPHER = AesGcmCipher(StaticKeys([new_key()]))
BODY = {"event_type": "email_sent", "lead_email": "ada@example.com", "timestamp": "2026-11-20T09:30:00Z"}


@pytest.fixture
def metrics() -> CountedMetrics:
    return CountedMetrics()


@pytest.fixture
async def spool(tmp_path: Path, metrics: CountedMetrics) -> AsyncIterator[Spool]:
    new_spool = Spool(tmp_path / "spool", 10**6, CIPHER, metrics)
    yield new_spool
    new_spool.close()


@pytest.fixture
async def down(router: CellRouter, make_client: MakeClient, clock: Clock, spool: Spool) -> tuple[ApiClient, House]:
    """A server with a spool, and a client of the cell eu, which is down."""
    refused = RefusedWebhooks(clock)
    call = make_client(router, spool=spool, cell_of_name=router.placement.cell_of_name, refused=refused)
    created = [await House.of(call, f"client-{number}") for number in range(3)]
    (house,) = (item for item in created if router.placement.cell_of(item.number) == 1)
    await router.cells[1].close()
    call.clock.move(2)  # nothing of the client is known in memory any more
    return call, house


async def bring_back(router: CellRouter) -> None:
    assert await router.cells[1].open(OPEN)


async def test_webhook__of_a_cell_that_is_down_is_stored_when_it_is_back(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool, metrics: CountedMetrics
) -> None:
    call, house = down
    came = call.clock()
    reply = await call.post(f"/public/emailcampaign-webhook/{house.client_id}?a=1", BODY, x_tool="yes")
    assert reply.status == 200
    assert await spool.drain() == 0
    call.clock.move(3600)

    await bring_back(router)
    stored = await spool.drain()

    assert (stored, await spool.drain()) == (1, 0)
    (delivery,) = await router.read(list_deliveries(5, house.number))
    assert (delivery.received_us, delivery.channel) == (came, "email_campaign")
    assert metrics.counted == [(SPOOLED,)]


async def test_webhooks__are_stored_in_the_order_in_which_they_came(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool
) -> None:
    call, house = down
    times = []
    for number in range(20):
        call.clock.move(1)
        times.append(call.clock())
        assert (await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY | {"n": number})).status == 200

    await bring_back(router)
    await spool.drain()

    deliveries = await router.read(list_deliveries(50, house.number))
    assert [delivery.received_us for delivery in reversed(deliveries)] == times


async def test_webhooks__that_come_at_once_are_all_acknowledged_and_stored(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool
) -> None:
    call, house = down
    address = f"/public/emailcampaign-webhook/{house.client_id}"

    replies = await asyncio.gather(*(call.post(address, BODY | {"n": number}) for number in range(50)))
    await bring_back(router)

    assert [reply.status for reply in replies] == [200] * 50
    assert await spool.drain() == 50
    assert len(await router.read(list_deliveries(100, house.number))) == 50


async def test_webhook__that_was_stored_already_is_a_repeat(down: tuple[ApiClient, House], router: CellRouter, spool: Spool) -> None:
    call, house = down
    for _ in range(3):
        await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY)
    await bring_back(router)

    await spool.drain()

    (delivery,) = await router.read(list_deliveries(5, house.number))
    assert delivery.repeats == 2


async def test_webhook__that_its_receiver_refuses_is_recorded_when_it_is_received(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool
) -> None:
    call, house = down
    await bring_back(router)
    connection = {"channel": "email_campaign", "tool": "smartlead", "secrets": ["s" * 20]}
    await call.post(f"/admin/v1/clients/{house.client_id}/connections", connection)
    await call.settings(house.client_id, require_verification={"email_campaign": True})
    await router.cells[1].close()
    call.clock.move(2)
    assert (await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY)).status == 200
    await bring_back(router)

    await spool.drain()
    await call.parts.refused.flush(router)

    assert await router.read(list_deliveries(5, house.number)) == []
    (refused,) = await router.read(list_refusals(5, house.number))
    assert refused.cause == "not_verified"


async def test_webhooks__of_unknown_clients_do_not_hold_up_the_ones_behind_them(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool, make_client: MakeClient
) -> None:
    call, house = down
    make_client(router, spool=spool, refused=call.parts.refused, auth="api-key", failed_calls=WebhookThrottle(2))
    for client_id in (*(f"nobody-{number}" for number in range(5)), house.client_id):
        path = f"/public/crm-webhook/{client_id}"
        await spool.add(1, SpooledWebhook(call.clock(), path, path.encode(), b"", "http", [], "192.0.2.1", b"{}"))
    await bring_back(router)

    assert await spool.drain() == 6
    assert len(await router.read(list_deliveries(5, house.number))) == 1


async def test_webhooks__without_a_proof_do_not_hold_up_the_ones_behind_them(
    down: tuple[ApiClient, House], router: CellRouter, spool: Spool, make_client: MakeClient
) -> None:
    call, house = down
    await bring_back(router)
    await call.settings(house.client_id, require_verification={"email_campaign": True})
    await router.cells[1].close()
    throttled = make_client(
        router, spool=spool, cell_of_name=router.placement.cell_of_name, refused=call.parts.refused, failed_calls=WebhookThrottle(2)
    )
    for number in range(5):
        assert (await throttled.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY | {"n": number})).status == 200
    assert (await throttled.post(f"/public/crm-webhook/{house.client_id}", {})).status == 200
    await bring_back(router)

    assert await spool.drain() == 6
    assert [delivery.channel for delivery in await router.read(list_deliveries(5, house.number))] == ["crm"]


async def test_webhooks__of_other_cells_do_not_wait(down: tuple[ApiClient, House], router: CellRouter, spool: Spool) -> None:
    call, house = down
    await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY)
    other_spooled_webhook = SpooledWebhook(call.clock(), "/public/crm-webhook/client-0", b"", b"", "http", [], "127.0.0.1", b"{}")
    await spool.add(0, other_spooled_webhook)

    assert await spool.drain() == 1


async def test_requests__of_the_api_are_refused_and_not_spooled(down: tuple[ApiClient, House], spool: Spool) -> None:
    house = down[1]

    reply = await house.request("POST", "/public/v2/contacts", {"email": "ada@example.com"})

    assert reply.status == 503
    assert await spool.drain() == 0


async def test_webhook__gets_503_when_the_spool_is_full(
    router: CellRouter, make_client: MakeClient, tmp_path: Path, down: tuple[ApiClient, House]
) -> None:
    _, house = down
    small = Spool(tmp_path / "small", 10, CIPHER, CountedMetrics())
    call = make_client(router, spool=small, cell_of_name=router.placement.cell_of_name)

    reply = await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY)
    small.close()

    assert reply.status == 503


async def test_webhook__that_fails_for_another_reason_is_set_aside_and_holds_up_no_other(spool: Spool, tmp_path: Path) -> None:
    webhook = SpooledWebhook(5, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}")
    for _ in range(2):
        await spool.add(0, webhook)
    received: list[SpooledWebhook] = []

    async def receive(spooled_webhook: SpooledWebhook) -> None:
        received.append(spooled_webhook)
        if len(received) == 1:
            raise ZeroDivisionError

    spool.receive = receive

    assert await spool.drain() == 2
    assert len(list((tmp_path / "spool" / "failed").iterdir())) == 1


async def test_webhook__that_cannot_be_set_aside_waits_for_the_next_round(spool: Spool, tmp_path: Path) -> None:
    await spool.add(0, SpooledWebhook(5, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}"))

    async def fails(spooled_webhook: SpooledWebhook) -> None:
        raise ZeroDivisionError

    spool.receive = fails
    (tmp_path / "spool" / "failed").write_text("no folder")
    with pytest.raises(OSError, match="failed"):
        await spool.drain()
    (tmp_path / "spool" / "failed").unlink()

    assert await spool.drain() == 1
    assert (await spool.counts()).set_aside == 1


async def test_damaged_file__is_stored_as_far_as_it_is_whole_and_set_aside(
    spool: Spool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    received: list[SpooledWebhook] = []

    async def receive(spooled_webhook: SpooledWebhook) -> None:
        received.append(spooled_webhook)

    spool.receive = receive
    for number in range(3):
        await spool.add(0, SpooledWebhook(number, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}"))
    (path,) = (tmp_path / "spool" / "0").iterdir()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    assert (await spool.drain(), await spool.drain()) == (2, 0)
    assert [webhook.received_us for webhook in received] == [0, 2]
    assert (tmp_path / "spool" / "failed" / f"{path.name}.damaged").read_bytes() == data
    assert "2 whole ones are stored" in caplog.text


async def test_set_aside_webhooks_and_damaged_files__are_removed_after_30_days_and_later_ones_stay(
    spool: Spool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = SpooledWebhook(5, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}")

    async def fails(spooled_webhook: SpooledWebhook) -> None:
        raise ZeroDivisionError

    spool.receive = fails
    failed = tmp_path / "spool" / "failed"
    await spool.add(0, webhook)
    await spool.drain()
    (old,) = failed.iterdir()
    for name in ("1-a.spool.damaged", "2-b.spool.damaged"):
        (failed / name).write_bytes(b"x")
    for path in (old, failed / "1-a.spool.damaged"):
        os.utime(path, (time.time() - 31 * 86_400,) * 2)

    await spool._round()
    await spool.add(0, webhook)
    await spool.drain()

    counts = await spool.counts()
    assert (counts.set_aside, counts.damaged, old.exists()) == (1, 1, False)
    assert (failed / "2-b.spool.damaged").exists()
    assert f"{old} was removed" in caplog.text


async def test_counts__are_of_what_waits_and_of_what_is_set_aside(spool: Spool, tmp_path: Path) -> None:
    webhook = SpooledWebhook(5, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}")
    empty = await spool.counts()
    began = time.time_ns() // 1000
    for cell in (0, 1, 1):
        await spool.add(cell, webhook)
    three = await spool.counts()
    await spool.add(1, webhook)
    four = await spool.counts()
    size = sum(path.stat().st_size for path in (tmp_path / "spool").glob("*/*"))

    async def fails(spooled_webhook: SpooledWebhook) -> None:
        raise ZeroDivisionError

    spool.receive = fails
    await spool.drain()
    of_others = await Spool(tmp_path / "spool", 10**6, CIPHER, CountedMetrics()).counts()

    assert empty == SpoolCounts()
    assert (three.webhooks, three.set_aside, four.webhooks) == (3, 0, 4)
    assert four.bytes == size
    assert three.oldest_us is not None
    assert began <= three.oldest_us <= time.time_ns() // 1000
    assert of_others == SpoolCounts(set_aside=4)


async def test_counts__leave_out_a_webhook_that_is_not_written_whole(spool: Spool, tmp_path: Path) -> None:
    webhook = SpooledWebhook(5, "/public/crm-webhook/acme", b"", b"", "http", [], "127.0.0.1", b"{}")
    for _ in range(2):
        await spool.add(0, webhook)
    (file,) = (tmp_path / "spool" / "0").iterdir()
    os.truncate(file, file.stat().st_size - 1)

    assert (await spool.counts()).webhooks == 1


async def test_status__says_what_is_in_the_spool(down: tuple[ApiClient, House], spool: Spool, router: CellRouter) -> None:
    call, house = down
    await call.post(f"/public/emailcampaign-webhook/{house.client_id}", BODY)
    while_down = (await call.get("/admin/v1/status")).json()["spool"]
    metrics = [spool_metric.samples for spool_metric in spool_metrics(await spool.counts(), call.clock())]
    await bring_back(router)
    await spool.drain()
    after = (await call.get("/admin/v1/status")).json()["spool"]

    assert (while_down["webhooks"], while_down["set_aside"]) == (1, 0)
    assert while_down["bytes"] > 100
    assert while_down["oldest_time"] is not None
    assert [(sample.labels, sample.value) for sample in metrics[0]] == [({"state": "waiting"}, 1), ({"state": "set_aside"}, 0)]
    assert after == {"webhooks": 0, "bytes": 0, "oldest_time": None, "set_aside": 0}


class RefusingStore:
    """A store that refuses writes while it has an error."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.error: Exception | None = None

    async def write(self, command: Any) -> Any:
        """Execute a command, or raise the error."""
        if self.error is not None:
            raise self.error
        return await self._store.write(command)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


REFUSALS = [queue_refused(stopping=False), client_queue_full(), database_too_slow(), RuntimeError("we broke")]


@pytest.mark.parametrize("error", REFUSALS, ids=str)
async def test_webhook__that_the_store_does_not_take_for_whatever_reason_is_spooled(
    store: Store, make_client: MakeClient, spool: Spool, error: Exception
) -> None:
    busy = RefusingStore(store)
    call = make_client(busy, spool=spool)  # type: ignore[arg-type]
    house = await House.of(call, "acme")
    busy.error = error

    reply = await call.post("/public/crm-webhook/acme", BODY)
    busy.error = None
    spooled = await spool.drain()

    assert (reply.status, spooled) == (200, 1)
    assert len(await store.read(list_deliveries(5, house.number))) == 1


async def test_webhook__whose_secret_cannot_be_decrypted_is_refused_and_does_not_hold_up_the_spool(
    memory: Store, make_client: MakeClient, spool: Spool
) -> None:
    broken = RefusingStore(memory)
    call = make_client(broken, spool=spool)  # type: ignore[arg-type]
    broken.error = DecryptionFailed(("connection", "secrets", 1), "is encrypted with an unknown key")

    reply = await call.post("/public/crm-webhook/acme", BODY)

    assert (reply.status, await spool.drain()) == (503, 0)


def test_to_bytes__encrypts_with_the_key_and_needs_none() -> None:
    webhook = SpooledWebhook(5, "/public/crm-webhook/acme", b"/x", b"a=1", "https", [(b"x-secret", b"goldfinch")], "::1", b"\x00\xffbody")

    assert b"goldfinch" not in to_bytes(webhook, CIPHER)
    for cipher in (CIPHER, NO_CIPHER):
        assert from_bytes(to_bytes(webhook, cipher), cipher) == webhook
