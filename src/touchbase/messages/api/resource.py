"""HTTP resources of messages."""

from __future__ import annotations

from typing import Any

from msgspec import structs

from touchbase.auth.authentication import READ, WRITE
from touchbase.clients.models import Client
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.normalize import find_email_key
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid, NotFound
from touchbase.history.events import CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import CLIENT, LARGEST_PAGE, LIMIT, PAGE, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode, fitting
from touchbase.messages.api.schemas import (
    Interest,
    MessageOut,
    MessagePage,
    NewMessage,
    TeamMessage,
    TeamMessagePage,
    message_out,
    new_message,
    with_text,
)
from touchbase.messages.models import CHANNELS, DIRECTIONS, Message
from touchbase.messages.sql import plans as sql_plans
from touchbase.messages.sql.plans import get_messages
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import new_write_key
from touchbase.sql.page_budget import page_of

MESSAGES = Tag("Messages", "Sent and received mails and LinkedIn messages, with their text.")
PATH, OF_ALL = "/public/v2/messages", "/team/v1/messages"
CONTACT_ID = query.integer("contact_id", 1, LARGEST_ID, "Messages of this contact.", member="contact_id")
CONTACT_EMAIL = query.text("contact_email", "Messages of the contact with this e-mail address.")
INTERESTED = query.yes_or_no("interested", "Messages that are marked so.", member="interested")
FILTERS = (
    CONTACT_ID,
    CONTACT_EMAIL,
    query.choice("direction", DIRECTIONS, "Messages that were sent, or received.", member="direction"),
    query.choice("channel", CHANNELS, "Messages of this channel.", member="channel"),
    query.text("campaign_id", "Messages of this campaign, by the tool's id.", member="campaign_id"),
    query.text("subject", "Messages with exactly this subject.", member="subject"),
    query.text("tool", "Messages from this tool.", member="tool"),
    INTERESTED,
    query.text("mailbox", "Messages that this own address or account sent or received.", member="mailbox"),
    query.time("since", "Messages from this time on.", member="since_us"),
    query.time("until", "Messages before this time.", member="until_us"),
)


async def list_messages(call: Call) -> Response:
    """`GET` of a page of messages."""
    client, parameters = await call.client(), call.parameters()
    after: tuple[Micros, int] | None = parameters.cursor(PATH, tuple[int, int])
    filters = _filters(parameters)
    limit = min(parameters[LIMIT], LARGEST_PAGE)
    page_bytes = await call.page_bytes()
    wanted = sql_plans.list_messages(client.number, limit + 1, after, page_bytes=page_bytes, **filters)
    page, has_more = page_of(await call.api.dependencies.store.read(wanted), limit)
    data = fitting(map(message_out, page), page_bytes)
    last = page[len(data) - 1] if has_more or len(data) < len(page) else None
    cursor = None if last is None else cursor_text(PATH, (last.occurred_us, last.place))
    return Response(body=encode({"data": data, "next_cursor": cursor}))


def _filters(parameters: Parameters) -> dict[str, Any]:
    """Return the filters of a request, which has no further parameters."""
    address = parameters[CONTACT_EMAIL]
    key = address and find_email_key(address)
    if address is not None and key is None:
        parameters.fault(CONTACT_EMAIL.name, "email", "must be an e-mail address")
    parameters.done()
    return {**parameters.filters, "contact_key": key}


async def list_all_messages(call: Call) -> Response:
    """`GET` of a page of messages of all clients that the caller may see."""
    principal, parameters = await call.principal(of_several=True), call.parameters()
    before = parameters.cursor(OF_ALL, tuple[int, int, int])
    filters = _filters(parameters)
    numbers, limit, page_bytes = await call.visible(principal, parameters[CLIENT]), parameters[LIMIT], await call.page_bytes()
    wanted = sql_plans.list_all_messages(numbers, limit + 1, before, filters, page_bytes)
    page, has_more = page_of(await call.api.dependencies.store.read(wanted), limit)
    clients = await call.api.clients.of(number for number, _ in page)
    shown = (TeamMessage(**structs.asdict(message_out(message)), client_id=clients[number].client_id) for number, message in page)
    data = fitting(shown, page_bytes)
    cursor = None
    if has_more or len(data) < len(page):
        number, last = page[len(data) - 1]
        cursor = cursor_text(OF_ALL, (last.occurred_us, number, last.place))
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def get_message(call: Call) -> Response:
    """`GET` of one message."""
    client, number = await call.client(), call.id("message")
    return Response(body=encode(message_out(await find_message(call, client, number))))


async def find_message(call: Call, client: Client, number: int) -> Message:
    """Return a message; raise `NotFound`."""
    messages = await call.api.dependencies.store.read(get_messages(client.number, [number]))
    if number not in messages:
        raise NotFound(f"there is no message with id {number}: it was deleted, or its contact was")
    return messages[number]


