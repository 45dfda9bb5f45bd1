"""Calls are read in processes that can be stopped: whatever a body does to them, the server and the other clients go on."""

from __future__ import annotations

import asyncio
import itertools
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.clients.commands import EnsureClient
from touchbase.common.timestamps import SECOND
from touchbase.connections.models import CRM, EMAIL_CAMPAIGN, Connection
from touchbase.errors import Overloaded, UnrecognisedPayload
from touchbase.events.translator_pool import HIDDEN, KEEP_SECONDS, MAX_IDLE, TranslatorPool, TranslatorStopped
from touchbase.events.work import WorkReport
from touchbase.events.worker import InboxWorker
from touchbase.history.dedupe_keys import body_key
from touchbase.inbox.commands import StoreDelivery
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import CountDeliveries, GetDelivery
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()
POISONED = """
import os, re, signal, sys, time
import touchbase.translator as translator
from touchbase.history.events import Event, Translation

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

class Tools:
    translate = staticmethod(read)

translator.load_adapters = Tools
translator.seconds_for = lambda size: 0.2
translator.MEMORY = 2**29
translator.main()
"""
MEETING = """
import os, socket, sys
ours, meeting = socket.socket(fileno=int(sys.argv[2])), sys.argv[1]
frame = b"ready"
while True:
    ours.sendall(len(frame).to_bytes(8, "big") + frame)
    if not ours.recv(1000):
        break
    there = socket.socket(socket.AF_UNIX)
    there.connect(meeting)
    there.recv(1)
    frame = b"%d" % os.getpid()
"""
"""Processes that finish their job, and tell their id, once the test lets them go on."""
REASONS = {
    b"spin": "reading it took more processor time than the limit (up to 30 seconds)",
    b"sleep": "reading it took longer than the limit (3 seconds)",
    b"eat": "reading it took more memory than the limit (1024 MiB)",
}


@pytest.fixture
def poisoned() -> Iterator[TranslatorPool]:
    """A reader whose processes have an adapter that takes too much, as bodies ask it to."""
    reader = TranslatorPool((sys.executable, "-P", "-c", POISONED), wall_seconds=3)
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
    return (await store.write(StoreDelivery(client, EMAIL_CAMPAIGN, key, b"{}", "", body, NOON))).id


@pytest.mark.slow
@pytest.mark.parametrize("poison", REASONS, ids=bytes.decode)
async def test_read_many__stops_a_delivery_over_budget_and_reads_the_others(poisoned: TranslatorPool, poison: bytes) -> None:
    found = await poisoned.for_client([]).read_many([delivery_of(b"a@b.co", 1), delivery_of(poison, 2), delivery_of(b"c@d.co", 3)])

    assert [one.why for one in found] == [None, REASONS[poison], None]
    assert [one.for_good for one in found] == [False, True, False]
    assert [one.normalized.subjects[0].primary for one in (found[0], found[2])] == ["a@b.co", "c@d.co"]


async def test_read_many__reports_an_ended_process_as_a_failure_to_retry(poisoned: TranslatorPool) -> None:
    (found,) = await poisoned.for_client([]).read_many([delivery_of(b"die")])

    assert (found.why, found.for_good) == ("the process that read it ended (-9)", False)


async def test_read_many__reports_an_adapter_error(poisoned: TranslatorPool) -> None:
    (found,) = await poisoned.for_client([]).read_many([delivery_of(b"deep")])

    assert found.why is not None
    assert found.why.startswith("RecursionError")


def test_translator_pool__translates_a_single_webhook(reader: TranslatorPool, poisoned: TranslatorPool) -> None:
    body = b'[{"subscriptionType": "contact.creation", "objectId": 5, "portalId": 1, "occurredAt": 1790000000000, "eventId": 3}]'
    request = WebhookRequest(CRM, {}, "", body)

    assert reader(request) == load_adapters().translate(request)
    with pytest.raises(UnrecognisedPayload, match="neither JSON nor form"):
        reader(WebhookRequest(CRM, {}, "", b"hello"))
    with pytest.raises(TranslatorStopped):
        poisoned(WebhookRequest(CRM, {}, "", b"spin"))


