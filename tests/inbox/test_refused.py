"""Refused calls wait in memory and are stored once a second, a bounded number of them."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import pytest
from tests.asgi_client import CountedMetrics

from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import Overloaded
from touchbase.inbox.queries import RefusedWebhook
from touchbase.inbox.refused import (
    MAX_ALIKE,
    MAX_GROUPS,
    NO_CLIENT,
    NOT_VERIFIED,
    RATE,
    UNKNOWN_CLIENT,
    RefusedWebhooks,
    shown_headers,
)
from touchbase.inbox.sql.refused import list_refusals
from touchbase.metrics import DELIVERIES_REFUSED
from touchbase.sql.store import Store


def clock() -> int:
    return 17


class Failing:
    """A store that cannot write until it may."""

    def __init__(self, store: Store, error: Exception) -> None:
        self.store, self.error = store, error

    async def read(self, query: Any) -> Any:
        return await self.store.read(query)

    async def write(self, command: Any) -> Any:
        raise self.error


async def listed(store: Store) -> list[RefusedWebhook]:
    return await store.read(list_refusals(1000))


async def test_note_refusal__counts_and_stores_what_came(memory: Store) -> None:
    client, metrics = await memory.write(ensure_client("acme", 1)), CountedMetrics()
    noted = RefusedWebhooks(clock, metrics)

    noted.record_refusal(client, "crm", NOT_VERIFIED, headers=[(b"User-Agent", b"x")], size=5, tool="hubspot")
    await noted.flush(memory)

    (result,) = await listed(memory)
    assert metrics.counted == [(DELIVERIES_REFUSED, "crm", "hubspot", "not_verified")]
    assert (result.client, result.client_id, result.received_us, result.size, result.headers) == (
        client.number,
        "acme",
        17,
        5,
        {"user-agent": "x"},
    )


async def test_note_refusal__looks_a_client_up_later_unless_it_is_unknown(memory: Store) -> None:
    client, noted = await memory.write(ensure_client("acme", 1)), RefusedWebhooks(clock)

    for cause in (RATE, UNKNOWN_CLIENT):
        for client_id in ("acme", "typing\0 error\udc80", ""):
            noted.record_refusal(client_id, "crm", cause)
    await noted.flush(memory)

    assert sorted((first.client, first.cause) for first in await listed(memory)) == [
        *[(NO_CLIENT, "rate")] * 2, *[(NO_CLIENT, "unknown_client")] * 3, (client.number, "rate"),
    ]  # fmt: skip


async def test_note_refusal__a_flood_of_like_calls_costs_few_rows(memory: Store) -> None:
    client, noted = await memory.write(ensure_client("acme", 1)), RefusedWebhooks(clock)
    for _ in range(10_000):
        noted.record_refusal(client, "crm", NOT_VERIFIED)
    for number in range(10_000):
        noted.record_refusal(f"guess-{number}", "crm", UNKNOWN_CLIENT)

    await noted.flush(memory)

    result = await listed(memory)
    assert len(result) == 2 * MAX_ALIKE
    assert sum(first.calls for first in result) == 20_000


async def test_note_refusal__says_in_the_log_when_too_many_different_ones_come(memory: Store, caplog: pytest.LogCaptureFixture) -> None:
    noted = RefusedWebhooks(clock)
    for number in range(MAX_GROUPS + 3):
        noted.record_refusal(f"guess-{number}", "crm", RATE)

    with caplog.at_level(logging.WARNING):
        await noted.flush(memory)

    assert "3 refused webhooks are not listed" in caplog.text
    assert len(await listed(memory)) == MAX_GROUPS


@pytest.mark.parametrize("error", [Overloaded("full"), RuntimeError("broken")])
async def test_flush__what_cannot_be_stored_waits_on(memory: Store, error: Exception) -> None:
    client, noted = await memory.write(ensure_client("acme", 1)), RefusedWebhooks(clock)
    for _ in range(MAX_ALIKE):
        noted.record_refusal(client, "crm", NOT_VERIFIED)
    with suppress(RuntimeError):
        await noted.flush(Failing(memory, error))  # type: ignore[arg-type]
    for _ in range(MAX_ALIKE):
        noted.record_refusal(client, "crm", NOT_VERIFIED)

    await noted.flush(memory)

    result = await listed(memory)
    assert (len(result), sum(first.calls for first in result)) == (MAX_ALIKE, 2 * MAX_ALIKE)


def test_shown_headers__show_no_secret() -> None:
    value_item = {
        "Authorization": "Bearer s3cret", "X-Hub-Signature": "sha1=abc", "X-Our-Token": "s3cret", "X-Other": "s3cret", "Cookie": "s3cret",
        "User-Agent": "a" * 500, "Content-Type": "application/json", "X-HubSpot-Request-Timestamp": "17",
    }  # fmt: skip

    shown = shown_headers([(name.encode(), value.encode()) for name, value in value_item.items()])

    assert shown == {
        "authorization": "(present)", "x-hub-signature": "(present)", "x-our-token": "(present)", "user-agent": "a" * 200,
        "content-type": "application/json", "x-hubspot-request-timestamp": "17",
    }  # fmt: skip
