"""Limits as callers of the API see them: headers, 429 with when to come again, and webhooks that are never told so."""

from __future__ import annotations

import asyncio
import gzip
import hmac
import json
import re
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response, scope_of

from touchbase.adapters.registry import load_adapters
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key, make_key
from touchbase.auth.sql import find_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.rate_limit.rate_limiter import RateLimiter, Rates
from touchbase.sql.store import Store

CONTACTS = "/public/v2/contacts"
HOOK = "/public/crm-webhook/ours"


def limit_headers(reply: Response) -> tuple[str | None, str | None, str | None]:
    return tuple(reply.headers.get(name) for name in ("ratelimit-policy", "ratelimit", "retry-after"))  # type: ignore[return-value]


async def test_response__has_rate_limit_headers(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=3, burst_seconds=2)))

    replies = [
        await call.post(CONTACTS, {"email": "ann@example.com"}),
        await call.get(f"{CONTACTS}/1"),
        await call.get(f"{CONTACTS}/77"),
        await call.post(CONTACTS, {"email": "ann@example.com"}),
        await call.patch(f"{CONTACTS}/1", {"first_name": 7}),
        await call.get(CONTACTS),
    ]

    assert [reply.status for reply in replies] == [201, 200, 404, 409, 422, 200]
    assert [limit_headers(reply) for reply in replies] == [
        ('"requests";q=6;w=2', f'"requests";r={left};t={seconds}', None)
        for left, seconds in ((5, 1), (4, 1), (3, 1), (2, 2), (1, 2), (0, 2))
    ]


async def test_request_rate__refuses_one_more_with_429_and_retry_after(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=3, burst_seconds=2)))
    await call.settings()
    for _ in range(6):
        assert (await call.get(CONTACTS)).status == 200

    refused = await call.get(CONTACTS)
    created = await call.post(CONTACTS, {"first_name": "Jane"})

    assert (refused.status, created.status) == (429, 429)
    assert limit_headers(refused) == ('"requests";q=6;w=2', '"requests";r=0;t=1', "1")
    assert refused.problem == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "too many requests for this client: at most 3 a second, or 6 at once after a pause; try again in 1 s",
        "code": "rate_limited",
    }
    call.clock.move(1)
    assert (await call.get(CONTACTS)).json()["data"] == []


async def test_response__without_limits_has_no_rate_limit_headers(sqlite_call: ApiClient) -> None:
    assert limit_headers(await sqlite_call.post(CONTACTS, {"first_name": "Jane"})) == (None, None, None)


async def test_row_rate__counts_custom_fields_and_stores_nothing_beyond(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(rows=2, burst_seconds=2)))
    fields = [{"field_name": name, "field_value": "1"} for name in ("a", "b")]

    first = await call.post(CONTACTS, {"contact_custom_fields_input": fields})
    refused = await call.post(CONTACTS, {"contact_custom_fields_input": fields})
    small = await call.post("/public/v2/companies", {"domain": "example.com"})
    change = await call.patch(f"{CONTACTS}/1", {"contact_custom_fields_input": fields})

    assert [first.status, refused.status, small.status, change.status] == [201, 429, 201, 429]
    assert limit_headers(refused) == ('"rows";q=4;qu="rows";w=2', '"rows";r=0;t=1', "1")
    assert "too many rows to store" in refused.problem["detail"]
    assert len((await call.get(CONTACTS)).json()["data"]) == 1


async def test_byte_rate__counts_the_bytes_of_bodies(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(bytes=100, burst_seconds=2)))

    replies = [await call.post(CONTACTS, {"first_name": "x" * 150}) for _ in range(2)]

    assert [reply.status for reply in replies] == [201, 429]
    assert limit_headers(replies[1])[0] == '"bytes";q=200;qu="content-bytes";w=2'


async def test_byte_rate__counts_bodies_of_every_kind_of_request_after_decompression(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(bytes=1000, burst_seconds=1)))
    entries = json.dumps({"entries": [{"value": "ann@example.com", "note": "x" * 900}]}).encode()

    first = await call("POST", "/public/v2/suppressions", raw=gzip.compress(entries), content_encoding="gzip")
    refused = await call("POST", "/public/v2/suppressions", raw=gzip.compress(entries), content_encoding="gzip")

    assert (first.status, refused.status) == (201, 429)
    assert limit_headers(refused)[0] == '"bytes";q=1000;qu="content-bytes";w=1'


