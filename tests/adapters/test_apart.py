"""What a call says is the same when it is read in a process apart, as the server does it."""

from __future__ import annotations

import json

import msgspec
from tests.adapters.conftest import all_recorded

from touchbase.adapters import Adapters
from touchbase.domain.connection import Connection, ConnectionSettings
from touchbase.domain.delivery import Delivery
from touchbase.domain.ports import Looked
from touchbase.service.process_inbox import translator
from touchbase.service.reader import Reader
from touchbase.storage.sql.turn import look


def plain(looked: Looked) -> str:
    """All that was found, in a form in which it can be compared, but for the delivery itself."""
    seen = looked.seen
    found = [seen.tool, repr(seen.error), seen.sightings, seen.other, seen.strange, seen.nameless, seen.may_ask]
    return json.dumps(msgspec.to_builtins([found, sorted(looked.told or ()), looked.why]), sort_keys=True)


async def test_every_recorded_call_says_the_same_in_a_process_apart(adapters: Adapters) -> None:
    connected = [Connection(1, "crm", "hubspot", 0, 0, ["a secret"], ConnectionSettings(create_unknown=False))]
    deliveries = [
        Delivery(1, "acme", number, each.channel, "received", 10**15, headers=dict(each.request.headers), body=each.body, guarded=True)
        for number, each in enumerate(all_recorded())
    ]
    reader = Reader()

    apart = await reader.of(connected).looked(deliveries)
    reader.close()

    translate = translator(adapters.translate, connected)
    assert [plain(each) for each in apart] == [plain(look(each, translate)) for each in deliveries]
