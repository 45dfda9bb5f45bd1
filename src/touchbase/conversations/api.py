"""HTTP resources of conversations, over all clients that a key may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth.authentication import READ, WRITE, Principal
from touchbase.auth.users import User
from touchbase.clients.models import Client
from touchbase.common import field_limits as limits
from touchbase.common.field_limits import why_no_name, why_not_storable
from touchbase.common.timestamps import SECOND, Micros, to_text, to_text_or_none
from touchbase.connections.sql.connections import list_connections
from touchbase.conversations import plans
from touchbase.conversations.answer_bodies import (
    UNDO_SECONDS,
    AnswerOut,
    NewAnswer,
    ReplyCapabilityOut,
    answer_out,
    capability_out,
)
from touchbase.conversations.answers import (
    LONGEST_TEXT,
    SNIPPET_FIELDS,
    Answer,
    answers_of_contact,
    capability_of,
    fields_in,
    queue_answer,
    take_back_answer,
    why_not,
)
from touchbase.conversations.drafts import find_draft, store_draft
from touchbase.conversations.plans import (
    ANY,
    DONE,
    MOST_WORDS,
    NEWEST,
    OPEN,
    SORTS,
    STATES,
    Conversation,
    ConversationChange,
    Filters,
    get_conversation,
    list_conversations,
    list_done_conversations,
)
from touchbase.errors import Fault, Forbidden, Invalid, NotFound, TouchbaseError
from touchbase.history.events import CONTACT
from touchbase.http import query_parameters as query
from touchbase.http.endpoint import Call, author_of
from touchbase.http.people import ME, NO_PERSON, unseen, user_named
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text, parse_time, record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import MaybeTime, PageOf, RecordId, Time, encode, example, fitting, named_enum
from touchbase.messages.api.schemas import MessageOut, message_out
from touchbase.messages.models import CHANNELS, LABELS
from touchbase.messages.sql.plans import get_messages, list_messages
from touchbase.notes.api import NoteOut, note_out
from touchbase.notes.plans import list_notes
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.update import RecordChange, update_of
from touchbase.sql.page_budget import page_of

TAG = Tag("Conversations", "The messages with each contact, as a team works through its replies, over all clients that a key may see.")
PATH = "/team/v1/conversations"
MOST_BULK = 500
"""Conversations that one request changes."""
NOBODY = "nobody"
MOST_MESSAGES = 100
"""Messages that a conversation shows; earlier ones are in the list of messages."""
_STATE = named_enum("ConversationState", "How far a conversation is.", STATES)
_ACT = named_enum("ConversationAct", "What a person does with a conversation.", ("done", "open"))
_KIND = named_enum("ReplyKind", "What wrote a reply.", ("automatic", "human"))
_LABEL = named_enum("ReplyLabel", "What the author of a reply wants.", LABELS)
named_enum("ConversationStateFilter", "Which conversations a list has, by their state.", (*STATES, ANY))
named_enum("ConversationSort", "The order of conversations.", SORTS)
CLIENT = query.text("client_id", "Conversations of this client: its `client_id`, or its handle.")
STATE = query.choice("state", (*STATES, ANY), "Conversations in this state, or in any, the newest first; left out: open ones.")
SORT = query.choice("sort", SORTS, "The newest first, or the longest waiting; left out: the newest.")
LABEL = query.choice("label", LABELS, "Conversations with this label.")
ASSIGNEE = query.text("assignee", "Conversations of a user: an id, `me` or `nobody`.")
WAITING_HOURS = query.integer("waiting_hours", 1, 8_760, "Conversations with a reply of a person that waits for more hours.")
DRY_RUN = query.flag("dry_run", "Only check the answer: nothing is queued.")
FILTERS = (
    LABEL,
    query.text("tool", "Conversations with a reply from this tool.", member="tool"),
    query.choice("channel", CHANNELS, "Conversations with a reply of this channel.", member="channel"),
    query.text("campaign_id", "Conversations with a reply to this campaign, by the tool's id.", member="campaign_id"),
    query.flag("unread", "Conversations with a reply that the person who calls has not read.", member="unread"),
    query.text("mailbox", "Conversations with a reply to this own address or account.", member="mailbox"),
    query.text("contact_status", "Conversations with a contact in this status.", member="contact_status"),
    query.text(
        "q",
        f"Conversations with these words, up to {MOST_WORDS}, in the contact's name or address, or in the subjects and texts of replies.",
        member="q",
    ),
)


class ConversationContact(Struct):
    """The contact of a conversation."""

    id: RecordId
    email: str | None
    first_name: str | None
    last_name: str | None
    contact_status: str | None
    company_name: Annotated[str | None, Meta(description="The name of its company.")]


class NewestReply(Struct):
    """The newest received message of a conversation: the newest that is not handled, if there is one."""

    message_id: Annotated[RecordId, Meta(description="The message.")]
    occurred_at: Time
    tool: str
    channel: str
    campaign_id: str | None
    campaign_name: str | None
    mailbox: Annotated[str | None, Meta(description="The client's own address or account that received it.")]
    subject: str | None
    text: Annotated[str | None, Meta(description="The beginning of the text.")]
    automatic: Annotated[bool, Meta(description="Whether a machine wrote it, such as an out-of-office reply.")]
    category: Annotated[str | None, Meta(description="The tool's own label.")]


class ConversationOut(Struct, kw_only=True):
    """The messages with one contact: their state, and the newest received one."""

    client_id: str
    contact: ConversationContact
    state: Annotated[str, Meta(extra_json_schema=_STATE)]
    open_since: Annotated[str | None, Meta(description="When the oldest reply of a person came that is not handled.")]
    snoozed_until: Annotated[str | None, Meta(description="Until when it is snoozed; null: it is not.")]
    label: Annotated[str | None, Meta(description="A person's choice, else the newest reply's, by the tool's category.")]
    assignee_id: Annotated[str | None, Meta(description="The user who works on it; null: nobody.")]
    unread: Annotated[bool, Meta(description="Whether the person who calls has not read a reply that is not handled; false for a key.")]
    newest: Annotated[NewestReply | None, Meta(description="Its newest received message; null: the contact never wrote.")]
    version: Annotated[str, Meta(description="For `If-Match`: another one after each reply and each change.")]


class ConversationPage(PageOf[ConversationOut]):
    """A page of conversations; `next_cursor` is null on the last one."""


class DraftOut(Struct):
    """What the person who calls is writing."""

    text: Annotated[str, Meta(description="As it was stored last.")]
    updated_at: Annotated[Time, Meta(description="When it was stored.")]


class NewDraft(Struct, forbid_unknown_fields=True):
    """The draft of an answer."""

    text: Annotated[str, Meta(max_length=LONGEST_TEXT, description="Plain text; empty: there is no draft any more.")]


class ConversationWithMessages(ConversationOut, kw_only=True):
    """A conversation with its newest messages."""

    messages: Annotated[list[MessageOut], Meta(description=f"The newest {MOST_MESSAGES}, the newest first.")]
    notes: Annotated[list[NoteOut], Meta(description=f"The newest {MOST_MESSAGES} notes on the contact, the newest first.")]
    answers: Annotated[list[AnswerOut], Meta(description="What was answered here, oldest first; a sent one is a message, too.")]
    reply_capability: Annotated[ReplyCapabilityOut, Meta(description="How its newest reply is answered.")]
    draft: Annotated[DraftOut | None, Meta(description="The answer that the person who calls has begun; null: none, or a key calls.")]


class ChangeConversation(Struct, forbid_unknown_fields=True):
    """Changes of a conversation; members that are left out stay."""

    state: Annotated[
        Annotated[Literal["open", "done"], Meta(extra_json_schema=_ACT)] | UnsetType,
        Meta(description="`done` handles all its replies; `open` opens the newest one again, or ends a snooze."),
    ] = UNSET
    snoozed_until: Annotated[MaybeTime | UnsetType, Meta(description="A new reply of a person ends it earlier; null ends it now.")] = UNSET
    label: Annotated[
        Annotated[str, Meta(extra_json_schema=_LABEL)] | UnsetType | None, Meta(description="null: the label of the newest reply again.")
    ] = UNSET
    assignee_id: Annotated[
        Annotated[str, Meta(max_length=100)] | UnsetType | None, Meta(description="The user who works on it: an id, or `me`; null: nobody.")
    ] = UNSET
    kind: Annotated[
        Annotated[Literal["human", "automatic"], Meta(extra_json_schema=_KIND)] | UnsetType,
        Meta(description="What wrote the replies that are not handled: it moves them."),
    ] = UNSET


class ChangeEachConversation(ChangeConversation, forbid_unknown_fields=True):
    """Changes of each of many conversations; members that are left out stay."""

    contact_status: Annotated[
        Annotated[str, Meta(max_length=limits.NAME)] | UnsetType | None, Meta(description="The status of its contact; null: none.")
    ] = UNSET


class ConversationName(Struct, forbid_unknown_fields=True):
    """A conversation, the version that it must have, and the status that its contact must have."""

    client_id: Annotated[str, Meta(max_length=limits.NAME)]
    contact_id: RecordId
    version: Annotated[Annotated[str, Meta(max_length=100)] | None, Meta(description="The version that it must have; null: any.")] = None
    contact_status: Annotated[
        Annotated[str, Meta(max_length=limits.NAME)] | UnsetType | None,
        Meta(description="Where a status is set: the one that the contact must have, null for none; left out: any."),
    ] = UNSET


class ChangeConversations(Struct, forbid_unknown_fields=True):
    """One change of many conversations."""

    conversations: Annotated[list[ConversationName], Meta(min_length=1, max_length=MOST_BULK, description="Which ones change.")]
    change: Annotated[ChangeEachConversation, Meta(description="What changes of each.")]


class ChangedConversation(Struct):
    """Outcome for one conversation."""

    client_id: str
    contact_id: RecordId
    conversation: Annotated[ConversationOut | None, Meta(description="As it is now; null: it was not changed.")]
    error: Annotated[str | None, Meta(description="Why it was not changed.")]


class ChangedConversations(Struct):
    """Outcomes of the conversations, in the order of the request."""

    data: list[ChangedConversation]


_CONTACT = {
    "id": 1, "email": "jane.doe@example.com", "first_name": "Jane", "last_name": "Doe", "contact_status": "replied",
    "company_name": "Example Ltd",
}  # fmt: skip
_CONVERSATION = {
    "client_id": "acme", "contact": _CONTACT, "state": "open", "open_since": "2026-11-20T09:30:00Z", "snoozed_until": None,
    "label": "interested", "assignee_id": None, "unread": False,
    "newest": {
        "message_id": 12, "occurred_at": "2026-11-20T09:30:00Z", "tool": "smartlead", "channel": "email", "campaign_id": "77",
        "campaign_name": "Autumn", "mailbox": "sam@agency.example", "subject": "Re: A question", "text": "Yes, tell me more.",
        "automatic": False, "category": "Interested",
    },
    "version": "12-1-0",
}  # fmt: skip
example(ConversationOut, _CONVERSATION)
example(ChangeConversation, {"state": "done"})
example(
    ChangeConversations,
    {"conversations": [{"client_id": "acme", "contact_id": 1, "version": "12-1-0"}], "change": {"snoozed_until": "2026-11-23T08:00:00Z"}},
)
example(NewDraft, {"text": "Thursday at ten suits"})


async def list_team_conversations(call: Call) -> Response:
    """Handle `GET` of a page of conversations."""
    caller, parameters = await call.principal(of_several=True), call.parameters()
    state = parameters[STATE] or OPEN
    sort = NEWEST if state in (DONE, ANY) else parameters[SORT] or NEWEST
    after: plans.Place | None = parameters.cursor(f"{PATH}/{sort}", tuple[int, int, int])
    assignee = parameters[ASSIGNEE]
    if assignee == ME and caller.user is None:
        parameters.fault(ASSIGNEE.name, "user", NO_PERSON)
    parameters.done()
    clients = await call.visible(caller, parameters[CLIENT])
    limit, page_bytes, now = min(parameters[LIMIT], LARGEST_PAGE), await call.page_bytes(), call.api.dependencies.clock()
    user_id = caller.user.id if assignee == ME and caller.user is not None else "" if assignee == NOBODY else assignee
    reader = _reader(caller)
    hours = parameters[WAITING_HOURS]
    open_before = None if hours is None else now - hours * 3_600 * SECOND
    label = parameters[LABEL]
    filters = Filters(() if label is None else (label,), **parameters.filters, assignee=user_id, open_before=open_before)
    listed: list[Conversation] = []
    if state != DONE:
        of_state = None if state == ANY else state
        listed += await call.api.dependencies.store.read(
            list_conversations(clients, of_state, now, limit + 1, filters, sort, after, reader)
        )
    if state in (DONE, ANY):
        listed += await call.api.dependencies.store.read(list_done_conversations(clients, limit + 1, filters, after))
        listed = plans.in_order(listed, NEWEST)
    page, has_more = page_of(listed, limit)
    shown = await call.api.clients.of(conversation.client for conversation in page)
    present = [conversation for conversation in page if conversation.client in shown]  # a client may have been deleted meanwhile
    data = fitting((_out(conversation, shown[conversation.client], now) for conversation in present), page_bytes)
    last = present[len(data) - 1] if len(data) < len(present) else page[-1] if has_more else None
    cursor = None if last is None else cursor_text(f"{PATH}/{sort}", plans.place(last, sort))
    return Response(body=encode({"data": data, "next_cursor": cursor}))


async def get_team_conversation(call: Call) -> Response:
    """Handle `GET` of one conversation with its messages."""
    caller, client, contact_id = await _named(call)
    call.parameters().done()
    store, page_bytes = call.api.dependencies.store, await call.page_bytes()
    conversation = await store.read(get_conversation(client.number, contact_id, _reader(caller)))
    if conversation is None:
        raise NotFound(f"there is no contact with id {contact_id}")
    messages = await store.read(list_messages(client.number, MOST_MESSAGES, contact_id=contact_id, page_bytes=page_bytes))
    notes = await store.read(list_notes(client.number, CONTACT, contact_id, MOST_MESSAGES, page_bytes=page_bytes))
    await call.api.actors.load(note.by.key_id for note in notes)
    answers = await store.read(answers_of_contact(client.number, contact_id))
    connections = await store.read(list_connections(client.number))
    capability = capability_of(messages, connections, conversation.contact[0])
    reader = _reader(caller)
    draft = await store.read(find_draft(client.number, contact_id, reader)) if reader else None
    shown = _out(conversation, client, call.api.dependencies.clock())
    body = {
        **_members(shown),
        "messages": [message_out(message) for message in messages],
        "notes": [note_out(note, call.api.actors.of(note.by)) for note in notes],
        "answers": [answer_out(answer) for answer in answers],
        "reply_capability": capability_out(capability),
        "draft": None if draft is None else DraftOut(draft.text, to_text(draft.updated_us)),
    }
    return Response(body=encode(body), headers=[_etag(conversation)])


async def change_team_conversation(call: Call) -> Response:
    """Handle `PATCH` of one conversation."""
    caller = await call.principal(of_several=True)
    client, contact_id = await call.visible_client(call.path("client_id"), caller), call.id("contact")
    call.parameters().done()
    body, parts = await call.body(ChangeConversation), call.api.dependencies
    user = await user_named(call, body.assignee_id, caller, "/assignee_id")
    if (fault := unseen(user, client, "/assignee_id")) is not None:
        raise Invalid([fault])
    change = _change(body, parts.clock(), user, caller)
    command = plans.change_conversation(client.number, contact_id, change, parts.clock(), author_of(call.scope), call.if_match())
    conversation = await parts.store.write(command)
    return Response(body=encode(_out(conversation, client, call.api.dependencies.clock())), headers=[_etag(conversation)])


async def read_conversation(call: Call) -> Response:
    """Handle `POST` of a read mark."""
    return await _mark(call, is_read=True)


async def unread_conversation(call: Call) -> Response:
    """Handle `DELETE` of a read mark."""
    return await _mark(call, is_read=False)


async def _mark(call: Call, *, is_read: bool) -> Response:
    caller, client, contact_id = await _named(call)
    call.parameters().done()
    if caller.user is None:
        raise Forbidden("a key reads for nobody: sign in, or use a personal key")
    await call.api.dependencies.store.write(
        plans.mark_conversation(client.number, contact_id, caller.user.id, call.if_match(), is_read=is_read)
    )
    return Response(204)


async def put_draft(call: Call) -> Response:
    """Handle `PUT` of the draft of an answer."""
    caller, client, contact_id = await _named(call)
    call.parameters().done()
    if caller.user is None:
        raise Forbidden("a key has no drafts: sign in, or use a personal key")
    text, now = (await call.body(NewDraft)).text, call.api.dependencies.clock()
    if (why := why_not_storable(text)) is not None:
        raise Invalid([Fault("/text", "unusable_text", why)])
    if text:
        call.api.storing(client, 1, now)
    await call.api.dependencies.store.write(store_draft(client.number, contact_id, caller.user.id, text, now))
    return Response(204)


async def change_team_conversations(call: Call) -> Response:
    """Handle `POST` of one change of many conversations."""
    caller = await call.principal(of_several=True)
    call.parameters().done()
    body = await call.body(ChangeConversations)
    user = await user_named(call, body.change.assignee_id, caller, "/assignee_id")
    change = _change(body.change, call.api.dependencies.clock(), user, caller)
    clients = await clients_named(call, caller, body.conversations)
    for name, client in clients.items():
        if isinstance(client, Client) and (fault := unseen(user, client, "/assignee_id")) is not None:
            clients[name] = Invalid([fault])
    now, by = call.api.dependencies.clock(), author_of(call.scope)
    statuses: dict[tuple[int, int], plans.StatusUpdate] = {}
    if body.change.contact_status is not UNSET:
        status = RecordChange({"contact_status": body.change.contact_status})
        for conversation in body.conversations:
            owner = clients[conversation.client_id]
            if not isinstance(owner, Client):
                continue
            try:
                update = update_of(CONTACT_TYPE, owner, conversation.contact_id, status, now)
            except Invalid as error:
                clients[conversation.client_id] = error
                continue
            update.by = by
            is_checked = conversation.contact_status is not UNSET
            present = conversation.contact_status or None
            statuses[owner.number, conversation.contact_id] = plans.StatusUpdate(update, present, is_checked)
    named = names_in(body.conversations, clients)
    command = plans.change_conversations(named, change, now, by, statuses)
    return await call.write_and_respond(lambda writes: writes.write(command), responder(body.conversations, clients, now))


async def clients_named(call: Call, caller: Principal, conversations: Sequence[ConversationName]) -> dict[str, Client | TouchbaseError]:
    """Return the clients of conversations as they are named there, or `NotFound`."""
    clients: dict[str, Client | TouchbaseError] = {}
    for name in {conversation.client_id for conversation in conversations}:
        try:
            clients[name] = await call.visible_client(name, caller)
        except NotFound as error:
            clients[name] = error
    return clients


def names_in(conversations: Sequence[ConversationName], clients: Mapping[str, Client | TouchbaseError]) -> list[plans.Named]:
    """Return the conversations whose clients there are."""
    return [
        (client.number, conversation.contact_id, conversation.version)
        for conversation in conversations
        if isinstance(client := clients[conversation.client_id], Client)
    ]


def responder(
    conversations: Sequence[ConversationName], clients: Mapping[str, Client | TouchbaseError], now: Micros
) -> Callable[[plans.Outcomes], Response]:
    """Return what builds the response from the outcomes of these conversations."""

    def row(name: ConversationName, outcomes: plans.Outcomes) -> ChangedConversation:
        client = clients[name.client_id]
        if isinstance(client, TouchbaseError):
            return ChangedConversation(name.client_id, name.contact_id, None, _reason(client))
        outcome = outcomes[client.number, name.contact_id]
        if isinstance(outcome, TouchbaseError):
            return ChangedConversation(client.client_id, name.contact_id, None, _reason(outcome))
        return ChangedConversation(client.client_id, name.contact_id, _out(outcome, client, now), None)

    return lambda outcomes: Response(body=encode(ChangedConversations([row(name, outcomes) for name in conversations])))


async def answer(call: Call) -> Response:
    """Handle `POST` of one answer."""
    (caller, client, contact_id), parameters = await _named(call), call.parameters()
    parameters.done()
    body, parts, dry_run = await call.body(NewAnswer), call.api.dependencies, parameters[DRY_RUN]
    if (why := why_no_name(body.text)) is not None:
        raise Invalid([Fault("/text", "unusable_text", why)])
    text = body.text.strip()
    if unfilled := [name for name in fields_in(text) if name in SNIPPET_FIELDS]:
        raise Invalid(
            [Fault("/text", "unfilled_field", f"has the field {{{{{unfilled[0]}}}}} of a snippet: write in its place what it stands for")]
        )
    message = (await parts.store.read(get_messages(client.number, [body.message_id]))).get(body.message_id)
    refusal = None if message is None else why_not(message, await parts.store.read(list_connections(client.number)))
    if refusal is not None:
        raise Invalid([Fault("/message_id", "not_answerable", f"{refusal[0]}. {refusal[1]}")])
    if not dry_run:
        call.api.storing(client, 1, parts.clock())
    elif call.recorder is not None:
        call.recorder.skip()
    command = queue_answer(
        client.number, contact_id, body.message_id, text, parts.clock(), author_of(call.scope),
        closes=body.close, confirmed=body.confirm_blocked, dry_run=dry_run, if_version=call.if_match(),
        writer=_reader(caller),
    )  # fmt: skip

    def respond(answer: Answer) -> Response:
        response = Response(200 if dry_run else 201, encode(answer_out(answer)))
        response.stored_body = encode(answer_out(replace(answer, text="")))  # a text in it would outlive an erasure
        return response

    if dry_run:
        return respond(await parts.store.write(command))
    return await call.write_and_respond(lambda writes: writes.write(command), respond)


async def take_back(call: Call) -> Response:
    """Handle `DELETE` of one answer."""
    _, client, contact_id = await _named(call)
    call.parameters().done()
    number = record_id(call.path("answer_id"))
    if number is None:
        raise NotFound("the id of an answer is a number; get the conversation to see its answers")
    await call.api.dependencies.store.write(take_back_answer(client.number, contact_id, number, call.api.dependencies.clock()))
    return Response(204)


def _reason(error: TouchbaseError) -> str:
    return "; ".join(fault.detail for fault in error.faults) if isinstance(error, Invalid) else error.detail


def _reader(caller: Principal) -> str:
    """Return the id of the person who calls; empty for a key."""
    return "" if caller.user is None else caller.user.id


async def _named(call: Call) -> tuple[Principal, Client, int]:
    caller = await call.principal(of_several=True)
    return caller, await call.visible_client(call.path("client_id"), caller), call.id("contact")


def _change(body: ChangeConversation, now: Micros, assignee: User | None, caller: Principal) -> ConversationChange:
    """Return the change that a body describes; raise `Invalid`."""
    faults: list[Fault] = []
    if body.label not in (UNSET, None, *LABELS):
        faults.append(Fault("/label", "value", f"must be null or one of {', '.join(LABELS)}"))
    until: Micros | None = None
    if body.snoozed_until is not UNSET:
        until = 0 if body.snoozed_until is None else parse_time(body.snoozed_until, "/snoozed_until", faults)
        if until and until <= now:
            faults.append(Fault("/snoozed_until", "time", "must lie in the future; send null to end a snooze"))
    names = body.__struct_fields__
    if all(getattr(body, name) is UNSET for name in names):
        faults.append(Fault("", "required", f"send one of {', '.join(names[:-1])} and {names[-1]}"))
    if faults:
        raise Invalid(faults)
    label = None if body.label is UNSET else body.label or ""
    assignee_id = None if body.assignee_id is UNSET else "" if assignee is None else assignee.id
    return ConversationChange(body.state or None, until, label, assignee_id, body.kind or None, _reader(caller))


def _etag(conversation: Conversation) -> tuple[bytes, bytes]:
    return b"etag", f'"{conversation.version}"'.encode()


def _out(conversation: Conversation, client: Client, now: Micros) -> ConversationOut:
    """Return a conversation as responses show it."""
    newest, label = None, conversation.label
    if conversation.message:
        number, tool, channel, campaign_id, campaign_name, mailbox, subject, text, automatic, own_label, category = conversation.message
        newest = NewestReply(
            number, to_text(conversation.newest_us or 0), tool, channel, campaign_id, campaign_name, mailbox, subject, text,
            bool(automatic), category,
        )  # fmt: skip
        label = label or own_label
    state = conversation.state(now)
    return ConversationOut(
        client_id=client.client_id, contact=ConversationContact(conversation.contact_id, *conversation.contact), state=state,
        open_since=to_text_or_none(conversation.open_since_us),
        snoozed_until=to_text_or_none(conversation.snoozed_until_us if state == plans.SNOOZED else None),
        label=label, assignee_id=conversation.assignee_id, unread=bool(conversation.unread), newest=newest, version=conversation.version,
    )  # fmt: skip


def _members(conversation: ConversationOut) -> dict[str, object]:
    return {name: getattr(conversation, name) for name in conversation.__struct_fields__}


IF_MATCH = {
    "name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"},
    "description": "The version that the conversation must still have: a reply that came in meanwhile makes the response 412.",
}  # fmt: skip
_conversation = Success(200, "The conversation.", ConversationOut, ("ETag",))
ROUTES = [
    Route(
        "GET", PATH, list_team_conversations, scope=READ, operation_id="list_conversations", tag=TAG, summary="List conversations",
        description="The contacts who wrote, in one state: open (a reply of a person is not handled), snoozed, automatic (only machines "
        "wrote) or done.",
        query=(*PAGE, CLIENT, STATE, ASSIGNEE, SORT, WAITING_HOURS, *FILTERS), success=(Success(200, "A page.", ConversationPage),),
        problems=(404,),
    ),
    Route(
        "POST", f"{PATH}/bulk", change_team_conversations, scope=WRITE, operation_id="change_conversations", tag=TAG,
        summary="Change many conversations", body=ChangeConversations,
        description=f"Makes one change of up to {MOST_BULK} conversations, or sets the status of their contacts. Each is changed or "
        "refused by itself, and History has all of it as one change of each client.",
        success=(Success(200, "What became of each.", ChangedConversations),),
    ),
    Route(
        "GET", f"{PATH}/{{client_id}}/{{id}}", get_team_conversation, scope=READ, operation_id="get_conversation", tag=TAG,
        summary="Get one conversation", description="Returns the conversation with a contact, and its newest messages.",
        success=(Success(200, "The conversation.", ConversationWithMessages, ("ETag",)),),
    ),
    Route(
        "PATCH", f"{PATH}/{{client_id}}/{{id}}", change_team_conversation, scope=WRITE, operation_id="change_conversation", tag=TAG,
        summary="Change one conversation", headers=(IF_MATCH,), body=ChangeConversation,
        description="Handles its replies, opens it again, snoozes it, or corrects label and kind.",
        success=(_conversation,), problems=(412,),
    ),
    Route(
        "POST", f"{PATH}/{{client_id}}/{{id}}/read", read_conversation, scope=READ, operation_id="mark_conversation_read", tag=TAG,
        summary="Mark a conversation as read", headers=(IF_MATCH,),
        description="The person who calls has read its messages; a later reply is unread again. With `If-Match` a reply that came in since "
        "makes the response 412, and it stays unread.",
        success=(Success(204, "It is read."),), problems=(412,),
    ),
    Route(
        "DELETE", f"{PATH}/{{client_id}}/{{id}}/read", unread_conversation, scope=READ, operation_id="mark_conversation_unread", tag=TAG,
        summary="Mark a conversation as unread", description="Its replies that are not handled are unread for the person who calls.",
        success=(Success(204, "It is unread."),),
    ),
    Route(
        "PUT", f"{PATH}/{{client_id}}/{{id}}/draft", put_draft, scope=WRITE, operation_id="put_answer_draft", tag=TAG,
        summary="Store the draft of an answer",
        description="What the person who calls has written so far; the conversation shows it in every browser of that person, and to "
        "nobody else. Sending an answer removes it.",
        body=NewDraft, success=(Success(204, "It is stored, or removed."),),
    ),
    Route(
        "POST", f"{PATH}/{{client_id}}/{{id}}/answers", answer, scope=WRITE, operation_id="answer_conversation", tag=TAG,
        summary="Answer a reply through the tool",
        description=f"Queues an answer for {UNDO_SECONDS} seconds, in which it can be taken back; then the API of the tool sends it, at "
        "most once. Send an `Idempotency-Key`: a repeated request must not be a second answer.",
        query=(DRY_RUN,), headers=(IF_MATCH,), body=NewAnswer, success=(
            Success(201, "The queued answer.", AnswerOut), Success(200, "With `dry_run`: nothing is queued.", AnswerOut),
        ),
        problems=(409, 412),
    ),
    Route(
        "DELETE", f"{PATH}/{{client_id}}/{{id}}/answers/{{answer_id}}", take_back, scope=WRITE, operation_id="take_back_answer", tag=TAG,
        summary="Take back an answer",
        description="Removes an answer that is queued, and forgets one that failed or is unknown.",
        success=(Success(204, "It is removed."),), problems=(409,),
    ),
]  # fmt: skip