async def test_byte_rate__counts_uploaded_files(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(bytes=100, burst_seconds=1)))
    uploads = "/public/v2/contacts/imports"
    file = b"email\n" + b"".join(b"person%d@example.com\n" % number for number in range(20))

    with_length = await call("POST", uploads, raw=file, content_length=str(len(file)))
    refused = await call("POST", uploads, raw=file, content_length=str(len(file)))
    call.clock.move(60)
    without = await call.in_pieces("POST", uploads, [file[:200], file[200:]])
    after = await call.post(CONTACTS, {"first_name": "Ann"})

    assert [item.status for item in (with_length, refused, without, after)] == [201, 429, 201, 429]


async def test_client_limits__override_the_rates_for_that_client(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=100, burst_seconds=1)))
    await call.settings("ours", limits={"requests": 1})

    ours = [(await call.get(CONTACTS, x_client_id="ours")).status for _ in range(2)]
    theirs = [(await call.get(CONTACTS, x_client_id="theirs")).status for _ in range(2)]

    assert (ours, theirs) == ([200, 429], [200, 200])


@pytest.mark.parametrize("own", [{"requests": -1}, {"requests": 1.5}, {"rows": "many"}, {"speed": 1}, [], 5])
async def test_client_limits__refuse_invalid_values(sqlite_call: ApiClient, own: Any) -> None:
    reply = await sqlite_call("PUT", "/admin/v1/clients/ours", {"settings": {"limits": own}})

    assert reply.status == 422
    assert reply.problem["errors"][0]["pointer"].startswith("/settings/limits")


@pytest.fixture
async def keys(memory: Store) -> dict[str, str]:
    """Keys: two of the client `ours`, one of no client."""
    number = (await memory.write(ensure_client("ours", 0))).number
    scopes = [READ, WRITE, ADMIN]
    return {name: await add_key(memory, None if name == "free" else number, scopes, name, 0) for name in ("one", "two", "free")}


async def test_key_request_rate__covers_records_and_administration(memory: Store, make_client: MakeClient, keys: dict[str, str]) -> None:
    call = make_client(memory, auth="api-key", limiter=RateLimiter(Rates(key_requests=2, burst_seconds=1)))

    replies = [await call.get(target, x_api_key=keys["one"]) for target in (CONTACTS, "/admin/v1/clients", "/admin/v1/clients", CONTACTS)]
    other_clients = await call.get("/admin/v1/clients", x_api_key=keys["two"])

    assert [reply.status for reply in replies] == [200, 200, 429, 429]
    assert limit_headers(replies[1]) == ('"key-requests";q=2;w=1', '"key-requests";r=0;t=1', None)
    assert limit_headers(replies[2]) == ('"key-requests";q=2;w=1', '"key-requests";r=0;t=1', "1")
    assert replies[2].problem["detail"].startswith("too many requests with this key: at most 2 a second")
    assert other_clients.status == 200


async def test_client_limits__are_not_changed_by_a_key_of_that_client(memory: Store, make_client: MakeClient, keys: dict[str, str]) -> None:
    call = make_client(memory, auth="api-key")

    async def put(key: str, **settings: Any) -> Response:
        return await call("PUT", "/admin/v1/clients/ours", {"settings": settings}, x_api_key=keys[key])

    assert (await put("free", limits={"requests": 5})).status == 200
    refused = await put("one", limits={"requests": 500})
    silent = await put("one", create_unknown=False)
    repeated = await put("one", limits={"requests": 5})
    lifted = await put("free")

    assert (refused.status, refused.problem["code"]) == (403, "forbidden")
    assert "cannot change its own limits" in refused.problem["detail"]
    assert silent.json()["settings"]["limits"] == repeated.json()["settings"]["limits"]
    assert silent.json()["settings"]["limits"]["requests"] == 5
    assert lifted.json()["settings"]["limits"] is None


