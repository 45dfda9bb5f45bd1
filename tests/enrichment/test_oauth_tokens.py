"""Access tokens that a tool gives for a refresh token: got, used again, got anew when refused, and never seen."""

from __future__ import annotations

import gzip
import json
import logging
from urllib.parse import parse_qs

import pytest
from tests.enrichment.fake_tool_api import FakeResponse, FetchSetup, ReceivedRequest, setup_with_api

from touchbase.connections.models import Connection
from touchbase.connections.oauth import grant_of
from touchbase.enrichment.oauth_tokens import TOKEN_BYTES
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

CLIENT, SECRET, REFRESH = "1000.CLIENT", "a-clients-secret", "1000.a-refresh.token"
GRANT = f"refresh:{CLIENT}:{SECRET}:{REFRESH}"
TOKEN_PATH = "/oauth/v2/token"


def inserted(number: int) -> dict[str, object]:
    return {"module": "Contacts", "operation": "insert", "ids": [str(number)], "channel_id": "1", "server_time": 1_790_000_000_000 + number}


class Zoho:
    """Zoho, which knows everybody: its tokens are `token-1`, `token-2`; `good` is the one that it takes at the moment."""

    def __init__(self, *gives: FakeResponse) -> None:
        self.good = ""
        self.issued = 0
        self._gives = list(gives)

    def __call__(self, request: ReceivedRequest) -> FakeResponse:
        if request.path == TOKEN_PATH:
            return self._gives.pop(0) if self._gives else self._token()
        if request.headers["authorization"] != f"Zoho-oauthtoken {self.good}":
            return 401, {"code": "INVALID_TOKEN", "details": {}, "message": "invalid oauth token", "status": "error"}
        number = request.path.partition("ids=")[2].partition("&")[0]
        # Nothing keeps a tool from repeating what it was shown.
        return 200, {"data": [{"id": number, "Email": f"person-{number}@example.com", "Description": self.good}]}

    def _token(self) -> FakeResponse:
        self.issued += 1
        self.good = f"token-{self.issued}"
        return 200, {"access_token": self.good, "api_domain": "https://www.zohoapis.com", "token_type": "Bearer", "expires_in": 3600}


async def emails(setup: FetchSetup) -> set[str | None]:
    return {record.email for record in await setup.store.read(list_records(Listing(CONTACT_TYPE, setup.client, 200)))}


def paths(requests: list[ReceivedRequest]) -> list[str]:
    return [request.path.partition("?")[0] for request in requests]


async def test_oauth_token__is_reused_until_it_is_refused(store: Store) -> None:
    zoho = Zoho()
    async with setup_with_api(store, zoho) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        for number in (1, 2):
            await setup.receive(inserted(number))
            await setup.work()
        zoho.good = "of somebody else, as an hour has gone by"
        await setup.receive(inserted(3))
        await setup.work()

        assert await emails(setup) == {f"person-{number}@example.com" for number in (1, 2, 3)}
        record = "/crm/v7/Contacts"
        assert paths(server.requests) == [TOKEN_PATH, record, record, record, TOKEN_PATH, record]
        assert setup.outcomes == [("records", 1)] * 3


async def test_refresh_token__is_sent_only_in_the_body_of_the_token_request(store: Store) -> None:
    async with setup_with_api(store, Zoho()) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        await setup.work()

        request, *remaining_requests = server.requests
        assert (request.method, request.headers["content-type"]) == ("POST", "application/x-www-form-urlencoded")
        assert parse_qs(request.body.decode()) == {
            "grant_type": ["refresh_token"], "client_id": [CLIENT], "client_secret": [SECRET], "refresh_token": [REFRESH],
        }  # fmt: skip
        for text in (SECRET, REFRESH):
            assert not any(text in f"{first.path} {first.headers} {first.body!r}" for first in remaining_requests)


async def test_suitecrm__gives_tokens_to_an_oauth_client(store: Store) -> None:
    person = {"data": {"id": "b5-1", "attributes": {"email1": "ann@example.com"}}}
    async with setup_with_api(store, lambda request: (200, {"access_token": "t-1"} if request.method == "POST" else person)) as (
        setup,
        server,
    ):
        await setup.connect("suitecrm", server.base, f"refresh:{CLIENT}:{SECRET}:client_credentials")
        await setup.receive({"suitecrm": "Contacts", "event": "created", "id": "b5-1"})
        await setup.work()

        token_request, record = server.requests
        assert token_request.path == "/Api/access_token"
        assert parse_qs(token_request.body.decode()) == {
            "grant_type": ["client_credentials"],
            "client_id": [CLIENT],
            "client_secret": [SECRET],
        }
        assert (record.path, record.headers["authorization"]) == ("/Api/V8/module/Contacts/b5-1", "Bearer t-1")
        assert await emails(setup) == {"ann@example.com"}


