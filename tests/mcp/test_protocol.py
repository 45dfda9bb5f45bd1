"""The protocol of `/mcp`: both of its generations, its errors, and who may see which tools."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.auth.test_access import key
from tests.examples import examples
from tests.mcp.agent import Agent

from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.mcp.conversation import HANDSHAKE, STATELESS
from touchbase.mcp.tools import TOOLS
from touchbase.sql.store import Store

META = {"io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {}}
READING = {"whoami", "describe", "find", "get", "match", "explain", "messages", "summary", "health", "list_conversations",
           "list_tasks", "list_snippets", "list_notifications"}  # fmt: skip
WRITING = {"upsert", "change_status", "answer", "add_note", "add_task"}
ADMINISTRATION = {"list_deliveries", "replay_deliveries"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def agent(sqlite_call: ApiClient) -> Agent:
    return Agent(sqlite_call)


@pytest.fixture
def guarded(store: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(store, auth="api-key")


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_initialize__agrees_on_the_version_of_the_agent(agent: Agent, version: str) -> None:
    result = (await agent.request("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "a", "version": "1"}))[
        "result"
    ]

    assert result["protocolVersion"] == version
    assert result["serverInfo"]["name"] == "touchbase"
    assert "tools" in result["capabilities"]
    assert "untrusted-data" in result["instructions"]


async def test_initialize__offers_the_newest_handshake_version_for_an_unknown_one(agent: Agent) -> None:
    result = (await agent.request("initialize", protocolVersion="1999-01-01"))["result"]

    assert result["protocolVersion"] == HANDSHAKE[0]


async def test_stateless_requests__are_answered_with_the_type_of_their_result(agent: Agent) -> None:
    discovered = (await agent.request("server/discover", _meta=META))["result"]
    listed = (await agent.request("tools/list", _meta=META))["result"]

    assert STATELESS in discovered["supportedVersions"]
    assert (discovered["resultType"], listed["resultType"], listed["cacheScope"]) == ("complete", "complete", "private")


async def test_stateless_request__of_an_unknown_version_is_refused_with_those_that_there_are(agent: Agent) -> None:
    meta = {**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}
    reply = await agent.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}})

    assert reply.status == 400
    assert reply.json()["error"]["code"] == -32022
    assert reply.json()["error"]["data"] == {"supported": [STATELESS], "requested": "2099-01-01"}


async def test_notification__has_no_answer(agent: Agent) -> None:
    reply = await agent.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert (reply.status, reply.body) == (202, b"")


async def test_ping__is_answered(agent: Agent) -> None:
    assert (await agent.request("ping"))["result"] == {}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], -32600),
        ({"id": 1, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1}, -32600),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "drop_table"}}, -32602),
    ],
)
async def test_wrong_message__is_refused_with_its_code(agent: Agent, message: Any, code: int) -> None:
    reply = await agent.send(message)

    assert reply.json()["error"]["code"] == code
    assert reply.json()["error"]["message"]


async def test_body__that_is_not_json_is_refused(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call("POST", "/mcp", raw=b"{", content_type="application/json")

    assert (reply.status, reply.json()["error"]["code"]) == (400, -32700)


async def test_other_methods__are_not_allowed(sqlite_call: ApiClient) -> None:
    assert (await sqlite_call.get("/mcp")).status == 405
    assert (await sqlite_call("DELETE", "/mcp")).status == 405


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(sorted({"whoami", *TOOLS})),
    arguments=JSON | st.dictionaries(st.sampled_from(["kind", "id", "limit", "tool", "email"]), JSON),
)
async def test_any_arguments__get_an_answer(agent: Agent, name: str, arguments: Any) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    reply = await agent.send(message)

    assert reply.status in (200, 400)  # 400: half of a surrogate pair
    assert ("result" in reply.json()) != ("error" in reply.json())


async def test_half_of_a_surrogate_pair__is_refused_wherever_it_is(sqlite_call: ApiClient) -> None:
    for raw in (
        rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}',
        rb'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"messages","arguments":{"tool":"\ud800"}}}',
    ):
        reply = await sqlite_call("POST", "/mcp", raw=raw, content_type="application/json")
        assert (reply.status, reply.json()["error"]["code"]) == (400, -32700)


async def test_key__is_needed_where_the_server_needs_keys(guarded: ApiClient) -> None:
    for headers in ({}, {"authorization": "Bearer tb_live_wrong"}):
        reply = await Agent(guarded, headers).send({"jsonrpc": "2.0", "id": 1, "method": "initialize"})
        assert reply.status == 401
        assert reply.problem["code"] in ("unauthorized", "invalid_key")


@pytest.mark.parametrize(
    ("scopes", "tools"),
    [
        ([READ], READING),
        ([READ, WRITE], READING | WRITING),
        ([ADMIN], READING | WRITING | ADMINISTRATION),
    ],
)
async def test_tools__are_those_that_the_scopes_allow(guarded: ApiClient, scopes: list[str], tools: set[str]) -> None:
    agent = Agent(guarded, {"x_api_key": await key(guarded, *scopes, of="acme")})

    listed = await agent.tools()
    refused = await agent.request("tools/call", name="replay_deliveries", arguments={"state": "failed"})

    assert set(listed) == tools
    assert ("error" in refused) == (ADMIN not in scopes)
    if ADMIN not in scopes:
        assert "no scope admin" in refused["error"]["message"]


async def test_key_of_one_client__reaches_no_other(guarded: ApiClient) -> None:
    acme = Agent(guarded, {"x_api_key": await key(guarded, READ, WRITE, of="acme")})
    other_agent = Agent(guarded, {"x_api_key": await key(guarded, READ, WRITE, of="other")})
    await other_agent.value("upsert", match="email", record={"email": "jane@other.example"}, dry_run=False)

    assert (await acme.value("whoami"))["client_id"] == "acme"
    assert (await acme.value("find"))["data"] == []
    assert "403" in await acme.error("find", client_id="other")
    assert all("client_id" not in tool["inputSchema"]["properties"] for tool in (await acme.tools()).values())


async def test_key_of_all_clients__names_one_for_each_call(guarded: ApiClient) -> None:
    await key(guarded, READ, of="acme")
    agent = Agent(guarded, {"x_api_key": await key(guarded, READ)})

    assert (await agent.value("whoami"))["client_id"] is None
    assert "X-Client-Id" in await agent.error("find")
    assert (await agent.value("find", client_id="acme"))["data"] == []
    assert "client_id" in (await agent.tools())["find"]["inputSchema"]["properties"]


async def test_tools__have_schemas_descriptions_and_hints(agent: Agent) -> None:
    for name, tool in (await agent.tools()).items():
        jsonschema_rs.validator_for(tool["inputSchema"])
        assert "$ref" not in str(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"
        assert tool["inputSchema"].get("additionalProperties") is False, name
        assert tool["description"].endswith(".")
        assert "\n" not in tool["description"]
        writes = name in {*WRITING, "replay_deliveries"}
        assert tool["annotations"]["readOnlyHint"] is not writes
        assert all(item.get("description") for item in tool["inputSchema"]["properties"].values()), name
