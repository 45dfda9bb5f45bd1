"""APIs of tools that answer with anything but a record, tried with every tool whose records are fetched."""

from __future__ import annotations

import gzip

import pytest
from tests.enrichment.fake_tool_api import ADAPTERS, NOON, FakeResponse, FetchSetup, ReceivedRequest, setup_with_api
from tests.enrichment.test_lists import PING
from tests.enrichment.test_tools import CASES, records

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import set_client_settings
from touchbase.clients.sql.stored_bytes import store_count
from touchbase.connections.tools import MAX_RESPONSE
from touchbase.enrichment import http_client, worker
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.sql.store import Store

FETCHED = {case.tool: (case.call, case.query, case.settings) for case in CASES.values()} | {"airtable": (PING, "", {})}
"""By tool, a webhook whose record is fetched, with its query, and the settings of the connection."""
GZIP = {"content-encoding": "gzip"}
NO_JSON = "the response is not JSON: is api_base the URL of the tool's API?"
UNREADABLE: dict[str, tuple[FakeResponse, str]] = {
    "page": ((200, b"<html>Sign in</html>"), NO_JSON),
    "deep": ((200, b'{"data":' * 50_000 + b"1" + b"}" * 50_000), NO_JSON),
    "huge": ((200, b'{"data": "' + b"x" * MAX_RESPONSE + b'"}'), "the response is longer than 8388608 bytes"),
    "bomb": ((200, gzip.compress(b" " * 2 * MAX_RESPONSE), GZIP), NO_JSON),
    "not gzip": ((200, b"{}", GZIP), NO_JSON),
    "huge number": ((200, b'{"id": 1e999, "data": 1e999, "payloads": []}'), NO_JSON),
    "surrogate": ((200, b'{"data": {"id": "\\ud800"}, "id": "\\ud800", "cursor": "\\ud800", "payloads": []}'), NO_JSON),
    "redirect": ((302, b"", {"location": "http://169.254.169.254/latest/meta-data/"}), "answered 302: is api_base the URL of its API?"),
}
"""By what is wrong with it, an answer, and what the connection says."""
WRONG_TYPES = {"data": [[{}]], "results": "x", "people": 1, "payloads": 7, "cursor": {}, "result": [], "id": [], "properties": []}
OF_OTHERS = {
    "id": "x",
    "data": {"id": "x"},
    "results": [{"id": "x"}],
    "payloads": [None, 7, []],
    "cursor": "x" * 201,
    "mightHaveMore": True,
}
NO_RECORDS: tuple[object, ...] = (WRONG_TYPES, OF_OTHERS, [None, 7, "x", []], None, {"data": None})


async def receive_all(setup: FetchSetup, base: str) -> None:
    """Receive a webhook of each tool, and fetch its record."""
    for tool, (call, query, settings) in FETCHED.items():
        await setup.connect(tool, base, **settings)
        await setup.receive(call, query)
    await setup.work()


def test_every_tool_that_is_fetched_from__is_here() -> None:
    assert FETCHED.keys() == {tool for tool in ADAPTERS.tools("crm") if ADAPTERS.fetcher("crm", tool)}


@pytest.mark.slow_on_postgresql
@pytest.mark.parametrize("kind", UNREADABLE)
async def test_unreadable_answer__is_said_at_the_connection_and_tried_again_later(store: Store, kind: str) -> None:
    answer, error = UNREADABLE[kind]
    async with setup_with_api(store, lambda request: answer) as (setup, api):
        await receive_all(setup, api.base)

        assert len(api.requests) == len(FETCHED)
        states = [await setup.fetching(tool) for tool in FETCHED]
        assert [state.tool for state in states if error not in str(state.error) or state.wanted != 1] == []
        assert {(state.stopped, state.failures) for state in states} == {(True, 0) if kind == "redirect" else (False, 1)}
        assert await records(setup) == ([], [])


async def test_dripping_answer__ends_with_the_time_of_a_request(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "SECONDS", 0.05)
    async with setup_with_api(store, lambda request: (200, {})) as (setup, api):
        api.drips = True
        await receive_all(setup, api.base)

        assert {"cannot be reached: TimeoutError" in str((await setup.fetching(tool)).error) for tool in FETCHED} == {True}


@pytest.mark.parametrize("answer", NO_RECORDS, ids=["wrong types", "of others", "list", "null", "empty"])
async def test_answer_without_the_record__breaks_nothing_and_makes_nobody(
    store: Store, answer: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with setup_with_api(store, lambda request: (200, answer)) as (setup, api):
        await receive_all(setup, api.base)

        assert len(api.requests) == len(FETCHED)
        assert await records(setup) == ([], [])
        assert "broke" not in caplog.text
        assert "no page of changes" in str((await setup.fetching("airtable")).error)
        assert {delivery.state for delivery in await store.read(list_deliveries(100, setup.client))} <= {
            "parked",
            "ignored",
            "unrecognised",
        }


@pytest.mark.parametrize("moves", [True, False])
async def test_list_of_changes_without_end__is_read_on_later_and_says_so(
    store: Store, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "MOST_FOLLOWED", 20)

    def answer(request: ReceivedRequest) -> FakeResponse:
        cursor = int(request.path.partition("cursor=")[2])
        return 200, {"payloads": [], "cursor": cursor + moves, "mightHaveMore": True}

    async with setup_with_api(store, answer) as (setup, api):
        await setup.connect("airtable", api.base)
        await setup.receive(PING)
        await setup.work()

        assert await setup.work() == 0
        assert len(api.requests) == (20 if moves else 2)
        state = await setup.fetching("airtable")
        assert str(state.error).startswith("airtable sent 20 pages of changes" if moves else "airtable sent the same page of changes")
        setup.clock.move(600)
        await setup.work()
        assert len(api.requests) > 20 if moves else 2


async def test_client_that_may_store_no_more__is_asked_for_no_records(store: Store) -> None:
    async with setup_with_api(store, lambda request: (200, {})) as (setup, api):
        await store.write(set_client_settings("acme", ClientSettings(max_stored_bytes=1_000_000)))
        await store.write(store_count(setup.client, 1_200_000, NOON, 0))
        await receive_all(setup, api.base)

        assert api.requests == []
        state = await setup.fetching("hubspot")
        assert (state.wanted, state.not_found, state.stopped) == (1, 0, False)
        assert "more bytes than its limit" in str(state.error)
