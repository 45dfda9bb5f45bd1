"""API keys over HTTP: made, listed, rotated, revoked, and what a key that is not live answers."""

from __future__ import annotations

import asyncio
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock, MakeClient, Response
from tests.examples import examples

from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.auth.service import add_key
from touchbase.auth.sql import revoke_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.sql.store import Store
from touchbase.stores import open_store
from touchbase.web import Dependencies

CONTACTS = "/public/v2/contacts"
KEYS = "/admin/v1/keys"


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


async def held(call: ApiClient, *scopes: str, of: str | None = None, **more: Any) -> dict[str, str]:
    """The header of a new key."""
    client = None if of is None else (await call.parts.store.write(ensure_client(of, call.clock.now))).number
    return {"x_api_key": await add_key(call.parts.store, client, scopes or [ADMIN], "test", call.clock.now, **more)}


def key_id(headers: dict[str, str]) -> str:
    return headers["x_api_key"].split("_")[2]


async def test_create_key__returns_the_key_once_with_the_given_properties(guarded: ApiClient) -> None:
    everything = await held(guarded)
    await held(guarded, of="ours")
    body = {"name": " importer ", "client_id": "ours", "scopes": ["records:read"], "env": "test", "expires_time": "2026-12-01T00:00:00Z"}

    reply = await guarded.post(KEYS, body, **everything)
    new_body = reply.json()
    shown = await guarded.get(reply.headers["location"], **everything)

    text = new_body.pop("key")
    assert (reply.status, reply.headers["cache-control"]) == (201, "no-store")
    assert new_body == shown.json() == {
        "key_id": text.split("_")[2], "prefix": "_".join(text.split("_")[:3]), "name": "importer", "client_id": "ours",
        "scopes": ["records:read"], "state": "active", "created_time": "2026-11-20T09:30:00Z", "expires_time": "2026-12-01T00:00:00Z",
        "revoked_time": None, "last_used_time": None, "replaces": None, "replaced_by": None, "user_id": None,
    }  # fmt: skip
    assert text.startswith("tb_test_")
    assert text.split("_")[3] not in shown.body.decode() + (await guarded.get(KEYS, **everything)).body.decode()
    assert [
        (await guarded.get(CONTACTS, x_api_key=text)).status,
        (await guarded.post(CONTACTS, {"first_name": "Jane"}, x_api_key=text)).status,
    ] == [200, 403]


async def test_create_key__defaults_to_read_and_write_for_all_clients_without_expiry(guarded: ApiClient) -> None:
    everything = await held(guarded)

    body = (await guarded.post(KEYS, {"name": "x"}, **everything)).json()

    assert (body["client_id"], body["scopes"], body["expires_time"], body["prefix"][:8]) == (None, [READ, WRITE], None, "tb_live_")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/name"),
        ({"name": " "}, "/name"),
        ({"name": "x" * 201}, "/name"),
        ({"name": "x", "scopes": []}, "/scopes"),
        ({"name": "x", "scopes": ["root"]}, "/scopes/0"),
        ({"name": "x", "client_id": "nobody"}, "/client_id"),
        ({"name": "x", "env": "Prod"}, "/env"),
        ({"name": "x", "env": "a\n"}, "/env"),
        ({"name": "x", "expires_time": "tomorrow"}, "/expires_time"),
        ({"name": "x", "expires_time": "9999-12-31T23:59:59-05:00"}, "/expires_time"),
        ({"name": "x", "expires_time": "2026-11-20T09:30:00Z"}, "/expires_time"),
        ({"name": "x", "key": "mine"}, "/key"),
    ],
)
async def test_create_key__refuses_an_invalid_body_and_names_the_field(sqlite_call: ApiClient, body: Any, pointer: str) -> None:
    reply = await sqlite_call.post(KEYS, body)

    assert reply.status == 422
    assert pointer in [fault["pointer"] for fault in reply.problem["errors"]]
    assert (await sqlite_call.get(KEYS)).json()["data"] == []


