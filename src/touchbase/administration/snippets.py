"""Snippets: texts that a team uses again in answers, with fields for the contact.

They belong to the installation and say nothing of a client: everybody reads them, and who may write for all clients changes them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, to_builtins

from touchbase.auth.authentication import READ, WRITE
from touchbase.auth.users import lock_users
from touchbase.common.field_limits import why_no_name
from touchbase.common.misspelt import suggest
from touchbase.common.timestamps import Micros, to_text
from touchbase.conversations.answers import LONGEST_TEXT, SNIPPET_FIELDS, fields_in
from touchbase.errors import Conflict, Fault, Forbidden, NotFound, PreconditionFailed, TouchbaseError
from touchbase.http.conditional import if_match, tags_named
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import Time, encode, example
from touchbase.records.validation import raise_if_any
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement

MOST = 500
"""Snippets of an installation."""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A text with fields."""

    id: str
    name: str
    text: str
    updated_us: Micros
    version: int = 1


_SNIPPET: Columns = (("id", "text"), ("name", "text"), ("text", "text"), ("updated_us", "bigint"), ("version", "bigint"))
_NAMES = names(_SNIPPET)
INSERT_SNIPPET = Statement("insert_snippet", _SNIPPET, body=f"INSERT INTO snippet ({_NAMES}) SELECT * FROM p WHERE true")
UPDATE_SNIPPET = Statement(
    "update_snippet",
    _SNIPPET,
    body="UPDATE snippet t SET name = p.name, text = p.text, updated_us = p.updated_us, version = p.version FROM p WHERE t.id = p.id",
    by_row=True,
)


@query
def list_snippets() -> Plan[list[Snippet]]:
    """All snippets, by name."""
    return [Snippet(*row) for row in (yield Select(f"SELECT {_NAMES} FROM snippet ORDER BY name", ()))]


def _taken(snippet: Snippet) -> Plan[Conflict | None]:
    others = [other_snippet for other_snippet in (yield from list_snippets.plan()) if other_snippet.id != snippet.id]
    if any(other_snippet.name.casefold() == snippet.name.casefold() for other_snippet in others):
        return Conflict(f"there is a snippet {snippet.name!r} already: change that one, or choose another name")
    return Conflict(f"there are {MOST} snippets, the limit; remove one first") if len(others) >= MOST else None


@command
def add_snippet(snippet: Snippet) -> Plan[Snippet | Conflict]:
    """Store a snippet. `Conflict` for a name that another one has."""
    yield from lock_users()
    if (refused := (yield from _taken(snippet))) is not None:
        return refused
    yield Execute(INSERT_SNIPPET, [(snippet.id, snippet.name, snippet.text, snippet.updated_us, snippet.version)])
    return snippet


@command
def change_snippet(
    id: str, name: str | None, text: str | None, at: Micros, tags: Collection[str] | None = None
) -> Plan[Snippet | TouchbaseError]:
    """Change a snippet; None leaves a value. `NotFound`, and `Conflict` for a name that another one has.

    `tags`: Times of its last change, of which it must have one, else `PreconditionFailed`.
    """
    yield from lock_users()
    present: Snippet | None = next((snippet for snippet in (yield from list_snippets.plan()) if snippet.id == id), None)
    if present is None:
        return _no_such_snippet(id)
    if tags is not None and to_text(present.updated_us) not in tags:
        return _changed_since(present)
    changed = replace(
        present, name=present.name if name is None else name, text=present.text if text is None else text, updated_us=at,
        version=present.version + 1,
    )  # fmt: skip
    if (refused := (yield from _taken(changed))) is not None:
        return refused
    row = (changed.id, changed.name, changed.text, changed.updated_us, changed.version)
    yield Execute(UPDATE_SNIPPET, [row])
    return changed


@command
def remove_snippet(id: str, tags: Collection[str] | None = None) -> Plan[TouchbaseError | None]:
    """Remove a snippet. `NotFound`; `tags` as of a change."""
    if tags is not None:
        yield from lock_users()
        present: Snippet | None = next((snippet for snippet in (yield from list_snippets.plan()) if snippet.id == id), None)
        if present is not None and to_text(present.updated_us) not in tags:
            return _changed_since(present)
    if not (yield Select("DELETE FROM snippet WHERE id = ? RETURNING id", (id,))):
        return _no_such_snippet(id)
    return None


def _changed_since(present: Snippet) -> PreconditionFailed:
    about = "the snippet has changed since it was read: `present` is what it is now; send its updated_at, in quotes, in If-Match"
    return PreconditionFailed(about, data={"present": to_builtins(snippet_out(present))})


def _no_such_snippet(id: str) -> NotFound:
    return NotFound(f"there is no snippet {id[:40]!r}; GET /team/v1/snippets lists all")


_Name = Annotated[str, Meta(min_length=1, max_length=60, description="What follows the / in an answer: `price`.")]
_FIELDS = ", ".join(f"`{{{{{name}}}}}`" for name in SNIPPET_FIELDS)
_Text = Annotated[str, Meta(min_length=1, max_length=LONGEST_TEXT, description=f"Plain text, with the fields {_FIELDS}.")]


class SnippetOut(Struct):
    """A text for answers."""

    id: str
    name: _Name
    text: _Text
    updated_at: Time


