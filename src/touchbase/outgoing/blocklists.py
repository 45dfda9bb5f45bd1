"""Endpoints of the kind `blocklist`: each entry of a client's do-not-contact list goes to the blocklist of a campaign tool.

The entry is read when the request is sent, so a late attempt puts nobody on a list who was taken off here meanwhile. Nothing is taken
off the tool's list: it may have the address for reasons of its own.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from secrets import token_hex
from urllib.parse import quote, unquote

from touchbase.common.timestamps import Micros
from touchbase.connections.models import Connection, connection_of
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.tools import FetchFailed, SendRequest
from touchbase.do_not_contact.sql.lookup import get_entry
from touchbase.event_log.models import EventType, LoggedEvent, event_id
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.outgoing.blocklist_tools import BLOCKLISTS, advice, is_taken, refusal, request_to_add, request_to_test
from touchbase.outgoing.content import TEST, OutgoingMessage, unsent
from touchbase.outgoing.http_client import Answer, since
from touchbase.outgoing.hubspot_client import response_text
from touchbase.outgoing.models import REFUSED, SKIPPED, UNREACHABLE, Endpoint
from touchbase.sql.store import Store

SCHEME = "blocklist:"
TYPES = (EventType.SUPPRESSION_ADDED.value, EventType.SUPPRESSION_REMOVED.value)
SAMPLE = ("email", "ann@example.com")
NOT_PUSHED = f"only {' and '.join(TYPES)} go to a blocklist"
ENDED = "the do-not-contact list has this entry no more"
ERASED = "the person was erased; the address is not stored any more"


def url_of(tool: str) -> str:
    """Return the URL of an endpoint: it says what is filled, and nothing is sent to it."""
    return f"{SCHEME}{tool}"


def why_not_filled(tool: str, connection: Connection | None) -> str | None:
    """Return why the tool's blocklist cannot be filled; None if it can."""
    name = BLOCKLISTS[tool].name
    if connection is None or not connection.access_token:
        return f"{name} is not connected with an access token: connect it on the channel email_campaign, or give its connection the token"
    if BLOCKLISTS[tool].base is None and not connection.settings.api_base:
        return f"the connection of {name} names no API: set its setting api_base"
    return None


async def message_to_blocklist(store: Store, endpoint: Endpoint, event: LoggedEvent, now: Micros) -> OutgoingMessage:
    """Return the request for an event of the do-not-contact list, or why there is none."""
    tool, named = endpoint.settings["tool"], (f"{event_id(event.sequence)}_{endpoint.id}", event.type)
    if event.type not in TYPES:
        return unsent(*named, SKIPPED, NOT_PUSHED)
    name = BLOCKLISTS[tool].name
    if event.type == EventType.SUPPRESSION_REMOVED:
        return unsent(*named, SKIPPED, f"nothing is taken off the list of {name}: if the person may be contacted again, do it there")
    entry = await store.read(get_entry(endpoint.client, event.data["suppression_id"]))
    if entry is None or not entry.is_active(now):
        return unsent(*named, SKIPPED, ENDED)
    if entry.value is None:
        return unsent(*named, SKIPPED, ERASED)
    return await _message(store, endpoint, named, (entry.kind, entry.value))


async def test_of_blocklist(store: Store, endpoint: Endpoint, *, is_preview: bool) -> OutgoingMessage:
    """Return a test, which changes nothing; for a preview the request for a fictitious person."""
    named = (f"test_{token_hex(12)}", TYPES[0] if is_preview else TEST)
    return await _message(store, endpoint, named, SAMPLE if is_preview else None)


async def _message(store: Store, endpoint: Endpoint, named: tuple[str, str], address: tuple[str, str] | None) -> OutgoingMessage:
    tool = endpoint.settings["tool"]
    connection = connection_of(await store.read(list_connections(endpoint.client)), EMAIL_CAMPAIGN, tool)
    if (why := why_not_filled(tool, connection)) is not None or connection is None:
        return unsent(*named, UNREACHABLE, why or "")
    target = f"{SCHEME}{endpoint.client}/{tool}"
    if address is None:
        return OutgoingMessage(*named, b"", target=target)
    kind, value = address
    if kind not in (kinds := BLOCKLISTS[tool].kinds):
        return unsent(*named, SKIPPED, f"the blocklist of {BLOCKLISTS[tool].name} takes no {kind}, only {' and '.join(kinds)}")
    request = request_to_add(tool, connection, kind, value)
    return OutgoingMessage(*named, request.body, target=f"{target}/{kind}/{quote(value, safe='')}")


def path_of(target: str) -> str:
    """Return the method and path of the request of a target, without a token."""
    _, tool, kind, value = target.removeprefix(SCHEME).split("/")
    return f"POST {BLOCKLISTS[tool].add(kind, unquote(value))[0]}"


class BlocklistClient:
    """Sends requests to tools with the tokens of their connections; `close` closes the connections of `send`."""

    def __init__(self, store: Store, send: SendRequest, close: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._send = send
        self.close = close

    async def post(self, target: str) -> Answer:
        """Send the request of a target; failures are answers too."""
        began = time.perf_counter()
        client, tool, *address = target.removeprefix(SCHEME).split("/")
        connection = connection_of(await self._store.read(list_connections(int(client))), EMAIL_CAMPAIGN, tool)
        if (why := why_not_filled(tool, connection)) is not None or connection is None:
            return Answer(0, failure=UNREACHABLE, error=why or "")
        request = request_to_add(tool, connection, address[0], unquote(address[1])) if address else request_to_test(tool, connection)
        try:
            response = await self._send(connection.settings.api_base or BLOCKLISTS[tool].base or "", request)
        except FetchFailed as error:
            return Answer(since(began), failure=UNREACHABLE, error=str(error))
        text, name = response_text(response.body, connection.access_token), BLOCKLISTS[tool].name
        if address and is_taken(response):
            return Answer(since(began), response.status, response.headers, text, SKIPPED, f"the list of {name} has it already")
        if 200 <= response.status < 300 and (why := refusal(response)):
            return Answer(since(began), None, response.headers, text, REFUSED, f"{name} answered {response.status}, but {why}")
        return Answer(since(began), response.status, response.headers, text, error=advice(tool, response))