async def test_list_keys__returns_filtered_pages_with_the_newest_first(call: ApiClient) -> None:
    for number, of in enumerate((None, "ours", "ours", "theirs")):
        call.clock.move(1)
        await held(call, of=of, expires_us=call.clock.now + 1 if number == 2 else None)
    await call.parts.store.write(revoke_key((await call.get(KEYS)).json()["data"][0]["key_id"], call.clock.now))

    async def listed_keys(query: str) -> list[tuple[str | None, str]]:
        return [(key["client_id"], key["state"]) for key in (await call.get(f"{KEYS}?{query}")).json()["data"]]

    page = (await call.get(f"{KEYS}?limit=2")).json()
    assert await listed_keys("") == [("theirs", "revoked"), ("ours", "expired"), ("ours", "active"), (None, "active")]
    assert [(key["client_id"], key["state"]) for key in page["data"]] == [("theirs", "revoked"), ("ours", "expired")]
    assert await listed_keys(f"limit=2&cursor={page['next_cursor']}") == [("ours", "active"), (None, "active")]
    assert await listed_keys("client=ours&state=active") == [("ours", "active")]
    assert [await listed_keys(f"state={state}") for state in ("expired", "revoked")] == [[("ours", "expired")], [("theirs", "revoked")]]
    assert [(await call.get(f"{KEYS}?{query}")).status for query in ("client=nobody", "state=lost", "limit=0", "cursor=x")] == [422] * 4


async def test_revoke_key__applies_at_once_and_in_other_processes_within_a_second(guarded: ApiClient) -> None:
    other_api_client = ApiClient(guarded.parts, guarded.clock)
    everything, own = await held(guarded), await held(guarded, of="ours")
    for item in (guarded, other_api_client):
        assert (await item.post(CONTACTS, {"first_name": "Jane"}, **own)).status == 201

    revoked = await guarded("DELETE", f"{KEYS}/{key_id(own)}", **everything)

    assert revoked.status == 204
    refused = [await guarded.post(CONTACTS, {"first_name": "Jane"}, **own), await guarded.get(CONTACTS, **own)]
    guarded.clock.move(1)
    refused += [await other_api_client.post(CONTACTS, {"first_name": "Jane"}, **own), await other_api_client.get(CONTACTS, **own)]
    assert [reply.status for reply in refused] == [401] * 4
    assert "was revoked" in refused[0].problem["detail"]
    assert (await guarded.get(f"{KEYS}/{key_id(own)}", **everything)).json()["state"] == "revoked"
    assert (await guarded("DELETE", f"{KEYS}/{key_id(own)}", **everything)).status == 204


async def test_revoke_key__wins_over_a_concurrent_lookup(store: Store, make_client: MakeClient) -> None:
    class Slow:
        """A store that answers who a key is only when it is told to, with what it was when asked."""

        def __init__(self) -> None:
            self.reached, self.go_on = asyncio.Event(), asyncio.Event()
            self.slow = False

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def read(self, query: Any) -> Any:
            result = await store.read(query)
            if self.slow and type(query).__name__ == "find_key":
                self.slow = False
                self.reached.set()
                await self.go_on.wait()
            return result

    slow = Slow()
    guarded = make_client(slow, auth="api-key")
    everything, own = await held(guarded), await held(guarded, of="ours")
    await guarded.get(KEYS, **everything)
    slow.slow = True

    async with asyncio.timeout(60):
        looking = asyncio.create_task(guarded.get(CONTACTS, **own))
        await slow.reached.wait()
        assert (await guarded("DELETE", f"{KEYS}/{key_id(own)}", **everything)).status == 204
        slow.go_on.set()
        overtaken = await looking

    assert overtaken.status == 401
    assert (await guarded.get(CONTACTS, **own)).status == 401


async def test_key_expiry__applies_to_the_microsecond(guarded: ApiClient) -> None:
    own = await held(guarded, of="ours", expires_us=guarded.clock.now + 500_000)

    assert (await guarded.post(CONTACTS, {"first_name": "Jane"}, **own)).status == 201
    guarded.clock.now += 499_999
    assert (await guarded.post(CONTACTS, {"first_name": "Jane"}, **own)).status == 201
    guarded.clock.now += 1
    for reply in (await guarded.post(CONTACTS, {"first_name": "Jane"}, **own), await guarded.get(CONTACTS, **own)):
        assert (reply.status, reply.headers["www-authenticate"]) == (401, 'Bearer error="invalid_token", realm="touchbase"')
        assert "has expired" in reply.problem["detail"]


