"""Receiving: which headers are kept, and that a count never costs the sender its answer."""

from __future__ import annotations

from typing import Any

from touchbase.clients.models import Client, ClientSettings
from touchbase.errors import Overloaded
from touchbase.inbox.receive import receive_webhook
from touchbase.inbox.redaction import stored_headers
from touchbase.inbox.sql.commands import StoredDelivery, count_repeat
from touchbase.sandbox.pool import Sandbox

OURS = Client(1, "ours", 0, ClientSettings())


def test_stored_headers__joins_a_repeated_header() -> None:
    stored_header, _ = stored_headers([(b"X-Tag", b"a"), (b"x-tag", b"b")])

    assert stored_header == {"x-tag": "a, b"}


def test_stored_headers__returns_the_event_headers_in_sorted_order() -> None:
    stored_header = stored_headers([(b"x-hook-event", b"sent"), (b"x-hook-topic", b"mail"), (b"x-other", b"1")])[1]
    other_stored_header = stored_headers([(b"x-other", b"2"), (b"X-Hook-Topic", b"mail"), (b"X-Hook-Event", b"sent")])[1]

    assert stored_header == other_stored_header == "x-hook-event: sent\nx-hook-topic: mail"


def test_stored_headers__preserves_non_ascii_bytes() -> None:
    assert stored_headers([(b"x-name", b"\xe9\xff")])[0] == {"x-name": "\xe9\xff"}


async def test_receive_webhook__returns_a_repeat_when_counting_it_fails() -> None:
    class Full:
        async def write(self, command: Any) -> Any:
            if isinstance(command, count_repeat):
                raise Overloaded("the queue is full")
            return StoredDelivery(7, is_repeat=True)

    webhook = await receive_webhook(Full(), OURS, "crm", [], query="", body=b"{}", at=0, sandbox=Sandbox("test"))  # type: ignore[arg-type]

    assert webhook == StoredDelivery(7, is_repeat=True)
