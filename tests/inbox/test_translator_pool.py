"""Calls are read in processes that can be stopped: whatever a body does to them, the server and the other clients go on."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.models import Connection
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import WorkReport
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CRM, EMAIL_CAMPAIGN
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import count_deliveries, get_delivery
from touchbase.inbox.translator_pool import HIDDEN, PRELOAD, TranslatorPool
from touchbase.inbox.worker import InboxWorker
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import TaskStopped
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
ANN = ("", "email", "ann@example.com")
COUNT = itertools.count()
POISONED = """
import os, re, signal, sys, time
from touchbase.inbox import translation
from touchbase.history.events import Event, Translation
from touchbase.sandbox import process
from touchbase.identity import pii_scan

def read(request):
    if b"spin" in request.body:
        re.match("(a|aa)+b", "a" * 100)
    if b"sleep" in request.body:
        time.sleep(3600)
    if b"eat" in request.body:
        bytearray(2**31)
    if b"die" in request.body:
        os.kill(os.getpid(), signal.SIGKILL)
    if b"deep" in request.body:
        read(request)
    return Translation("test", [Event("email_sent", 1789000000000000, request.body.decode())])

def search(text):
    if "endless" in text:
        re.match("(a|aa)+b", "a" * 100)
    return candidates(text)

candidates, pii_scan._email_candidates = pii_scan._email_candidates, search

class Tools:
    translate = staticmethod(read)

translation.load_adapters = Tools
translation.seconds_for = lambda size: 0.2
process.main()
"""
REASONS = {
    b"spin": "reading it took more processor time than the limit",
    b"sleep": "reading it took longer than the limit (3 seconds)",
    b"eat": "reading it took more memory than the limit (512 MiB)",
}


@pytest.fixture
def poisoned() -> Iterator[TranslatorPool]:
    """A reader whose processes have an adapter that takes too much, as bodies ask it to."""
    command = (sys.executable, "-P", "-c", POISONED)
    reader = TranslatorPool(Sandbox("translator", preload=[PRELOAD], memory=2**29, wall_seconds=3, command=command))
    yield reader
    reader.close()


@pytest.fixture
def reader() -> Iterator[TranslatorPool]:
    reader = TranslatorPool()
    yield reader
    reader.close()


def delivery_of(body: bytes, number: int = 1) -> Delivery:
    return Delivery(1, "acme", number, EMAIL_CAMPAIGN, "received", NOON, body=body)


async def keep(store: Store, client: int, body: bytes) -> int:
    key = body_key(EMAIL_CAMPAIGN, str(next(COUNT)), "", body)
    return (await store.write(store_delivery(client, EMAIL_CAMPAIGN, key, b"{}", "", body, NOON))).id


@pytest.mark.slow
@pytest.mark.parametrize("poison", REASONS, ids=bytes.decode)
async def test_read_many__stops_a_delivery_over_budget_and_reads_the_others(poisoned: TranslatorPool, poison: bytes) -> None:
    result = await poisoned.for_client([]).read_many([delivery_of(b"a@b.co", 1), delivery_of(poison, 2), delivery_of(b"c@d.co", 3)])

    assert [first.why for first in result] == [None, REASONS[poison], None]
    assert [first.for_good for first in result] == [False, True, False]
    assert [first.normalized.subjects[0].primary for first in (result[0], result[2])] == ["a@b.co", "c@d.co"]


async def test_read_many__scans_a_delivery_that_cannot_be_read(poisoned: TranslatorPool) -> None:
    delivery = replace(delivery_of(b"spin ann@example.com"), guarded=True)

    (result,) = await poisoned.for_client([]).read_many([delivery])

    assert (result.why, result.for_good) == (REASONS[b"spin"], True)
    assert (result.mentions, result.unsearchable) == ({ANN}, False)


async def test_read_many__reads_a_delivery_that_cannot_be_scanned(poisoned: TranslatorPool) -> None:
    delivery = replace(delivery_of(b"endless ann@example.com"), guarded=True)

    (result,) = await poisoned.for_client([]).read_many([delivery])

    assert result.normalized.unidentified == 1
    assert (result.why, result.mentions, result.unsearchable) == (None, set(), True)


async def test_scan_many__says_which_delivery_it_could_not_search(poisoned: TranslatorPool) -> None:
    bodies = (b"ann@example.com", b"spin ann@example.com", b"endless ann@example.com")

    scanned = await poisoned.for_client([]).scan_many([delivery_of(body, number) for number, body in enumerate(bodies)])

    assert [ANN in named.refs for named in scanned] == [True, True, False]
    assert [named.unsearchable for named in scanned] == [None, None, REASONS[b"spin"]]


async def test_read_many__reports_an_ended_process_as_a_failure_to_retry(poisoned: TranslatorPool) -> None:
    (result,) = await poisoned.for_client([]).read_many([delivery_of(b"die")])

    assert (result.why, result.for_good) == ("the process that read it ended (-9)", False)


async def test_read_many__reports_an_adapter_error(poisoned: TranslatorPool) -> None:
    (result,) = await poisoned.for_client([]).read_many([delivery_of(b"deep")])

    assert result.why is not None
    assert result.why.startswith("RecursionError")


def test_translator_pool__translates_a_single_webhook(reader: TranslatorPool, poisoned: TranslatorPool) -> None:
    body = b'[{"subscriptionType": "contact.creation", "objectId": 5, "portalId": 1, "occurredAt": 1790000000000, "eventId": 3}]'
    request = WebhookRequest(CRM, {}, "", body)

    assert reader(request) == load_adapters().translate(request)
    with pytest.raises(UnrecognisedPayload, match="neither JSON nor form"):
        reader(WebhookRequest(CRM, {}, "", b"hello"))
    with pytest.raises(TaskStopped):
        poisoned(WebhookRequest(CRM, {}, "", b"spin"))


def test_translator_process__receives_no_secret(reader: TranslatorPool) -> None:
    connection = Connection(1, CRM, "hubspot", NOON, NOON, secrets=["secret-of-theirs"], access_token="token")

    (bare,) = reader.for_client([connection]).connections

    assert (connection.secrets, bare.secrets, bare.access_token) == (["secret-of-theirs"], [HIDDEN], "")


@pytest.mark.slow
async def test_inbox_with_deliveries_over_budget__fails_them_and_delays_no_other_client(store: Store, poisoned: TranslatorPool) -> None:
    bad, good = [(await store.write(ensure_client(name, NOON))).number for name in ("bad", "good")]
    poison = [await keep(store, bad, body) for body in (b"sleep", b"bad@b.co", b"spin")]
    await keep(store, good, b"a@b.co")
    reports = list[tuple[int, ...]]()

    def on_report(report: WorkReport) -> None:
        reports.append((report.ended.get("applied", 0), report.ended.get("failed", 0)))
        if sum(applied for applied, _ in reports) == 2:
            worker.stop()

    worker = InboxWorker(store, poisoned, lambda: NOON, on_report=on_report)
    worker.wake_client(bad)
    worker.wake_client(good)
    async with asyncio.timeout(60):
        await worker.run()

    assert reports[0] == (1, 0)  # the other client's, before what is poisoned was given up
    assert await store.read(count_deliveries(good, state="applied")) == 1
    deliveries = [await store.read(get_delivery(number)) for number in poison]
    assert [(delivery.state, delivery.attempts, delivery.error) for delivery in deliveries if delivery] == [
        ("failed", 1, REASONS[b"sleep"]),
        ("applied", 1, None),
        ("failed", 1, REASONS[b"spin"]),
    ]
