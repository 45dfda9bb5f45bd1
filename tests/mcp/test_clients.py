"""Agents that other people wrote, over HTTP and over standard input and output, against a running server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_serve import Serve, serve

from touchbase.mcp.tools import TOOLS

__all__ = ["serve"]
pytestmark = pytest.mark.slow
REASON = "is not installed: make checkers"


async def _drive(agent: Any) -> None:
    """What an agent does first, through a client of the package `mcp` or one like it."""
    listed = await agent.list_tools()
    names = {item.name for item in getattr(listed, "tools", listed)}
    assert names == {"whoami", *TOOLS}
    call_tool = await agent.call_tool("upsert", {"match": "email", "record": {"email": "jane@example.com"}, "dry_run": False})
    result = await agent.call_tool("get", {"email": "jane@example.com"})
    assert "jane@example.com" in call_tool.content[0].text
    assert "jane@example.com" in result.content[0].text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_client_of_mcp__works_over_http_in_both_generations(serve: Serve, mode: str) -> None:
    mcp = pytest.importorskip("mcp.client.client", reason=f"mcp {REASON}")
    server = serve()

    async with mcp.Client(f"http://127.0.0.1:{server.port}/mcp", mode=mode) as agent:
        await _drive(agent)


async def test_client_of_mcp__works_with_the_command(serve: Serve) -> None:
    mcp = pytest.importorskip("mcp.client.client", reason=f"mcp {REASON}")
    stdio = pytest.importorskip("mcp.client.stdio")
    server = serve()
    words = ["-m", "touchbase", "mcp", "--url", f"http://127.0.0.1:{server.port}"]

    async with mcp.Client(stdio.stdio_client(stdio.StdioServerParameters(command=sys.executable, args=words))) as agent:
        await _drive(agent)


async def test_client_of_fastmcp__works_over_http(serve: Serve) -> None:
    fastmcp = pytest.importorskip("fastmcp", reason=f"fastmcp {REASON}")
    server = serve()

    async with fastmcp.Client(f"http://127.0.0.1:{server.port}/mcp") as agent:
        await _drive(agent)


def run(address: str, *messages: object) -> list[Any]:
    """The lines that the command answers to these."""
    lines = "".join(f"{json.dumps(message)}\n" for message in messages)
    done = subprocess.run(
        [sys.executable, "-m", "touchbase", "mcp", "--url", address], input=lines, capture_output=True, text=True, check=True, cwd=Path("/")
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_command__passes_messages_on_and_answers_no_notification(serve: Serve) -> None:
    address = f"http://127.0.0.1:{serve().port}"

    answers = run(address, {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": "a", "method": "ping"})

    assert answers == [{"jsonrpc": "2.0", "id": "a", "result": {}}]


def test_command__says_what_is_wrong_as_an_answer(serve: Serve) -> None:
    server = serve()
    address = f"http://127.0.0.1:{server.port}"
    server.stop()

    [answer] = run(address, {"jsonrpc": "2.0", "id": 7, "method": "ping"})

    assert answer["id"] == 7
    assert "does not answer at" in answer["error"]["message"]


def test_command__passes_on_that_a_key_is_missing(serve: Serve) -> None:
    server = serve("--auth", "api-key")

    [answer] = run(f"http://127.0.0.1:{server.port}", {"jsonrpc": "2.0", "id": 7, "method": "ping"})

    assert "401: no API key" in answer["error"]["message"]