async def test_key_throttle__stops_lookups_from_an_address_but_passes_cached_keys(
    memory: Store, make_client: MakeClient, keys: dict[str, str]
) -> None:
    requested: list[str] = []

    class Watched:
        """A store that notes which keys it is asked for."""

        def __getattr__(self, name: str) -> Any:
            return getattr(memory, name)

        async def read(self, query: Any) -> Any:
            if isinstance(query, find_key):
                requested.append(query.key_id)
            return await memory.read(query)

    call = make_client(Watched(), auth="api-key", failed_keys=KeyThrottle(3))

    async def get(key: str, address: str) -> Response:
        scope = scope_of("GET", CONTACTS, {"x-api-key": key}) | {"client": (address, 1)}
        return await call.send(scope, [{"type": "http.request"}])

    assert (await get(keys["one"], "192.0.2.1")).status == 200
    guesses = [await get(make_key().text, "192.0.2.1") for _ in range(5)]
    nonsense = await get("nonsense", "192.0.2.1")
    looked_up = len(requested)

    assert [reply.status for reply in guesses] == [401, 401, 401, 429, 429]
    assert nonsense.status == 429
    assert looked_up == 1 + 3
    assert limit_headers(guesses[4]) == ('"failed-keys";q=3;w=60', '"failed-keys";r=0;t=20', "20")
    assert "too many keys from this address have failed" in guesses[4].problem["detail"]
    # A known key passes, also once it has to be looked up again; another address may try.
    call.clock.move(2)
    assert (await get(keys["one"], "192.0.2.1")).status == 200
    assert (await get(keys["two"], "192.0.2.1")).status == 429
    assert (await get(keys["two"], "192.0.2.2")).status == 200
    # The id of a known key alone opens nothing.
    forged = make_key().text.split("_")
    assert (await get("_".join([*forged[:2], keys["one"].split("_")[2], *forged[3:]]), "192.0.2.1")).status == 429
    call.clock.move(20)
    assert (await get(keys["two"], "192.0.2.1")).status == 200


async def test_webhook_rate__refuses_more_with_503_and_never_429(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=1, key_requests=1, rows=1, bytes=1, webhooks=50, burst_seconds=2)))

    replies = [await call("POST", HOOK, raw=b"%d" % number) for number in range(120)]

    assert [reply.status for reply in replies] == [200] * 100 + [503] * 20
    assert {reply.headers["retry-after"] for reply in replies[100:]} == {"1"}
    assert replies[-1].problem["code"] == "overloaded"
    assert limit_headers(replies[0]) == (None, None, None)
    assert len(await memory.read(list_deliveries(200))) == 100
    # What the tool sends again is kept, and another client notices nothing.
    assert (await call("POST", "/public/crm-webhook/theirs", raw=b"1")).status == 200
    call.clock.move(1)
    assert (await call("POST", HOOK, raw=b"119")).status == 200


async def test_webhook_byte_rate__refuses_more_with_503(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(webhook_bytes=1000, burst_seconds=1)))

    replies = [await call("POST", HOOK, raw=b"%d" % number + b"x" * 399) for number in range(4)]
    theirs = await call("POST", "/public/crm-webhook/theirs", raw=b"x" * 900)
    call.clock.move(1)

    assert [reply.status for reply in replies] == [200, 200, 503, 503]
    assert (replies[2].problem["code"], replies[2].headers["retry-after"], theirs.status) == ("overloaded", "1", 200)
    assert len(await memory.read(list_deliveries(200))) == 3
    assert (await call("POST", HOOK, raw=b"x" * 400)).status == 200


async def test_webhook_byte_rate__counts_what_a_body_decompresses_to(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(webhook_bytes=1_000_000, burst_seconds=1)))
    inline, long = (gzip.compress(b"1" * size, mtime=0) for size in (200_000, 700_000))

    replies = [await call("POST", HOOK, raw=body, content_encoding="gzip") for body in (long, inline, long, inline)]

    assert [reply.status for reply in replies] == [200, 200, 503, 503]
    assert replies[2].headers["retry-after"] == "1"
    assert len(await memory.read(list_deliveries(10))) == 2


async def test_webhook_throttle__refuses_an_address_after_guesses_of_client_ids(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, auth="api-key", failed_calls=WebhookThrottle(3))
    for name in ("known", "other"):
        await memory.write(ensure_client(name, 1))

    async def post(client_id: str, address: str = "192.0.2.1") -> int:
        scope = scope_of("POST", f"/public/crm-webhook/{client_id}", {}) | {"client": (address, 1)}
        return (await call.send(scope, [{"type": "http.request", "body": b"{}", "more_body": False}])).status

    before = await post("known")
    guesses = [await post(f"guess{number}") for number in range(5)]

    assert (before, guesses) == (200, [404, 404, 404, 503, 503])
    call.clock.move(2)
    assert await post("known") == 200, "what led to a client before still does"
    assert await post("other") == 503, "a right guess looks like a wrong one"
    assert await post("other", "192.0.2.2") == 200
    call.clock.move(60)
    assert await post("other") == 200


