"""HTTP client of outgoing webhooks: a response of any length is an answer, and so is every failure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from touchbase.connections.tools import FetchFailed
from touchbase.enrichment.http_connection import ConnectionLost
from touchbase.enrichment.http_pool import HttpPool, target_of
from touchbase.outgoing.models import RESPONSE_BYTES, TIMEOUT, UNREACHABLE

SECONDS = 15.0
"""From the first step of a request to the last byte of its response."""
READ_BYTES = 65_536
"""Bytes of the body of a response that are read; the connection is not used again after a longer one."""


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """Outcome of a request: a response, or why there is none."""

    latency_us: int
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    failure: str = ""
    """TIMEOUT or UNREACHABLE, without a response."""
    error: str = ""


def since(began: float) -> int:
    """Return the microseconds since a reading of the performance counter."""
    return int((time.perf_counter() - began) * 1e6)


class WebhookClient:
    """Sends requests; `allowed`: origins that the operator permits, public or not, https or not."""

    def __init__(self, agent: str, allowed: Collection[str] = ()) -> None:
        self._pool = HttpPool(agent, allowed, "correct the URL of the endpoint", "TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS")
        self.is_allowed, self.close = self._pool.is_allowed, self._pool.close

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        """Send a request; its failures are answers too."""
        began = time.perf_counter()

        def failed(failure: str, error: str) -> ReceiverAnswer:
            return ReceiverAnswer(since(began), failure=failure, error=error)

        try:
            origin, _ = target_of(url)
        except ValueError:
            return failed(UNREACHABLE, "the URL of the endpoint is invalid")
        if not self._pool.is_allowed(origin):
            return failed(UNREACHABLE, f"{origin[1]} may be reached by https only")
        try:
            async with asyncio.timeout(SECONDS):
                response = await self._pool.send("POST", url, headers, body, READ_BYTES)
        except TimeoutError:
            return failed(TIMEOUT, f"no response within {SECONDS:g} seconds")
        except FetchFailed as error:
            return failed(UNREACHABLE, str(error))
        except (ConnectionLost, OSError) as error:
            why = str(error) if isinstance(error, ConnectionLost) else f"{type(error).__name__} {error}".strip()
            return failed(UNREACHABLE, f"{origin[1]} cannot be reached: {why}"[:200])
        text = response.body[:RESPONSE_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")
        return ReceiverAnswer(since(began), response.status, response.headers, text)
