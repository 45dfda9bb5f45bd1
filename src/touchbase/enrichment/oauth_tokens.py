"""Asking a tool's API with a connection's access token, or with one that the tool gives for its refresh token.

Such a token is kept in this process's memory only. It is got when it is needed and used until the tool refuses it; how long the
tool says that it lives does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.common.timestamps import Clock
from touchbase.connections.models import Connection
from touchbase.connections.oauth import Grant, grant_of
from touchbase.connections.tools import ApiResponse, Ask, Fetcher, FetchFailed, TokenRefresh
from touchbase.enrichment.retry_policy import judged

_REFUSED = 401


class AccessTokens:
    """The access tokens that tools have given us, each for one client's connection as it is now."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._given: dict[tuple[int, str], tuple[Grant, str]] = {}

    async def ask(self, ask: Ask, connection: Connection, fetcher: Fetcher, object_type: str, ids: Sequence[str]) -> ApiResponse | None:
        """What the API says of these objects; None when it knows no such type. Raises `FetchFailed`.

        A token that we had is got anew when it is refused, and the call sent again; a new one that is refused is the end of it.
        """
        grant = grant_of(connection.access_token)
        base = connection.settings.api_base or fetcher.base

        async def with_token(token: str) -> ApiResponse | None:
            call = fetcher.call(replace(connection, access_token=token), object_type, ids)
            return None if call is None else await ask(base, call)

        if grant is None or fetcher.call(connection, object_type, ids) is None:
            return await with_token(connection.access_token)
        known = self._known(connection, grant)
        answer = None if known is None else await with_token(known)
        if answer is not None and answer.status != _REFUSED:
            return answer
        return await with_token(await self._new(ask, base, connection, fetcher.renewal, grant))

    def secrets_of(self, connection: Connection) -> tuple[str, ...]:
        """What a record of this connection must not hold, should its tool repeat what it was shown."""
        grant = grant_of(connection.access_token)
        if grant is None:
            return (connection.access_token,)
        token = self._known(connection, grant)
        return grant.secrets if token is None else (*grant.secrets, token)

    def _known(self, connection: Connection, grant: Grant) -> str | None:
        given, token = self._given.get((connection.client, connection.tool), (None, None))
        return token if given == grant else None

    async def _new(self, ask: Ask, base: str, connection: Connection, renewal: TokenRefresh | None, grant: Grant) -> str:
        tool = connection.tool
        self._given.pop((connection.client, tool), None)
        if renewal is None:
            raise FetchFailed(f"{tool} takes an access token, no refresh token: connect it again with one", stop=True)
        answer = await ask(*renewal.call(base, grant))
        verdict = judged(tool, answer, alone=False, now_us=self._clock())
        if isinstance(verdict, FetchFailed) and not verdict.stop:
            raise verdict
        if isinstance(verdict, FetchFailed):
            raise FetchFailed(f"{tool} answered {answer.status} to the refresh token: connect it again with a new one", stop=True)
        token = renewal.token(answer)
        self._given[connection.client, tool] = (grant, token)
        return token