async def test_webhook_throttle__refuses_an_address_after_failed_signatures(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, senders=load_adapters(), failed_calls=WebhookThrottle(3))
    await call.settings("default")
    await call.settings("theirs")
    connections = "/admin/v1/clients/default/connections"
    assert (await call.post(connections, {"channel": "crm", "tool": "attio", "secrets": ["a-secret-of-ours"]})).status == 201

    async def post(secret: str, address: str = "192.0.2.1", client_id: str = "default") -> int:
        signature = hmac.new(secret.encode(), b"{}", "sha256").hexdigest()
        scope = scope_of("POST", f"/public/crm-webhook/{client_id}", {"attio_signature": signature}) | {"client": (address, 1)}
        return (await call.send(scope, [{"type": "http.request", "body": b"{}", "more_body": False}])).status

    proved = await post("a-secret-of-ours", "192.0.2.9")
    guesses = [await post(f"guess {number}") for number in range(5)]

    assert (proved, guesses) == (200, [401, 401, 401, 503, 503])
    assert await post("a-secret-of-ours") == 503, "a right guess looks like a wrong one"
    assert await post("a-secret-of-ours", "192.0.2.9") == 200
    assert await post("no matter", client_id="theirs") == 200, "another client's calls from there go on"
    call.clock.move(60)
    assert await post("a-secret-of-ours") == 200


async def test_requests_in_progress__of_one_client_leave_capacity_for_others(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(requests=8))
    gate = asyncio.Event()

    async def body_that_waits() -> dict[str, Any]:
        await gate.wait()
        return {"type": "http.request", "body": b"1"}

    async with asyncio.timeout(30):
        await call("POST", HOOK, raw=b"0")
        slow = [asyncio.ensure_future(call.with_receive(scope_of("POST", HOOK, {}), body_that_waits)) for _ in range(10)]
        await asyncio.wait(slow, return_when=asyncio.FIRST_COMPLETED)
        refused = [task.result() for task in slow if task.done()]
        theirs = await call("POST", "/public/crm-webhook/theirs", raw=b"1")
        api = await call.get(CONTACTS)
        gate.set()
        in_the_end = await asyncio.gather(*slow)
        again = await call("POST", HOOK, raw=b"2")

    assert {reply.status for reply in refused} == {503}
    assert "too many requests in progress" in refused[0].problem["detail"]
    assert (theirs.status, api.status, again.status) == (200, 200, 200)
    assert sorted(reply.status for reply in in_the_end) == [200] * 6 + [503] * 4


async def test_requests_in_progress__count_administrators_separately_and_release_them(memory: Store, make_client: MakeClient) -> None:
    limiter = RateLimiter(requests=4)
    call = make_client(memory, limiter=limiter)
    for _ in range(3):
        limiter.begin(1)

    assert [(await call.get("/admin/v1/clients")).status for _ in range(10)] == [200] * 10


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_requests_in_progress__are_released_after_any_outcome(memory: Store, make_client: MakeClient, method: str) -> None:
    call = make_client(memory, limiter=RateLimiter(requests=4))

    for _ in range(10):
        await call(method, CONTACTS, raw=b"nonsense")
        await call.send(scope_of(method, CONTACTS, {}), [])
        await call.send(scope_of(method, HOOK, {}), [])
        await call.get(f"{CONTACTS}/none")

    assert (await call.get(CONTACTS)).status == 200


async def test_rate_limit_headers__are_structured_fields(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=50_000)))

    policy, left, _ = limit_headers(await call.get(CONTACTS))

    assert re.fullmatch(r'"requests";q=500000;w=10', str(policy))
    assert re.fullmatch(r'"requests";r=499999;t=1', str(left))


async def test_openapi__documents_rate_limits_on_all_operations_except_webhooks(sqlite_call: ApiClient) -> None:
    paths = (await sqlite_call.get("/openapi.json")).json()["paths"]

    for path, item in paths.items():
        for method, operation in item.items():
            if method == "parameters":
                continue
            answers = operation["responses"]
            assert ("429" in answers) == ("-webhook/" not in path), (path, method)
            good = [answer.get("headers", {}) for status, answer in answers.items() if status.startswith("2")]
            assert all(("RateLimit" in headers and "RateLimit-Policy" in headers) == ("-webhook/" not in path) for headers in good)


async def test_request_rate__counts_a_request_with_an_idempotency_key_once(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, limiter=RateLimiter(Rates(requests=3, burst_seconds=2)))

    response = await call.post(CONTACTS, {"email": "first@example.com"}, idempotency_key="one")
    listed = await call.get(CONTACTS)

    assert [limit_headers(reply)[1] for reply in (response, listed)] == ['"requests";r=5;t=1', '"requests";r=4;t=1']
