"""HTTP client for tools' APIs: https only, public addresses only, no redirects, responses limited in size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import MAX_RESPONSE, ApiRequest, ApiResponse, FetchFailed
from touchbase.enrichment.http_connection import ConnectionLost, NotConnected
from touchbase.enrichment.http_pool import HttpPool

SECONDS = 30.0
"""From the first step of a request to the last byte of its response."""


class HttpClient:
    """HTTP client; `allowed`: origins (`https://crm.internal:8443`) that the operator permits, public or not."""

    def __init__(self, agent: str, allowed: Collection[str] = (), advice: str = "correct the setting api_base") -> None:
        self._advice = advice
        self._pool = HttpPool(agent, allowed, advice, "TOUCHBASE_FETCH_ALLOWED_ORIGINS")
        self.close = self._pool.close

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Send a request to the API at this base URL. Raises `FetchFailed`, which contains nothing of the request."""
        try:
            origin = origin_of(base)
        except ValueError:
            raise FetchFailed(f"the address of the API is not valid; {self._advice}", stop=True, unsent=True) from None
        if not self._pool.is_allowed(origin):
            raise FetchFailed(f"{origin[1]} may be reached by https only; {self._advice}", stop=True, unsent=True)
        try:
            async with asyncio.timeout(SECONDS):
                url = base.rstrip("/") + request.path
                response = await self._pool.send(request.method, url, request.headers, request.body, MAX_RESPONSE)
        except (ConnectionLost, TimeoutError, OSError) as error:
            why = str(error) if isinstance(error, ConnectionLost) else f"{type(error).__name__} {error}".strip()
            unsent = isinstance(error, NotConnected) or not isinstance(error, ConnectionLost | TimeoutError)
            raise FetchFailed(f"{origin[1]} cannot be reached: {why}"[:200], unsent=unsent) from None
        except ValueError:  # of ids and cursors that the tool has sent
            raise FetchFailed(
                "the request has an address that cannot be sent; is api_base the URL of its API?", stop=True, unsent=True
            ) from None
        if len(response.body) > MAX_RESPONSE or response.is_cut:
            raise FetchFailed(f"the response is longer than {MAX_RESPONSE} bytes, or comes in pieces that are too short")
        return ApiResponse(response.status, response.headers, response.body)