@pytest.mark.parametrize(
    ("answer", "stopped"),
    [
        ((200, {"error": "invalid_code"}), True),
        ((200, {"error": "invalid_client"}), True),
        ((401, {"error": "invalid_client_secret"}), True),
        ((400, {"error": "Access Denied", "error_description": "You have made too many requests continuously."}), False),
        ((200, {"error": "general_error"}), False),
        ((200, {"access_token": "of two\nlines"}), False),
        ((200, b"<html>"), False),
        ((503, {}), False),
    ],
)
async def test_oauth_token__when_refused_leaves_the_record_queued_without_a_request(
    store: Store, answer: FakeResponse, stopped: bool
) -> None:
    async with setup_with_api(store, Zoho(answer)) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        await setup.work()
        reported = await setup.fetching("zoho")
        setup.clock.move(900)
        await setup.work()

        assert (reported.stopped, reported.wanted, reported.not_found) == (stopped, 1, 0)
        assert reported.error
        assert paths(server.requests)[:1] == [TOKEN_PATH]
        assert await emails(setup) == (set() if stopped else {"person-1@example.com"})


@pytest.mark.parametrize("is_compressed", [False, True])
async def test_oauth_token__is_read_from_no_long_response(store: Store, is_compressed: bool) -> None:
    body = json.dumps({"access_token": "token-0", "more": "a" * TOKEN_BYTES}).encode()
    answer = (200, gzip.compress(body), {"content-encoding": "gzip"}) if is_compressed else (200, body)
    zoho = Zoho(answer)
    async with setup_with_api(store, zoho) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        await setup.work()

        assert "answered more than 65,536 bytes" in ((await setup.fetching("zoho")).error or "")
        setup.clock.move(60)
        await setup.work()
        assert await emails(setup) == {"person-1@example.com"}


async def test_oauth_token__stops_fetching_if_a_new_token_is_refused(store: Store) -> None:
    def refused(request: ReceivedRequest) -> FakeResponse:
        return (200, {"access_token": "t"}) if request.path == TOKEN_PATH else (401, {})

    async with setup_with_api(store, refused) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        await setup.work()

        assert paths(server.requests) == [TOKEN_PATH, "/crm/v7/Contacts"]
        assert (await setup.fetching("zoho")).stopped


async def test_oauth_token__appears_in_no_log_error_or_delivery(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    zoho = Zoho((500, {"seen": REFRESH}), (200, {"error": f"invalid {SECRET}"}))
    async with setup_with_api(store, zoho) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        reported = []
        with caplog.at_level(logging.DEBUG):
            for _ in range(3):
                await setup.work()
                reported.append((await setup.fetching("zoho")).error or "")
                setup.clock.move(900)
        deliveries = [await store.read(get_delivery(delivery.id)) for delivery in await store.read(list_deliveries(100))]

        assert await emails(setup) == {"person-1@example.com"}
        assert reported[0]
        assert reported[1]
        observed = f"{caplog.text} {reported} {Connection(1, 'crm', 'zoho', 0, 0, access_token=GRANT)!r} {grant_of(GRANT)!r}"
        bodies = b" ".join(delivery.body for delivery in deliveries if delivery is not None and delivery.body is not None)
        for text in (CLIENT, SECRET, REFRESH, "token-1"):
            assert text not in observed
            assert text.encode() not in bodies


async def test_refresh_token__for_a_tool_without_oauth_stops_fetching(store: Store) -> None:
    async with setup_with_api(store, Zoho()) as (setup, server):
        await setup.connect("hubspot", server.base, GRANT)
        await setup.receive([{"eventId": 7, "portalId": 1, "occurredAt": 1, "subscriptionType": "contact.creation", "objectId": 1}])
        await setup.work()

        assert (server.requests, (await setup.fetching("hubspot")).stopped) == ([], True)


async def test_refresh_token__when_replaced_is_used_for_the_next_token(store: Store) -> None:
    from touchbase.connections.models import ConnectionSettings
    from touchbase.connections.sql.connections import change_connection

    async with setup_with_api(store, Zoho()) as (setup, server):
        await setup.connect("zoho", server.base, GRANT)
        await setup.receive(inserted(1))
        await setup.work()
        other_grant = GRANT.replace(REFRESH, "1000.another")
        await store.write(
            change_connection(setup.client, "crm", "zoho", None, ConnectionSettings(api_base=server.base), setup.clock(), other_grant)
        )
        await setup.receive(inserted(2))
        await setup.work()

        bodies = [parse_qs(request.body.decode())["refresh_token"] for request in server.requests if request.path == TOKEN_PATH]
        assert bodies == [[REFRESH], ["1000.another"]]


@pytest.mark.parametrize("text", ["", "token", "refresh:", "refresh:a:b", "refresh:a:b:", "refresh::b:c", "refresh:a:b:c:d"])
def test_grant_of__returns_none_for_malformed_text(text: str) -> None:
    assert grant_of(text) is None