class SnippetList(Struct):
    """All snippets, by name."""

    data: list[SnippetOut]


class NewSnippet(Struct, forbid_unknown_fields=True):
    """A text for answers."""

    name: _Name
    text: _Text


class SnippetChange(Struct, forbid_unknown_fields=True):
    """Changes of a snippet; members that are left out stay."""

    name: _Name | UnsetType = UNSET
    text: _Text | UnsetType = UNSET


_SNIPPETS = {"name": "price", "text": "Dear {{first_name}}, the price list is attached to our website.\n{{my_name}}"}
example(NewSnippet, _SNIPPETS)
example(SnippetChange, {"text": _SNIPPETS["text"]})
example(SnippetOut, {"id": "5f3a9c01d2", **_SNIPPETS, "updated_at": "2026-11-20T09:30:00Z"})


def snippet_out(snippet: Snippet) -> SnippetOut:
    """Return a snippet as responses show it."""
    return SnippetOut(snippet.id, snippet.name, snippet.text, to_text(snippet.updated_us))


async def get_snippets(call: Call) -> Response:
    """Handle `GET` of all snippets."""
    await call.principal(of_several=True)
    call.parameters().done()
    return Response(body=encode(SnippetList([snippet_out(snippet) for snippet in await call.api.dependencies.store.read(list_snippets())])))


async def post_snippet(call: Call) -> Response:
    """Handle `POST` of a snippet."""
    await _require_writer(call)
    body = await call.body(NewSnippet)
    _check(body.name, body.text)
    new = Snippet(token_hex(5), body.name.strip(), body.text, call.api.dependencies.clock())
    location = (b"location", call.reached_at(f"{PATH}/{new.id}"))
    return await call.write_and_respond(
        lambda writes: writes.write(add_snippet(new)), lambda stored: Response(201, encode(snippet_out(stored)), headers=[location])
    )


async def patch_snippet(call: Call) -> Response:
    """Handle `PATCH` of a snippet."""
    await _require_writer(call)
    body = await call.body(SnippetChange)
    name, text = [None if value is UNSET else value for value in (body.name, body.text)]
    _check(name, text)
    command = change_snippet(call.path("snippet_id"), name and name.strip(), text, call.api.dependencies.clock(), tags_named(call))
    return Response(body=encode(snippet_out(await call.api.dependencies.store.write(command))))


async def delete_snippet(call: Call) -> Response:
    """Handle `DELETE` of a snippet."""
    await _require_writer(call)
    await call.api.dependencies.store.write(remove_snippet(call.path("snippet_id"), tags_named(call)))
    return Response(204)


async def _require_writer(call: Call) -> None:
    principal = await call.principal(of_several=True)
    call.parameters().done()
    if principal.client is not None or principal.clients is not None:
        raise Forbidden("snippets are for the whole team: who may write for all clients changes them")


def _check(name: str | None, text: str | None) -> None:
    """Raise `Invalid` for a name or text that no snippet can have."""
    faults: list[Fault] = []
    for pointer, value in (("/name", name), ("/text", text)):
        if value is not None and (why := why_no_name(value)) is not None:
            faults.append(Fault(pointer, "unusable_text", why))
    for unknown in [field for field in fields_in(text or "") if field not in SNIPPET_FIELDS][:1]:
        near = suggest(unknown, SNIPPET_FIELDS, cutoff=0.0)
        faults.append(Fault("/text", "unknown", f"there is no field {unknown[:40]!r}; did you mean {near!r}? All are {_FIELDS}"))
    raise_if_any(faults)


PATH = "/team/v1/snippets"
TAG = Tag("Snippets", "Texts for answers, of the whole team.")
_SHOWN = (Success(200, "The snippet.", SnippetOut),)
ROUTES = [
    Route(
        "GET", PATH, get_snippets, scope=READ, operation_id="list_snippets", tag=TAG, summary="List snippets",
        description="Everybody of the team sees all, by name.", success=(Success(200, "The snippets.", SnippetList),),
    ),
    Route(
        "POST", PATH, post_snippet, scope=WRITE, operation_id="create_snippet", tag=TAG, summary="Add a snippet",
        description=f"For who may write for all clients; up to {MOST}. An answer with a field that nobody has filled in is refused.",
        body=NewSnippet, success=(Success(201, "The snippet.", SnippetOut, ("Location",)),), problems=(409,),
    ),
    Route(
        "PATCH", f"{PATH}/{{snippet_id}}", patch_snippet, scope=WRITE, operation_id="update_snippet", tag=TAG, summary="Update a snippet",
        description="For who may write for all clients. The ETag is `updated_at`, in quotes; a 412 has the `present` snippet.",
        headers=(if_match("snippet"),), body=SnippetChange, success=_SHOWN, problems=(409, 412),
    ),
    Route(
        "DELETE", f"{PATH}/{{snippet_id}}", delete_snippet, scope=WRITE, operation_id="delete_snippet", tag=TAG, summary="Remove a snippet",
        description="For who may write for all clients. The ETag is `updated_at`, in quotes; a 412 has the `present` snippet.",
        headers=(if_match("snippet"),), success=(Success(204, "It is removed."),), problems=(412,),
    ),
]  # fmt: skip
