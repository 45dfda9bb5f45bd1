"""`touchbase demo`: what it makes, and which stores it refuses."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.cli.conftest import Run

from touchbase.common.timestamps import DAY, from_text
from touchbase.connections.rhythm import HOUR, Rhythm
from touchbase.demo import recording
from touchbase.demo.recording import SHARES, SILENT, WEEKS, RecordedCall
from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.stores import open_store

KEY = encode_key(new_key())
NOW = from_text("2026-11-26T10:00:00Z")
on_sqlite = pytest.mark.parametrize("engine_url", ["sqlite"], indirect=True)


ACCOUNTS = recording.accounts()
ALDER = ACCOUNTS[0]["id"]
TOOLS = {"smartlead", "instantly", "lemlist", "emailbison", "heyreach", "hubspot", "pipedrive", "close"}


def calls(number: int = 0, contacts: int = 1_000, now: int = NOW) -> list[RecordedCall]:
    """Three weeks of one client, of which the demo has so many contacts."""
    account = ACCOUNTS[number]
    _, people = recording.people_of(account, contacts * SHARES // account["contacts"])
    return [*recording.calls_of(account, people, now)]


def test_replay__is_the_same_each_time() -> None:
    assert calls() == calls()
    assert recording.people_of(ACCOUNTS[0], 500) == recording.people_of(ACCOUNTS[0], 500)


def test_addresses__end_in_example() -> None:
    every_body = [call.body for number in range(len(ACCOUNTS)) for call in calls(number, 250)]
    bodies = b"".join(body for body in every_body if body.endswith((b"}", b"]"))).decode()

    hosts = {result.rpartition("@")[2].rpartition(".")[2] for result in re.findall(r"[\w.'-]+@[\w.-]+\w", bodies)}
    assert hosts == {"example"}


def test_bodies__have_no_places_left_and_are_all_used() -> None:
    names = {name for account in ACCOUNTS for life in recording.lives_of(account["id"]) for _, name, *_ in life["calls"]}
    bodies = [call.body.decode() for number in range(len(ACCOUNTS)) for call in calls(number, 250) if call.expected is not None]

    assert [body for body in bodies if re.search(r"\{[a-z_]+\}", body) or '{"=":' in body] == []
    assert set(recording.bodies()) - {"webinar"} <= names <= {*recording.bodies(), "change", recording.REPEAT}


@pytest.mark.parametrize("now", [NOW, NOW + 3 * DAY + 5 * HOUR, NOW + 11 * DAY - HOUR])
def test_calls__come_within_three_weeks_and_not_from_the_silent_tool(now: int) -> None:
    result = calls(now=now)
    webhooks = [call for call in result if call.expected is not None]

    assert all(now - WEEKS <= call.at < now for call in result)
    assert max(call.at for call in webhooks) > now - 2 * DAY
    silent = [call.at for call in webhooks if b"unibox_url" in call.body]
    assert silent
    assert max(silent) <= now - SILENT


def test_calls__come_on_the_days_on_which_people_work() -> None:
    for now in (NOW, NOW + 2 * DAY + 7 * HOUR):
        days = Counter((call.at // DAY + 3) % 7 for call in calls(now=now))
        assert days[5] + days[6] < 0.24 * days.total()


@pytest.mark.slow
def test_silent_tool__is_recognised_on_a_monday_morning_with_the_usual_number_of_contacts(subtests: pytest.Subtests) -> None:
    monday = from_text("2026-11-23T09:00:00Z")
    for now in (monday, monday + 3 * DAY):
        with subtests.test(now=now):
            results = [call.at for call in calls(contacts=4_200, now=now) if call.expected is not None and b"unibox_url" in call.body]
            silent_from = Rhythm(Counter(at // HOUR for at in results)).silent_from(max(results))
            assert silent_from is not None
            assert silent_from <= now


async def every(call: ApiClient, target: str, client_id: str = "") -> AsyncIterator[Any]:
    """Everything that a list has."""
    cursor: str | None = ""
    while cursor is not None:
        following = f"&cursor={cursor}" if cursor else ""
        answer = (await call.get(f"{target}{'&' if '?' in target else '?'}limit=200{following}", x_client_id=client_id)).json()
        for item in answer["data"]:
            yield item
        cursor = answer["next_cursor"]


async def check_team(call: ApiClient) -> None:
    """Three people have conversations, some are snoozed, and the newest has a note."""
    assert {item["name"] async for item in every(call, "/team/v1/users")} == {"Mira Hansen", "Ben Okafor", "Chloé Martin"}
    assert len({item["assignee_id"] async for item in every(call, "/team/v1/conversations")}) == 4
    assert [item async for item in every(call, "/team/v1/conversations?state=snoozed")]
    newest = (await call.get("/team/v1/conversations?limit=1")).json()["data"][0]
    notes = (await call.get(f"/team/v1/conversations/{newest['client_id']}/{newest['contact']['id']}")).json()["notes"]
    assert [note["author"]["name"] for note in notes] == ["Mira Hansen"]


@pytest.mark.slow
def test_demo__has_calls_that_are_read_as_they_are_meant_to_be(
    run: Run, engine_url: str, make_client: MakeClient, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"TOUCHBASE_ENCRYPTION_KEY": KEY}
    monkeypatch.setattr("touchbase.cli.demo.now_us", lambda: NOW)
    result = run("demo", "--database", engine_url, "--contacts", "200", "--json", env=env)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)

    async def look() -> None:
        store = await open_store(engine_url, encryption_keys=EncryptionKeys(KEY))
        call = make_client(store)
        deliveries = [item async for item in every(call, "/admin/v1/deliveries")]
        with subtests.test("clients"):
            assert {item["client_id"]: item["name"] async for item in every(call, "/admin/v1/clients")} == {
                e["id"]: e["name"] for e in ACCOUNTS
            }
        with subtests.test("states"):
            states = Counter[str]()
            for entry in deliveries:
                states["repeat" if entry["state"] == "ignored" else entry["state"]] += 1
                states["repeat"] += entry["repeats"]
            assert {state: count for state, count in states.items() if count} == document["expected"]
            assert sum(states.values()) + document["refused"] == document["calls"]
        with subtests.test("tools"):
            assert {delivery["tool"] for delivery in deliveries if delivery["tool"]} >= TOOLS
        with subtests.test("refused"):
            causes = Counter([item["cause"] async for item in every(call, "/admin/v1/refusals")])
            assert causes["unknown_client"] == 7
            assert len(causes) > 1
        with subtests.test("contacts"):
            everies = [item async for item in every(call, "/public/v2/contacts", ALDER)]
            assert len(everies) >= 42
            assert {item.get("contact_status") for item in everies} >= {"new", "contacted", "replied"}
            assert all(item["email"].endswith(".example") for item in everies)
        with subtests.test("replies"):
            texts = [item["text"] async for item in every(call, "/public/v2/messages?direction=received", ALDER)]
            assert texts
            assert all(texts)
        with subtests.test("team"):
            await check_team(call)
        with subtests.test("not to be contacted"):
            reasons = {item["reason"] async for item in every(call, "/public/v2/suppressions", ALDER)}
            assert reasons >= {"competitor", "customer", "requested", "legal"}
        with subtests.test("outgoing"):
            endpoints = [item async for item in every(call, "/public/v2/webhook-endpoints", ALDER)]
            assert [(endpoint["kind"], endpoint["state"]) for endpoint in endpoints] == [("webhook", "disabled"), ("slack", "disabled")]
            assert {item["outcome"] async for item in every(call, "/public/v2/webhook-attempts", ALDER)} >= {"delivered"}
        with subtests.test("imports"):
            [job] = [item async for item in every(call, "/public/v2/jobs", ALDER)]
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
    run("clients", "add", ACCOUNTS[3]["id"], "--database", engine_url)

    result = run("demo", "--database", engine_url)

    assert result.exit_code == 1
    assert "remove it, and begin again" in result.output
