"""`Idempotency-Key`: the same request with the same key is answered again and carried out once."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.conftest import ExecuteSql
from tests.examples import examples
from tests.inbox.test_deliveries import work

from touchbase.adapters.registry import load_adapters
from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key
from touchbase.common.timestamps import DAY, SECOND
from touchbase.connections.sql.connections import list_connections
from touchbase.errors import Overloaded
from touchbase.http.idempotency import fingerprint
from touchbase.idempotency import service
from touchbase.idempotency.execute_once import execute_once
from touchbase.sql.store import Store
from touchbase.stores import open_store

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
JANE = {"email": "jane@example.com", "first_name": "Jane"}
KEY = {"idempotency_key": '"8e03978e-40d5-43dd-bc93-6894a57f9324"'}
ADAPTERS = load_adapters()
COUNT = itertools.count()
REQUESTS = st.tuples(st.text("/a 1", max_size=4), *[st.text("/a 1", max_size=4).map(str.encode)] * 2)
"""Path, query and body, which could be taken for each other."""


def is_replayed(reply: Response) -> bool:
    return reply.headers.get("idempotency-replayed") == "true"


def same(first: Response, again: Response) -> bool:
    """Whether `again` is the kept answer `first`: everything but the id of the request, and marked."""
    own = ("x-request-id", "idempotency-replayed")
    stored = [{name: value for name, value in item.headers.items() if name not in own} for item in (first, again)]
    return is_replayed(again) and (first.status, first.body, stored[0]) == (again.status, again.body, stored[1])


async def count(call: ApiClient, path: str = CONTACTS, **headers: str) -> int:
    return len((await call.get(f"{path}?limit=200", **headers)).json()["data"])


@asynccontextmanager
async def beside(call: ApiClient, engine_url: str, make_client: MakeClient) -> AsyncIterator[ApiClient]:
    """Another application on the same store; on PostgreSQL with a store of its own, as in another process."""
    store = call.parts.store if engine_url.startswith("sqlite") else await open_store(engine_url)
    yield make_client(store)
    if store is not call.parts.store:
        await store.close()


@pytest.mark.parametrize(("path", "body"), [(CONTACTS, JANE), (COMPANIES, {"domain": "example.com"})])
async def test_idempotency_key__repeated_returns_the_stored_response(call: ApiClient, path: str, body: dict[str, str]) -> None:
    first = await call.post(path, body, **KEY)
    again = await call.post(path, body, **KEY)

    assert (first.status, is_replayed(first)) == (201, False)
    assert same(first, again)
    assert (again.headers["location"], again.headers["etag"]) == (f"{path}/1", first.headers["etag"])
    assert first.headers["x-request-id"] != again.headers["x-request-id"]
    assert await count(call, path) == 1


async def test_idempotency_key__leaves_the_response_unchanged(sqlite_call: ApiClient) -> None:
    fields = [{"field_name": "Seats", "field_value": "40"}]
    plain = await sqlite_call.post(f"{CONTACTS}?structure=FLAT", {**JANE, "contact_custom_fields_input": fields})
    keyed = await sqlite_call.post(
        f"{CONTACTS}?structure=FLAT", {**JANE, "email": "other@example.com", "contact_custom_fields_input": fields}, **KEY
    )

    assert keyed.json() == {**plain.json(), "id": 2, "email": "other@example.com"}
    assert keyed.headers.keys() == plain.headers.keys()
    assert keyed.headers["etag"] == plain.headers["etag"]


async def test_stored_response__is_returned_after_later_changes(call: ApiClient) -> None:
    first = await call.post(f"{CONTACTS}?structure=FLAT", {**JANE, "contact_status": "new"}, **KEY)
    await call.patch(f"{CONTACTS}/1", {"first_name": "Janet", "email": None})
    await call.settings(contact_statuses={"statuses": ["other"], "transitions": {}})

    again = await call.post(f"{CONTACTS}?structure=FLAT", {**JANE, "contact_status": "new"}, **KEY)

    assert same(first, again)


@pytest.mark.parametrize(
    ("target", "body"),
    [
        (CONTACTS, {**JANE, "last_name": "Doe"}),
        (CONTACTS, {}),
        (f"{CONTACTS}?structure=FLAT", JANE),
        (f"{CONTACTS}?on_duplicate=return", JANE),
        (COMPANIES, JANE),
    ],
)
async def test_idempotency_key__reused_for_a_different_request_gets_422(call: ApiClient, target: str, body: dict[str, str]) -> None:
    await call.post(CONTACTS, JANE, **KEY)

    reply = await call.post(target, body, **KEY)

    problem = reply.problem
    assert (reply.status, problem["code"]) == (422, "idempotency_key_reused")
    assert "send this one with a new key" in problem["detail"]
    assert (await count(call), await count(call, COMPANIES)) == (1, 0)


@given(first=REQUESTS, second=REQUESTS)
def test_fingerprint__differs_for_any_two_requests(first: tuple[str, bytes, bytes], second: tuple[str, bytes, bytes]) -> None:
    assert (fingerprint(*first) == fingerprint(*second)) == (first == second)


async def test_idempotency_key__is_separate_for_each_client(call: ApiClient) -> None:
    replies = [await call.post(CONTACTS, JANE, x_client_id=client, **KEY) for client in ("acme", "other", "acme")]

    assert [(reply.status, is_replayed(reply)) for reply in replies] == [(201, False), (201, False), (201, True)]
    assert [await count(call, x_client_id=client) for client in ("acme", "other")] == [1, 1]


async def test_idempotency_key__expires_after_a_day(call: ApiClient) -> None:
    await call.post(CONTACTS, JANE, **KEY)
    call.clock.now += DAY - 1

    within = await call.post(CONTACTS, JANE, **KEY)
    call.clock.now += 1
    after = await call.post(CONTACTS, {"email": "joan@example.com"}, **KEY)

    assert is_replayed(within)
    assert (after.status, is_replayed(after)) == (201, False)
    assert await count(call) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [("abc", '"abc"'), ('"a\\"b\\\\"', 'a"b\\'), ("x" * 255, f'"{"x" * 255}"'), ("!~", '"!~"'), ("a:b/c=", "a:b/c=")],
)
async def test_idempotency_key__is_equal_with_and_without_quotes(sqlite_call: ApiClient, first: str, second: str) -> None:
    await sqlite_call.post(CONTACTS, JANE, idempotency_key=first)

    assert is_replayed(await sqlite_call.post(CONTACTS, JANE, idempotency_key=second))


@pytest.mark.parametrize(
    "key", ["", '""', "a b", '"a b"', '"a', '"', '"a"b"', '"a";v=1', '"\\a"', "käse", "a\tb", "a, b", "x" * 256, f'"{"x" * 256}"', "\x7f"]
)
async def test_idempotency_key__with_invalid_syntax_gets_422(sqlite_call: ApiClient, key: str) -> None:
    reply = await sqlite_call.post(CONTACTS, JANE, idempotency_key=key)

    (fault,) = reply.problem["errors"]
    assert (reply.status, fault["pointer"], fault["code"]) == (422, "Idempotency-Key", "idempotency_key")
    assert await count(sqlite_call) == 0


async def test_idempotency_key__sent_twice_gets_422(sqlite_call: ApiClient) -> None:
    scope = {
        "type": "http", "method": "POST", "path": CONTACTS, "query_string": b"", "scheme": "http",
        "headers": [(b"idempotency-key", b"a"), (b"idempotency-key", b"a")],
    }  # fmt: skip
    reply = await sqlite_call.send(scope, [{"type": "http.request", "body": b"{}"}])

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "Idempotency-Key")


async def test_concurrent_repeats__run_once_and_all_get_its_response(call: ApiClient, engine_url: str, make_client: MakeClient) -> None:
    # Nothing but the key makes these one contact.
    body = {"first_name": "Jane"}

    async with asyncio.timeout(60), beside(call, engine_url, make_client) as second:
        replies = await asyncio.gather(*((call, second)[n % 2].post(CONTACTS, body, **KEY) for n in range(64)))

    assert {(reply.status, reply.body) for reply in replies} == {(201, replies[0].body)}
    assert sum(not is_replayed(reply) for reply in replies) == 1
    assert await count(call) == 1


async def test_equal_merges_at_once__get_one_answer(call: ApiClient, engine_url: str, make_client: MakeClient) -> None:
    # A merge that waits for another one finds the merged record gone.
    ids = [(await call.post(CONTACTS, {"first_name": f"n{n}"})).json()["id"] for n in range(2)]

    async with asyncio.timeout(60), beside(call, engine_url, make_client) as second:
        responses = [(call, second)[n % 2].post(f"{CONTACTS}/{ids[0]}/merge", {"with": ids[1:]}, **KEY) for n in range(8)]
        replies = await asyncio.gather(*responses)

    assert {(reply.status, reply.body) for reply in replies} == {(200, replies[0].body)}
    assert await count(call) == 1


@pytest.mark.parametrize("path", ["contacts/exports", "contacts/imports", "contacts/imports?start=true"])
async def test_equal_jobs_at_once__start_one(call: ApiClient, engine_url: str, make_client: MakeClient, path: str) -> None:
    file = b"email\njane@example.com\n" if "imports" in path else b"{}"

    async def sent(process: ApiClient) -> Response:
        reply = await process("POST", f"/public/v2/{path}", raw=file, **KEY)
        return await sent(process) if reply.status == 409 else reply  # a slow machine reads the file for longer than a repeat waits

    async with asyncio.timeout(60), beside(call, engine_url, make_client) as second:
        replies = await asyncio.gather(*[sent((call, second)[n % 2]) for n in range(4)])
        again = await sent(second)

    jobs = (await call.get("/public/v2/jobs")).json()["data"]
    assert {(reply.status, reply.body) for reply in (*replies, again)} == {(201, replies[0].body)}
    assert [job["state"] for job in jobs if job["state"] != "failed"] == [replies[0].json()["state"]]
    assert is_replayed(again)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(batches=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=8), min_size=1, max_size=4))
async def test_concurrent_repeats__in_any_order_create_one_record_per_key(
    call: ApiClient, engine_url: str, make_client: MakeClient, batches: list[list[tuple[int, int]]]
) -> None:
    client = f"client-{next(COUNT)}"
    answers: dict[int, list[Response]] = {}

    async with asyncio.timeout(60), beside(call, engine_url, make_client) as second:
        for batch in batches:
            replies = await asyncio.gather(
                *(
                    (call, second)[app].post(CONTACTS, {"first_name": f"n{key}"}, x_client_id=client, idempotency_key=f"k{key}")
                    for key, app in batch
                )
            )
            for (key, _), reply in zip(batch, replies, strict=True):
                answers.setdefault(key, []).append(reply)

    assert all(len({(reply.status, reply.body) for reply in replies}) == 1 for replies in answers.values())
    assert all(sum(not is_replayed(reply) for reply in replies) == 1 for replies in answers.values())
    assert await count(call, x_client_id=client) == len(answers)


async def test_on_duplicate_update__runs_once_per_key(call: ApiClient) -> None:
    await call.post(CONTACTS, JANE)
    call.clock.move(60)
    merge = {"email": "jane@example.com", "last_name": "Doe", "contact_status": "customer"}

    first = await call.post(f"{CONTACTS}?on_duplicate=update", merge, **KEY)
    await call.patch(f"{CONTACTS}/1", {"contact_status": "lost"})
    again = await call.post(f"{CONTACTS}?on_duplicate=update", merge, **KEY)

    assert (first.status, first.json()["last_name"], first.headers["location"]) == (200, "Doe", f"{CONTACTS}/1")
    assert same(first, again)
    assert (await call.get(f"{CONTACTS}/1")).json()["contact_status"] == "lost"


async def test_on_duplicate_update__concurrent_repeats_run_once(call: ApiClient, engine_url: str, make_client: MakeClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com"})
    call.clock.move(60)
    merge = {"domain": "example.com", "name": "Example", "company_status": "customer"}

    async with asyncio.timeout(60), beside(call, engine_url, make_client) as second:
        responses = [(call, second)[n % 2].post(f"{COMPANIES}?on_duplicate=update", merge, **KEY) for n in range(24)]
        replies = await asyncio.gather(*responses)

    assert {(reply.status, reply.body) for reply in replies} == {(200, replies[0].body)}
    assert sum(not is_replayed(reply) for reply in replies) == 1
    assert len((await call.get(f"{COMPANIES}/1/timeline")).json()["data"]) == 2


@pytest.mark.parametrize("path", [CONTACTS, COMPANIES])
async def test_on_duplicate_return__repeats_the_record_as_first_returned(call: ApiClient, path: str) -> None:
    body, change = (JANE, "first_name") if path == CONTACTS else ({"domain": "example.com"}, "name")
    await call.post(path, body)

    first = await call.post(f"{path}?on_duplicate=return", body, **KEY)
    await call.patch(f"{path}/1", {change: "Changed"})
    again = await call.post(f"{path}?on_duplicate=return", body, **KEY)

    assert first.status == 200
    assert same(first, again)


async def test_conflict__is_stored_as_the_response(call: ApiClient) -> None:
    await call.post(CONTACTS, JANE)

    first = await call.post(CONTACTS, JANE, **KEY)
    await call.patch(f"{CONTACTS}/1", {"email": None})
    again = await call.post(CONTACTS, JANE, **KEY)

    assert (first.status, again.status) == (409, 409)
    assert first.problem == again.problem  # which holds each request's own id
    assert (again.problem["existing_id"], is_replayed(again)) == (1, True)
    assert await count(call) == 1


@pytest.mark.parametrize(
    ("wrong", "status"), [(b'{"email": "no address"}', 422), (b"{", 400), (b'{"company_id": 7}', 422), (b"[" * 100, 400)]
)
async def test_refused_request__leaves_the_key_unused(call: ApiClient, wrong: bytes, status: int) -> None:
    refused = [await call("POST", CONTACTS, raw=wrong, **KEY) for _ in range(2)]
    response = await call.post(CONTACTS, JANE, **KEY)

    assert [(reply.status, is_replayed(reply)) for reply in refused] == [(status, False)] * 2
    assert response.status == 201


async def test_refused_request__may_be_repeated_once_its_cause_is_fixed(call: ApiClient) -> None:
    body = {**JANE, "company_id": 1}
    refused = await call.post(CONTACTS, body, **KEY)
    await call.post(COMPANIES, {"domain": "example.com"})

    assert refused.status == 422
    assert (await call.post(CONTACTS, body, **KEY)).status == 201


class Door:
    """A store whose writes with a key pass one door: refused, held, or let through."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.refuses = 0
        self.held: asyncio.Event | None = None
        self.reached = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, command: Any) -> Any:
        if isinstance(command, execute_once):
            self.reached.set()
            if self.held is not None:
                await self.held.wait()
            if self.refuses:
                self.refuses -= 1
                raise Overloaded("the disk is full", retry_after=7)
        return await self._store.write(command)


