"""A request to the web application from within this process, such as one that a tool of an agent makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchbase.http.asgi_types import App, Message, Scope

FROM_HERE: Mapping[str, Any] = {
    "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "", "client": None, "server": None,
}  # fmt: skip
"""The scope of a request that no connection has brought."""


async def send_inner(
    app: App, method: str, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]], body: bytes, like: Mapping[str, Any] = FROM_HERE
) -> tuple[int, bytes]:
    """Send a request; return status and body of the response. `like`: the scope of the request that it is made for."""
    scope: Scope = {
        **{name: like.get(name) for name in FROM_HERE}, "method": method, "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [*headers, (b"content-length", b"%d" % len(body))],
    }  # fmt: skip
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def collect(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])
