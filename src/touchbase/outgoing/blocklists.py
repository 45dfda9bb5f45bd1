"""Endpoints of the kind `blocklist`: each entry of the do-not-contact lists goes to the blocklist of a campaign tool.

The entry is read when the request is sent, so a late attempt puts nobody on a list who was taken off here meanwhile. A removed entry is
taken off the tool's list only if this endpoint put it there: the tool may have the address for reasons of its own.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from secrets import token_hex
from urllib.parse import quote, unquote

from touchbase.common.timestamps import Micros
from touchbase.connections.models import Connection, connection_of
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.tools import ApiResponse, FetchFailed, SendRequest
from touchbase.do_not_contact.models import INSTALLATION
from touchbase.do_not_contact.sql.lookup import find_address, get_entry
from touchbase.event_log.models import EventType, LoggedEvent, event_id
from touchbase.history.events import EMAIL_CAMPAIGN
from touchbase.outgoing.blocklist_tools import (
    BLOCKLISTS,
    advice,
    entry_id_in,
    is_taken,
    refusal,
    request_to_add,
    request_to_find,
    request_to_remove,
    request_to_test,
)
from touchbase.outgoing.content import TEST, OutgoingMessage, unsent
from touchbase.outgoing.http_client import ReceiverAnswer, since
from touchbase.outgoing.hubspot_client import response_text
from touchbase.outgoing.models import REFUSED, SKIPPED, UNREACHABLE, Endpoint
from touchbase.outgoing.sql.announced import find_announced, is_listed, is_on_list
from touchbase.sql.store import Store

SCHEME = "blocklist:"
ADDITIONS = (EventType.SUPPRESSION_ADDED.value, EventType.INSTALLATION_SUPPRESSION_ADDED.value)
SHARED = (EventType.INSTALLATION_SUPPRESSION_ADDED.value, EventType.INSTALLATION_SUPPRESSION_REMOVED.value)
"""Events of the installation's list; the others are of the client's."""
TYPES = (EventType.SUPPRESSION_ADDED.value, EventType.SUPPRESSION_REMOVED.value, *SHARED)
SAMPLE = ("email", "ann@example.com")
NOT_PUSHED = f"only {' and '.join(TYPES)} go to a blocklist"
ENDED = "this entry has left the do-not-contact list"
LISTED_AGAIN = "the client's do-not-contact list or the installation's has this address"
REMOVE = "remove"
ERASED = "the person was erased; the address is not stored any more"


def url_of(tool: str) -> str:
    """Return the URL of an endpoint, which names its list; nothing is sent to it."""
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
    named = (f"{event_id(event.sequence)}_{endpoint.id}", event.type)
    if event.type not in TYPES:
        return unsent(*named, SKIPPED, NOT_PUSHED)
    if event.type not in ADDITIONS:
        return await _removal(store, endpoint, event, named, now)
    listed = INSTALLATION if event.type in SHARED else endpoint.client
    entry = await store.read(get_entry(listed, event.data["suppression_id"]))
    if entry is None or not entry.is_active(now):
        return unsent(*named, SKIPPED, ENDED)
    if entry.value is None:
        return unsent(*named, SKIPPED, ERASED)
    return await _message(store, endpoint, named, (entry.kind, entry.value))


async def _removal(store: Store, endpoint: Endpoint, event: LoggedEvent, named: tuple[str, str], now: Micros) -> OutgoingMessage:
    """Return the request that takes a removed entry off the tool's list again, or why there is none."""
    tool, number = endpoint.settings["tool"], event.data["suppression_id"]
    name = BLOCKLISTS[tool].name
    by_hand = "if the person may be contacted again, take the address off there"
    if BLOCKLISTS[tool].remove is None:
        return unsent(*named, SKIPPED, f"{name} publishes no way to take an address off its list: {by_hand}")
    of_installation = find_announced(endpoint.client, endpoint.id, number)
    address = await store.read(of_installation if event.type in SHARED else find_address(endpoint.client, number))
    if address is None:
        return unsent(*named, SKIPPED, ERASED)
    if await store.read(is_listed(endpoint.client, *address, now)):
        return unsent(*named, SKIPPED, LISTED_AGAIN)
    if not await store.read(is_on_list(endpoint.client, endpoint.id, *address)):
        return unsent(*named, SKIPPED, f"no attempt says that this endpoint has put the address on the list of {name}: {by_hand}")
    return await _message(store, endpoint, named, address, REMOVE)