async def test_overloaded_request__runs_when_repeated(store: Store, make_client: MakeClient) -> None:
    door = Door(store)
    call = make_client(door)
    door.refuses = 1

    replies = [await call.post(CONTACTS, JANE, **KEY) for _ in range(3)]

    assert [(reply.status, is_replayed(reply)) for reply in replies] == [(503, False), (201, False), (201, True)]
    assert replies[0].headers["retry-after"] == "7"
    assert await count(call) == 1


async def test_concurrent_repeat__waits_for_the_first_request_and_returns_its_response(store: Store, make_client: MakeClient) -> None:
    door = Door(store)
    call = make_client(door)
    door.held = asyncio.Event()

    async with asyncio.timeout(60):
        first = asyncio.create_task(call.post(CONTACTS, JANE, **KEY))
        await door.reached.wait()
        others = [asyncio.create_task(call.post(CONTACTS, body, **KEY)) for body in (JANE, JANE, {"first_name": "other"})]
        free = await call.post(CONTACTS, {"first_name": "free"})
        waiting = [task.done() for task in (first, *others)]
        door.held.set()
        replies = [await task for task in (first, *others)]

    assert (free.status, waiting) == (201, [False] * 4)
    assert same(replies[0], replies[1])
    assert same(replies[0], replies[2])
    assert replies[3].problem["code"] == "idempotency_key_reused"
    assert await count(call) == 2


