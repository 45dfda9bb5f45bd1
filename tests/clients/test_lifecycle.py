"""The life of a client over HTTP: made, renamed, suspended, given another id, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any
from unittest import mock

import pytest
from tests.asgi_client import ApiClient, MakeClient, scope_of

from touchbase.auth.authentication import ADMIN, READ, add_key
from touchbase.clients.models import DELETION_DELAY
from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import SECOND
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.maintenance import Maintenance
from touchbase.sql.store import Store

NOW = "2026-11-20T09:30:00Z"
CONTACTS = "/public/v2/contacts"


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


async def admin(call: ApiClient) -> dict[str, str]:
    """The header of a key for everything."""
    return {"x_api_key": await add_key(call.parts.store, None, [ADMIN], "test", call.clock.now)}


async def create_client(call: ApiClient, client_id: str = "ours", **headers: str) -> dict[str, Any]:
    reply = await call.post("/admin/v1/clients", {"client_id": client_id, "name": "Ours"}, **headers)
    assert reply.status == 201
    body: dict[str, Any] = reply.json()
    return body


async def key_of(call: ApiClient, client_id: str, *scopes: str) -> dict[str, str]:
    client = await call.parts.store.read(find_client(client_id))
    assert client is not None
    return {"x_api_key": await add_key(call.parts.store, client.number, scopes or [ADMIN], "test", call.clock.now)}


async def test_create_client__generates_an_unguessable_id(call: ApiClient) -> None:
    replies = [await call.post("/admin/v1/clients", {"name": " Acme "}) for _ in range(2)]

    first, second = (reply.json() for reply in replies)
    assert [reply.status for reply in replies] == [201, 201]
    assert first["client_id"] != second["client_id"]
    assert len(first["client_id"]) * 4 >= 128  # sixteen different letters: four bits each
    assert set(first["client_id"]) <= set("0123456789abcdef")
    assert (first["name"], first["state"], first["created_time"], first["deletion"], first["former_ids"]) == (
        "Acme",
        "active",
        NOW,
        None,
        [],
    )
    assert replies[0].headers["location"] == f"/admin/v1/clients/{first['client_id']}"
    assert (await call.get(replies[0].headers["location"])).json() == first


async def test_create_client__accepts_settings_and_an_id_but_no_duplicate(call: ApiClient) -> None:
    body = {"client_id": "ours", "name": "Ours", "settings": {"on_duplicate": "update"}}

    first, second = await call.post("/admin/v1/clients", body), await call.post("/admin/v1/clients", body)

    assert (first.status, first.json()["settings"]["on_duplicate"]) == (201, "update")
    assert (second.status, second.problem["code"]) == (409, "duplicate")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"client_id": "a b"}, "/client_id"),
        ({"client_id": "x" * 101}, "/client_id"),
        ({"client_id": "abc\n"}, "/client_id"),
        ({"client_id": 5}, "/client_id"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "\x00"}, "/name"),
        ({"nmae": "x"}, "/nmae"),
        ({"settings": {"on_duplicate": "x"}}, "/settings/on_duplicate"),
    ],
)
async def test_create_client__refuses_an_invalid_body_and_names_the_field(sqlite_call: ApiClient, body: Any, pointer: str) -> None:
    reply = await sqlite_call.post("/admin/v1/clients", body)

    assert reply.status == 422
    assert pointer in [fault["pointer"] for fault in reply.problem["errors"]]
    assert (await sqlite_call.get("/admin/v1/clients")).json()["data"] == []


async def test_patch_client__changes_the_name_and_leaves_the_settings(call: ApiClient) -> None:
    await create_client(call)
    await call.settings("ours", on_duplicate="update")

    renamed = await call.patch("/admin/v1/clients/ours", {"name": "New name"})
    unnamed = await call.patch("/admin/v1/clients/ours", {"name": None})

    assert (renamed.status, renamed.json()["name"], unnamed.json()["name"]) == (200, "New name", "")
    assert unnamed.json()["settings"]["on_duplicate"] == "update"
    assert (await call.patch("/admin/v1/clients/ours", {})).status == 422
    assert (await call.patch("/admin/v1/clients/nobody", {"name": "x"})).status == 404


async def test_list_clients__filters_by_state_and_part_of_the_name_or_id(call: ApiClient) -> None:
    for client_id, name in (("a1", "North Ltd"), ("b2", "South Ltd"), ("c3", "north pole")):
        await call.post("/admin/v1/clients", {"client_id": client_id, "name": name})
    await call.post("/admin/v1/clients/b2/suspend")

    async def listed_client_ids(query: str) -> list[str]:
        return [client["client_id"] for client in (await call.get(f"/admin/v1/clients?{query}")).json()["data"]]

    assert await listed_client_ids("name=NORTH") == ["a1", "c3"]
    assert await listed_client_ids("name=b2") == ["b2"]
    assert await listed_client_ids("state=suspended") == ["b2"]
    assert await listed_client_ids("state=active&name=ltd") == ["a1"]
    page = (await call.get("/admin/v1/clients?name=north&limit=1")).json()
    assert await listed_client_ids(f"name=north&limit=1&cursor={page['next_cursor']}") == ["c3"]
    assert (await call.get("/admin/v1/clients?state=gone")).status == 422


async def test_suspended_client__gets_403_for_all_keys(guarded: ApiClient) -> None:
    everything = await admin(guarded)
    await create_client(guarded, **everything)
    own = await key_of(guarded, "ours")
    await guarded.post(CONTACTS, {"email": "a@example.com"}, **own)

    suspended = await guarded.post("/admin/v1/clients/ours/suspend", **everything)
    refused = [
        await guarded.get(CONTACTS, **own),
        await guarded.post(CONTACTS, {"first_name": "Jane"}, **own),
        await guarded.get("/admin/v1/deliveries", **own),
        await guarded.post("/admin/v1/clients/ours/resume", **own),
        await guarded.get(CONTACTS, **everything, x_client_id="ours"),
        await guarded.post(CONTACTS, {"first_name": "Jane"}, **everything, x_client_id="ours"),
    ]

    assert (suspended.status, suspended.json()["state"]) == (200, "suspended")
    assert [(reply.status, reply.problem["code"]) for reply in refused] == [(403, "client_suspended")] * 6
    assert (await guarded.get("/admin/v1/deliveries?client=ours", **everything)).status == 200
    assert (await guarded.post("/admin/v1/clients/ours/resume", **everything)).json()["state"] == "active"
    assert len((await guarded.get(CONTACTS, **own)).json()["data"]) == 1


async def test_suspended_client__gets_403_in_open_mode(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": "a@example.com"})

    await call.post("/admin/v1/clients/default/suspend")

    assert [(await reply).status for reply in (call.get(CONTACTS), call.post(CONTACTS, {"first_name": "Jane"}))] == [403, 403]
    await call.post("/admin/v1/clients/default/resume")
    assert (await call.post(CONTACTS, {"first_name": "Jane"})).status == 201


async def test_suspended_client__stores_webhooks_and_a_resume_notifies_the_worker(call: ApiClient) -> None:
    client = await create_client(call)
    await call.post("/admin/v1/clients/ours/suspend")

    reply = await call("POST", "/public/crm-webhook/ours", raw=b"{}")
    call.kept.clear()
    await call.post("/admin/v1/clients/ours/resume")

    result = await call.parts.store.read(find_client(client["client_id"]))
    assert result is not None
    assert reply.status == 200
    assert call.kept == [result.number]
    assert len(await call.parts.store.read(list_deliveries(10, result.number))) == 1


async def test_suspend_client__applies_in_other_processes_within_a_second(call: ApiClient) -> None:
    other_api_client = ApiClient(call.parts, call.clock)
    await create_client(call)
    assert (await other_api_client.get(CONTACTS, x_client_id="ours")).status == 200

    await call.post("/admin/v1/clients/ours/suspend")
    call.clock.move(1)

    assert (await other_api_client.get(CONTACTS, x_client_id="ours")).status == 403
    assert (await other_api_client.post(CONTACTS, {"first_name": "Jane"}, x_client_id="ours")).status == 403


async def test_rotate_client_id__leaves_the_old_id_valid_for_keep_old_seconds(guarded: ApiClient) -> None:
    everything = await admin(guarded)
    await create_client(guarded, "old", **everything)
    hook = "/public/emailcampaign-webhook"

    rotated = await guarded.post("/admin/v1/clients/old/rotate-id", {"keep_old_seconds": 3600}, **everything)
    new = rotated.json()["client_id"]

    assert rotated.status == 200
    assert len(new) == 40
    assert rotated.json()["former_ids"] == [{"client_id": "old", "valid_until": "2026-11-20T10:30:00Z"}]
    assert [(await guarded("POST", f"{hook}/{name}", raw=name.encode())).status for name in ("old", new)] == [200, 200]
    assert (await guarded.get("/admin/v1/clients/old", **everything)).json()["client_id"] == new
    guarded.clock.move(3599.5)
    assert (await guarded("POST", f"{hook}/old", raw=b"once more")).status == 200
    guarded.clock.move(0.5)
    assert [(await guarded("POST", f"{hook}/{name}", raw=b"later")).status for name in ("old", new)] == [404, 200]
    assert (await guarded.get("/admin/v1/clients/old", **everything)).status == 404
    assert (await guarded.get(f"/admin/v1/clients/{new}", **everything)).json()["former_ids"] == []
    client = await guarded.parts.store.read(find_client(new))
    assert client is not None
    assert len(await guarded.parts.store.read(list_deliveries(10, client.number))) == 4


async def test_rotate_client_id__with_zero_seconds_ends_the_old_id_in_all_processes(call: ApiClient) -> None:
    other_api_client = ApiClient(call.parts, call.clock)
    await create_client(call, "old")
    await other_api_client("POST", "/public/crm-webhook/old", raw=b"1")

    await call.post("/admin/v1/clients/old/rotate-id", {"keep_old_seconds": 0, "client_id": "new"})

    assert (await call("POST", "/public/crm-webhook/old", raw=b"2")).status == 404
    call.clock.move(1)
    assert (await other_api_client("POST", "/public/crm-webhook/old", raw=b"3")).status == 404
    # Also in open mode an id that was somebody's never makes another client.
    assert [client["client_id"] for client in (await call.get("/admin/v1/clients")).json()["data"]] == ["new"]


async def test_rotate_client_id__refuses_a_current_or_former_id_of_a_client(call: ApiClient) -> None:
    await create_client(call, "ours")
    await create_client(call, "theirs")
    await call.post("/admin/v1/clients/theirs/rotate-id", {"client_id": "theirs2"})

    for name in ("theirs", "theirs2"):
        assert (await call.post("/admin/v1/clients/ours/rotate-id", {"client_id": name})).status == 409
    assert (await call.post("/admin/v1/clients/ours/rotate-id", {"client_id": "ours"})).problem["code"] == "conflict"
    assert (await call.post("/admin/v1/clients", {"client_id": "theirs"})).status == 409


@pytest.mark.parametrize(
    "body", [{"keep_old_seconds": -1}, {"keep_old_seconds": 90 * 86_400 + 1}, {"client_id": "a/b"}, {"client_id": ".."}, {"x": 1}]
)
async def test_rotate_client_id__refuses_invalid_values(sqlite_call: ApiClient, body: Any) -> None:
    await create_client(sqlite_call)

    assert (await sqlite_call.post("/admin/v1/clients/ours/rotate-id", body)).status == 422


async def test_delete_client__requires_the_id_as_confirmation(call: ApiClient) -> None:
    await create_client(call)

    for query, code in (("", "required"), ("?confirm=yes", "confirm"), ("?confirm=OURS", "confirm")):
        reply = await call("DELETE", f"/admin/v1/clients/ours{query}")
        assert (reply.status, reply.problem["errors"][0]["code"]) == (422, code)
    assert (await call.get("/admin/v1/clients/ours")).json()["state"] == "active"
    assert (await call("DELETE", "/admin/v1/clients/nobody?confirm=nobody")).status == 404


async def test_delete_client__refuses_requests_at_once_and_reports_progress_until_removed(store: Store, make_client: MakeClient) -> None:
    woken: list[bool] = []
    call = make_client(store, auth="api-key", on_deleting=lambda: woken.append(True))
    everything = await admin(call)
    await create_client(call, **everything)
    own = await key_of(call, "ours")
    for number in range(3):
        await call.post(CONTACTS, {"email": f"{number}@example.com"}, **own)
    keeper = Maintenance(store, call.clock)

    deleted = await call("DELETE", "/admin/v1/clients/ours?confirm=ours", **everything)
    closed = [
        await call.get(CONTACTS, **own),
        await call.post(CONTACTS, {"first_name": "Jane"}, **own),
        await call("POST", "/public/crm-webhook/ours", raw=b"{}"),
        await call.get(CONTACTS, **everything, x_client_id="ours"),
        await call("PUT", "/admin/v1/clients/ours", {"settings": {}}, **everything),
        await call.post("/admin/v1/clients/ours/resume", **everything),
        await call.post("/admin/v1/keys", {"name": "x", "client_id": "ours"}, **everything),
    ]
    await keeper.round()
    shown = (await call.get("/admin/v1/clients/ours", **everything)).json()
    call.clock.move(DELETION_DELAY / SECOND)
    await keeper.round()

    assert (deleted.status, deleted.json()["state"]) == (202, "deleting")
    assert deleted.json()["deletion"] == {"started_time": NOW, "removed_rows": 0, "total_rows": None}
    assert [reply.status for reply in closed] == [401, 401, 404, 404, 409, 409, 422]
    assert closed[3].problem["detail"] == "client 'ours' is being deleted"
    assert woken == [True]
    assert shown["deletion"] == {"started_time": NOW, "removed_rows": 15, "total_rows": 15}
    assert (await call.get("/admin/v1/clients/ours", **everything)).status == 404
    assert (await call.get(CONTACTS, **own)).status == 401


@pytest.mark.parametrize("target", [CONTACTS, "/public/crm-webhook/ours"])
async def test_slow_body__for_a_client_deleted_as_it_arrives_gets_404(call: ApiClient, target: str) -> None:
    await create_client(call)
    other_api_client = ApiClient(call.parts, call.clock)
    pieces = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.request", "body": b"}"}]

    async def slowly(coming: Iterator[dict[str, Any]]) -> dict[str, Any]:
        piece = next(coming)
        if not piece.get("more_body"):
            await other_api_client("DELETE", "/admin/v1/clients/ours?confirm=ours")
            call.clock.move(1.5)
        return piece

    reply = await call.with_receive(scope_of("POST", target, {"x-client-id": "ours"}), partial(slowly, iter(pieces)))

    assert reply.status == 404


async def test_admin_key_of_one_client__may_not_create_suspend_or_delete_clients(guarded: ApiClient) -> None:
    everything = await admin(guarded)
    for name in ("ours", "theirs"):
        await create_client(guarded, name, **everything)
    own = await key_of(guarded, "ours")

    refused = [
        await guarded.post("/admin/v1/clients", {"name": "x"}, **own),
        *[await guarded.post(f"/admin/v1/clients/{name}/suspend", **own) for name in ("ours", "theirs", "nobody")],
        *[await guarded("DELETE", f"/admin/v1/clients/{name}?confirm={name}", **own) for name in ("ours", "theirs")],
    ]
    hidden = [
        await guarded.patch("/admin/v1/clients/theirs", {"name": "x"}, **own),
        await guarded.post("/admin/v1/clients/theirs/rotate-id", {}, **own),
        await guarded.get("/admin/v1/clients/theirs", **own),
    ]

    assert {(reply.status, reply.problem["code"]) for reply in refused} == {(403, "forbidden")}
    assert {reply.status for reply in hidden} == {404}
    assert (await guarded.patch("/admin/v1/clients/ours", {"name": "Mine"}, **own)).json()["name"] == "Mine"
    assert (await guarded.post("/admin/v1/clients/ours/rotate-id", {}, **own)).status == 200
    chosen = await guarded.post("/admin/v1/clients/ours/rotate-id", {"client_id": "theirs"}, **own)
    assert (chosen.status, chosen.problem["code"]) == (403, "forbidden")
    assert (await guarded.get("/admin/v1/clients", **await key_of(guarded, "theirs", READ))).status == 403


async def test_handle__is_made_from_the_name_and_free(call: ApiClient) -> None:
    async def handle(**body: Any) -> str:
        reply = await call.post("/admin/v1/clients", body)
        assert reply.status == 201, reply.body
        return str(reply.json()["handle"])

    assert [await handle(name=name) for name in ("Alder GmbH", "alder", "Alder, Ltd.", "Café Ærø & Søn")] == [
        "alder", "alder-2", "alder-3", "cafe-aero-son",
    ]  # fmt: skip
    assert await handle(name="Kelp", client_id="kelp") == "kelp"
    assert await handle(client_id="birch") not in ("birch", "")  # an id is a secret, and a handle is not
    assert await handle(name="Birch") == "birch-2"
    assert [await handle(name=name) for name in ("All", "东京")] == [mock.ANY] * 2
    assert not {"all", ""} & {client["handle"] for client in (await call.get("/admin/v1/clients")).json()["data"]}
    assert await handle(name="Alder", handle="fern-7") == "fern-7"
    for body, status in (
        ({"handle": "fern-7"}, 409), ({"handle": "birch"}, 409), ({"client_id": "alder"}, 409),
        ({"handle": "all"}, 422), ({"handle": "A b"}, 422),
    ):  # fmt: skip
        assert (await call.post("/admin/v1/clients", body)).status == status, body
    assert (await call.patch("/admin/v1/clients/kelp", {"name": "Elm"})).json()["handle"] == "kelp"


async def test_id_of_one_client__is_not_taken_for_the_handle_of_another(call: ApiClient) -> None:
    await call.post("/admin/v1/clients", {"name": "Alder"})
    await call("PUT", "/admin/v1/clients/alder", {"settings": {}})  # a request from before handles had names

    assert (await call.get("/team/v1/conversations?client_id=alder")).status == 200
    assert (await call.get("/admin/v1/clients/alder")).json()["name"] == ""
