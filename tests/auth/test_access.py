"""Who may call: open mode, and keys with their clients and scopes."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient, MakeClient, scope_of

from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key, make_key
from touchbase.sql.store import Store


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


async def client(call: ApiClient, name: str) -> int:
    """A client made by hand, in open mode beside the guarded application."""
    opened = ApiClient(type(call.parts)(store=call.parts.store, clock=call.clock), call.clock)
    await opened.settings(name)
    return next(item.number for item in await _all(call) if item.client_id == name)


async def _all(call: ApiClient) -> list:
    from touchbase.clients.sql.clients import list_clients

    return await call.parts.store.read(list_clients())


async def key(call: ApiClient, *scopes: str, of: str | None = None) -> str:
    number = None if of is None else await client(call, of)
    return await add_key(call.parts.store, number, scopes, "test", call.clock.now)


async def test_open_mode__takes_the_client_from_x_client_id(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com"}, x_client_id="ours")

    ours = await call.get("/public/v2/contacts", x_client_id="ours")
    default = await call.get("/public/v2/contacts")

    assert (len(ours.json()["data"]), len(default.json()["data"])) == (1, 0)
    assert [item.client_id for item in await _all(call)] == ["ours"]


NOT_MAKING = [
    ("GET", "/public/v2/contacts", None, 200),
    ("GET", "/public/v2/contacts?email=jane@example.com&limit=1", None, 200),
    ("GET", "/public/v2/contacts?updated_since=2026-11-01T00:00:00Z", None, 200),
    ("HEAD", "/public/v2/companies", None, 200),
    ("GET", "/public/v2/contacts/1", None, 404),
    ("GET", "/public/v2/companies/1?structure=FLAT", None, 404),
    ("GET", "/public/v2/contacts/1/timeline", None, 404),
    ("GET", "/public/v2/contacts/1/export", None, 404),
    ("PATCH", "/public/v2/contacts/1", {"first_name": "Jane"}, 404),
    ("DELETE", "/public/v2/contacts/1?erase=true", None, 404),
]


@pytest.mark.parametrize(("method", "target", "body", "status"), NOT_MAKING)
async def test_open_mode__does_not_create_an_unknown_client_on_reads_or_changes(
    call: ApiClient, method: str, target: str, body: object, status: int
) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com"}, x_client_id="ours")

    reply = await call(method, target, body, x_client_id="uors")

    assert reply.status == status
    assert status == 404 or reply.body in (b"", b'{"data":[],"next_cursor":null}')
    assert [item.client_id for item in await _all(call)] == ["ours"]


async def test_open_mode__finds_a_client_created_after_a_failed_lookup(call: ApiClient) -> None:
    before = await call.get("/public/v2/contacts", x_client_id="ours")
    await call.post("/public/v2/contacts", {"email": "jane@example.com"}, x_client_id="ours")
    after = await call.get("/public/v2/contacts", x_client_id="ours")

    assert (len(before.json()["data"]), len(after.json()["data"])) == (0, 1)


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_x_client_id__sent_twice_is_refused(call: ApiClient, method: str) -> None:
    scope = scope_of(method, "/public/v2/contacts", {"x-client-id": "ours", "content-type": "application/json"})
    scope["headers"].append((b"x-client-id", b"theirs"))

    reply = await call.send(scope, [{"type": "http.request", "body": b"{}"}])

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, "X-Client-Id")
    assert await _all(call) == []


async def test_open_mode__refuses_a_former_client_id_with_404(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com"}, x_client_id="old")
    await call.post("/admin/v1/clients/old/rotate-id", {"keep_old_seconds": 0, "client_id": "new"})

    reply = await call.get("/public/v2/contacts", x_client_id="old")

    assert (reply.status, reply.problem["detail"]) == (404, "there is no client 'old' any more: it has another id now")


@pytest.mark.parametrize("name", ["", "a b", "x" * 101, "a/b", "é", ".", ".."])
async def test_open_mode__refuses_an_invalid_client_id(sqlite_call: ApiClient, name: str) -> None:
    for reply in (
        await sqlite_call.get("/public/v2/contacts", x_client_id=name),
        await sqlite_call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id=name),
    ):
        assert reply.status == 422
        assert reply.problem["errors"][0]["pointer"] == "X-Client-Id"


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
async def test_api_key__determines_the_client(guarded: ApiClient, header: str) -> None:
    text = await key(guarded, READ, WRITE, of="ours")
    sent = {header: f"Bearer {text}" if header == "authorization" else text}

    created = await guarded.post("/public/v2/contacts", {"first_name": "Jane"}, **sent)
    read = await guarded.get("/public/v2/contacts/1", **sent)

    assert (created.status, read.status) == (201, 200)
    assert read.json() == created.json()


CALLS = [
    ("GET", "/public/v2/contacts"),
    ("POST", "/public/v2/contacts"),
    ("GET", "/public/v2/companies/1"),
    ("PATCH", "/public/v2/companies/1"),
    ("GET", "/public/v2/contacts/1/timeline"),
    ("GET", "/admin/v1/deliveries"),
    ("GET", "/admin/v1/deliveries/1"),
    ("POST", "/admin/v1/deliveries/1/replay"),
    ("GET", "/admin/v1/clients"),
    ("PUT", "/admin/v1/clients/ours"),
]


@pytest.mark.parametrize(("method", "target"), CALLS)
async def test_api_request__without_a_key_gets_401(memory: Store, make_client: MakeClient, method: str, target: str) -> None:
    guarded = make_client(memory, auth="api-key")

    reply = await guarded(method, target, {} if method != "GET" else None)

    assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer realm="touchbase"')
    assert reply.problem["code"] == "unauthorized"


async def test_api_key__with_any_error_gets_401(guarded: ApiClient) -> None:
    true = await key(guarded, READ, of="ours")
    other_key = make_key()
    wrong = [
        other_key.text,
        true[:-1] + ("0" if true[-1] != "0" else "1"),
        true[:-9],
        true.upper(),
        "",
        "x",
        f"{true} ",
        "tb_live_a_b_c",
        "é",
    ]

    for text in wrong:
        assert (await guarded.get("/public/v2/contacts", x_api_key=text)).status == 401, text
    assert (await guarded.get("/public/v2/contacts", authorization=f"Basic {true}")).status == 401
    assert (await guarded.get("/public/v2/contacts", authorization=f"bearer {true}")).status == 200


@pytest.mark.parametrize(
    ("scope", "wanted"),
    [(READ, [200, 403, 403]), (WRITE, [403, 201, 403]), (ADMIN, [200, 201, 200])],
)
async def test_scope__permits_only_its_operations(guarded: ApiClient, scope: str, wanted: list[int]) -> None:
    text = await key(guarded, scope, of="ours")

    replies = [
        await guarded.get("/public/v2/contacts", x_api_key=text),
        await guarded.post("/public/v2/contacts", {"first_name": "Jane"}, x_api_key=text),
        await guarded.get("/admin/v1/deliveries", x_api_key=text),
    ]

    assert [reply.status for reply in replies] == wanted


async def test_api_key__of_one_client_reads_and_changes_no_other(guarded: ApiClient) -> None:
    ours, theirs = await key(guarded, ADMIN, of="ours"), await key(guarded, ADMIN, of="theirs")
    await guarded.post("/public/v2/contacts", {"first_name": "Jane"}, x_api_key=theirs)
    await guarded("POST", "/public/crm-webhook/theirs", raw=b"{}")

    assert (await guarded.get("/public/v2/contacts/1", x_api_key=ours)).status == 404
    assert (await guarded.get("/public/v2/contacts", x_api_key=ours, x_client_id="theirs")).status == 403
    assert (await guarded.get("/public/v2/contacts", x_api_key=ours, x_client_id="ours")).status == 200
    assert (await guarded.get("/admin/v1/deliveries", x_api_key=ours)).json()["data"] == []
    assert (await guarded.get("/admin/v1/deliveries?client=theirs", x_api_key=ours)).status == 403
    assert (await guarded.get("/admin/v1/deliveries/1", x_api_key=ours)).status == 404
    assert (await guarded("POST", "/admin/v1/deliveries/1/replay", x_api_key=ours)).status == 404
    assert (await guarded.get("/admin/v1/clients/theirs", x_api_key=ours)).status == 404
    assert (await guarded("PUT", "/admin/v1/clients/theirs", {"settings": {}}, x_api_key=ours)).status == 404
    assert (await guarded("PUT", "/admin/v1/clients/new", {"settings": {}}, x_api_key=ours)).status == 404
    assert [item["client_id"] for item in (await guarded.get("/admin/v1/clients", x_api_key=ours)).json()["data"]] == ["ours"]
    assert (await guarded("PUT", "/admin/v1/clients/ours", {"settings": {}}, x_api_key=ours)).status == 200


async def test_api_key__for_all_clients_requires_x_client_id(guarded: ApiClient) -> None:
    text = await key(guarded, ADMIN)
    await client(guarded, "ours")

    unnamed = await guarded.get("/public/v2/contacts", x_api_key=text)

    assert unnamed.status == 422
    assert unnamed.problem["errors"][0]["pointer"] == "X-Client-Id"
    assert (await guarded.get("/public/v2/contacts", x_api_key=text, x_client_id="ours")).status == 200
    assert (await guarded.get("/public/v2/contacts", x_api_key=text, x_client_id="nobody")).status == 404
    assert (await guarded.get("/admin/v1/clients", x_api_key=text)).status == 200
    assert (await guarded("PUT", "/admin/v1/clients/new", {"settings": {}}, x_api_key=text)).status == 201


async def test_key_in_a_wrong_place__is_not_printed_back(guarded: ApiClient) -> None:
    text = await key(guarded, ADMIN)
    await client(guarded, "ours")
    secret = text.split("_")[3]

    replies = [
        await guarded.get(f"/admin/v1/clients/{text}", x_api_key=text),
        await guarded.get("/public/v2/contacts", x_api_key=text, x_client_id=text),
        await guarded.get(f"/admin/v1/deliveries?client={text}", x_api_key=text),
        await guarded.get(f"/public/v2/contacts?{text}=1", x_api_key=text, x_client_id="ours"),
        await guarded.get(f"/public/v2/contacts?fields={text}", x_api_key=text, x_client_id="ours"),
    ]

    assert [reply.status for reply in replies] == [404, 404, 422, 422, 422]
    assert [secret[:8] in reply.body.decode() for reply in replies] == [False] * len(replies)


async def test_webhook__with_api_keys_on_needs_an_existing_client_and_no_key(guarded: ApiClient) -> None:
    await client(guarded, "ours")

    our = await guarded("POST", "/public/crm-webhook/ours", raw=b"{}")
    unknown = await guarded("POST", "/public/crm-webhook/nobody", raw=b"{}")

    assert (our.status, unknown.status) == (200, 404)
    assert [item.client_id for item in await _all(guarded)] == ["ours"]


async def test_openapi__needs_no_key(memory: Store, make_client: MakeClient) -> None:
    guarded = make_client(memory, auth="api-key")

    assert (await guarded.get("/openapi.json")).json()["security"] == [{"key": []}, {"keyHeader": []}]
    assert (await guarded.get("/docs")).status == 200
