"""An agent that speaks the Model Context Protocol to the application of a test."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.asgi_client import ApiClient, Response

MARKED = re.compile(r'<untrusted-data mark="(\w+)">\n(.*)\n</untrusted-data mark="\1">', re.DOTALL)


@dataclass
class Agent:
    """One caller, with the headers of its requests."""

    call: ApiClient
    headers: dict[str, str] = field(default_factory=dict)
    numbers: count[int] = field(default_factory=lambda: count(1))

    async def send(self, message: Any) -> Response:
        """Send one message as it is."""
        return await self.call.post("/mcp", message, **self.headers)

    async def request(self, method: str, **params: Any) -> Any:
        """Send a request; return the whole answer."""
        reply = await self.send({"jsonrpc": "2.0", "id": next(self.numbers), "method": method, "params": params})
        return reply.json()

    async def tools(self) -> dict[str, Any]:
        """The tools that there are, by name."""
        return {tool["name"]: tool for tool in (await self.request("tools/list"))["result"]["tools"]}

    async def text(self, tool: str, **arguments: Any) -> str:
        """Call a tool that is to succeed; return its text."""
        result = (await self.request("tools/call", name=tool, arguments=arguments))["result"]
        assert not result["isError"], result
        return str(result["content"][0]["text"])

    async def value(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that is to succeed; return its value."""
        text = await self.text(tool, **arguments)
        marked = MARKED.fullmatch(text)
        assert marked is not None, text
        return json.loads(marked[2])

    async def error(self, tool: str, **arguments: Any) -> str:
        """Call a tool that is to fail; return the text of the result."""
        result = (await self.request("tools/call", name=tool, arguments=arguments))["result"]
        assert result["isError"], result
        return str(result["content"][0]["text"])
