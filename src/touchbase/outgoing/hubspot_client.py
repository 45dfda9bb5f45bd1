"""Client of write-back: sends with the token of the client's connection, through the HTTP client that fetches records."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from urllib.parse import quote

from touchbase.connections.models import Connection, connection_of
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed, SendRequest
from touchbase.history.events import CRM
from touchbase.outgoing import hubspot
from touchbase.outgoing.http_client import READ_BYTES, ReceiverAnswer, since
from touchbase.outgoing.models import RESPONSE_BYTES, SKIPPED, UNREACHABLE
from touchbase.sql.store import Store

NOT_CONNECTED = (
    "HubSpot is not connected with an access token: connect it, or give its connection the token "
    "(/admin/v1/clients/{client_id}/connections)"
)
NO_PROPERTY = "the connection of HubSpot names no property to write: set its setting written_property"
GONE = "HubSpot does not have this contact any more"


async def hubspot_of(store: Store, client: int) -> Connection | None:
    """Return the client's connection of HubSpot, or None."""
    return connection_of(await store.read(list_connections(client)), CRM, hubspot.TOOL)


def why_not_written(connection: Connection | None) -> str | None:
    """Return why nothing can be written through a connection; None if it can."""
    if connection is None or not connection.access_token:
        return NOT_CONNECTED
    return None if connection.settings.written_property else NO_PROPERTY


class HubSpotClient:
    """Writes to HubSpot; `close` closes the connections of `send`."""

    def __init__(self, store: Store, send: SendRequest, close: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._send = send
        self.close = close

    async def post(self, target: str, body: bytes) -> ReceiverAnswer:
        """Send the requests of a target one after another until one fails; failures are answers too."""
        began = time.perf_counter()
        connection = await hubspot_of(self._store, hubspot.client_of(target))
        if connection is None or not connection.access_token:
            return ReceiverAnswer(0, failure=UNREACHABLE, error=NOT_CONNECTED)
        requests = hubspot.requests_of(target, connection, body)
        answer, gone = ReceiverAnswer(0), 0
        try:
            for request in requests:
                response = await self._send(connection.settings.api_base or hubspot.API, request)
                if request.method == "PATCH" and hubspot.is_gone(response):
                    gone += 1
                    answer = answer if answer.status is not None else _answer(request, response, connection, began)
                    continue
                answer = _answer(request, response, connection, began)
                if not 200 <= response.status < 300:
                    return answer
        except FetchFailed as error:
            return ReceiverAnswer(since(began), failure=UNREACHABLE, error=str(error))
        if gone == len(requests):
            return ReceiverAnswer(since(began), answer.status, answer.headers, answer.body, SKIPPED, GONE)
        note = f"HubSpot does not have {gone} of the {len(requests)} contacts of this person any more" if gone else ""
        return ReceiverAnswer(since(began), answer.status, answer.headers, answer.body, error=note)


def _answer(request: ApiRequest, response: ApiResponse, connection: Connection, began: float) -> ReceiverAnswer:
    text = response_text(response.body, connection.access_token)
    return ReceiverAnswer(since(began), response.status, hubspot.headers_of(response), text, error=hubspot.advice(request, response))


def response_text(body: bytes, token: str) -> str:
    """Return the beginning of a response without the token, of which it leaves no part; a long response is cut before it is searched."""
    shown, longest = body[:READ_BYTES], 0
    for written in {token.encode(), quote(token, safe="").encode()}:
        shown, longest = shown.replace(written, b"***"), max(longest, len(written))
    if len(body) > READ_BYTES:
        shown = shown[:-longest]  # the cut may have left the beginning of a token
    return shown[:RESPONSE_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")