async def test_of_blocklist(store: Store, endpoint: Endpoint, *, is_preview: bool) -> OutgoingMessage:
    """Return a test, which changes nothing; for a preview the request for a fictitious person."""
    named = (f"test_{token_hex(12)}", TYPES[0] if is_preview else TEST)
    return await _message(store, endpoint, named, SAMPLE if is_preview else None)


async def _message(
    store: Store, endpoint: Endpoint, named: tuple[str, str], address: tuple[str, str] | None, verb: str = "add"
) -> OutgoingMessage:
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
    return OutgoingMessage(*named, request.body, target=f"{target}/{kind}/{quote(value, safe='')}/{verb}")


def path_of(target: str) -> str:
    """Return the method and path of the request of a target, without a token."""
    _, tool, kind, value, _ = target.removeprefix(SCHEME).split("/")
    return f"POST {BLOCKLISTS[tool].add(kind, unquote(value))[0]}"


class BlocklistClient:
    """Sends requests to tools with the tokens of their connections; `close` closes the connections of `send`."""

    def __init__(self, store: Store, send: SendRequest, close: Callable[[], Awaitable[None]]) -> None:
        self._store = store
        self._send = send
        self.close = close

    async def post(self, target: str) -> ReceiverAnswer:
        """Send the request of a target; failures are answers too."""
        began = time.perf_counter()
        client, tool, *address = target.removeprefix(SCHEME).split("/")
        connection = connection_of(await self._store.read(list_connections(int(client))), EMAIL_CAMPAIGN, tool)
        if (why := why_not_filled(tool, connection)) is not None or connection is None:
            return ReceiverAnswer(0, failure=UNREACHABLE, error=why or "")
        base, name = connection.settings.api_base or BLOCKLISTS[tool].base or "", BLOCKLISTS[tool].name
        is_removal, value = address[-1:] == [REMOVE], unquote(address[1]) if address else ""
        is_there = True
        try:
            if not address:
                response = await self._send(base, request_to_test(tool, connection))
            elif not is_removal:
                response = await self._send(base, request_to_add(tool, connection, address[0], value))
            else:
                response, is_there = await self._remove(base, tool, connection, address[0], value)
        except FetchFailed as error:
            return ReceiverAnswer(since(began), failure=UNREACHABLE, error=str(error))
        text = response_text(response.body, connection.access_token)
        skipped = _why_removed_already(name, response, is_there) if is_removal else _why_added_already(name, response) if address else ""
        if skipped:
            return ReceiverAnswer(since(began), response.status, response.headers, text, SKIPPED, skipped)
        if 200 <= response.status < 300 and (why := refusal(response)):
            return ReceiverAnswer(since(began), None, response.headers, text, REFUSED, f"{name} answered {response.status}, but {why}")
        return ReceiverAnswer(since(began), response.status, response.headers, text, error=advice(tool, response))

    async def _remove(self, base: str, tool: str, connection: Connection, kind: str, value: str) -> tuple[ApiResponse, bool]:
        """Take an address off a tool's list; return the last response, and whether the list had it."""
        entry_id = ""
        if (request := request_to_find(tool, connection, value)) is not None:
            response = await self._send(base, request)
            if not 200 <= response.status < 300:
                return response, True
            if not (entry_id := entry_id_in(response, value)):
                return response, False
        response = await self._send(base, request_to_remove(tool, connection, kind, value, entry_id))
        return response, response.status != 404


def _why_added_already(name: str, response: ApiResponse) -> str:
    return f"the list of {name} has it already" if is_taken(response) else ""


def _why_removed_already(name: str, response: ApiResponse, is_there: bool) -> str:
    if not is_there:
        return f"the list of {name} has it no more"
    return f"{name} does not take it off: the person opted out there" if response.status == 409 else ""
