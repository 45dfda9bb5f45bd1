"""`touchbase demo`: what it makes, and which stores it refuses."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cli.conftest import Run

from touchbase.common.timestamps import DAY, from_text
from touchbase.connections.rhythm import HOUR, Rhythm
from touchbase.demo.agency import ACCOUNTS, INSTANTLY, TOOLS
from touchbase.demo.calls import SILENT, Call, calls_of
from touchbase.demo.people import firms, people
from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.storage import open_store

KEY = encode_key(new_key())
NOW = from_text("2026-11-26T10:00:00Z")
WITH_BOTH_REPEATS = from_text("2026-11-26T13:30:00Z")
"""At this time one repeat comes before its first call is applied, and one after it."""
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)


def calls(chance: str = "x", number: int = 0, count: int = 150, now: int = NOW) -> list[Any]:
    """Three weeks of one client."""
    account, drawn = ACCOUNTS[number], Random(chance)
    return [*calls_of(account, [*people(drawn, count, firms(drawn, 20))], drawn, now)]


def test_data__is_the_same_each_time() -> None:
    assert calls() == calls()
    assert calls() != calls("y")


def test_addresses__end_in_example() -> None:
    every = [each for number in range(len(ACCOUNTS)) for each in calls(number=number) if isinstance(each, Call)]
    bodies = b"".join(each.body for each in every if each.body.endswith((b"}", b"]"))).decode()

    hosts = {found.rpartition("@")[2].rpartition(".")[2] for found in re.findall(r"[\w.'-]+@[\w.-]+\w", bodies)}
    assert hosts == {"example"}


def test_calls__come_within_three_weeks_and_not_from_the_silent_tool() -> None:
    found = [each for each in calls(count=400) if isinstance(each, Call)]

    assert all(NOW - 24 * DAY < each.at <= NOW for each in found)
    assert max(each.at for each in found) > NOW - DAY
    silent = [each.at for each in found if b"unibox_url" in each.body]
    assert INSTANTLY in ACCOUNTS[0].tools
    assert silent
    assert max(silent) <= NOW - SILENT


@pytest.mark.slow
def test_silent_tool__is_recognised_on_a_monday_morning_with_the_usual_number_of_contacts(subtests: pytest.Subtests) -> None:
    monday = from_text("2026-11-23T09:00:00Z")
    for now in (monday, monday + 3 * DAY):
        with subtests.test(now=now):
            found = [each.at for each in calls(count=4_200, now=now) if isinstance(each, Call) and b"unibox_url" in each.body]
            silent_from = Rhythm(Counter(each // HOUR for each in found)).silent_from(max(found))
            assert silent_from is not None
            assert silent_from <= now


async def every(call: ApiClient, target: str, client_id: str = "") -> AsyncIterator[Any]:
    """Everything that a list has."""
    cursor: str | None = ""
    while cursor is not None:
        following = f"&cursor={cursor}" if cursor else ""
        answer = (await call.get(f"{target}{'&' if '?' in target else '?'}limit=200{following}", x_client_id=client_id)).json()
        for each in answer["data"]:
            yield each
        cursor = answer["next_cursor"]


@pytest.mark.slow
def test_demo__has_calls_that_are_read_as_they_are_meant_to_be(
    run: Run, engine_url: str, make_client: MakeClient, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"TOUCHBASE_ENCRYPTION_KEY": KEY}
    monkeypatch.setattr("touchbase.cli.demo.now_us", lambda: WITH_BOTH_REPEATS)
    result = run("demo", "--database", engine_url, "--contacts", "200", "--json", env=env)
    assert result.exit_code == 0, result.output
    made = json.loads(result.stdout)

    async def look() -> None:
        store = await open_store(engine_url, encryption_keys=EncryptionKeys(KEY))
        call = make_client(store)
        deliveries = [each async for each in every(call, "/admin/v1/deliveries")]
        alder = ACCOUNTS[0].id
        with subtests.test("clients"):
            assert {each["client_id"]: each["name"] async for each in every(call, "/admin/v1/clients")} == {e.id: e.name for e in ACCOUNTS}
        with subtests.test("states"):
            states = Counter[str]()
            for each in deliveries:
                states["repeat" if each["state"] == "ignored" else each["state"]] += 1
                states["repeat"] += each["repeats"]
            assert {state: count for state, count in states.items() if count} == made["expected"]
            assert sum(states.values()) + made["refused"] == made["calls"]
        with subtests.test("tools"):
            assert {each["tool"] for each in deliveries if each["tool"]} >= set(TOOLS)
        with subtests.test("refused"):
            causes = Counter([each["cause"] async for each in every(call, "/admin/v1/refusals")])
            assert len(causes) > 1
        with subtests.test("contacts"):
            found = [each async for each in every(call, "/public/v2/contacts", alder)]
            assert len(found) >= 42
            assert {each.get("contact_status") for each in found} >= {"new", "contacted", "replied"}
            assert all(each["email"].endswith(".example") for each in found)
        with subtests.test("replies"):
            texts = [each["text"] async for each in every(call, "/public/v2/messages?direction=received", alder)]
            assert texts
            assert all(texts)
        with subtests.test("not to be contacted"):
            reasons = {each["reason"] async for each in every(call, "/public/v2/suppressions", alder)}
            assert reasons >= {"competitor", "customer", "requested", "legal"}
        with subtests.test("outgoing"):
            endpoints = [each async for each in every(call, "/public/v2/webhook-endpoints", alder)]
            assert [(each["kind"], each["state"]) for each in endpoints] == [("webhook", "disabled"), ("slack", "disabled")]
            assert {each["outcome"] async for each in every(call, "/public/v2/webhook-attempts", alder)} >= {"delivered"}
        with subtests.test("imports"):
            [job] = [each async for each in every(call, "/public/v2/jobs", alder)]
            assert (job["state"], job["progress"]["invalid"] > 0) == ("succeeded", True)
        await store.close()

    asyncio.run(look())
    verified = run("verify", "--database", engine_url, env=env)
    assert verified.exit_code == 0, verified.output
    again = run("demo", "--database", engine_url, env=env)
    assert "has the demo already" in again.stdout


@on_sqlite
def test_store_with_other_clients__is_refused_and_stays_as_it_is(run: Run, engine_url: str) -> None:
    run("clients", "add", "acme", "--database", engine_url)
    before = run("clients", "list", "--database", engine_url, "--json").stdout

    result = run("demo", "--database", engine_url)

    assert result.exit_code == 1
    assert "has clients that are not the demo's" in result.output
    assert run("clients", "list", "--database", engine_url, "--json").stdout == before


@on_sqlite
def test_part_of_the_demo__is_refused_with_what_to_do(run: Run, engine_url: str) -> None:
    run("clients", "add", ACCOUNTS[3].id, "--database", engine_url)

    result = run("demo", "--database", engine_url)

    assert result.exit_code == 1
    assert "remove it, and begin again" in result.output
