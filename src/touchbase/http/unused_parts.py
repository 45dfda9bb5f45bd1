"""Parts of a request that its route does not use: they are refused, because what they say would be lost in silence."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from touchbase.common.asgi import Headers, Scope
from touchbase.errors import Fault, Invalid, MalformedBody
from touchbase.http.endpoint import Call
from touchbase.http.idempotency import receive_buffered
from touchbase.http.problems import TooLarge
from touchbase.http.request_body import read_body

PRECONDITIONS = (b"if-match", b"if-none-match", b"if-unmodified-since")
"""Headers by which a write depends on the present state."""
_NOTHING = (b"", b"{}", b"null")
"""Bodies that say nothing: programs send them with every request."""
_BLANK_BYTES = 64


@dataclass(frozen=True, slots=True)
class UnusedParts:
    """The parts that a route does not use."""

    parameters: tuple[str, ...]
    """The names of its query parameters, for the refusal of a body."""
    body: bool
    query: bool
    preconditions: tuple[bytes, ...]
    authorize: Callable[[Call], Awaitable[object]]
    """Authorizes the request: nobody else learns what a route takes."""

    def are_in(self, scope: Scope, headers: Headers) -> bool:
        """Return whether a request may have one of the parts."""
        if self.body and (headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers):
            return True
        return bool(self.query and scope["query_string"]) or any(name in headers for name in self.preconditions)

    async def refuse(self, call: Call) -> None:
        """Raise `Invalid` or `MalformedBody` if the request has one of the parts."""
        await self.authorize(call)
        faults = [
            Fault(name.decode().title(), "unknown", f"{call.scope['method']} of this address has no conditions; leave the header out")
            for name in self.preconditions
            if name in call.headers
        ]
        if faults:
            raise Invalid(faults)
        if self.query:
            call.parameters().done()
        if self.body:
            await self._refuse_body(call)

    async def _refuse_body(self, call: Call) -> None:
        try:
            body = await read_body(call.receive, call.headers, _BLANK_BYTES, call.api.dependencies.limits)
        except TooLarge:
            body = b"too large"
        if body.strip() not in _NOTHING:
            parameters = f"; its parameters go into the query: {', '.join(self.parameters)}" if self.parameters else ""
            raise MalformedBody(f"{call.scope['method']} of this address takes no body, so send none{parameters}")
        if call.scope["method"] == "POST":
            call.receive = receive_buffered(body)  # with an idempotency key it is read again