async def test_concurrent_repeat__gets_409_after_waiting_too_long(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_WAIT_SECONDS", 0.01)
    door = Door(store)
    call = make_client(door)
    door.held = asyncio.Event()

    async with asyncio.timeout(60):
        first = asyncio.create_task(call.post(CONTACTS, JANE, **KEY))
        await door.reached.wait()
        refused = await call.post(CONTACTS, JANE, **KEY)
        door.held.set()
        task, after = await first, await call.post(CONTACTS, JANE, **KEY)

    assert (refused.status, refused.problem["code"], refused.headers["retry-after"]) == (409, "request_in_progress", "1")
    assert (task.status, same(task, after)) == (201, True)


async def test_concurrent_repeat__completes_if_the_first_request_is_cancelled(store: Store, make_client: MakeClient) -> None:
    door = Door(store)
    call = make_client(door)
    door.held = asyncio.Event()

    async with asyncio.timeout(60):
        gone = asyncio.create_task(call.post(CONTACTS, JANE, **KEY))
        await door.reached.wait()
        waiting = asyncio.create_task(call.post(CONTACTS, JANE, **KEY))
        gone.cancel()
        await asyncio.wait([gone])
        door.held.set()
        reply = await waiting

    assert reply.status == 201
    assert await count(call) == 1


async def test_stored_response__is_returned_by_the_next_process_after_a_lost_connection(
    store: Store, engine_url: str, make_client: MakeClient
) -> None:
    call = make_client(store)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(JANE).encode()}

    async def send(message: Any) -> None:
        raise ConnectionResetError

    headers = [(b"idempotency-key", KEY["idempotency_key"].encode()), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": CONTACTS, "query_string": b"", "scheme": "http", "headers": headers}
    with pytest.raises(ConnectionResetError):
        await call.app(scope, receive, send)
    await store.close()

    later = await open_store(engine_url)
    next_process = make_client(later)
    reply = await next_process.post(CONTACTS, JANE, **KEY)
    result = await count(next_process)
    await later.close()

    assert (reply.status, is_replayed(reply), reply.json()["id"]) == (201, True, 1)
    assert result == 1


async def test_idempotency_key__compares_the_decoded_body(sqlite_call: ApiClient) -> None:
    raw = json.dumps(JANE).encode()
    packed = [gzip.compress(raw, level, mtime=level) for level in (1, 9)]

    first = await sqlite_call("POST", CONTACTS, raw=raw, **KEY)
    again = [await sqlite_call("POST", CONTACTS, raw=body, content_encoding="gzip", **KEY) for body in packed]
    pieces = await sqlite_call.in_pieces("POST", CONTACTS, [raw[:5], raw[5:]], **KEY)

    assert [same(first, reply) for reply in (*again, pieces)] == [True] * 3


@pytest.mark.parametrize(
    ("headers", "raw", "status"),
    [
        ({"content_encoding": "gzip"}, b"not gzip", 400),
        ({"content_encoding": "br"}, b"{}", 415),
        ({"content_type": "text/plain"}, b"{}", 415),
        ({}, b"[" + b" " * 1_048_576 + b"]", 413),
    ],
)
async def test_unreadable_body__is_refused_with_a_key_too(sqlite_call: ApiClient, headers: dict[str, str], raw: bytes, status: int) -> None:
    assert (await sqlite_call("POST", CONTACTS, raw=raw, **headers, **KEY)).status == status


async def test_stored_response__is_returned_only_to_keys_with_the_write_scope(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory)
    for client in ("acme", "other"):
        await call.settings(client)
    numbers = {"acme": 1, "other": 2}
    keys = {(client, scope): await add_key(memory, numbers[client], [scope], "", 1) for client in numbers for scope in (READ, WRITE)}
    call = make_client(memory, auth="api-key")

    first = await call.post(CONTACTS, JANE, x_api_key=keys["acme", WRITE], **KEY)
    replies = [await call.post(CONTACTS, JANE, x_api_key=key, **KEY) for key in keys.values()]
    nobody = await call.post(CONTACTS, JANE, **KEY)

    assert first.status == 201
    assert [(reply.status, is_replayed(reply)) for reply in replies] == [(403, False), (201, True), (403, False), (201, False)]
    assert nobody.status == 401


async def test_idempotency_key__is_separate_for_each_administrator(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, senders=ADAPTERS)
    await call.settings("acme")
    admins = [await add_key(memory, client, [ADMIN], "", 1) for client in (None, 1)]
    call = make_client(memory, senders=ADAPTERS, auth="api-key")
    where, body = "/admin/v1/clients/acme/connections", {"channel": "crm", "tool": "hubspot"}

    replies = [await call.post(where, body, x_api_key=key, **KEY) for key in (*admins, *admins)]

    assert [(reply.status, is_replayed(reply)) for reply in replies] == [(201, False), (409, False), (201, True), (409, True)]


async def test_create_connection__runs_once_and_stores_no_secret_in_the_response(
    store: Store, make_client: MakeClient, execute_sql: ExecuteSql
) -> None:
    call = make_client(store, senders=ADAPTERS)
    await call.settings("acme")
    where, body = "/admin/v1/clients/acme/connections", {"channel": "crm", "tool": "hubspot", "generate_secret": True}

    first = await call.post(where, body, **KEY)
    again = await call.post(where, body, **KEY)

    new_body = first.json()
    secret = new_body.pop("generated_secret")
    (listed,) = await store.read(list_connections(1))
    assert listed.secrets == [secret]
    assert (again.status, again.json(), again.headers["location"]) == (201, new_body, f"{where}/crm/hubspot")
    assert is_replayed(again)
    ((stored,),) = await execute_sql("SELECT response FROM idempotency_key")
    assert secret.encode() not in stored


async def test_replay_delivery__runs_once_per_key(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"{}")
    first = await call.post("/admin/v1/deliveries/1/replay", **KEY)
    await work(call)
    before = await call.get("/admin/v1/deliveries/1")

    again = await call.post("/admin/v1/deliveries/1/replay", **KEY)

    assert (first.status, first.json()["state"]) == (202, "received")
    assert same(first, again)
    assert (await call.get("/admin/v1/deliveries/1")).json() == before.json()
    assert before.json()["state"] == "applied"
    assert (await call.post("/admin/v1/deliveries/2/replay", idempotency_key="new")).status == 404
    assert (await call.post("/admin/v1/deliveries/2/replay", **KEY)).problem["code"] == "idempotency_key_reused"


@pytest.mark.parametrize("dry_run", [False, True])
async def test_replay_deliveries__runs_once_per_key(call: ApiClient, dry_run: bool) -> None:
    for number in range(3):
        await call("POST", f"/public/crm-webhook/client-{number % 2}", raw=b"%d" % number)
    requested = {"state": "received", "dry_run": dry_run}

    first = await call.post("/admin/v1/deliveries/replay", requested, **KEY)
    await call("POST", "/public/crm-webhook/abc", raw=b"later")
    again = await call.post("/admin/v1/deliveries/replay", requested, **KEY)

    assert (first.status, first.json()["count"]) == (200 if dry_run else 202, 3)
    assert same(first, again)


async def test_webhooks__ignore_the_idempotency_key_and_use_the_dedupe_key(call: ApiClient) -> None:
    replies = [await call("POST", "/public/crm-webhook/abc", raw=body, **KEY) for body in (b"1", b"2", b"2")]
    odd = await call("POST", "/public/crm-webhook/abc", raw=b"3", idempotency_key="a b")

    assert [(reply.status, reply.body, is_replayed(reply)) for reply in (*replies, odd)] == [(200, b"", False)] * 4
    assert [delivery["repeats"] for delivery in (await call.get("/admin/v1/deliveries")).json()["data"]] == [0, 1, 0]


async def test_patch_and_get__ignore_the_idempotency_key(sqlite_call: ApiClient) -> None:
    await sqlite_call.post(CONTACTS, JANE)

    changed = [await sqlite_call.patch(f"{CONTACTS}/1", {"first_name": name}, **KEY) for name in ("A", "B")]
    read = await sqlite_call.get(f"{CONTACTS}/1", idempotency_key="a b")

    assert [reply.json()["first_name"] for reply in (*changed, read)] == ["A", "B", "B"]


async def test_request_without_a_key__stores_no_response(call: ApiClient, execute_sql: ExecuteSql) -> None:
    await call.post(CONTACTS, JANE)

    assert await execute_sql("SELECT client FROM idempotency_key") == []


@pytest.mark.parametrize(
    ("path", "body", "kind"), [(CONTACTS, JANE, 1), (COMPANIES, {"domain": "example.com"}, 2), (f"{CONTACTS}?on_duplicate=update", JANE, 1)]
)
async def test_stored_response__refers_to_its_record(
    call: ApiClient, execute_sql: ExecuteSql, path: str, body: dict[str, str], kind: int
) -> None:
    if "?" in path:
        await call.post(CONTACTS, JANE)

    response = await call.post(path, body, **KEY)

    rows = await execute_sql("SELECT record_kind, record_id, expires_us - created_us FROM idempotency_key")
    assert rows == [(kind, response.json()["id"], 24 * 3600 * SECOND)]