async def create_message(call: Call) -> Response:
    """`POST` of one message."""
    client, parts = await call.client(), call.api.dependencies
    call.parameters().done()
    body = await call.body(NewMessage)
    now = parts.clock()
    contact_id = await contact_of(call, client, body)
    message = new_message(body, contact_id, new_write_key(), now, with_body=client.settings.store_message_bodies)
    call.api.storing(client, 1, now)
    message = await with_text(message, parts.sandbox)

    def respond(message: Message) -> Response:
        response = Response(201, encode(message_out(message)))
        response.headers.append((b"location", call.reached_at(f"{PATH}/{message.id}")))
        response.record = (CONTACT, message.contact_id)
        return response

    command = sql_plans.create_message(client.number, message, author_of(call.scope))
    return await call.write_and_respond(lambda writes: writes.write(command), respond)


async def contact_of(call: Call, client: Client, body: NewMessage) -> int:
    """Return the id of the contact that a new message names; raise `Invalid` or `NotFound`."""
    if (body.contact_id is None) == (body.contact_email is None):
        raise Invalid([Fault("/contact_id", "required", "send one of contact_id and contact_email")])
    if body.contact_id is not None:
        return body.contact_id
    key = find_email_key(body.contact_email or "")
    if key is None:
        raise Invalid([Fault("/contact_email", "email", "must be an e-mail address")])
    page = await call.api.dependencies.store.read(list_records(Listing(CONTACT_TYPE, client.number, 1, email_key=key)))
    if not page:
        raise NotFound("there is no contact with this contact_email; create the contact first")
    return page[0].id


async def delete_message(call: Call) -> Response:
    """`DELETE` of one message."""
    client, number = await call.client(), call.id("message")
    call.parameters().done()
    await call.api.dependencies.store.write(sql_plans.delete_message(client.number, number))
    return Response(204)


async def set_interested(call: Call) -> Response:
    """`POST` of whether the author of one message is interested."""
    client, number = await call.client(), call.id("message")
    call.parameters().done()
    body = await call.body(Interest)
    command = sql_plans.set_interested(client.number, number, body.interested, call.api.dependencies.clock())

    def respond(message: Message) -> Response:
        response = Response(body=encode(message_out(message)))
        response.record = (CONTACT, message.contact_id)
        return response

    return await call.write_and_respond(lambda writes: writes.write(command), respond)


ROUTES = [
    Route(
        "GET", PATH, list_messages, scope=READ, operation_id="list_messages", tag=MESSAGES, summary="List messages, newest first",
        description="The mails and LinkedIn messages that the client's tools have sent, or that requests have made. Messages of deleted "
        "contacts are left out until the contact is restored.",
        query=(*PAGE, *FILTERS), success=(Success(200, "A page.", MessagePage),),
    ),
    Route(
        "POST", PATH, create_message, scope=WRITE, operation_id="create_message", tag=MESSAGES, summary="Store one message of a contact",
        description="It appears in the contact's timeline and changes neither its status nor its dates. If the contact has a message of "
        "the same direction and `message_id` (and `tool`, unless the id is a mail's Message-ID, with an `@`), that one is returned, with "
        "what it left out.",
        body=NewMessage, success=(Success(201, "The message.", MessageOut, ("Location",)),), problems=(404,),
    ),
    Route(
        "GET", OF_ALL, list_all_messages, scope=READ, operation_id="list_all_messages", tag=MESSAGES,
        summary="List messages of all clients, newest first",
        description="As the list of one client. For a page up to 500 clients are looked through: if few of their messages match, the "
        "response asks for `client`.",
        query=(CLIENT, *PAGE, *FILTERS), success=(Success(200, "A page.", TeamMessagePage),), problems=(404,),
    ),
    Route(
        "GET", f"{PATH}/{{id}}", get_message, scope=READ, operation_id="get_message", tag=MESSAGES, summary="Get one message",
        description="Returns the message.", success=(Success(200, "The message.", MessageOut),),
    ),
    Route(
        "DELETE", f"{PATH}/{{id}}", delete_message, scope=WRITE, operation_id="delete_message", tag=MESSAGES, summary="Delete one message",
        description="Removes the message permanently; a repeat of the webhook does not bring it back. The timeline keeps the event.",
        success=(Success(204, "It is removed."),),
    ),
    Route(
        "POST", f"{PATH}/{{id}}/set-interested", set_interested, scope=WRITE, operation_id="set_message_interested", tag=MESSAGES,
        summary="Mark the author of one message as interested or not",
        description="Changes nothing else: to change the contact's status, update the contact.",
        body=Interest, success=(Success(200, "The message.", MessageOut),),
    ),
]  # fmt: skip
