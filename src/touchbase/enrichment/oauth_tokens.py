"""Access tokens: a connection's own, or one obtained for its refresh token.

An obtained token stays in this process's memory. It is requested when first needed and used until the tool refuses it; the
expiry that the tool announces is not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.common.cache import Cache
from touchbase.common.content_encoding import decoded_size
from touchbase.common.timestamps import Clock
from touchbase.connections.models import Connection
from touchbase.connections.oauth import Grant, grant_of
from touchbase.connections.tools import ApiResponse, Fetcher, FetchFailed, SendRequest, TokenRefresh
from touchbase.enrichment.retry_policy import classify_response

_REFUSED = 401
TOKEN_BYTES = 65_536
"""Bytes of a response to a refresh token, decompressed."""
MAX_TOKENS = 100_000
"""Cached tokens: more than connections that are fetched at once, because a token in use must stay to be redacted."""


class AccessTokens:
    """Access tokens obtained for refresh tokens, each valid for one client's connection and refresh token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tokens: Cache[tuple[int, str], tuple[Grant, str]] = Cache(clock, None, most=MAX_TOKENS)

    async def fetch(
        self, send: SendRequest, connection: Connection, fetcher: Fetcher, object_type: str, ids: Sequence[str]
    ) -> ApiResponse | None:
        """Request these objects from the API; None when it has no such type. Raises `FetchFailed`.

        If the cached token is refused, a new one is obtained and the request sent again, once.
        """
        grant = grant_of(connection.access_token)
        base = connection.settings.api_base or fetcher.base

        async def with_token(token: str) -> ApiResponse | None:
            request = fetcher.request(replace(connection, access_token=token), object_type, ids)
            return None if request is None else await send(base, request)

        if grant is None or fetcher.request(connection, object_type, ids) is None:
            return await with_token(connection.access_token)
        cached = self._cached(connection, grant)
        response = None if cached is None else await with_token(cached)
        if response is not None and response.status != _REFUSED:
            return response
        return await with_token(await self._refresh(send, base, connection, fetcher.renewal, grant))

    def secrets_of(self, connection: Connection) -> tuple[str, ...]:
        """Return the secrets to redact from this connection's records, in case the tool repeats a request in its response."""
        grant = grant_of(connection.access_token)
        if grant is None:
            return (connection.access_token,)
        token = self._cached(connection, grant)
        return grant.secrets if token is None else (*grant.secrets, token)

    def _cached(self, connection: Connection, grant: Grant) -> str | None:
        cached_for, token = self._tokens.peek((connection.client, connection.tool)) or (None, None)
        return token if cached_for == grant else None

    async def _refresh(self, send: SendRequest, base: str, connection: Connection, renewal: TokenRefresh | None, grant: Grant) -> str:
        tool = connection.tool
        self._tokens.forget((connection.client, tool))
        if renewal is None:
            raise FetchFailed(f"{tool} takes an access token, not a refresh token: connect it again with an access token", stop=True)
        response = await send(*renewal.request(base, grant))
        verdict = classify_response(tool, response, single=False, now_us=self._clock())
        if isinstance(verdict, FetchFailed) and not verdict.stop:
            raise verdict
        if isinstance(verdict, FetchFailed):
            raise FetchFailed(f"{tool} answered {response.status} to the refresh token: connect it again with a new one", stop=True)
        if decoded_size(response.headers.get("content-encoding", ""), response.body, TOKEN_BYTES) > TOKEN_BYTES:
            raise FetchFailed(f"{tool} answered more than {TOKEN_BYTES:,} bytes to the refresh token: is api_base the URL of its API?")
        token = renewal.token(response)
        self._tokens.put((connection.client, tool), (grant, token), self._clock())
        return token
