"""Requests of tools to the HTTP interface, and their responses."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class InnerRequest:
    """One request: its method, path, query, JSON body and further headers."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Json | None = None
    client_id: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()

    @property
    def query_string(self) -> bytes:
        """The query, without parameters that are None; true and false as the interface writes them."""
        parameters = {name: _text(value) for name, value in self.query.items() if value is not None}
        return urlencode(parameters).encode()

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return b"" if self.body is None else json.dumps(self.body).encode()


@dataclass(frozen=True, slots=True)
class InnerAnswer:
    """A response of the interface."""

    status: int
    value: Any

    @property
    def failed(self) -> bool:
        """Whether the request was refused or failed."""
        return self.status >= 400


Ask = Callable[[InnerRequest], Awaitable[InnerAnswer]]
"""Sends a request as the caller of the tool, with the same key."""


class RefusedRequest(Exception):
    """The interface refused a request of a tool; the tool's result has the reason and the next step."""

    def __init__(self, answer: InnerAnswer) -> None:
        super().__init__(answer.status)
        self.answer = answer


async def value_of(ask: Ask, request: InnerRequest) -> Any:
    """Return the value of the response; raises `RefusedRequest` for an error."""
    answer = await ask(request)
    if answer.failed:
        raise RefusedRequest(answer)
    return answer.value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


NEXT: Mapping[int, str] = {
    400: "Correct the request; `describe` has the names of fields, statuses and operators.",
    401: "Ask the person for a key that is valid; `touchbase keys create` makes one.",
    403: "Call `whoami` to see the key's scopes, and ask the person for a key with the named scope.",
    404: "Call `find` or `match` to see what there is.",
    409: "Call `get` with the id that is named, and decide what is right.",
    412: "Call `get` again: the record has changed.",
    422: "Correct what `errors` names; `describe` has the names of fields, statuses and operators.",
    429: "Wait as long as the text says, then call again.",
}
"""Next step after a refusal, by its status."""
UNAVAILABLE = "Call `health`; the same call may be repeated later."


def refusal_text(answer: InnerAnswer) -> str:
    """Return why a request was refused, in the interface's words."""
    problem = answer.value if isinstance(answer.value, dict) else {}
    lines = [f"{answer.status} {problem.get('code', '')}: {problem.get('detail') or problem.get('title') or 'no reason given'}"]
    for error in problem.get("errors") or []:
        if (fault := f"{error.get('pointer', '')} {error.get('detail', '')}") not in lines[0]:  # a single fault is the detail already
            lines.append(f"- {fault}")
    if "existing_id" in problem:
        lines.append(f"existing_id: {problem['existing_id']}")
    return "\n".join(lines)


def next_step(answer: InnerAnswer) -> str:
    """Return advice for an agent after a refused request."""
    return UNAVAILABLE if answer.status >= 500 else NEXT.get(answer.status, NEXT[400])
