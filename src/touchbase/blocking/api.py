"""HTTP resource of the block of a contact."""

from __future__ import annotations

from typing import Annotated, cast

from msgspec import Meta, Struct

from touchbase.auth.authentication import ADMIN, WRITE
from touchbase.blocking import plans
from touchbase.clients.models import Client
from touchbase.common.timestamps import Micros
from touchbase.conversations.api import MOST_BULK, ChangedConversations, ConversationName, clients_named, names_in, responder
from touchbase.conversations.api import PATH as CONVERSATIONS
from touchbase.conversations.api import TAG as CONVERSATION_TAG
from touchbase.do_not_contact.api.schemas import KIND_NAMES, Note, Reason
from touchbase.errors import TouchbaseError
from touchbase.http.dependencies import WRITE_BATCH
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import DRY_RUN
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import RecordId, encode, example
from touchbase.records.api.resource import CONTACT_TAG
from touchbase.records.writes import new_write_key
from touchbase.sql.operation import Command, CommandPreview


class BlockContact(Struct, forbid_unknown_fields=True):
    """A blocked person or domain, and the reason."""

    company: Annotated[bool, Meta(description="Whether the domain of the company is listed too: nobody there is contacted.")] = False
    reason: Reason = "requested"
    note: Note = ""


class BlockConversations(Struct, forbid_unknown_fields=True):
    """A block of the contacts of many conversations."""

    conversations: Annotated[list[ConversationName], Meta(min_length=1, max_length=MOST_BULK, description="Whose contacts are blocked.")]
    block: Annotated[BlockContact | None, Meta(description="null takes back the block of each that the caller made within the last hour.")]


class BlockedEntry(Struct):
    """An entry of the client's do-not-contact list."""

    id: Annotated[RecordId | None, Meta(description="null in a dry run.")]
    kind: Annotated[str, Meta(extra_json_schema=KIND_NAMES)]


class Blocked(Struct):
    """A contact after it was blocked, or after the block was taken back."""

    contact_status: Annotated[str | None, Meta(description="The status that the contact has now.")]
    status_changed: Annotated[bool, Meta(description="Whether the status is another one than before.")]
    entries: Annotated[list[BlockedEntry], Meta(description="Its entries of the client's list; none after the block was taken back.")]


example(BlockContact, {"reason": "requested", "note": "asked in a reply"})
example(
    BlockConversations,
    {"conversations": [{"client_id": "acme", "contact_id": 1, "version": "12-1-0"}], "block": {"reason": "requested"}},
)
example(Blocked, {"contact_status": "do_not_contact", "status_changed": True, "entries": [{"id": 7, "kind": "email"}]})


async def block(call: Call) -> Response:
    """Handle `POST` of a block."""
    client, id, at, is_tried = await _begin(call)
    body = await call.body(BlockContact)
    command = plans.block_contact(client.number, id, at, new_write_key(), body.reason, body.note, body.company, author_of(call.scope))
    if is_tried:
        return await _try(call, client, command)
    return await call.write_and_respond(lambda writes: writes.write(command), _response)


async def unblock(call: Call) -> Response:
    """Handle `DELETE` of a block."""
    client, id, at, is_tried = await _begin(call)
    only_of = await call.without(ADMIN)
    command = plans.unblock_contact(client.number, id, at, new_write_key(), author_of(call.scope), only_of)
    return await _try(call, client, command) if is_tried else _response(await call.api.dependencies.store.write(command))


async def block_conversations(call: Call) -> Response:
    """Handle `POST` of a block of the contacts of conversations, or of its end."""
    caller = await call.principal(of_several=True)
    call.parameters().done()
    body, at, by = await call.body(BlockConversations), call.api.dependencies.clock(), author_of(call.scope)
    clients = await clients_named(call, caller, body.conversations)
    named = names_in(body.conversations, clients)
    terms = None if body.block is None else plans.BlockTerms(body.block.reason, body.block.note, body.block.company)
    reader = "" if caller.user is None else caller.user.id
    command = plans.block_conversations(named, at, new_write_key(), by, terms, reader)
    return await call.write_and_respond(lambda writes: writes.write(command), responder(body.conversations, clients, at))


async def _begin(call: Call) -> tuple[Client, int, Micros, bool]:
    """Return the client, the contact's id, the time, and whether the request is only tried."""
    client, at, parameters = await call.client(), call.api.dependencies.clock(), call.parameters()
    id = call.id("contact")
    parameters.done()
    call.api.limiter.storing(client, 1, at)
    return client, id, at, parameters[DRY_RUN]


async def _try(call: Call, client: Client, command: Command[plans.BlockResult]) -> Response:
    """Respond with a command's outcome without storing it."""
    if call.recorder is not None:
        call.recorder.skip()
    [preview] = await call.api.dependencies.store.write(call.api[WRITE_BATCH](client.number, [command], dry_run=True))
    assert isinstance(preview, CommandPreview)
    if isinstance(preview.outcome, TouchbaseError):
        raise preview.outcome
    return _response(cast("plans.BlockResult", preview.outcome), is_tried=True)


def _response(blocked: plans.BlockResult, *, is_tried: bool = False) -> Response:
    entries = [BlockedEntry(None if is_tried else entry.id, entry.kind) for entry in blocked.entries]
    return Response(body=encode(Blocked(blocked.status, blocked.status_changed, entries)))


PATH = "/public/v2/contacts/{id}/block"
ROUTES = [
    Route(
        "POST", f"{CONVERSATIONS}/block", block_conversations, scope=WRITE, operation_id="block_conversations", tag=CONVERSATION_TAG,
        summary="Block the contacts of many conversations", body=BlockConversations,
        description=f"Blocks the contacts of up to {MOST_BULK} conversations, of several clients, and handles their replies; one with a "
        "reply that came in after the version that is sent stays open. Each is blocked or refused by itself.",
        success=(Success(200, "What became of each.", ChangedConversations),),
    ),
    Route(
        "POST", PATH, block, scope=WRITE, operation_id="block_contact", tag=CONTACT_TAG, summary="Block a contact",
        body=BlockContact, query=(DRY_RUN,),
        description="Puts the contact's e-mail address and LinkedIn profile on the client's do-not-contact list and sets the status of "
        "blocked contacts (of a declared set the first that opts out, else `do_not_contact`), as one act.",
        success=(Success(200, "The contact is blocked.", Blocked),), problems=(404,),
    ),
    Route(
        "DELETE", PATH, unblock, scope=WRITE, operation_id="unblock_contact", tag=CONTACT_TAG, summary="Take back the block of a contact",
        query=(DRY_RUN,),
        description="Takes back a block of the last hour: its entries go, unless there is another reason for them, and the status "
        "before it returns, unless it has changed since. Later, or for another entry, an administrator removes the entry of the list. "
        "Whoever is no administrator takes back a block of one's own; another one is a 403.",
        success=(Success(200, "The block is taken back.", Blocked),), problems=(404, 409),
    ),
]  # fmt: skip
