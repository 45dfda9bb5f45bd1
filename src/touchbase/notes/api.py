"""HTTP resource of notes on contacts and companies."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.audit import KEY_ID
from touchbase.auth.authentication import ADMIN, READ, WRITE, Principal
from touchbase.auth.users import ACTIVE, find_user
from touchbase.clients.models import Client
from touchbase.common.field_limits import clean, why_not_storable
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import Fault, Forbidden, Invalid, NotFound
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.http.actors import Actor
from touchbase.http.endpoint import Call, author_of
from touchbase.http.query_parameters import LARGEST_PAGE, LIMIT, PAGE, cursor_text, record_id
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, Time, encode, example, fitting
from touchbase.notes.plans import LONGEST_NOTE, Note, change_note, create_note, delete_note, find_note, list_notes
from touchbase.records.api.schemas import NoteInTimeline
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.validation import raise_if_any
from touchbase.records.writes import new_write_key
from touchbase.sql.page_budget import page_of

TAG = Tag("Notes", "What a team writes down about contacts and companies. A note has an entry in the timeline; merges take it along.")
PATH = "/team/v1/notes/{client_id}"
MOST_MENTIONS = 20
Text = Annotated[str, Meta(max_length=LONGEST_NOTE, description="Plain text.")]
UserId = Annotated[str, Meta(max_length=100)]
Mentions = Annotated[list[UserId], Meta(max_length=MOST_MENTIONS, description="Ids of users who may see the client: they are notified.")]


class NoteOut(NoteInTimeline, kw_only=True):
    """A note on a contact or company."""

    author: Annotated[Actor, Meta(description="Who wrote it, and may change it.")]
    created_at: Time


class NotePage(PageOf[NoteOut]):
    """A page of notes, newest first; `next_cursor` is null on the last one."""


class NewNote(Struct, forbid_unknown_fields=True):
    """A new note."""

    text: Text
    mentions: Mentions = []


class NoteChange(Struct, forbid_unknown_fields=True):
    """Changes of a note; members that are left out stay."""

    text: Text | UnsetType = UNSET
    mentions: Annotated[Mentions | UnsetType, Meta(description="Replaces them all; who was not named before is notified.")] = UNSET


_USER = "u3f9a1c27b0d"
_NOTE = {"id": 4, "text": "Jane asks for the security sheet @Mira", "mentions": [_USER], "edited_at": None, "version": "1795426200000000"}
_AUTHOR = {"type": "user", "id": _USER, "name": "Mira Berg", "via": "console"}
example(NoteInTimeline, _NOTE)
example(NoteOut, {**_NOTE, "author": _AUTHOR, "created_at": "2026-11-20T09:30:00Z"})
example(NewNote, {"text": "Jane asks for the security sheet @Mira", "mentions": [_USER]})
example(NoteChange, {"text": "Jane has the security sheet"})


def note_in_timeline(note: Note) -> NoteInTimeline:
    """Return a note as timelines show it."""
    edited_at = None if note.updated_us == note.created_us else to_text(note.updated_us)
    return NoteInTimeline(note.id, note.text, note.mentions, edited_at, str(note.updated_us))


def note_out(note: Note, author: Actor) -> NoteOut:
    """Return a note as responses show it."""
    shown = note_in_timeline(note)
    return NoteOut(shown.id, shown.text, shown.mentions, shown.edited_at, shown.version, author=author, created_at=to_text(note.created_us))


class NoteResource:
    """The handlers for the notes on one kind of record."""

    def __init__(self, kind: int) -> None:
        self._kind = kind

    async def _named(self, call: Call) -> tuple[Principal, Client, int]:
        caller = await call.principal(of_several=True)
        client = await call.visible_client(call.path("client_id"), caller)
        return caller, client, call.id(RECORD_TYPES[self._kind].name)

    async def list(self, call: Call) -> Response:
        """Handle `GET` of a page of notes."""
        (_, client, number), parameters = await self._named(call), call.parameters()
        listing = f"notes {self._kind} {number}"
        before = parameters.cursor(listing, tuple[int, int])
        parameters.done()
        limit, page_bytes = min(parameters[LIMIT], LARGEST_PAGE), await call.page_bytes()
        store, actors = call.api.dependencies.store, call.api.actors
        page, has_more = page_of(await store.read(list_notes(client.number, self._kind, number, limit + 1, before, page_bytes)), limit)
        await actors.load(note.by.key_id for note in page)
        data = fitting((note_out(note, actors.of(note.by)) for note in page), page_bytes)
        last = page[len(data) - 1] if data and (has_more or len(data) < len(page)) else None
        cursor = None if last is None else cursor_text(listing, (last.created_us, last.id))
        return Response(body=encode({"data": data, "next_cursor": cursor}))

    async def create(self, call: Call) -> Response:
        """Handle `POST` of a note."""
        _, client, number = await self._named(call)
        call.parameters().done()
        body, now, by = await call.body(NewNote), call.api.dependencies.clock(), author_of(call.scope)
        text = plain_text(body.text)
        mentions = await _mentioned(call, client, body.mentions)
        await call.api.actors.load([by.key_id])
        author = call.api.actors.of(by)
        call.api.storing(client, 1, now)
        command = create_note(client.number, self._kind, number, text, mentions, now, new_write_key(), by)

        def respond(note: Note) -> Response:
            response = Response(201, encode(note_out(note, author)), headers=[etag_of(note.updated_us)])
            response.stored_body = encode(note_out(replace(note, text=""), author))  # a text in it would outlive an erasure
            return response

        return await call.write_and_respond(lambda writes: writes.write(command), respond)

    async def change(self, call: Call) -> Response:
        """Handle `PATCH` of a note."""
        caller, client, number = await self._named(call)
        call.parameters().done()
        body, now = await call.body(NoteChange), call.api.dependencies.clock()
        if body.text is UNSET and body.mentions is UNSET:
            raise Invalid([Fault("", "required", "send text, mentions or both")])
        note = await self._find(call, client, number)
        author = await author_of_text(call, note.by)
        if not is_by(call, caller, author):
            raise Forbidden(f"only its author, {author.name or 'another one'}, may change a note: write one of your own")
        text = note.text if body.text is UNSET else plain_text(body.text)
        mentions = note.mentions if body.mentions is UNSET else await _mentioned(call, client, body.mentions, note.mentions)
        call.api.storing(client, 1, now)
        command = change_note(client.number, self._kind, number, note.id, text, mentions, now, author_of(call.scope), version_of(call))
        note = await call.api.dependencies.store.write(command)
        return Response(body=encode(note_out(note, author)), headers=[etag_of(note.updated_us)])

    async def delete(self, call: Call) -> Response:
        """Handle `DELETE` of a note."""
        caller, client, number = await self._named(call)
        call.parameters().done()
        note, now = await self._find(call, client, number), call.api.dependencies.clock()
        author = await author_of_text(call, note.by)
        is_admin = ADMIN in (caller.scopes if caller.user is None else caller.user.scopes(client.number))
        if not is_admin and not is_by(call, caller, author):
            raise Forbidden(f"only its author, {author.name or 'another one'}, or an administrator may delete a note")
        command = delete_note(client.number, self._kind, number, note.id, now, author_of(call.scope), version_of(call))
        await call.api.dependencies.store.write(command)
        return Response(204)

    async def _find(self, call: Call, client: Client, number: int) -> Note:
        note_id = record_id(call.path("note_id"))
        found = find_note(client.number, self._kind, number, note_id or 0)  # no note has the id 0
        note: Note | None = await call.api.dependencies.store.read(found)
        if note is None:
            name = RECORD_TYPES[self._kind].name
            raise NotFound(f"the {name} with id {number} has no note with id {call.path('note_id')[:40]!r}; list its notes")
        return note


def plain_text(text: str) -> str:
    """Return the text of a note or task as it is stored; raises `Invalid`."""
    cleaned = (clean(text) or "").strip()
    if (why := why_not_storable(text)) is not None or not cleaned:
        raise Invalid([Fault("/text", "unusable_text", why or "must have a visible character")])
    return cleaned


async def _mentioned(call: Call, client: Client, mentions: list[str], present: list[str] | None = None) -> list[str]:
    """Return the users to mention, each once; raise `Invalid` for one who is new and may not see the client."""
    faults: list[Fault] = []
    users = [*dict.fromkeys(mentions)]
    for place, user_id in enumerate(users):
        if user_id in (present or ()):
            continue
        user = await call.api.dependencies.store.read(find_user(user_id))
        if user is None or user.state != ACTIVE or not user.scopes(client.number):
            faults.append(Fault(f"/mentions/{place}", "user", "there is no active user of this id who may see the client"))
    raise_if_any(faults)
    return users


async def author_of_text(call: Call, by: Author) -> Actor:
    """Return who wrote a note or task."""
    await call.api.actors.load([by.key_id])
    return call.api.actors.of(by)


def is_by(call: Call, caller: Principal, author: Actor) -> bool:
    """Return whether the caller wrote a note or task; a personal key writes as its person."""
    return author.id == (call.scope.get(KEY_ID) if caller.user is None else caller.user.id)


def etag_of(updated_us: Micros) -> tuple[bytes, bytes]:
    """Return the header with the version of a note or task."""
    return b"etag", f'"{updated_us}"'.encode()


def version_of(call: Call) -> Micros | None:
    """Return the version that a note or task must have; None for any, and one that none has for an unreadable one."""
    tag = call.if_match()
    return None if tag is None else int(tag) if tag.isdecimal() and len(tag) < 20 else -1


IF_MATCH = {
    "name": "If-Match", "in": "header", "required": False, "schema": {"type": "string"},
    "description": "The version that the note must still have: a change meanwhile makes the response 412.",
}  # fmt: skip


def _routes(kind: int) -> list[Route]:
    resource, one, many = NoteResource(kind), RECORD_TYPES[kind].name, RECORD_TYPES[kind].plural
    path = f"{PATH}/{many}/{{id}}"
    of_note = Success(200, "The note.", NoteOut, ("ETag",))
    return [
        Route(
            "GET", path, resource.list, scope=READ, operation_id=f"list_{one}_notes", tag=TAG, summary=f"List the notes on one {one}",
            description="Newest first.", query=PAGE, success=(Success(200, "A page.", NotePage),), problems=(404,),
        ),
        Route(
            "POST", path, resource.create, scope=WRITE, operation_id=f"create_{one}_note", tag=TAG, summary=f"Write a note on a {one}",
            description="It stands in the timeline, in exports of the person, and goes with an erasure. Users in `mentions` are notified.",
            body=NewNote, success=(replace(of_note, status=201),), problems=(404, 409),
        ),
        Route(
            "PATCH", f"{path}/{{note_id}}", resource.change, scope=WRITE, operation_id=f"change_{one}_note", tag=TAG,
            summary=f"Change a note on a {one}", description="Only its author may.", headers=(IF_MATCH,), body=NoteChange,
            success=(of_note,), problems=(404, 412),
        ),
        Route(
            "DELETE", f"{path}/{{note_id}}", resource.delete, scope=WRITE, operation_id=f"delete_{one}_note", tag=TAG,
            summary=f"Delete a note on a {one}", description="Only its author or an administrator may.", headers=(IF_MATCH,),
            success=(Success(204, "It is deleted."),), problems=(404, 412),
        ),
    ]  # fmt: skip


ROUTES = [*_routes(CONTACT), *_routes(COMPANY)]