async def test_rotate_key__leaves_the_old_key_valid_for_keep_old_seconds(guarded: ApiClient) -> None:
    everything, own = await held(guarded), await held(guarded, READ, of="ours", env="test")

    rotated = await guarded.post(f"{KEYS}/{key_id(own)}/rotate", {"keep_old_seconds": 60}, **everything)
    new = {"x_api_key": rotated.json()["key"]}
    old = (await guarded.get(f"{KEYS}/{key_id(own)}", **everything)).json()

    assert (rotated.status, rotated.headers["location"]) == (201, f"{KEYS}/{key_id(new)}")
    assert {name: rotated.json()[name] for name in ("replaces", "scopes", "client_id", "name", "prefix")} == {
        "replaces": key_id(own), "scopes": [READ], "client_id": "ours", "name": "test", "prefix": f"tb_test_{key_id(new)}",
    }  # fmt: skip
    assert (old["replaced_by"], old["expires_time"]) == (key_id(new), "2026-11-20T09:31:00Z")
    assert [(await guarded.get(CONTACTS, **item)).status for item in (own, new)] == [200, 200]
    again = await guarded.post(f"{KEYS}/{key_id(own)}/rotate", {}, **everything)
    assert (again.status, again.problem["code"]) == (409, "conflict")
    guarded.clock.move(60)
    assert [(await guarded.get(CONTACTS, **item)).status for item in (own, new)] == [401, 200]


async def test_rotate_key__of_a_successor_ends_the_first_key_at_once(guarded: ApiClient) -> None:
    everything, first = await held(guarded), await held(guarded, of="ours")
    second = {"x_api_key": (await guarded.post(f"{KEYS}/{key_id(first)}/rotate", {}, **everything)).json()["key"]}
    assert (await guarded.get(CONTACTS, **first)).status == 200

    third = {"x_api_key": (await guarded.post(f"{KEYS}/{key_id(second)}/rotate", {}, **everything)).json()["key"]}

    assert [(await guarded.get(CONTACTS, **item)).status for item in (first, second, third)] == [401, 200, 200]


async def test_rotate_key__gives_the_successor_an_equal_lifetime(guarded: ApiClient) -> None:
    everything, own = await held(guarded), await held(guarded, of="ours", expires_us=guarded.clock.now + 3_600_000_000)
    guarded.clock.move(1800)

    rotated = await guarded.post(f"{KEYS}/{key_id(own)}/rotate", {"keep_old_seconds": 86_400}, **everything)

    assert rotated.json()["expires_time"] == "2026-11-20T11:00:00Z"
    assert (await guarded.get(f"{KEYS}/{key_id(own)}", **everything)).json()["expires_time"] == "2026-11-20T10:30:00Z"


async def test_rotate_key__limits_the_expiry_to_the_end_of_year_9999(guarded: ApiClient) -> None:
    everything = await held(guarded)
    key = await guarded.post(KEYS, {"name": "x", "expires_time": "9999-12-31T23:59:59Z"}, **everything)
    guarded.clock.now += 1_000_000

    rotated = await guarded.post(f"{key.headers['location']}/rotate", {}, **everything)

    assert (rotated.status, rotated.json()["expires_time"]) == (201, "9999-12-31T23:59:59Z")
    assert (await guarded.get(KEYS, **everything)).status == 200


async def test_key_routes__with_an_admin_key_of_one_client_reach_only_its_keys(guarded: ApiClient) -> None:
    everything, own, theirs = await held(guarded), await held(guarded, of="ours"), await held(guarded, of="theirs")

    response = await guarded.post(KEYS, {"name": "x", "scopes": [READ]}, **own)
    refused = [
        await guarded.post(KEYS, {"name": "x", "client_id": "theirs"}, **own),
        await guarded.post(KEYS, {"name": "x", "client_id": "nobody"}, **own),
    ]
    hidden: list[Response] = []
    for foreign in (key_id(theirs), key_id(everything), "0" * 12, "nonsense"):
        hidden += [
            await guarded.get(f"{KEYS}/{foreign}", **own),
            await guarded.post(f"{KEYS}/{foreign}/rotate", {}, **own),
            await guarded("DELETE", f"{KEYS}/{foreign}", **own),
        ]

    assert (response.status, response.json()["client_id"]) == (201, "ours")
    assert [(reply.status, reply.problem["errors"][0]["pointer"]) for reply in refused] == [(422, "/client_id")] * 2
    assert {reply.status for reply in hidden} == {404}
    assert {key["client_id"] for key in (await guarded.get(KEYS, **own)).json()["data"]} == {"ours"}
    assert (await guarded.get(f"{KEYS}?client=theirs", **own)).status == 403
    assert (await guarded.get(KEYS, **theirs)).status == (await guarded.get(KEYS, **everything)).status == 200


