"""Fetching as it goes wrong and right: limits, refusals, crashes, two workers, and what is asked for at all."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest
from tests.conftest import ExecuteSql
from tests.enrichment.fake_tool_api import NOON, TOKEN, FakeResponse, FetchSetup, ReceivedRequest, Respond, open_setup, setup_with_api

from touchbase.adapters.kit.fetch import ApiFetcher
from touchbase.clients.models import ACTIVE, DELETION_DELAY, SUSPENDED, Client, ClientSettings
from touchbase.clients.sql.clients import begin_deletion, ensure_client, find_client_by_number, set_client_state
from touchbase.common.timestamps import SECOND, to_text
from touchbase.connections.models import Connection, ConnectionSettings
from touchbase.connections.sql.connections import add_connection, change_connection, list_connections
from touchbase.connections.sql.fetching import due_fetches, finish_fetch
from touchbase.connections.tools import ApiRequest, ApiResponse
from touchbase.consistency.service import Verified, verify
from touchbase.enrichment import worker as enrichment_worker
from touchbase.enrichment.http_client import HttpClient
from touchbase.enrichment.worker import FetchWorker
from touchbase.errors import Overloaded
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.inbox.receive import receive_webhook
from touchbase.inbox.redaction import INLINE_BYTES, redact_secrets
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.maintenance import Maintenance
from touchbase.records.models import Contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sandbox.pool import Sandbox
from touchbase.sandbox.task import TaskStopped
from touchbase.sql.store import Store

HUBSPOT = "hubspot"


def creation(number: int) -> dict[str, object]:
    return {"eventId": number, "portalId": 1, "occurredAt": NOON // 1000, "subscriptionType": "contact.creation", "objectId": number}


def email_change(number: int, email: str) -> dict[str, object]:
    changed = {"subscriptionType": "contact.propertyChange", "propertyName": "email", "propertyValue": email}
    return {**creation(number), "eventId": number + 1000, **changed}


def hubspot(request: ReceivedRequest) -> FakeResponse:
    """HubSpot that knows everybody, as person-N@example.com."""
    ids = [item["id"] for item in request.json()["inputs"]]
    return 200, {
        "results": [
            {"id": first, "properties": {"email": f"person-{first}@example.com", "lastmodifieddate": to_text(NOON)}} for first in ids
        ]
    }


def attio_event(event: str, record: str = "r-1") -> dict[str, object]:
    return {"webhook_id": "h", "events": [{"event_type": event, "id": {"workspace_id": "w", "object_id": "o", "record_id": record}}]}


def attio(**values: str) -> Callable[[ReceivedRequest], FakeResponse]:
    """Attio, where one person has these values."""

    def respond(request: ReceivedRequest) -> FakeResponse:
        reported = {"email_addresses": [{"email_address": "ann@example.com"}]} | {
            name: [{"value": value}] for name, value in values.items()
        }
        return 200, {"data": {"id": {"record_id": request.path.rpartition("/")[2]}, "values": reported}}

    return respond


async def contacts(setup: FetchSetup) -> list[Contact]:
    return await setup.store.read(list_records(Listing(CONTACT_TYPE, setup.client, 200)))


async def emails(setup: FetchSetup) -> set[str | None]:
    return {contact.email for contact in await contacts(setup)}


def in_turn(*answers: FakeResponse, then: Callable[[ReceivedRequest], FakeResponse]) -> Callable[[ReceivedRequest], FakeResponse]:
    """Says these, one after the other, and after them what `then` says."""
    left = list(answers)
    return lambda request: left.pop(0) if left else then(request)


async def test_fetch__waits_for_an_access_token(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base, token="")
        await setup.receive([creation(1)])
        before = await setup.work()

        await store.write(change_connection(setup.client, "crm", HUBSPOT, None, ConnectionSettings(api_base=server.base), NOON, TOKEN))
        await setup.work()

        assert before == 0
        assert await emails(setup) == {"person-1@example.com"}


def verbose_hubspot(request: ReceivedRequest) -> FakeResponse:
    """HubSpot with long records."""
    status, body = hubspot(request)[:2]
    assert isinstance(body, dict)
    for record in body["results"]:
        record["properties"]["hs_notes"] = "n" * INLINE_BYTES
    return status, body


def compressed_hubspot(request: ReceivedRequest) -> FakeResponse:
    """HubSpot that compresses its responses, though nobody asks for it."""
    return 200, gzip.compress(json.dumps(hubspot(request)[1]).encode()), {"content-encoding": "gzip"}


@pytest.mark.parametrize("respond", [verbose_hubspot, compressed_hubspot])
async def test_long_response__is_not_read_in_the_server(store: Store, respond: Respond, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, response: object, ids: object) -> Mapping[str, bytes]:
        raise AssertionError("read in the server")

    monkeypatch.setattr(ApiFetcher, "records", refuse)
    async with setup_with_api(store, respond) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()

        assert setup.outcomes == [("records", 1)]
        assert await emails(setup) == {"person-1@example.com"}


async def test_response__that_takes_too_much_is_a_failed_request(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stopped(*args: object) -> None:
        raise TaskStopped("reading it took more memory than the limit", for_good=True)

    async with setup_with_api(store, verbose_hubspot) as (setup, server):
        monkeypatch.setattr(setup.sandbox, "call", stopped)
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()
        state = await setup.fetching(HUBSPOT)

        assert setup.outcomes == [("failed", 0)]
        assert state.error == "the response cannot be used: reading it took more memory than the limit"
        assert state.wanted == 1


async def test_long_response__that_is_no_json_says_so(store: Store) -> None:
    async with setup_with_api(store, lambda request: (200, b"<p>" * INLINE_BYTES)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()

        assert "not JSON" in ((await setup.fetching(HUBSPOT)).error or "")


async def test_fetch__waits_for_the_retry_after_of_a_429(store: Store) -> None:
    async with setup_with_api(store, in_turn((429, {}, {"retry-after": "30"}), then=hubspot)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()
        reported = await setup.fetching(HUBSPOT)

        setup.clock.move(20)
        early = await setup.work()
        setup.clock.move(10)
        await setup.work()

        assert "429" in (reported.error or "")
        assert (early, len(server.requests), reported.stopped, reported.wanted) == (0, 2, False, 1)
        assert await emails(setup) == {"person-1@example.com"}
        assert setup.outcomes == [("limited", 0), ("records", 1)]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 15),
        ({"retry-after": formatdate(NOON / SECOND + 63, usegmt=True)}, 60),
        ({"retry-after": "x"}, 15),
        ({"retry-after": f"Fri, 20 Nov {9 * 10**15} 09:30:00 GMT"}, 15),
        ({"retry-after": "9" * 9}, 3600),
    ],
)
async def test_retry_after__may_be_a_date_or_missing_and_is_at_most_an_hour(store: Store, headers: dict[str, str], seconds: int) -> None:
    async with setup_with_api(store, lambda request: (429, {}, headers)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])

        await setup.work()

        assert (await setup.fetching(HUBSPOT)).next_us == setup.clock() + seconds * SECOND


@pytest.mark.parametrize("status", [401, 403, 302, 404, 405])
async def test_fetch__stops_after_a_refusal_until_the_connection_is_changed(store: Store, status: int) -> None:
    async with setup_with_api(store, in_turn((status, {"message": TOKEN}, {"location": "/elsewhere"}), then=hubspot)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()
        setup.clock.move(24 * 3600)
        later = await setup.work()
        reported = await setup.fetching(HUBSPOT)

        await store.write(change_connection(setup.client, "crm", HUBSPOT, None, ConnectionSettings(api_base=server.base), NOON, "another"))
        await setup.work()

        assert (later, reported.stopped, reported.wanted) == (0, True, 1)
        assert f"hubspot answered {status}" in (reported.error or "")
        assert TOKEN not in (reported.error or "")
        assert await emails(setup) == {"person-1@example.com"}
        assert server.requests[-1].headers["authorization"] == "Bearer another"


async def test_fetch__treats_an_html_404_as_a_refusal_not_as_a_missing_record(store: Store) -> None:
    async with setup_with_api(store, lambda request: (404, b"<html>nginx</html>")) as (setup, server):
        await setup.connect("attio", server.base)
        await setup.receive(attio_event("record.created"), "object=people")

        await setup.work()

        reported = await setup.fetching("attio")
        assert (reported.stopped, reported.not_found, reported.wanted) == (True, 0, 1)


async def test_fetch__backs_off_after_failures_and_loses_nothing(store: Store) -> None:
    failures = [(500, {}), (503, b"down"), (502, {})]
    async with setup_with_api(store, in_turn(*failures, then=hubspot)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1), creation(2)])
        waits = []
        for _ in failures:
            await setup.work()
            result = await setup.fetching(HUBSPOT)
            waits.append((result.next_us - setup.clock()) // SECOND)
            setup.clock.now = result.next_us

        await setup.work()

        assert waits == [5, 10, 20]
        assert await emails(setup) == {"person-1@example.com", "person-2@example.com"}
        assert (await setup.fetching(HUBSPOT)).failures == 0


async def test_fetch__treats_a_non_json_response_as_a_failure(store: Store) -> None:
    async with setup_with_api(store, lambda request: (200, b"<html>")) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])

        await setup.work()

        reported = await setup.fetching(HUBSPOT)
        assert (reported.wanted, reported.failures) == (1, 1)
        assert "not JSON" in (reported.error or "")


async def test_fetch__honours_mondays_rate_limit_in_a_200_response(store: Store) -> None:
    error = {"errors": [{"message": "Complexity budget exhausted", "extensions": {"retry_in_seconds": 40}}]}
    async with setup_with_api(store, lambda request: (200, error)) as (setup, server):
        await setup.connect("monday", server.base)
        await setup.receive({"event": {"boardId": 5, "type": "create_pulse", "triggerUuid": "u", "pulseId": 91}})

        await setup.work()

        reported = await setup.fetching("monday")
        assert (reported.next_us - setup.clock(), reported.wanted, reported.stopped) == (40 * SECOND, 1, False)


async def test_fetch__isolates_one_bad_id_of_a_batch(store: Store) -> None:
    def respond(request: ReceivedRequest) -> FakeResponse:
        bad = any(item["id"] == "2" for item in request.json()["inputs"])
        return (400, {"message": "one of them is bad"}) if bad else hubspot(request)

    async with setup_with_api(store, respond) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(number) for number in (1, 2, 3)])
        for _ in range(40):
            await setup.work()
            setup.clock.move(60)

        reported = await setup.fetching(HUBSPOT)
        assert await emails(setup) == {"person-1@example.com", "person-3@example.com"}
        assert (reported.wanted, reported.not_found, reported.stopped) == (0, 1, False)
        assert len(server.requests) < 20


async def test_fetch__batches_by_kind_with_a_pause_between_requests(store: Store) -> None:
    began: list[int] = []

    async with setup_with_api(store, hubspot) as (setup, server):

        def respond(request: ReceivedRequest) -> FakeResponse:
            began.append(setup.clock())
            return hubspot(request)

        server.respond = respond
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(number) for number in range(1, 61)])
        await setup.receive([{**creation(number), "subscriptionType": "company.creation"} for number in range(70, 72)])

        assert await setup.work() == 3
        assert sorted((request.path, len(request.json()["inputs"])) for request in server.requests) == [
            ("/crm/v3/objects/companies/batch/read", 2),
            ("/crm/v3/objects/contacts/batch/read", 10),
            ("/crm/v3/objects/contacts/batch/read", 50),
        ]
        assert all(later - earlier >= 0.5 * SECOND for earlier, later in pairwise(began))
        assert len(await contacts(setup)) == 60


async def test_fetch__skips_an_object_identified_by_the_next_webhook(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.receive([email_change(1, "ann@example.com")])

        assert await setup.work() == 0
        assert await emails(setup) == {"ann@example.com"}


async def test_fetch__is_not_started_by_a_deletion(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([{**creation(1), "subscriptionType": "contact.deletion"}])

        assert await setup.work() == 0


async def test_fetch__requests_parked_objects_before_changes_of_known_records(store: Store) -> None:
    async with setup_with_api(store, attio(job_title="CTO")) as (setup, server):
        await setup.connect("attio", server.base)
        await setup.receive(attio_event("record.created"), "object=people")
        await setup.work()
        server.respond = attio(job_title="CEO")
        await setup.receive(attio_event("record.updated"), "object=people")
        await setup.receive(attio_event("record.created", "r-2"), "object=people")

        await setup.work()

        assert [request.path[-3:] for request in server.requests] == ["r-1", "r-2", "r-1"]
        (contact,) = await contacts(setup)
        assert [(custom_field.name, custom_field.value) for custom_field in contact.custom_fields] == [("job_title", "CEO")]


async def test_fetch__repeats_for_a_change_received_during_the_request(store: Store) -> None:
    async with setup_with_api(store, attio(job_title="CTO")) as (setup, server):
        await setup.connect("attio", server.base)
        await setup.receive(attio_event("record.created"), "object=people")
        ask = setup.fetch._send

        async def meanwhile(base: str, call: ApiRequest) -> ApiResponse:
            answer = await ask(base, call)
            if len(server.requests) == 1:
                server.respond = attio(job_title="CEO")
                await setup.receive(attio_event("record.updated"), "object=people")
            return answer

        setup.fetch._send = meanwhile
        await setup.work()
        await setup.work()

        assert len(server.requests) == 2
        (contact,) = await contacts(setup)
        assert [(custom_field.name, custom_field.value) for custom_field in contact.custom_fields] == [("job_title", "CEO")]


async def test_fetched_record__with_earlier_values_again_is_applied(store: Store) -> None:
    async with setup_with_api(store, attio(job_title="CTO")) as (setup, server):
        await setup.connect("attio", server.base)
        for title in ("CTO", "CEO", "CTO"):
            server.respond = attio(job_title=title)
            await setup.receive(attio_event("record.updated"), "object=people")
            await setup.work()

        (contact,) = await contacts(setup)
        assert [(custom_field.name, custom_field.value) for custom_field in contact.custom_fields] == [("job_title", "CTO")]


class Crash(BaseException):
    """The process dies."""


class Mortal:
    """A store whose process dies before (or after) it writes a command of this kind, and does nothing from then on."""

    def __init__(self, store: Store, kind: type, *, after: bool) -> None:
        self._store, self._kind, self._after = store, kind, after
        self._dead = False

    async def write(self, command: Any) -> Any:
        if self._dead:
            raise Crash
        if not isinstance(command, self._kind):
            return await self._store.write(command)
        self._dead = True
        if self._after:
            await self._store.write(command)
        raise Crash

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.parametrize(("kind", "after"), [(store_delivery, False), (store_delivery, True), (finish_fetch, False)])
async def test_fetch__survives_a_crash_at_any_step_without_loss_or_repetition(store: Store, kind: type, after: bool) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        dying = FetchWorker(Mortal(store, kind, after=after), setup.fetch._tools, setup.fetch._send, setup.clock)  # type: ignore[arg-type]
        with pytest.raises(Crash):
            await dying.fetch_batch(setup.client, HUBSPOT)

        soon = await setup.work()
        setup.clock.move(121)
        await setup.work()

        assert soon == 0
        (contact,) = await contacts(setup)
        assert contact.email == "person-1@example.com"
        history = await store.read(get_history(setup.client, CONTACT, contact.id))
        assert sorted(event.event for event in history) == ["contact.created", "contact.updated"]
        assert [difference async for difference in verify(store, setup.client, Verified())] == []


async def test_fetch_claim__admits_one_worker_per_client(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        other_fetch_worker = FetchWorker(store, setup.fetch._tools, setup.fetch._send, setup.clock)

        outcomes = await asyncio.gather(
            setup.fetch.fetch_batch(setup.client, HUBSPOT), other_fetch_worker.fetch_batch(setup.client, HUBSPOT)
        )

        assert sorted(str(outcome) for outcome in outcomes) == ["None", "records"]
        assert len(server.requests) == 1


async def test_fetch__retries_after_an_overloaded_store(store: Store) -> None:
    class Full(Mortal):
        async def write(self, command: Any) -> Any:
            if isinstance(command, store_delivery):
                raise Overloaded("the queue is full")
            return await self._store.write(command)

    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        worker = FetchWorker(Full(store, store_delivery, after=False), setup.fetch._tools, setup.fetch._send, setup.clock)  # type: ignore[arg-type]
        with pytest.raises(Overloaded):
            await worker.fetch_batch(setup.client, HUBSPOT)

        await setup.work()

        assert await emails(setup) == {"person-1@example.com"}


@pytest.mark.parametrize("goes", ["deleting", "gone"])
async def test_fetch__stores_nothing_for_a_client_deleted_during_the_request(store: Store, execute_sql: ExecuteSql, goes: str) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)

        async def ask(base: str, call: ApiRequest) -> ApiResponse:
            answer = await setup.fetch._send(base, call)
            await store.write(begin_deletion(setup.client, NOON))
            if goes == "gone":
                clock = setup.clock.now + DELETION_DELAY
                await Maintenance(store, lambda: clock).round()
            return answer

        calls = await FetchWorker(store, setup.fetch._tools, ask, setup.clock).drain()

        left = await store.read(find_client_by_number(setup.client))
        assert calls == len(server.requests) == 1
        assert (left is None) == (goes == "gone")
        assert await execute_sql("SELECT count(*) FROM delivery_body") == [(0 if goes == "gone" else 1,)]


async def test_fetch__pauses_while_the_client_is_suspended(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await store.write(set_client_state(setup.client, SUSPENDED, NOON))
        suspended = await setup.work()

        await store.write(set_client_state(setup.client, ACTIVE, NOON))
        resumed = await setup.work()

        assert (suspended, resumed, len(server.requests)) == (0, 1, 1)


class Sealed(Mortal):
    """A store that cannot open the connections of one client; counts who looks, and who tries."""

    looked = tried = 0
    enough = 5

    def __init__(self, store: Store, client: int) -> None:
        super().__init__(store, type(None), after=False)
        self._client = client
        self.looked_once = asyncio.Event()

    async def read(self, query: Any) -> Any:
        if isinstance(query, due_fetches):
            self.looked += 1
            if self.looked == self.enough:
                self.looked_once.set()
        if isinstance(query, list_connections) and query.client == self._client:
            self.tried += 1
            raise Overloaded("a secret that this needs cannot be opened now")
        return await self._store.read(query)


async def test_fetch__backs_off_for_a_connection_with_undecryptable_secrets(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FetchWorker, "poll_seconds", 0)
    monkeypatch.setattr(enrichment_worker, "BUSY_POLL_SECONDS", 0)
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        sealed = Sealed(store, setup.client)
        worker = FetchWorker(sealed, setup.fetch._tools, setup.fetch._send, setup.clock)  # type: ignore[arg-type]
        running = asyncio.create_task(worker.run())

        await sealed.looked_once.wait()
        early = sealed.tried
        setup.clock.move(enrichment_worker.BACKOFF_SECONDS)
        sealed.enough, _ = sealed.looked + 5, sealed.looked_once.clear()
        await sealed.looked_once.wait()
        worker.stop()
        await running

        assert (early, sealed.tried) == (1, 2)


async def test_fetch__continues_for_other_clients_if_one_connection_is_undecryptable(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        number = (await store.write(ensure_client("other", NOON))).number
        await store.write(
            add_connection(Connection(number, "crm", HUBSPOT, NOON, NOON, [], ConnectionSettings(api_base=server.base), TOKEN))
        )
        await store.write(store_delivery(number, "crm", b"k", b"{}", "", json.dumps([creation(2)]).encode(), NOON))
        await setup.inbox.drain()
        setup.clock.move(3)
        worker = FetchWorker(Sealed(store, setup.client), setup.fetch._tools, setup.fetch._send, setup.clock)  # type: ignore[arg-type]

        calls = await worker.drain()

        assert (calls, len(server.requests)) == (1, 1)


async def test_replay__of_fetched_records_changes_nothing_and_sends_no_request(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()
        before = await contacts(setup)
        ids = [delivery.id for delivery in await store.read(list_deliveries(10, setup.client))]

        await store.write(replay_deliveries(setup.client, ids, setup.clock()))
        await setup.inbox.drain()
        calls = await setup.work()

        assert (calls, await contacts(setup)) == (0, before)


async def test_replay__of_a_parked_delivery_fetches_again(store: Store) -> None:
    async with setup_with_api(store, lambda request: (200, {"results": []})) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        parked = await setup.receive([creation(1)])
        await setup.work()
        server.respond = hubspot

        await store.write(replay_deliveries(setup.client, [parked], setup.clock()))
        await setup.inbox.drain()
        await setup.work()

        assert await emails(setup) == {"person-1@example.com"}


async def test_fetched_header__is_removed_from_received_webhooks(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, _):
        client = Client(setup.client, "acme", NOON, ClientSettings())
        body = json.dumps({"id": "1", "properties": {"email": "evil@example.com"}}).encode()
        headers = [(b"X-Touchbase-Fetched", b"contact"), (b"content-type", b"application/json")]

        webhook = await receive_webhook(store, client, "crm", headers, query="", body=body, at=NOON, sandbox=Sandbox("test"))

        delivery = await store.read(get_delivery(webhook.id))
        assert delivery is not None
        assert "x-touchbase-fetched" not in delivery.headers


@pytest.mark.parametrize("length", [1, INLINE_BYTES])
async def test_fetched_record__has_no_access_token(store: Store, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def redact_short_ones(secrets: Sequence[str], body: bytes) -> bytes:
        assert len(body) < INLINE_BYTES, "redacted in the server"
        return redact_secrets(secrets, body)

    def respond(request: ReceivedRequest) -> FakeResponse:
        properties = {"email": "person-1@example.com", "seen": TOKEN, "more": "a" * length}
        return 200, {"results": [{"id": "1", "properties": properties}]}

    monkeypatch.setattr(enrichment_worker, "redact_secrets", redact_short_ones)
    async with setup_with_api(store, respond) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        await setup.work()

        ids = [delivery.id for delivery in await store.read(list_deliveries(10, setup.client))]
        bodies = [stored.body for stored in [await store.read(get_delivery(number)) for number in ids] if stored is not None]
        assert any(b"person-1@example.com" in body for body in bodies)
        assert not any(TOKEN.encode() in body for body in bodies)


async def test_copper__without_api_user_stops_fetching(store: Store) -> None:
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect("copper", server.base)
        await setup.receive({"ids": [23], "type": "lead", "event": "new", "subscription_id": 31})

        await setup.work()

        reported = await setup.fetching("copper")
        assert (server.requests, reported.stopped) == ([], True)
        assert "api_user" in (reported.error or "")


async def test_fetch__stops_at_a_non_public_address(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async with setup_with_api(store, hubspot) as (_, server), asyncio.timeout(30):
        careful = HttpClient("test")
        setup = await open_setup(store, careful, "other")
        await setup.connect(HUBSPOT, f"https://localhost:{server.port}")
        await setup.receive([creation(1)])

        with caplog.at_level(logging.DEBUG):
            await setup.work()
        await careful.close()

        reported = await setup.fetching(HUBSPOT)
        assert (server.requests, reported.stopped, reported.wanted) == ([], True, 1)
        assert "is not a public address" in (reported.error or "")
        assert TOKEN not in caplog.text


async def test_access_token__appears_in_no_log(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    async with setup_with_api(store, in_turn((500, {}), (401, {"message": TOKEN}), then=hubspot)) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        with caplog.at_level(logging.DEBUG):
            for _ in range(3):
                await setup.work()
                setup.clock.move(60)

        assert len(server.requests) == 2
        assert TOKEN not in caplog.text
        assert TOKEN not in repr(Connection(1, "crm", HUBSPOT, 0, 0, access_token=TOKEN))


async def test_fetch_worker__polls_for_queued_objects_until_stopped(store: Store) -> None:
    came = asyncio.Event()
    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        worker = FetchWorker(store, setup.fetch._tools, setup.fetch._send, setup.clock, on_stored=lambda client: came.set())
        running = asyncio.create_task(worker.run())
        await came.wait()
        worker.stop()
        await running
        await setup.inbox.drain()

        assert await emails(setup) == {"person-1@example.com"}


async def test_fetch_worker__cancels_a_slow_request_on_stop(store: Store) -> None:
    request = asyncio.Event()

    async def never(base: str, call: ApiRequest) -> ApiResponse:
        request.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with setup_with_api(store, hubspot) as (setup, server):
        await setup.connect(HUBSPOT, server.base)
        await setup.receive([creation(1)])
        setup.clock.move(3)
        worker = FetchWorker(store, setup.fetch._tools, never, setup.clock)
        running = asyncio.create_task(worker.run())
        await request.wait()
        worker.stop()
        await running

        await setup.work()

        assert await emails(setup) == {"person-1@example.com"}


async def test_fetch_worker__goes_on_for_other_clients_beside_tools_that_do_not_respond(
    store: Store, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many tools of one client there are."""
    monkeypatch.setattr(enrichment_worker, "CONCURRENCY", 3)
    monkeypatch.setattr(enrichment_worker, "MOST_OF_CLIENT", 2)
    came = asyncio.Event()
    waiting: list[str] = []
    async with setup_with_api(store, hubspot) as (setup, server):
        number = (await store.write(ensure_client("other", NOON))).number

        async def queue(client: int, tool: str, base: str, kind: str = "contact") -> None:
            connection = Connection(
                client, "crm", tool, NOON, NOON, [], ConnectionSettings(api_base=base, api_user="ann@example.com"), TOKEN
            )
            await store.write(add_connection(connection))
            await execute_sql(
                "INSERT INTO fetch_queue (client, tool, object_type, object_id, rank, thin, requested_us, next_us, attempts) "
                f"VALUES ({client}, '{tool}', '{kind}', '1', 0, 0, {NOON}, {NOON}, 0)"
            )

        async def send(base: str, request: ApiRequest) -> ApiResponse:
            if base == server.base:
                return await setup.fetch._send(base, request)
            waiting.append(base)
            await asyncio.Event().wait()
            raise AssertionError

        await queue(setup.client, "copper", f"{server.base}/copper", "person")
        for tool in ("freshsales", HUBSPOT):
            await queue(setup.client, tool, f"{server.base}/{tool}")
        await queue(number, HUBSPOT, server.base)
        worker = FetchWorker(store, setup.fetch._tools, send, setup.clock, on_stored=lambda client: came.set())
        running = asyncio.create_task(worker.run())
        await came.wait()
        worker.stop()
        await running

    assert len(waiting) == 2