def test_translator_process__receives_no_secret_and_no_setting(reader: TranslatorPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHBASE_ENCRYPTION_KEY", "secret")
    code = """
import os, sys
for frame in (b"ready", b"%d" % sum("TOUCHBASE" in name for name in os.environ)):
    os.write(int(sys.argv[1]), len(frame).to_bytes(8, "big") + frame)
    ready = os.read(int(sys.argv[1]), 100) if frame == b"ready" else None
"""
    showing = TranslatorPool((sys.executable, "-c", code))
    connection = Connection(1, CRM, "hubspot", NOON, NOON, secrets=["secret-of-theirs"], access_token="token")

    assert showing._request(b"") == b"0"
    (bare,) = reader.for_client([connection])._connections
    assert (connection.secrets, bare.secrets, bare.access_token) == (["secret-of-theirs"], [HIDDEN], "")
    showing.close()


async def test_read_many__asks_for_a_retry_when_no_process_can_start() -> None:
    with pytest.raises(Overloaded, match="cannot start a process to read webhooks"):
        await TranslatorPool(("/nowhere/python",)).for_client([]).read_many([delivery_of(b"a@b.co")])


async def test_read_many__blames_no_delivery_for_a_process_that_ends_at_start() -> None:
    reader = TranslatorPool((sys.executable, "-c", "raise SystemExit(1)"))

    with pytest.raises(Overloaded, match=r"does not start: the process that read it ended \(1\)"):
        await reader.for_client([]).read_many([delivery_of(b"a@b.co")])
    reader.close()


async def test_processes_needed_at_once__stay_for_the_next_jobs_and_end_when_they_are_not_needed(tmp_path: Path) -> None:
    now = 0.0
    place = str(tmp_path / "meeting")
    pool = TranslatorPool((sys.executable, "-c", MEETING, place), clock=lambda: now)
    meeting = socket.socket(socket.AF_UNIX)
    meeting.bind(place)
    meeting.listen()

    async def at_once(jobs: int) -> set[bytes]:
        """Give so many processes a job at the same time; return their ids."""
        running = [asyncio.create_task(asyncio.to_thread(pool._request, b"job")) for _ in range(jobs)]
        there = [(await asyncio.to_thread(meeting.accept))[0] for _ in range(jobs)]
        for each in there:
            each.close()
        return set(await asyncio.gather(*running))

    four = await at_once(4)
    assert len(four) == 4
    assert await at_once(4) == four

    now += KEEP_SECONDS
    for _ in range(3):
        await at_once(1)
    left = await at_once(4) & four

    assert len(left) == MAX_IDLE
    pool.close()
    meeting.close()


@pytest.mark.slow
async def test_inbox_with_deliveries_over_budget__fails_them_and_delays_no_other_client(store: Store, poisoned: TranslatorPool) -> None:
    bad, good = [(await store.write(EnsureClient(name, NOON))).number for name in ("bad", "good")]
    poison = [await keep(store, bad, body) for body in (b"sleep", b"bad@b.co", b"spin")]
    await keep(store, good, b"a@b.co")
    reports = list[tuple[int, ...]]()

    def on_report(report: WorkReport) -> None:
        reports.append((report.ended.get("applied", 0), report.ended.get("failed", 0)))
        if sum(applied for applied, _ in reports) == 2:
            worker.stop()

    worker = InboxWorker(store, poisoned, lambda: NOON, on_report=on_report)
    worker.wake(bad)
    worker.wake(good)
    async with asyncio.timeout(60):
        await worker.run()

    assert reports[0] == (1, 0)  # the other client's, before what is poisoned was given up
    assert await store.read(CountDeliveries(good, state="applied")) == 1
    found = [await store.read(GetDelivery(number)) for number in poison]
    assert [(one.state, one.attempts, one.error) for one in found if one] == [
        ("failed", 1, REASONS[b"sleep"]),
        ("applied", 1, None),
        ("failed", 1, REASONS[b"spin"]),
    ]