@pytest.mark.parametrize("scope", [READ, WRITE])
async def test_key_routes__require_the_admin_scope(guarded: ApiClient, scope: str) -> None:
    own = await held(guarded, scope, of="ours")

    for reply in (await guarded.get(KEYS, **own), await guarded.post(KEYS, {"name": "x"}, **own)):
        assert (reply.status, reply.problem["code"]) == (403, "insufficient_scope")
        assert reply.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="admin", realm="touchbase"'


async def test_insufficient_scope__names_the_missing_scope(guarded: ApiClient) -> None:
    own = await held(guarded, READ, of="ours")

    reply = await guarded.post(CONTACTS, {"first_name": "Jane"}, **own)

    assert reply.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="records:write", realm="touchbase"'
    assert reply.problem["detail"] == "this key lacks the scope records:write; use one that has it"


async def test_api_key__gets_equal_errors_for_a_wrong_id_and_a_wrong_secret(guarded: ApiClient) -> None:
    own = (await held(guarded, of="ours"))["x_api_key"].split("_")
    wrong_secret, unknown = [*own[:3], "0" * 64], [*own[:2], "0" * 12, own[3]]

    replies = [await guarded.get(CONTACTS, x_api_key=key_text(parts)) for parts in (wrong_secret, unknown)]

    assert {reply.status for reply in replies} == {401}
    assert len({(str(reply.problem), reply.headers["www-authenticate"]) for reply in replies}) == 1


def key_text(parts: list[str]) -> str:
    """A key's text with the checksum that belongs to it."""
    body = "_".join(parts[:4])
    return f"{body}_{crc32(body.encode()):08x}"


ENVS = st.from_regex(r"[a-z0-9]{1,16}", fullmatch=True)
LETTERS = st.sampled_from("0af")
TEXTS = st.one_of(
    st.text(max_size=200),
    st.builds(lambda env, first_env, other_env: key_text(["tb", env, first_env * 12, other_env * 64]), ENVS, LETTERS, LETTERS),
    st.tuples(st.integers(0, 200), st.sampled_from("0123456789abcdef_ZÀ \n")),
    st.tuples(st.integers(1, 3), st.text("0123456789abcdef", max_size=70)),
)


def mutated(live: str, wanted: object) -> str:
    """Any text: as it is; a live key with one letter changed; or with one part changed and the right checksum for that."""
    if isinstance(wanted, str):
        return wanted
    assert isinstance(wanted, tuple)
    place, second = wanted
    if len(second) == 1:
        place %= len(live)
        return live[:place] + second + live[place + 1 :]
    parts = live.split("_")
    parts[place] = second
    return key_text(parts)


@pytest.mark.slow
def test_api_key__any_text_except_a_live_key_gets_401(sqlite_url: str) -> None:
    with asyncio.Runner() as runner:
        guarded = ApiClient(Dependencies(runner.run(open_store(sqlite_url)), Clock(), auth="api-key"), Clock())

        async def held_keys() -> tuple[str, list[str]]:
            live = (await held(guarded, of="ours"))["x_api_key"]
            assert (await guarded.post(CONTACTS, {"first_name": "Jane"}, x_api_key=live)).status == 201  # so that the key is at hand
            return live, [(await held(guarded, of="ours", expires_us=guarded.clock.now))["x_api_key"] for _ in range(2)]

        live, dead = runner.run(held_keys())

        async def refused(text: str) -> None:
            sent = text.encode("utf-8", "surrogatepass").decode("latin-1")
            for headers in ({"x_api_key": sent}, {"authorization": f"Bearer {sent}"}):
                if headers.get("authorization", "").removeprefix("Bearer ").strip() == live:
                    continue
                for reply in (await guarded.post(CONTACTS, {"first_name": "Jane"}, **headers), await guarded.get(CONTACTS, **headers)):
                    assert reply.status == 401, text

        @settings(max_examples=examples(300), deadline=None)
        @given(st.lists(TEXTS, min_size=1, max_size=10))
        def check(wanted: list[object]) -> None:
            for text in [*dead, *(mutated(live, item) for item in wanted)]:
                if text != live:
                    runner.run(refused(text))

        check()
        runner.run(guarded.parts.store.close())
