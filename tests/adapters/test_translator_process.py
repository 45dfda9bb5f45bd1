"""What a call says is the same when it is read in a process apart, as the server does it."""

from __future__ import annotations

import json

import msgspec
from tests.adapters.conftest import all_recorded

from touchbase.adapters.registry import Adapters
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import ReadResult
from touchbase.inbox.translator_pool import TranslatorPool
from touchbase.inbox.worker import translator
from touchbase.projection.inbox_batch import read_delivery


def plain(looked: ReadResult) -> str:
    """All that was found, in a form in which it can be compared, but for the delivery itself."""
    seen = looked.normalized
    found = [seen.tool, repr(seen.error), seen.subjects, seen.unused_event, seen.unknown_event, seen.unidentified, seen.may_ask]
    return json.dumps(msgspec.to_builtins([found, sorted(looked.mentions or ()), looked.why]), sort_keys=True)


async def test_translator_process__gives_the_same_events_as_in_process(adapters: Adapters) -> None:
    connected = [Connection(1, "crm", "hubspot", 0, 0, ["a secret"], ConnectionSettings(create_unknown=False))]
    deliveries = [
        Delivery(1, "acme", number, each.channel, "received", 10**15, headers=dict(each.request.headers), body=each.body, guarded=True)
        for number, each in enumerate(all_recorded())
    ]
    reader = TranslatorPool()

    apart = await reader.for_client(connected).read_many(deliveries)
    reader.close()

    translate = translator(adapters.translate, connected)
    assert [plain(each) for each in apart] == [plain(read_delivery(each, translate)) for each in deliveries]
