"""A blocking client of the API that reconnects after a lost connection and reports the outcome of each request."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any

from bench.load import Address

SECONDS = 60


class NoResponse(Exception):
    """A request that was sent and got no complete response; `never_sent` if the connection was refused."""

    def __init__(self, never_sent: bool) -> None:
        super().__init__("never sent" if never_sent else "no answer")
        self.never_sent = never_sent


class UnknownOutcome(NoResponse):
    """A response that says that the outcome is unknown (status 503, `outcome_unknown`)."""

    def __init__(self) -> None:
        super().__init__(False)


@dataclass(slots=True)
class Response:
    """A complete response, and its duration in seconds."""

    status: int
    headers: http.client.HTTPMessage
    raw: bytes
    seconds: float

    @property
    def json(self) -> Any:
        """The decoded body."""
        return json.loads(self.raw)


class ApiClient:
    """Sequential requests for one client over one connection."""

    def __init__(self, address: Address, client: str) -> None:
        self._address = address
        self._client = client
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        """One call, a body that is not bytes as JSON; `NoResponse` when its answer did not come, or did not say. It is never sent again."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        began = time.perf_counter()
        connection = self._connected()
        try:
            connection.request(method, path, content, {"X-Client-Id": self._client, "Content-Type": "application/json"} | named)
            answer = connection.getresponse()
            raw = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoResponse(False) from error
        if answer.will_close:
            self.close()
        if answer.status == 503 and b'"outcome_unknown"' in raw:
            raise UnknownOutcome
        return Response(answer.status, answer.headers, raw, time.perf_counter() - began)

    def expect_ok(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request that must succeed; return its decoded body."""
        answer = self.call(method, path, body, **headers)
        if answer.status >= 300:
            raise AssertionError(f"{method} {path}: {answer.status} {answer.raw[:300]!r}")
        return answer.json if answer.raw else None

    def close(self) -> None:
        """Close the connection; the next request opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            connection = http.client.HTTPConnection(self._address.host, self._address.port, timeout=SECONDS)
            try:
                connection.connect()
            except OSError as error:
                raise NoResponse(True) from error
            self._connection = connection
        return self._connection
